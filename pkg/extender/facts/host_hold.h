// Why a host is not free, besides the promises of placed gangs and the pods that run there. An
// isolated gang holds all of a host; a write and a move hold what one worker of the gang asks for,
// of workers that differ the most of each resource.
//
// Thread safety: values.
#pragma once

#include <string>

#include "pkg/base/namespaced_name.h"

namespace yardmaster::extender {

enum class HoldReason {
  kIsolated,  // an isolated gang has it, or others leave it for that gang: it counts as full
  kIndeterminateWrite,  // a write that may still take effect promises it to a rank
  kPreemption,          // others are stopped for a gang that gets it
  kMove,                // a gang that runs elsewhere was promised it for a rank in this pass
  kReservation,         // a gang that waits gets it when the rest of its place is free
};

struct Hold {
  std::string host;
  HoldReason reason;
  NamespacedName holder;  // the gang
  bool operator==(const Hold&) const = default;
};

}  // namespace yardmaster::extender
