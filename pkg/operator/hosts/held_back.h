// Describes what slows a TrainingJob down: one of its hosts has lost part of its bandwidth, or a
// worker computes longer than workers that do the same. The job proceeds at the pace of that host.
// A network round finds it; the job acts on it if its spec says so, within the limits of HostHealth
// (host_health.h).
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace yardmaster::op {

struct BandwidthLossLimits {
  // A host with a smaller share of its bandwidth slows a job down.
  double share = 0.875;
  // The job leaves the host once this has lasted without a pause. Links often come back within that
  // time.
  std::int64_t grace_ms = 120'000;
};

struct SlowHostLimits {
  // A host whose worker computes at a smaller share of the speed of its peers slows a job down.
  double share = 0.8;
  // A job leaves no slow host before all of its workers have run this long: the first iterations
  // compile and fill caches, for different times.
  std::int64_t warm_up_ms = 600'000;
  // As in BandwidthLossLimits. A burst of other load ends within that time.
  std::int64_t grace_ms = 120'000;
};

struct HeldBack {
  std::string host;
  // Description, for example "50 % of its bandwidth (4 of 8 ports of rail 3 are down), ...".
  std::string has;
  // Why no rank leaves the host now; empty: a better host is free for the ranks there.
  std::string stays;
  // The rank on the host that computes longer than its peers; -1: the host has lost bandwidth.
  int slow_rank = -1;
  // The worker is slow because of the job's own CPU limit. The grace begins when that ends.
  bool limited = false;
  bool operator==(const HeldBack&) const = default;
};

using HeldBackByJob = std::map<std::string, HeldBack>;  // by "namespace/name"

// Returns why a job does not leave a host that slows it down; empty: it leaves.
using WhyStays = std::function<std::string(const HeldBack&)>;

}  // namespace yardmaster::op
