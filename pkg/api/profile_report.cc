#include "pkg/api/profile_report.h"

#include <cmath>

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr double kDaySeconds = 86'400;
constexpr double kMaxFlop = 1e24;       // a day of 10^19 FLOP/s
constexpr double kMaxSentBytes = 1e15;  // a day at 800 Gb/s is below a tenth of it
constexpr double kMaxClockMhz = 1e5;
constexpr std::size_t kMaxNics = 64;
constexpr std::int64_t kMaxSamples = 1'000'000'000;

// What is wrong with a value that has to lie in (0, most] (or [0, most]), or OK.
absl::Status CheckRange(std::string_view field, std::optional<double> value, double most,
                        bool zero_allowed = false) {
  if (!value) return absl::OkStatus();
  if (std::isfinite(*value) && *value <= most && (*value > 0 || (zero_allowed && *value == 0))) {
    return absl::OkStatus();
  }
  return FieldError(field, StrCat(*value, " cannot be true"),
                    StrCat("give a number above 0 up to ", most, ", or leave it out"));
}

// A null or absent field means not measured; anything else that is not a number is an error.
std::optional<double> Read(FieldReader& in, std::string_view key) {
  if (!in.has(key)) return std::nullopt;
  return in.Number(key, 0, 0, 1e300);
}

}  // namespace

absl::Status CheckProfileReport(const ProfileReport& report) {
  if (report.samples < 1) {
    return FieldError("samples", StrCat("is ", report.samples), "count at least one iteration");
  }
  if (report.samples > kMaxSamples) {
    return FieldError("samples", StrCat(report.samples, " cannot be true"),
                      StrCat("count the iterations since the last report, at most ", kMaxSamples));
  }
  YM_RETURN_IF_ERROR(CheckRange("iterationSeconds", report.iteration_seconds, kDaySeconds));
  YM_RETURN_IF_ERROR(CheckRange("computeSeconds", report.compute_seconds, kDaySeconds));
  YM_RETURN_IF_ERROR(
      CheckRange("recentComputeSeconds", report.recent_compute_seconds, kDaySeconds));
  YM_RETURN_IF_ERROR(CheckRange("gpuClockMhz", report.gpu_clock_mhz, kMaxClockMhz));
  YM_RETURN_IF_ERROR(CheckRange("cpuThrottled", report.cpu_throttled, 1, true));
  YM_RETURN_IF_ERROR(
      CheckRange("communicationSeconds", report.communication_seconds, kDaySeconds, true));
  YM_RETURN_IF_ERROR(CheckRange("communicationStart", report.communication_start, 1, true));
  YM_RETURN_IF_ERROR(CheckRange("flop", report.flop, kMaxFlop));
  if (report.sent_bytes.size() > kMaxNics) {
    return FieldError("sentBytes", StrCat("has ", report.sent_bytes.size(), " NICs"),
                      StrCat("list at most ", kMaxNics));
  }
  for (std::size_t i = 0; i < report.sent_bytes.size(); ++i) {
    YM_RETURN_IF_ERROR(
        CheckRange(StrCat("sentBytes[", i, "]"), report.sent_bytes[i], kMaxSentBytes, true));
  }
  return absl::OkStatus();
}

std::string EncodeProfileReport(const ProfileReport& report) {
  nlohmann::ordered_json out = {{"version", 1}, {"samples", report.samples}};
  const auto put = [&out](const char* key, std::optional<double> value) {
    if (value) out[key] = *value;
  };
  put("iterationSeconds", report.iteration_seconds);
  put("computeSeconds", report.compute_seconds);
  put("communicationSeconds", report.communication_seconds);
  put("communicationStart", report.communication_start);
  put("flop", report.flop);
  if (!report.sent_bytes.empty()) out["sentBytes"] = report.sent_bytes;
  put("recentComputeSeconds", report.recent_compute_seconds);
  put("gpuClockMhz", report.gpu_clock_mhz);
  put("cpuThrottled", report.cpu_throttled);
  if (report.time_ms != 0) out["time"] = FormatTime(report.time_ms);
  return out.dump();
}

absl::StatusOr<ProfileReport> DecodeProfileReport(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  ProfileReport report;
  report.samples = in.Int64("samples", 0, 0, kMaxSamples);
  report.iteration_seconds = Read(in, "iterationSeconds");
  report.compute_seconds = Read(in, "computeSeconds");
  report.communication_seconds = Read(in, "communicationSeconds");
  report.communication_start = Read(in, "communicationStart");
  report.flop = Read(in, "flop");
  report.recent_compute_seconds = Read(in, "recentComputeSeconds");
  report.gpu_clock_mhz = Read(in, "gpuClockMhz");
  report.cpu_throttled = Read(in, "cpuThrottled");
  report.time_ms = in.TimeMs("time");
  if (const JsonView list = in.Raw("sentBytes"); list.present()) {
    if (!list.is_array()) {
      errors.Add("sentBytes", "is not a list", "give bytes sent by each NIC, rail 0 first");
    } else {
      list.ForEachElement([&](JsonView entry) {
        if (const std::optional<double> bytes = entry.Number()) {
          report.sent_bytes.push_back(*bytes);
        } else {
          errors.Add("sentBytes", "has an entry that is not a number", "give bytes per iteration");
        }
      });
    }
  }
  if (!errors.empty()) return errors.status();
  YM_RETURN_IF_ERROR(CheckProfileReport(report));
  return report;
}

}  // namespace yardmaster::api
