#include "pkg/api/resource_list.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

using nlohmann::json;

workload::ResourceList ReadAmounts(const FieldReader& resources) {
  workload::ResourceList out;
  resources.ForEachField([&](std::string_view name, JsonView value) {
    const std::int64_t amount = ReadQuantity(resources, name, value, name == "cpu" ? 1000 : 1);
    out.push_back({std::string(name), std::min(amount, workload::kMaxAmount)});
  });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

workload::ResourceList ReadResources(FieldReader& resources) {
  workload::ResourceList out = ReadAmounts(resources);
  if (resources.strict()) {
    for (const std::string& name : resources.Keys()) resources.Raw(name);
  }
  std::erase_if(out, [](const workload::ResourceAmount& entry) { return entry.amount == 0; });
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
