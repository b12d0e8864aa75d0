#include "pkg/api/parallelism_annotation.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using workload::Parallelism;

struct Size {
  std::string_view key;
  int Parallelism::*size;
};
constexpr Size kSizes[] = {{"tp", &Parallelism::tensor},   {"cp", &Parallelism::context},
                           {"ep", &Parallelism::expert},   {"dp", &Parallelism::data},
                           {"pp", &Parallelism::pipeline}, {"vpp", &Parallelism::virtual_pipeline}};

// More than any fabric has.
constexpr std::int64_t kMaxGpus = 1 << 24;

absl::Status Bad(std::string_view part, std::string_view problem) {
  return FieldError(kParallelismAnnotation, StrCat("\"", part, "\" ", problem),
                    "write it like tp=8,pp=4,dp=16 (also cp, ep, vpp, order=tp-cp-ep-dp-pp)");
}

std::string Trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

}  // namespace

absl::StatusOr<ParallelismAnnotation> ParseParallelism(std::string_view text) {
  ParallelismAnnotation out;
  std::set<std::string> seen;
  std::int64_t gpus = 1;
  for (const std::string& raw : Split(text, ',')) {
    const std::string part = Trim(raw);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) return Bad(part, "is not key=value");
    const std::string key = Trim(part.substr(0, equals));
    const std::string value = Trim(part.substr(equals + 1));
    if (!seen.insert(key).second) return Bad(part, "is given twice");
    if (key == "order") {
      absl::StatusOr<workload::AxisOrder> order = workload::ParseOrder(value);
      if (!order.ok()) return Bad(part, MessageOf(order.status()));
      out.parallelism.order = *order;
      continue;
    }
    const auto* size = std::find_if(std::begin(kSizes), std::end(kSizes),
                                    [&](const Size& s) { return s.key == key; });
    if (size == std::end(kSizes)) return Bad(part, "has an unknown key");
    const std::optional<int> number = ParseNumber<int>(value);
    if (!number || *number < 1 || *number > workload::kMaxDegree) {
      return Bad(part, StrCat("needs an integer from 1 to ", workload::kMaxDegree));
    }
    out.parallelism.*size->size = *number;
    // Expert and virtual pipeline parallelism lie inside others.
    if (key != "ep" && key != "vpp") gpus *= *number;
    if (gpus > kMaxGpus) return Bad(part, StrCat("makes more than ", kMaxGpus, " GPUs"));
  }
  out.data_given = seen.count("dp") != 0;
  return out;
}

}  // namespace yardmaster::api
