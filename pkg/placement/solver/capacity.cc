#include "pkg/placement/solver/capacity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

namespace {

bool Usable(const HostState& host, const GangRequest& request, const CapacityView& view) {
  if (host.backup && !view.use_backup) return false;
  if (view.empty) return true;
  return host.unavailable == Unavailability::kNo &&
         (host.reserved_for < 0 || host.reserved_for == request.queue_index);
}

// Bit c: class c may use the host. Without classes: every bit.
std::uint32_t ClassesOn(const HostClasses& classes, fabric::HostId host) {
  if (classes.hosts.empty()) return ~std::uint32_t{0};
  std::uint32_t bits = 0;
  for (std::size_t c = 0; c < classes.hosts.size(); ++c) {
    if (IsIn(classes.hosts[c], host)) bits |= std::uint32_t{1} << c;
  }
  return bits;
}

}  // namespace

Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, int host_set_size,
                     const CapacityView& view) {
  const fabric::Places& places = *cluster.places;
  Capacity capacity;
  capacity.of_host.assign(static_cast<std::size_t>(places.num_hosts()), 0);
  capacity.of_segment.assign(static_cast<std::size_t>(places.num_segments()), 0);
  const WorkerNeed need(cluster, *request.job);
  HostClasses classes = ClassesOf(request.role_hosts, request.job->workers);
  if (classes.differ()) {
    capacity.classes.class_of_worker = std::move(classes.of_rank);
    capacity.classes.num_classes = static_cast<int>(classes.hosts.size());
    capacity.classes.of_host.resize(capacity.of_host.size(), 0);
    capacity.classes.of_segment.resize(capacity.of_segment.size());
  }
  for (fabric::SegmentId segment : places.segments()) {
    std::int32_t sum = 0;
    for (fabric::HostId id : places.hosts_of(segment)) {
      const HostState& host = cluster.hosts[id.index()];
      if (!request.Allows(id) || !Usable(host, request, view)) continue;
      int workers = need.RoomOn(cluster, id, view.empty);
      if (workers == 0) continue;  // most hosts of a busy cluster
      if (host_set_size > 1) workers -= workers % host_set_size;
      const std::uint32_t usable_by = ClassesOn(classes, id);
      if (usable_by == 0) continue;
      if (capacity.classes.any()) {
        capacity.classes.of_host[id.index()] = usable_by;
        AddRoom(capacity.classes.of_segment[segment.index()], {usable_by, workers});
      }
      capacity.of_host[id.index()] = workers;
      capacity.max_on_host = std::max(capacity.max_on_host, workers);
      sum += workers;
    }
    capacity.of_segment[segment.index()] = sum;
    capacity.total += sum;
  }
  return capacity;
}

SegmentScore& SegmentScore::operator+=(const SegmentScore& other) {
  load += other.load;
  whole_free += other.whole_free;
  free_workers += other.free_workers;
  degraded += other.degraded;
  no_backup += other.no_backup;
  return *this;
}

std::vector<SegmentScore> ScoreSegments(const Cluster& cluster, const Capacity& capacity) {
  const fabric::Places& places = *cluster.places;
  std::vector<SegmentScore> scores(static_cast<std::size_t>(places.num_segments()));
  double highest = 0;
  for (double load : cluster.uplink_load) highest = std::max(highest, load);
  for (fabric::SegmentId segment : places.segments()) {
    SegmentScore& score = scores[segment.index()];
    if (segment.index() < cluster.uplink_load.size() && highest > 0) {
      score.load = std::llround(cluster.uplink_load[segment.index()] / highest * 1e6);
    }
    score.free_workers = capacity.of_segment[segment.index()];
    score.whole_free = 1;
    score.no_backup = 1;
    for (fabric::HostId id : places.hosts_of(segment)) {
      const HostState& host = cluster.hosts[id.index()];
      if (host.degraded) score.degraded += capacity.of_host[id.index()];
      if (host.backup) {
        if (host.unavailable == Unavailability::kNo && host.free_gpus == host.gpus)
          score.no_backup = 0;
      } else if (host.unavailable == Unavailability::kNo && host.free_gpus < host.gpus) {
        score.whole_free = 0;
      }
    }
  }
  return scores;
}

}  // namespace yardmaster::placement
