#include "pkg/api/host_record.h"

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

std::string EncodeHostRecord(const HostRecord& record) {
  nlohmann::ordered_json out = {{"version", 1}, {"quarantines", record.quarantines}};
  if (record.until_ms != 0) out["until"] = FormatTime(record.until_ms);
  out["failures"] = nlohmann::ordered_json::array();
  for (const HostFailure& failure : record.failures) {
    nlohmann::ordered_json entry = {{"job", failure.job},
                                    {"uid", failure.job_uid},
                                    {"attempt", failure.attempt},
                                    {"rank", failure.rank}};
    if (failure.exit_code) entry["exitCode"] = *failure.exit_code;
    entry["time"] = FormatTime(failure.time_ms);
    if (failure.slow) entry["slow"] = true;
    out["failures"].push_back(std::move(entry));
  }
  return out.dump();
}

absl::StatusOr<HostRecord> DecodeHostRecord(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  HostRecord record;
  record.quarantines = in.Int("quarantines", 0, 0, 1'000'000);
  record.until_ms = in.TimeMs("until");
  for (FieldReader& entry : in.Objects("failures")) {
    HostFailure failure;
    failure.job = entry.RequiredString("job");
    failure.job_uid = entry.RequiredString("uid");
    failure.attempt = entry.Int64("attempt", 0, 0, INT64_MAX);
    failure.rank = entry.Int("rank", 0, 0, 1'000'000);
    if (entry.has("exitCode")) failure.exit_code = entry.Int("exitCode", 0, INT32_MIN, INT32_MAX);
    failure.time_ms = entry.TimeMs("time");
    failure.slow = entry.Bool("slow", false);
    record.failures.push_back(std::move(failure));
  }
  if (!errors.empty()) return errors.status();
  return record;
}

}  // namespace yardmaster::api
