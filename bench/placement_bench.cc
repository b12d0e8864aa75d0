// How long placement takes, over hosts and gang size: docs/evaluation/placement.md has the table.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <memory>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace {

using namespace yardmaster;

// HPN fabric pods: 15 segments of 128 hosts and 8 backup hosts.
fabric::FabricSpec Hpn(int fabric_pods, int segments = 15) {
  fabric::FabricSpec spec = fabric::SmallHpn(fabric_pods, segments, 136);
  spec.backup.hosts_per_segment = 8;
  return spec;
}

workload::Parallelism Shape(int tensor, int data, int pipeline) {
  workload::Parallelism p;
  p.tensor = tensor;
  p.data = data;
  p.pipeline = pipeline;
  return p;
}

// Holds of small jobs: runs of 1 to 32 hosts until `share` of all hosts is taken.
void OccupyRuns(std::vector<placement::HostState>& hosts, double share, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t at = 0; at < hosts.size();) {
    const std::size_t run = 1 + random.Below(32);
    const bool taken = random.Unit() < share;
    for (std::size_t i = at; i < std::min(hosts.size(), at + run); ++i) {
      if (taken && !hosts[i].backup) hosts[i].free_gpus = 0;
    }
    at += run;
  }
}
void Occupy(plan::Snapshot& snapshot, double share, std::uint64_t seed) {
  OccupyRuns(snapshot.cluster.hosts, share, seed);
}

struct Input {
  plan::Snapshot snapshot;
  placement::GangRequest request() const {
    const plan::JobState& job = snapshot.jobs[0];
    return {&job.job, job.groups.get(), nullptr, 0};
  }
};

Input MakeInput(int fabric_pods, double occupied, const workload::Parallelism& shape) {
  Input input{plan::MakeSnapshot(Hpn(fabric_pods))};
  Occupy(input.snapshot, occupied, 1);
  plan::AddJob(input.snapshot, "gang", shape, 8);
  return input;
}

// Arguments: fabric pods, data, pipeline, percent of hosts occupied.
void PlanGang(benchmark::State& state) {
  const Input input =
      MakeInput(static_cast<int>(state.range(0)), static_cast<double>(state.range(3)) / 100,
                Shape(8, static_cast<int>(state.range(1)), static_cast<int>(state.range(2))));
  placement::GangPlan plan;
  for (auto _ : state) {
    plan = placement::PlanGang(input.snapshot.cluster, input.request());
    benchmark::DoNotOptimize(plan);
  }
  state.counters["hosts"] = input.snapshot.places->num_hosts();
  state.counters["placed"] = plan.outcome == placement::Outcome::kPlaced;
  state.counters["optimal"] = plan.optimal;
  state.counters["data_splits"] = static_cast<double>(plan.objective.data_split_segments) / 8;
  state.counters["splits_bound"] = static_cast<double>(plan.bound.data_split_segments) / 8;
}
BENCHMARK(PlanGang)
    ->Unit(benchmark::kMillisecond)
    ->Args({1, 16, 8, 0})  // 128 hosts on 2,040
    ->Args({1, 16, 8, 50})
    ->Args({1, 128, 1, 50})
    ->Args({2, 16, 8, 50})
    ->Args({4, 16, 8, 50})
    ->Args({8, 16, 8, 50})
    ->Args({8, 16, 30, 50})   // 480 hosts on 16,320
    ->Args({8, 16, 120, 50})  // 1,920 hosts
    ->Args({8, 60, 32, 50})
    ->Args({8, 120, 16, 50})
    ->Args({8, 240, 8, 50})
    ->Args({8, 640, 3, 50})
    ->Args({8, 1920, 1, 0})
    ->Args({8, 1, 1920, 50});

// 131,328 GPUs: 228 segments of 8 domains of 18 hosts with 4 GPUs.
placement::Cluster DomainCluster(double occupied) {
  std::vector<fabric::HostPlace> hosts;
  for (int s = 0; s < 228; ++s) {
    for (int h = 0; h < 8 * 18; ++h) {
      fabric::HostPlace host;
      host.fabric_pod = StrCat("p", 100 + s / 57);
      host.segment = StrCat("s", 100 + s);
      host.domain = StrCat(host.segment, "d", h / 18);
      host.name = StrCat(host.segment, "h", 100 + h);
      hosts.push_back(std::move(host));
    }
  }
  placement::Cluster cluster;
  cluster.places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  placement::HostState free;
  free.gpus = free.free_gpus = 4;
  cluster.hosts.assign(hosts.size(), free);
  OccupyRuns(cluster.hosts, occupied, 1);
  return cluster;
}

// A gang of 1,920 hosts. Arguments: tensor, expert, percent of hosts occupied.
void PlanGangInDomains(benchmark::State& state) {
  const placement::Cluster cluster = DomainCluster(static_cast<double>(state.range(2)) / 100);
  workload::Job job;
  job.gpus_per_worker = 4;
  job.workers = 1920;
  job.parallelism =
      Shape(static_cast<int>(state.range(0)), 960 / static_cast<int>(state.range(0)), 8);
  job.parallelism.expert = static_cast<int>(state.range(1));
  const workload::WorkerGroups groups = workload::GroupsOf(job);
  placement::GangPlan plan;
  for (auto _ : state) {
    plan = placement::PlanGang(cluster, {&job, &groups, nullptr, 0});
    benchmark::DoNotOptimize(plan);
  }
  state.counters["placed"] = plan.outcome == placement::Outcome::kPlaced;
  state.counters["optimal"] = plan.optimal;
  state.counters["domains"] = static_cast<double>(plan.objective.domains);
  state.counters["tensor_splits"] = static_cast<double>(plan.objective.tensor_split_domains);
  state.counters["splits_bound"] = static_cast<double>(plan.bound.tensor_split_domains);
}
BENCHMARK(PlanGangInDomains)
    ->Unit(benchmark::kMillisecond)
    ->Args({4, 1, 0})
    ->Args({4, 1, 50})
    ->Args({16, 1, 0})
    ->Args({16, 1, 50})
    ->Args({64, 1, 0})
    ->Args({1, 64, 0})
    ->Args({1, 64, 50})
    ->Args({8, 24, 0});

void ReplaceOneHost(benchmark::State& state) {
  Input input = MakeInput(8, 0.5, Shape(8, 120, 16));
  const placement::GangPlan plan = placement::PlanGang(input.snapshot.cluster, input.request());
  plan::Place(input.snapshot, plan::JobId(0), plan.host_of_rank);
  input.snapshot.cluster.hosts[plan.host_of_rank[0].index()].unavailable =
      placement::Unavailability::kNotReady;
  placement::GangPlan replaced;
  for (auto _ : state) {
    replaced = placement::ReplaceHosts(input.snapshot.cluster, input.request(), plan.host_of_rank,
                                       {0}, input.snapshot.network->spec().backup);
    benchmark::DoNotOptimize(replaced);
  }
  state.counters["placed"] = replaced.outcome == placement::Outcome::kPlaced;
}
BENCHMARK(ReplaceOneHost)->Unit(benchmark::kMillisecond);

// Argument: percent of hosts occupied.
void QueueOf500(benchmark::State& state) {
  fabric::FabricSpec spec = Hpn(3, 12);  // 4,896 hosts
  plan::Snapshot snapshot = plan::MakeSnapshot(spec);
  Occupy(snapshot, static_cast<double>(state.range(0)) / 100, 2);
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const int stages = 1 << random.Below(3);
    const int data = 1 << random.Below(6);
    plan::AddJob(snapshot, StrCat("job", i), Shape(8, data, stages), 8).job.priority =
        static_cast<int>(random.Below(3));
  }
  plan::PlanOptions options;
  std::int64_t placed = 0;
  for (auto _ : state) {
    const plan::Plan plan = plan::MakePlan(snapshot, options);
    placed = 0;
    for (const plan::JobPlan& job : plan.jobs) {
      placed += job.gang.outcome == placement::Outcome::kPlaced;
    }
  }
  state.counters["placed"] = static_cast<double>(placed);
}
BENCHMARK(QueueOf500)->Unit(benchmark::kMillisecond)->Arg(0)->Arg(50)->Arg(90);

void SetTraffic(workload::Job& job, double gigabytes) {
  job.profile.flop_per_iteration = 1e15 * job.workers;
  job.profile.compute_seconds = 1;
  job.profile.data_bytes = gigabytes * 1e9;
}

// A gang of 240 hosts on 16,320, where every segment has six gangs of 16 hosts that share its
// uplinks with gangs of the next one. Argument: whether contention is looked at.
void PlanAmongContention(benchmark::State& state) {
  plan::Snapshot snapshot = plan::MakeSnapshot(Hpn(8));
  Random random(1);
  const fabric::Places& places = *snapshot.places;
  std::vector<int> used(static_cast<std::size_t>(places.num_segments()), 0);
  for (int s = 0; s + 1 < places.num_segments(); ++s) {
    for (int gang = 0; gang < 3; ++gang) {
      SetTraffic(plan::AddJob(snapshot, StrCat("job", s, "-", gang), Shape(8, 16, 1), 8).job,
                 5 + 40 * random.Unit());
      std::vector<fabric::HostId> hosts;
      for (const int segment : {s, s + 1}) {
        for (int h = 0; h < 8; ++h) {
          hosts.push_back(places.hosts_of(fabric::SegmentId(segment))[used[segment]++]);
        }
      }
      plan::Place(snapshot, plan::LastJob(snapshot), hosts);
    }
  }
  SetTraffic(plan::AddJob(snapshot, "gang", Shape(8, 240, 1), 8).job, 20);
  plan::PlanOptions options;
  if (state.range(0) != 0) options.policies = {plan::AvoidContention()};
  bool noted = false;
  for (auto _ : state) {
    const plan::Plan plan = plan::MakePlan(snapshot, options);
    noted = !plan.jobs.back().contention_note.empty();
  }
  state.counters["jobs"] = static_cast<double>(snapshot.jobs.size());
  state.counters["noted"] = noted;
}
BENCHMARK(PlanAmongContention)->Unit(benchmark::kMillisecond)->Arg(0)->Arg(1);

// Arguments: data, pipeline. Data groups Required within a segment.
void NeverFits(benchmark::State& state) {
  Input input = MakeInput(
      8, 0.5, Shape(8, static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
  input.snapshot.jobs[0].job.placement.data = {workload::TopologyLevel::kSegment,
                                               workload::Enforcement::kRequired};
  placement::GangPlan plan;
  for (auto _ : state) {
    plan = placement::PlanGang(input.snapshot.cluster, input.request());
    benchmark::DoNotOptimize(plan);
  }
  state.counters["never"] = plan.outcome == placement::Outcome::kNever;
}
BENCHMARK(NeverFits)->Unit(benchmark::kMillisecond)->Args({160, 12})->Args({100, 200});

// What a snapshot of 16,320 hosts and 2,187 jobs of 64 pods (140,000) holds.
void SnapshotMemory(benchmark::State& state) {
  double bytes = 0;
  for (auto _ : state) {
    const auto before = mallinfo2().uordblks;
    auto snapshot = std::make_unique<plan::Snapshot>(plan::MakeSnapshot(Hpn(8)));
    for (int i = 0; i < 2187; ++i) {
      plan::AddJob(*snapshot, StrCat("job", i), Shape(1, 64, 1), 1);
      std::vector<fabric::HostId> hosts;
      for (int w = 0; w < 64; ++w) hosts.push_back(fabric::HostId((i * 8 + w / 8) % 16320));
      plan::Place(*snapshot, plan::JobId(i), hosts);
    }
    bytes = static_cast<double>(mallinfo2().uordblks - before);
  }
  state.counters["MiB"] = bytes / (1 << 20);
}
BENCHMARK(SnapshotMemory)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
