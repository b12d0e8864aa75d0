// How many workers of one gang every host and every segment takes, now or in another state of the
// cluster, and what a segment's choice costs beyond the objective.
//
// A new gang uses hosts that are in service, not backup, allowed by the pod template, not reserved
// for another job, and have room for a worker by every resource (worker_need.h).
// Thread safety: values and pure functions. Complexity: O(hosts).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/solver/class_capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// The state of the cluster that is asked about.
struct CapacityView {
  bool empty = false;       // as if every host were free, in service and not reserved
  bool use_backup = false;  // backup hosts are used like ordinary ones
};

struct Capacity {
  std::vector<std::int32_t> of_host;  // workers, by HostId
  // Workers, by DomainId, in whole domain sets (gang_model.h); empty where there are no domains.
  std::vector<std::int32_t> of_domain;
  std::vector<std::int32_t> of_segment;  // workers, by SegmentId; of its domains where there are
  std::int64_t total = 0;
  std::int32_t max_on_host = 0;
  // Where workers may use different hosts; the numbers above then count workers of any class.
  ClassCapacities classes;

  // Hosts that so many workers take, each as large as the largest one; a host each if none takes
  // any.
  std::int64_t HostsFor(std::int64_t workers) const {
    return max_on_host == 0 ? workers : (workers + max_on_host - 1) / max_on_host;
  }
};

// `host_set_size`: workers that must share a host, so only multiples of it count (1: any number).
Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, int host_set_size,
                     const CapacityView& view = {});
// For the host sets and domain sets of `model`, of the gang that `request` names: of hosts that
// only some workers may use, those count that all workers of a host set may use. (Where host sets
// mix workers in more than kMaxHostClasses ways, every worker counts by itself.)
Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, const GangModel& model,
                     const CapacityView& view = {});

// The gang's model on the fabric of the cluster.
GangModel ModelFor(const Cluster& cluster, const workload::Job& job,
                   const workload::WorkerGroups& groups);

// Ties between equally good segments, summed over the segments used and compared in order.
struct SegmentScore {
  std::int64_t load = 0;          // predicted uplink load, in millionths of the highest
  std::int64_t whole_free = 0;    // 1: all its ordinary hosts in service are wholly free
  std::int64_t free_workers = 0;  // room in it: tight segments first
  std::int64_t degraded = 0;      // of that room, each by the ports down of its host
  std::int64_t no_backup = 0;     // 1: no backup host of it is in service and free
  auto operator<=>(const SegmentScore&) const = default;
  SegmentScore& operator+=(const SegmentScore& other);
};

// By SegmentId.
std::vector<SegmentScore> ScoreSegments(const Cluster& cluster, const Capacity& capacity);

}  // namespace yardmaster::placement
