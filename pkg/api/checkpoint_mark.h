// By the annotation yardmaster.dev/checkpoint of one of its pods, by a file in a volume of the pod,
// or by the termination message of a container that ends, a job says that a checkpoint is complete.
//
//   {"version":1,"time":"2026-01-01T00:00:00Z","seconds":42.5,"last":false}
//
// `time` is when the checkpoint was begun: work up to then is safe. `seconds` is how long the job's
// iterations stood still for it; left out: not known. `last`: training is over, and what the job
// still does (an evaluation, an upload) has no iterations; left out: false.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::api {

// With spec.checkpoint.mark File: the pod's emptyDir volume, and the file in it.
inline constexpr char kCheckpointMarkVolume[] = "yardmaster-checkpoint-mark";
inline constexpr char kCheckpointMarkFile[] = "mark";

struct CheckpointMark {
  std::int64_t time_ms = 0;
  double seconds = 0;  // 0: not known
  bool last = false;
  bool operator==(const CheckpointMark&) const = default;
};

std::string EncodeCheckpointMark(const CheckpointMark& mark);
// Errors: InvalidArgument naming every wrong field; another version than 1 is one.
absl::StatusOr<CheckpointMark> DecodeCheckpointMark(std::string_view text);

}  // namespace yardmaster::api
