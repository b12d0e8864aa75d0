// What keeps the pods of a TrainingJob from being made: the reason and the message of its condition Stalled.
// Thread safety: values.
#pragma once

#include <string>

namespace yardmaster::op {

struct StallReason {
  std::string reason;  // empty: none
  std::string message;

  bool exists() const { return !reason.empty(); }
};

// An object with a name that the job needs belongs to another owner.
inline constexpr char kNameTaken[] = "NameTaken";

}  // namespace yardmaster::op
