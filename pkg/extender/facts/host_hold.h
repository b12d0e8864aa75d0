// The reason why a host is not free, apart from the promises of placed gangs and running pods. An
// isolated gang holds the whole host. A write and a move hold what one worker of the gang requests;
// if workers differ, the maximum of each resource.
//
// Thread safety: values.
#pragma once

#include <string>

#include "pkg/base/namespaced_name.h"

namespace yardmaster::extender {

enum class HoldReason {
  kIsolated,  // the host is promised to an isolated gang or kept for it; it counts as full
  kIndeterminateWrite,  // a write that may still take effect promises it to a rank
  kPreemption,          // other gangs are stopped for the gang that gets it
  kMove,                // this pass promised it to a rank of a gang that moves
  kReservation,         // a waiting gang gets it once the rest of its place is free
};

struct Hold {
  std::string host;
  HoldReason reason;
  NamespacedName holder;  // the gang
  bool operator==(const Hold&) const = default;
};

}  // namespace yardmaster::extender
