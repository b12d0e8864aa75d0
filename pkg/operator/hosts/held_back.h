// What holds a TrainingJob back: one of its hosts has lost a part of its bandwidth, or its worker
// computes longer than those that do the same, and the job moves at the pace of that host. Found by
// a round of the network planner, and acted on by the job, where its spec says so, within the
// limits of HostHealth (host_health.h). Thread safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace yardmaster::op {

struct BandwidthLossLimits {
  // A host with less than this of its bandwidth holds a job back.
  double share = 0.875;
  // The job leaves it once that has held for so long without a pause: links come back in that time.
  std::int64_t grace_ms = 120'000;
};

struct SlowHostLimits {
  // A host whose worker computes at less than this of the speed of its like holds a job back.
  double share = 0.8;
  // No job leaves it before all of the job's workers have been running for so long: the first
  // iterations compile, and fill caches, for different times.
  std::int64_t warm_up_ms = 600'000;
  // As of BandwidthLossLimits: a burst of other load ends in that time.
  std::int64_t grace_ms = 120'000;
};

struct HeldBack {
  std::string host;
  // What the host has: "50 % of its bandwidth (4 of 8 ports of rail 3 are down), ...".
  std::string has;
  // Why no rank leaves it now; empty: a better host is free for the ranks there.
  std::string stays;
  // The rank there that computes longer than its like; -1: the host has lost bandwidth.
  int slow_rank = -1;
  // Slow by the job's own CPU limit: the grace begins when it is not any more.
  bool limited = false;
  bool operator==(const HeldBack&) const = default;
};

using HeldBackByJob = std::map<std::string, HeldBack>;  // by "namespace/name"

// Why a job does not leave a host that holds it back so; empty: it does.
using WhyStays = std::function<std::string(const HeldBack&)>;

}  // namespace yardmaster::op
