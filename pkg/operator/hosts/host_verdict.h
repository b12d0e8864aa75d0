// What HostHealth (host_health.h) says of one host: healthy, not Ready for a while, or lost, and
// why. Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/operator/hosts/node_faults.h"

namespace yardmaster::op {

enum class HostHealthState {
  kHealthy,   // or unknown
  kNotReady,  // not long enough
  kHeld,      // long enough, but a limit forbids acting on it
  kLost
};

struct HostVerdict {
  HostHealthState state = HostHealthState::kHealthy;
  std::int64_t again_ms = 0;  // if greater than 0: assess the host again after this time
  std::string reason;         // kHeld
  // The gravest fault that has held long enough: kLost with kDrain or kReplace, kHealthy with
  // kDegrade.
  FaultAction fault = FaultAction::kIgnore;
  std::string fault_name = {};
  // kLost with kDrain, kHealthy with kDegrade: for the job alone that it holds back (held_back.h).
  bool holds_back = false;
  int slow_rank = -1;  // with holds_back: HeldBack::slow_rank
  // In any state: a taint that has action Drain or Replace without a wait, as providers set it on
  // hosts that they take back; empty: none.
  std::string reclaim = {};
  // kLost, kHeld: with its segment, or its domain, of this name; both empty: by itself.
  std::string segment = {};
  std::string domain = {};
  // How long its Node has been NotReady or gone without a pause, whatever grace the caller gives.
  std::int64_t not_ready_ms = 0;

  // The kubelet ends the pods there itself.
  bool reachable() const { return fault >= FaultAction::kDrain; }
};

}  // namespace yardmaster::op
