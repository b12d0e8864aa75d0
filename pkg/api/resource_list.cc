#include "pkg/api/resource_list.h"

#include "nlohmann/json.hpp"

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

using nlohmann::json;

std::int64_t ReadAmount(FieldReader& resources, std::string_view name) {
  return ReadQuantity(resources, name, name == "cpu" ? 1000 : 1);
}

workload::ResourceList ReadResources(FieldReader& resources) {
  workload::ResourceList out;
  for (const std::string& name : resources.Keys()) {
    if (const std::int64_t amount = ReadAmount(resources, name); amount != 0) {
      workload::SetAmount(out, name, amount);
    }
  }
  return out;
}

json EncodeResources(const workload::ResourceList& resources) {
  json out = json::object();
  for (const auto& [name, amount] : resources) {
    const bool fraction = name == "cpu" && amount % 1000 != 0;
    out[name] = name != "cpu" ? StrCat(amount)
                : fraction    ? StrCat(amount, "m")
                              : StrCat(amount / 1000);
  }
  return out;
}

}  // namespace yardmaster::api
