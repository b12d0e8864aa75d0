// The assessment of one host by HostHealth (host_health.h): healthy, not Ready for a while, or
// lost, and why. Thread safety: values.
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
  // The gravest fault that has lasted long enough: with kLost, kDrain or kReplace; with kHealthy,
  // kDegrade.
  FaultAction fault = FaultAction::kIgnore;
  std::string fault_name = {};
  // With kLost and kDrain, or kHealthy and kDegrade: only for the job that the host slows down
  // (held_back.h).
  bool holds_back = false;
  int slow_rank = -1;  // with holds_back: HeldBack::slow_rank
  // In any state: a taint with action Drain or Replace and no wait, as providers set it on hosts
  // that they reclaim; empty: none.
  std::string reclaim = {};
  // With kLost and kHeld: the segment or domain as part of which the host is lost; both empty: it
  // is lost alone.
  std::string segment = {};
  std::string domain = {};
  // How long its Node has been NotReady or gone without a pause, independent of the caller's grace.
  std::int64_t not_ready_ms = 0;

  // True if the kubelet of the host itself ends its pods.
  bool reachable() const { return fault >= FaultAction::kDrain; }
};

}  // namespace yardmaster::op
