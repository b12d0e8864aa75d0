// Computes how many workers of a gang each host, domain and segment can take, now or in another
// state of the cluster, and the scores that decide ties between segments.
//
// A new gang may use a host that is available, not a backup host, allowed by the pod template, not
// reserved for another job, and has enough of every resource for a worker (worker_need.h).
//
// Complexity: O(hosts). Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/solver/class_capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// The state of the cluster for which capacity is computed.
struct CapacityView {
  bool empty = false;       // as if every host were free, available and not reserved
  bool use_backup = false;  // backup hosts are used like ordinary ones
};

struct Capacity {
  std::vector<std::int32_t> of_host;  // workers, by HostId
  // Workers by DomainId, in whole domain sets (gang_model.h); empty without domains.
  std::vector<std::int32_t> of_domain;
  std::vector<std::int32_t> of_segment;  // workers, by SegmentId; with domains: the sum over them
  std::int64_t total = 0;
  std::int32_t max_on_host = 0;
  // Set if workers may use different hosts. The numbers above then count workers of any class.
  ClassCapacities classes;

  // Returns how many hosts of the largest capacity `workers` need; `workers` if no host takes any.
  std::int64_t HostsFor(std::int64_t workers) const {
    return max_on_host == 0 ? workers : (workers + max_on_host - 1) / max_on_host;
  }
};

// `host_set_size`: number of workers that must share a host; only multiples of it count (1: any
// number).
Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, int host_set_size,
                     const CapacityView& view = {});
// Returns the capacity for the host sets and domain sets of `model`, for the gang of `request`. A
// host that only some workers may use counts if all workers of a host set may use it. (If host sets
// mix workers in more than kMaxHostClasses ways, each worker counts alone.)
Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, const GangModel& model,
                     const CapacityView& view = {});

// Returns the gang's model on the fabric of the cluster.
GangModel ModelFor(const Cluster& cluster, const workload::Job& job,
                   const workload::WorkerGroups& groups);

// Decides between segments of equal objective. Scores are summed over the segments used and
// compared by the fields in order; lower is better.
struct SegmentScore {
  std::int64_t load = 0;          // predicted uplink load, in millionths of the highest one
  std::int64_t whole_free = 0;    // 1: all its available ordinary hosts are completely free
  std::int64_t free_workers = 0;  // its capacity: the tightest segments first
  std::int64_t degraded = 0;      // of these, each times the ports that are down at its host
  std::int64_t no_backup = 0;     // 1: it has no available free backup host
  auto operator<=>(const SegmentScore&) const = default;
  SegmentScore& operator+=(const SegmentScore& other);
};

// Returns the scores by SegmentId.
std::vector<SegmentScore> ScoreSegments(const Cluster& cluster, const Capacity& capacity);

}  // namespace yardmaster::placement
