#include "pkg/api/progress_report.h"

#include <iterator>

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

namespace {

constexpr std::string_view kStateNames[] = {"Progressing", "Waiting"};
constexpr std::string_view kActivityNames[] = {"Unknown", "Stopped", "Uninterruptible", "Idle",
                                               "Busy"};
constexpr double kMaxProgressSeconds = 30 * 86'400;

}  // namespace

std::string_view NameOf(ProcessActivity activity) {
  return kActivityNames[static_cast<std::size_t>(activity)];
}

std::string EncodeProgressReport(const ProgressReport& report) {
  nlohmann::ordered_json out = {{"version", 1},
                                {"state", kStateNames[static_cast<std::size_t>(report.state)]},
                                {"time", FormatTime(report.time_ms)},
                                {"lastProgress", FormatMicroTime(report.last_progress_ms)}};
  if (report.processes != ProcessActivity::kUnknown) out["processes"] = NameOf(report.processes);
  if (report.gpus_compute) out["gpusCompute"] = *report.gpus_compute;
  if (report.iteration_seconds > 0) out["iterationSeconds"] = report.iteration_seconds;
  if (report.longest_pause_seconds > 0) out["longestPauseSeconds"] = report.longest_pause_seconds;
  return out.dump();
}

absl::StatusOr<ProgressReport> DecodeProgressReport(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  ProgressReport report;
  if (!in.has("state")) errors.Add("state", "is missing", "give Progressing or Waiting");
  report.state = static_cast<ProgressState>(in.Choice("state", kStateNames, 0));
  report.time_ms = in.TimeMs("time");
  if (report.time_ms <= 0) {
    errors.Add("time", "is missing or before 1970", "say when the agent saw the worker");
  }
  report.last_progress_ms = in.TimeMs("lastProgress");
  if (report.last_progress_ms <= 0) {
    errors.Add("lastProgress", "is missing or before 1970", "say when the last iteration ended");
  }
  report.processes = static_cast<ProcessActivity>(in.Choice("processes", kActivityNames, 0));
  if (in.has("gpusCompute")) report.gpus_compute = in.Bool("gpusCompute", false);
  report.iteration_seconds = in.Number("iterationSeconds", 0, 0, kMaxProgressSeconds);
  report.longest_pause_seconds = in.Number("longestPauseSeconds", 0, 0, kMaxProgressSeconds);
  if (!errors.empty()) return errors.status();
  return report;
}

}  // namespace yardmaster::api
