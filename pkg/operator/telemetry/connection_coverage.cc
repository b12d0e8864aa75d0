#include "pkg/operator/telemetry/connection_coverage.h"

#include <string>

#include "pkg/api/connection_report.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

std::optional<api::Condition> ConnectionsSteered(
    const std::map<int, std::shared_ptr<const api::Pod>>& members, std::int64_t generation) {
  std::int64_t steered = 0, unsteered = 0;
  int pods_with_unsteered = 0, most = 0;
  std::string why;
  for (const auto& [rank, pod] : members) {
    const auto text = api::Find(pod->metadata.annotations, api::kConnectionsAnnotation);
    if (!text) continue;
    const auto report = api::DecodeConnectionReport(*text);
    if (!report.ok()) continue;
    steered += report->steered;
    unsteered += report->unsteered;
    if (report->unsteered == 0) continue;
    ++pods_with_unsteered;
    if (report->unsteered > most) {
      most = report->unsteered;
      why = report->why;
    }
  }
  if (steered + unsteered == 0) return std::nullopt;
  if (unsteered == 0) {
    return api::Condition{api::kConnectionsSteeredCondition,
                          api::ConditionStatus::kTrue,
                          "Steered",
                          "connections have their planned ports",
                          generation,
                          0};
  }
  return api::Condition{api::kConnectionsSteeredCondition,
                        api::ConditionStatus::kFalse,
                        "Unsteered",
                        StrCat(unsteered, " of ", steered + unsteered, " connections, of ",
                               Count(pods_with_unsteered, "pod"), ", lack their planned port",
                               why.empty() ? std::string() : StrCat(": ", why)),
                        generation,
                        0};
}

}  // namespace yardmaster::op
