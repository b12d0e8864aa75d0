#include "pkg/api/connection_report.h"

#include "pkg/api/annotation.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

std::string EncodeConnectionReport(const ConnectionReport& report) {
  nlohmann::ordered_json out = {{"version", 1},
                                {"steered", report.steered},
                                {"unsteered", report.unsteered},
                                {"unplanned", report.unplanned}};
  if (!report.why.empty()) out["why"] = CutAtCharacter(report.why, kMaxWhyBytes);
  // The reason comes out of a container and may have any bytes; the annotation must be UTF-8.
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::StatusOr<ConnectionReport> DecodeConnectionReport(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  ConnectionReport report;
  report.steered = in.Int("steered", 0, 0, kMaxReportedConnections);
  report.unsteered = in.Int("unsteered", 0, 0, kMaxReportedConnections);
  report.unplanned = in.Int("unplanned", 0, 0, kMaxReportedConnections);
  report.why = CutAtCharacter(in.String("why"), kMaxWhyBytes);
  if (!errors.empty()) return errors.status();
  return report;
}

}  // namespace yardmaster::api
