// The annotation yardmaster.dev/progress: whether a worker's iterations go on and, where they do
// not, what its processes do. Written by the agent of its node when that changes, read by the
// operator. A worker whose iterations have never ceased has none.
//
//   {"version":1,"state":"Waiting","time":"2026-01-01T00:01:10Z",
//    "lastProgress":"2026-01-01T00:00:00.250000Z","processes":"Stopped","gpusCompute":false,
//    "iterationSeconds":1.9,"longestPauseSeconds":41}
//
// `time` is when the agent saw that last: while a worker waits it renews the report every
// kProgressRenewalMs, and a report that is older than kProgressLifeMs may be the last word of an
// agent that is gone. `lastProgress` is the end of the last iteration, or of the last traffic that
// belongs to one. Both are by the clock of the host. `longestPauseSeconds` is the longest time
// without progress before. Left out: not known. Refused: a state or activity that is not listed, a
// missing or wrong time, seconds below 0 or above 30 days.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::api {

inline constexpr std::int64_t kProgressRenewalMs = 480'000;
// Two renewals that come late.
inline constexpr std::int64_t kProgressLifeMs = 1'000'000;

enum class ProgressState {
  kProgressing,  // again: it had ceased
  kWaiting       // no iteration has ended for longer than any before it took
};

// What the processes of a worker that waits do.
enum class ProcessActivity {
  kUnknown,
  kStopped,          // one that did a part of the work is stopped by a signal
  kUninterruptible,  // one waits in the kernel all the time, and none uses a CPU
  kIdle,             // none uses a CPU
  kBusy              // they use CPUs, as those do that poll for the others
};

struct ProgressReport {
  ProgressState state = ProgressState::kProgressing;
  std::int64_t last_progress_ms = 0;
  ProcessActivity processes = ProcessActivity::kUnknown;
  std::optional<bool> gpus_compute;
  double iteration_seconds = 0;      // 0: not known
  double longest_pause_seconds = 0;  // 0: none was seen
  std::int64_t time_ms = 0;          // when the agent saw that: in whole seconds
  bool operator==(const ProgressReport&) const = default;

  // One of its processes is stopped: no pause of the job's own looks like that, while a worker that
  // writes a checkpoint may wait in the kernel for minutes.
  bool is_stopped() const {
    return state == ProgressState::kWaiting && processes == ProcessActivity::kStopped;
  }
};

// "Stopped": as the annotation has it.
std::string_view NameOf(ProcessActivity activity);

std::string EncodeProgressReport(const ProgressReport& report);
// Errors: InvalidArgument naming every wrong field; another version than 1 is one.
absl::StatusOr<ProgressReport> DecodeProgressReport(std::string_view text);

}  // namespace yardmaster::api
