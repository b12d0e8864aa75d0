#include "pkg/placement/testing/cases.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::placement {

namespace {

using workload::Enforcement;
using workload::GroupPolicy;
using workload::TopologyLevel;

int Pick(Random& random, const std::vector<int>& values) {
  return values[random.Below(values.size())];
}

void AddOrder(Random& random, workload::Job& job) {
  random.Shuffle(job.parallelism.order);
  if (random.Below(2) == 0) job.parallelism.order = workload::kMegatronOrder;
}

void AddLimits(Random& random, bool in_hosts, workload::Job& job) {
  for (GroupPolicy* policy : {&job.placement.tensor, &job.placement.context, &job.placement.expert,
                              &job.placement.data, &job.placement.pipeline}) {
    if (random.Below(3) == 0) continue;
    const int first = in_hosts ? 0 : 1;
    constexpr TopologyLevel kWithin[] = {TopologyLevel::kHost, TopologyLevel::kSegment,
                                         TopologyLevel::kFabricPod, TopologyLevel::kFabric};
    policy->within = kWithin[first + static_cast<int>(random.Below(4 - first))];
    policy->mode = random.Below(3) == 0 ? Enforcement::kRequired : Enforcement::kPreferred;
  }
}

// Each draw is a statement: the order in which arguments are evaluated is the compiler's, and so
// would the cases be.
workload::Job RandomJob(Random& random, const CaseLimits& limits) {
  for (;;) {
    const int gpus_per_worker = Pick(random, {1, 2, 2, 4, 4, 8, 8, 8, 3, 6});
    const int expert = Pick(random, {1, 1, 1, 2, 3});
    const int pipeline = Pick(random, {1, 1, 2, 2, 3, 4});
    const int data = expert * Pick(random, {1, 2, 2, 3, 4, 5});
    const int context = Pick(random, {1, 1, 1, 2, 3});
    const int tensor = Pick(random, {1, 1, 2, 2, 3, 4, 8, 16});
    workload::Job job = MakeJob(tensor, context, expert, data, pipeline, gpus_per_worker);
    AddOrder(random, job);
    if (job.parallelism.world() % gpus_per_worker != 0) continue;
    if (job.workers > limits.workers || job.workers < 2) continue;
    AddLimits(random, limits.host_limits, job);
    job.placement.max_stages_per_segment = Pick(random, {0, 0, 0, 0, 1, 2});
    return job;
  }
}

workload::Job LargeJob(Random& random) {
  for (;;) {
    const int gpus_per_worker = Pick(random, {2, 4, 8, 8, 8, 8});
    const int expert = Pick(random, {1, 1, 1, 2, 4});
    const int pipeline = Pick(random, {1, 2, 3, 4, 5, 6, 8, 12, 16});
    const int data = expert * Pick(random, {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32});
    const int context = Pick(random, {1, 1, 1, 2});
    const int tensor = Pick(random, {1, 2, 4, 8, 8, 16, 32});
    workload::Job job = MakeJob(tensor, context, expert, data, pipeline, gpus_per_worker);
    AddOrder(random, job);
    if (job.parallelism.world() % gpus_per_worker != 0) continue;
    if (job.workers > 256 || job.workers < 8) continue;
    AddLimits(random, false, job);
    job.placement.max_stages_per_segment = Pick(random, {0, 0, 0, 1, 2, 3});
    return job;
  }
}

}  // namespace

Cluster MakeCluster(const std::vector<std::vector<int>>& hosts_of_segment) {
  std::vector<fabric::HostPlace> hosts;
  for (std::size_t p = 0; p < hosts_of_segment.size(); ++p) {
    for (std::size_t s = 0; s < hosts_of_segment[p].size(); ++s) {
      for (int h = 0; h < hosts_of_segment[p][s]; ++h) {
        const std::string segment = StrCat("p", p, "s", s + 10);
        hosts.push_back({StrCat(segment, "h", h + 100), StrCat("p", p), segment, {}});
      }
    }
  }
  Cluster cluster;
  cluster.places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  cluster.hosts.resize(static_cast<std::size_t>(cluster.places->num_hosts()));
  return cluster;
}

workload::Job MakeJob(int tensor, int context, int expert, int data, int pipeline,
                      int gpus_per_worker) {
  workload::Job job;
  job.key = {"default", "job"};
  job.parallelism.tensor = tensor;
  job.parallelism.context = context;
  job.parallelism.expert = expert;
  job.parallelism.data = data;
  job.parallelism.pipeline = pipeline;
  job.parallelism_given = true;
  job.gpus_per_worker = gpus_per_worker;
  job.workers = static_cast<int>(job.parallelism.world() / gpus_per_worker);
  return job;
}

Case MakeCase(Cluster cluster, workload::Job job) {
  Case c;
  c.cluster = std::move(cluster);
  c.groups = workload::GroupsOf(job.parallelism, job.workers, job.gpus_per_worker);
  c.job = std::move(job);
  return c;
}

Case RandomCase(Random& random, const CaseLimits& limits) {
  std::vector<std::vector<int>> shape(1 + random.Below(3));
  int segments = 0;
  for (auto& pod : shape) {
    pod.resize(1 + random.Below(3));
    for (int& hosts : pod) hosts = 1 + static_cast<int>(random.Below(4));
    segments += static_cast<int>(pod.size());
  }
  while (segments > limits.segments) {
    if (shape.back().empty()) shape.pop_back();
    shape.back().pop_back();
    if (shape.back().empty()) shape.pop_back();
    --segments;
  }
  Case c = MakeCase(MakeCluster(shape), RandomJob(random, limits));
  const int busy = static_cast<int>(random.Below(4));  // how full the cluster is
  for (HostState& host : c.cluster.hosts) {
    if (static_cast<int>(random.Below(6)) < busy) {
      host.free_gpus = static_cast<std::int16_t>(random.Below(9));
    }
    if (random.Below(12) == 0) host.unavailable = Unavailability::kCordoned;
    if (random.Below(12) == 0) host.backup = true;
    if (random.Below(8) == 0) host.degraded = true;
    if (random.Below(16) == 0) host.reserved_for = 3;
  }
  if (random.Below(2) == 0) {
    for (int s = 0; s < segments; ++s) {
      c.cluster.uplink_load.push_back(static_cast<double>(random.Below(3)));
    }
  }
  if (limits.resources) AddResources(random, c);
  return c;
}

void AddDomains(Random& random, bool with_units, Case& c) {
  const fabric::Places& before = *c.cluster.places;
  std::vector<fabric::HostPlace> hosts;
  for (const fabric::SegmentId segment : before.segments()) {
    int domain = 100;
    for (const fabric::HostId host : before.hosts_of(segment)) {
      if (random.Below(3) == 0) ++domain;
      fabric::HostPlace place;
      place.name = before.name(host);
      place.fabric_pod = before.name(before.fabric_pod_of(segment));
      place.segment = before.name(segment);
      if (random.Below(8) != 0) place.domain = StrCat(place.segment, "d", domain);
      hosts.push_back(std::move(place));
    }
  }
  const auto places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  std::vector<HostState> states(c.cluster.hosts.size());
  for (const fabric::HostId host : places->hosts()) {
    states[host.index()] = c.cluster.hosts[before.FindHost(places->name(host)).index()];
  }
  c.cluster.hosts = std::move(states);
  c.cluster.places = places;
  for (GroupPolicy* policy : {&c.job.placement.tensor, &c.job.placement.context,
                              &c.job.placement.expert, &c.job.placement.data}) {
    if (random.Below(8) == 0) {
      policy->within = TopologyLevel::kDomain;
      policy->mode = random.Below(2) == 0 ? Enforcement::kRequired : Enforcement::kPreferred;
    }
  }
  if (!with_units) return;
  // Hosts of 8 GPUs, of which whole units make up the gang.
  const int per_host = std::max(1, 8 / c.job.gpus_per_worker);
  const int unit = 1 + static_cast<int>(random.Below(3));
  if (c.job.workers % (unit * per_host) == 0) c.job.placement.domain_unit = unit;
}

Case WideCase(Random& random) {
  std::vector<std::vector<int>> shape(1 + random.Below(4));
  for (auto& pod : shape) {
    pod.resize(1 + random.Below(4));
    for (int& hosts : pod) hosts = 1 + static_cast<int>(random.Below(6));
  }
  Case c = MakeCase(MakeCluster(shape), RandomJob(random, {9, 0, random.Below(3) == 0}));
  c.job.parallelism.virtual_pipeline = Pick(random, {1, 1, 2});
  const int busy = static_cast<int>(random.Below(5));
  const bool small_hosts = random.Below(4) == 0;
  for (HostState& host : c.cluster.hosts) {
    if (small_hosts && random.Below(3) == 0) host.gpus = host.free_gpus = 4;
    if (static_cast<int>(random.Below(6)) < busy) {
      host.free_gpus = static_cast<std::int16_t>(random.Below(2) == 0 ? 0 : random.Below(9));
      host.free_gpus = std::min(host.free_gpus, host.gpus);
    }
    if (random.Below(16) == 0) host.unavailable = static_cast<Unavailability>(1 + random.Below(3));
    if (random.Below(16) == 0) host.backup = true;
    if (random.Below(8) == 0) host.degraded = true;
    if (random.Below(24) == 0) host.reserved_for = 3;
  }
  return c;
}
// Adds workers one by one for as long as each resource has enough.
int RoomOf(const Case& c, fabric::HostId id) {
  const HostState& host = c.cluster.hosts[id.index()];
  if (host.unavailable != Unavailability::kNo || host.backup || host.reserved_for >= 0) return 0;
  const HostResources& resources = c.cluster.resources;
  for (int workers = 1;; ++workers) {
    if (workers * c.job.gpus_per_worker > host.free_gpus) return workers - 1;
    for (const workload::ResourceAmount& request : c.job.requests) {
      if (request.amount == 0) continue;  // asks for nothing, so it fits wherever too much is held
      for (std::size_t column = 0; column < resources.columns(); ++column) {
        if ((*resources.names)[column] != request.name) continue;
        const auto free = resources.free[id.index() * resources.columns() + column];
        if (workers * request.amount > free) return workers - 1;
      }
    }
  }
}

void AddResources(Random& random, Case& c) {
  c.job.requests = {{"cpu", 1 + static_cast<std::int64_t>(random.Below(40))},
                    {"pods", 1},
                    {"rdma/hca", static_cast<std::int64_t>(random.Below(3))}};
  c.cluster.resources.names = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"cpu", "memory", "pods", "rdma/hca"});
  std::vector<std::int64_t> allocatable;
  for (std::size_t h = 0; h < c.cluster.hosts.size(); ++h) {
    for (const int most : {96, 10, 8, 8}) {
      allocatable.push_back(random.Below(8) == 0 ? 0 : most);
      const auto held = random.Below(3) == 0 ? random.Below(static_cast<std::uint64_t>(most)) : 0;
      c.cluster.resources.free.push_back(allocatable.back() - static_cast<std::int64_t>(held));
    }
  }
  c.cluster.resources.allocatable =
      std::make_shared<const std::vector<std::int64_t>>(std::move(allocatable));
}
Case IrregularCase(Random& random) {
  std::vector<std::vector<int>> shape(1 + random.Below(4));
  const int segments = 10 + static_cast<int>(random.Below(23));
  for (int s = 0; s < segments; ++s) {
    shape[random.Below(shape.size())].push_back(4 + static_cast<int>(random.Below(21)));
  }
  std::erase_if(shape, [](const auto& pod) { return pod.empty(); });
  Case c = MakeCase(MakeCluster(shape), LargeJob(random));
  const int busy = static_cast<int>(random.Below(5));
  for (HostState& host : c.cluster.hosts) {
    if (static_cast<int>(random.Below(6)) < busy) {
      host.free_gpus = static_cast<std::int16_t>(random.Below(2) == 0 ? 0 : random.Below(9));
    }
  }
  return c;
}

std::string Describe(const Case& c) {
  const workload::Parallelism& p = c.job.parallelism;
  std::string text =
      StrCat("tp", p.tensor, " cp", p.context, " ep", p.expert, " dp", p.data, " pp", p.pipeline,
             " order ", workload::FormatOrder(p.order), " gpus/worker ", c.job.gpus_per_worker,
             " workers ", c.job.workers, " stages/segment ", c.job.placement.max_stages_per_segment,
             " domain unit ", c.job.placement.domain_unit, " policy");
  for (const GroupPolicy& policy :
       {c.job.placement.tensor, c.job.placement.context, c.job.placement.expert,
        c.job.placement.data, c.job.placement.pipeline}) {
    text += StrCat(" ", policy.mode == Enforcement::kRequired ? "R" : "P",
                   static_cast<int>(policy.within));
  }
  text += " free";
  for (fabric::SegmentId s : c.cluster.places->segments()) {
    text += StrCat(" | p", c.cluster.places->fabric_pod_of(s).value, ":");
    for (fabric::DomainId d : c.cluster.places->domains_of(s)) {
      if (c.cluster.places->has_domains()) text += " d:";
      for (fabric::HostId h : c.cluster.places->hosts_of(d)) text += StrCat(" ", RoomOf(c, h));
    }
  }
  return text;
}
}  // namespace yardmaster::placement
