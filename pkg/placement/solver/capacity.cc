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

// Workers by what they may use, or by what all workers of their host set may use.
class WorkerClasses {
 public:
  WorkerClasses(const GangRequest& request, const Partition* host_sets)
      : hosts_(ClassesOf(request.role_hosts, request.job->workers)) {
    for (std::size_t c = 0; c < hosts_.hosts.size(); ++c) {
      members_.push_back(std::uint32_t{1} << c);
    }
    if (hosts_.differ() && host_sets != nullptr) Join(*host_sets);
  }

  bool differ() const { return members_.size() > 1; }
  int count() const { return static_cast<int>(members_.size()); }
  const std::vector<std::uint8_t>& of_rank() const { return hosts_.of_rank; }

  // Bit c: class c may use the host. Without classes: every bit.
  std::uint32_t On(fabric::HostId host) const {
    if (members_.empty()) return ~std::uint32_t{0};
    std::uint32_t open = 0;
    for (std::size_t c = 0; c < hosts_.hosts.size(); ++c) {
      if (IsIn(hosts_.hosts[c], host)) open |= std::uint32_t{1} << c;
    }
    std::uint32_t bits = 0;
    for (std::size_t c = 0; c < members_.size(); ++c) {
      if ((members_[c] & ~open) == 0) bits |= std::uint32_t{1} << c;
    }
    return bits;
  }

 private:
  void Join(const Partition& host_sets) {
    std::vector<std::uint32_t> in_set(host_sets.size.size(), 0);
    for (std::size_t w = 0; w < host_sets.of.size(); ++w) {
      in_set[host_sets.of[w]] |= std::uint32_t{1} << hosts_.of_rank[w];
    }
    std::vector<std::uint32_t> members;
    std::vector<std::uint8_t> of_rank;
    for (const int set : host_sets.of) {
      const auto known = std::find(members.begin(), members.end(), in_set[set]);
      const auto number = static_cast<std::size_t>(known - members.begin());
      if (number == kMaxHostClasses) return;
      if (known == members.end()) members.push_back(in_set[set]);
      of_rank.push_back(static_cast<std::uint8_t>(number));
    }
    members_ = std::move(members);
    hosts_.of_rank = std::move(of_rank);
  }

  HostClasses hosts_;
  std::vector<std::uint32_t> members_;  // by class: of hosts_.hosts, as bits
};

Capacity CapacityOf(const Cluster& cluster, const GangRequest& request,
                    const WorkerClasses& classes, int host_set_size, const CapacityView& view) {
  const fabric::Places& places = *cluster.places;
  Capacity capacity;
  capacity.of_host.assign(static_cast<std::size_t>(places.num_hosts()), 0);
  capacity.of_segment.assign(static_cast<std::size_t>(places.num_segments()), 0);
  const WorkerNeed need(cluster, *request.job);
  if (classes.differ()) {
    capacity.classes.class_of_worker = classes.of_rank();
    capacity.classes.num_classes = classes.count();
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
      const std::uint32_t usable_by = classes.On(id);
      if (usable_by == 0) continue;
      if (capacity.classes.any()) {
        capacity.classes.of_host[id.index()] = usable_by;
        AddCapacity(capacity.classes.of_segment[segment.index()], {usable_by, workers});
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

// Domains, and segments by what their domains take.
void CountDomains(const fabric::Places& places, const GangModel& model, Capacity& capacity) {
  capacity.of_domain.assign(static_cast<std::size_t>(places.num_domains()), 0);
  capacity.total = 0;
  for (fabric::SegmentId segment : places.segments()) {
    std::int32_t& sum = capacity.of_segment[segment.index()];
    sum = 0;
    for (fabric::DomainId domain : places.domains_of(segment)) {
      int workers = 0;
      for (fabric::HostId id : places.hosts_of(domain)) workers += capacity.of_host[id.index()];
      capacity.of_domain[domain.index()] = model.RoomInDomain(workers);
      sum += capacity.of_domain[domain.index()];
    }
    capacity.total += sum;
  }
}

}  // namespace

Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, int host_set_size,
                     const CapacityView& view) {
  return CapacityOf(cluster, request, {request, nullptr}, host_set_size, view);
}

Capacity CapacityFor(const Cluster& cluster, const GangRequest& request, const GangModel& model,
                     const CapacityView& view) {
  Capacity capacity =
      CapacityOf(cluster, request, {request, &model.host_sets}, model.host_set_size, view);
  if (model.has_domains) CountDomains(*cluster.places, model, capacity);
  return capacity;
}

GangModel ModelFor(const Cluster& cluster, const workload::Job& job,
                   const workload::WorkerGroups& groups) {
  if (!cluster.places->has_domains()) return ModelOf(job, groups);
  DomainLevel domains{true, 1};
  if (const int gpus = job.host_gpus_per_worker(); job.placement.domain_unit > 0 && gpus > 0) {
    for (const HostState& host : cluster.hosts) {
      domains.workers_per_host = std::max(domains.workers_per_host, host.gpus / gpus);
    }
  }
  return ModelOf(job, groups, domains);
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
      score.degraded += std::int64_t{host.degraded} * capacity.of_host[id.index()];
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
