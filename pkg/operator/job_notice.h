// What the operator tells about a TrainingJob; becomes an event on it. Thread safety: values.
#pragma once

#include <string>

namespace yardmaster::op {

struct JobNotice {
  std::string namespace_name;
  std::string job;
  std::string uid;
  bool warning = false;
  // "Recovering", "RecoveryHeld", "HeldBack", "Resizing", "Stalled", "Succeeded", "Failed",
  // "Invalid"; of rented hosts "CapacityRequested", "CapacityProvided", "CapacityLeft",
  // "CapacityUnavailable", "LateCapacityRemoved"; of its queue "Admitted", "Evicted", "QueueWaits"
  std::string reason;
  std::string note;
};

}  // namespace yardmaster::op
