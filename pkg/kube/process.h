// Running a program to its end with its output collected: what exec credential plugins need.
// Thread safety: pure functions of the system; may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::kube {

struct ProcessResult {
  int exit_code = 0;  // 128 + number after a signal, as shells have it
  std::string output;
  std::string errors;  // the last few KB of standard error
};

// Runs argv[0] (looked up in PATH unless it has a slash) with exactly the environment `env`
// ("NAME=value"), no standard input, in a process group of its own. The group is killed after
// `timeout_ms`, soon after `stop`, and on too much output. Errors: NotFound (no such program),
// PermissionDenied, DeadlineExceeded, Cancelled (by `stop`), InvalidArgument (more output than
// `max_output_bytes`), ResourceExhausted (no pipe), Unavailable (any other failure to start).
absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& argv,
                                         const std::vector<std::string>& env,
                                         std::int64_t timeout_ms,
                                         std::size_t max_output_bytes = std::size_t{1} << 20,
                                         const std::stop_token& stop = {});

}  // namespace yardmaster::kube
