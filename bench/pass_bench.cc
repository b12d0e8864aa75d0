// What a change in the cluster costs the extender's planner: snapshot and gathered pods made from
// nothing and kept from pass to pass, and whole passes that have nothing to write. Gangs of 128
// workers run on all hosts but the backup ones; the rest of the pods ask for no GPU.
//
//   bench/pass_bench [--waiting JOBS KINDS] [NODES PODS]...
//                                          default: 2040 15000 16320 15000 16320 140000
//
// With --waiting so many gangs of 1,000 workers and more wait, of so many sizes, placed before
// their pods are made, and the median and the longest of the passes are printed.
//
// Prints for each size medians of nine, and what of the resident memory are decoded objects and
// what is the planner's: one snapshot and all that is kept for the next.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kHostsPerSegment = 136;
constexpr int kBackup = 8;
constexpr int kWorkers = kHostsPerSegment - kBackup;  // one gang a segment

double Since(SteadyClock::time_point began) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - began).count();
}

double ResidentMib() {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::string Segment(int s) { return StrCat("p", s / 15, "s", s % 15); }
std::string Host(int s, int h) { return StrCat(Segment(s), "h", h); }

json Node(int s, int h) {
  json node = {
      {"metadata",
       {{"name", Host(s, h)},
        {"resourceVersion", "1"},
        {"labels",
         {{api::kFabricPodLabel, StrCat("p", s / 15)}, {api::kSegmentLabel, Segment(s)}}}}},
      {"spec", json::object()},
      {"status",
       {{"allocatable", {{api::kGpuResource, "8"}}},
        {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  if (h >= kWorkers) {
    node["metadata"]["labels"][api::kBackupKey] = "true";
  } else {
    node["spec"]["taints"] = json::array({{{"key", api::kPromisedKey},
                                           {"value", StrCat("team.trainingjob-j", s)},
                                           {"effect", "NoSchedule"}}});
  }
  return node;
}

json Owner(int s) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", "TrainingJob"},
          {"name", StrCat("j", s)},
          {"uid", StrCat("job-", s)},
          {"controller", true}};
}

json GangPod(int s, int rank) {
  const std::string slot =
      api::EncodeSlot({StrCat("trainingjob-j", s), rank, StrCat("p", s / 15), Segment(s), {0}});
  return {
      {"metadata",
       {{"name", StrCat("j", s, "-", rank)},
        {"namespace", "team"},
        {"uid", StrCat("pod-", s, "-", rank)},
        {"resourceVersion", "1"},
        {"annotations", {{api::kSlotAnnotation, slot}}},
        {"labels", {{api::kJobLabel, StrCat("j", s)}, {api::kRankLabel, StrCat(rank)}}},
        {"ownerReferences", json::array({Owner(s)})}}},
      {"spec",
       {{"nodeName", Host(s, rank)},
        {"tolerations", json::array({{{"key", api::kPromisedKey}, {"operator", "Exists"}}})},
        {"containers",
         json::array({{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
      {"status", {{"phase", "Running"}}}};
}

json OtherPod(int i, const std::string& host) {
  return {
      {"metadata", {{"name", StrCat("web-", i)}, {"namespace", "web"}, {"uid", StrCat("web-", i)}}},
      {"spec", {{"nodeName", host}, {"containers", json::array({{{"name", "c"}}})}}},
      {"status", {{"phase", "Running"}}}};
}

json GangObject(int s) {
  api::Gang gang;
  gang.metadata.name = StrCat("trainingjob-j", s);
  gang.metadata.namespace_name = "team";
  gang.metadata.uid = StrCat("gang-", s);
  gang.metadata.resource_version = "1";
  gang.owner = {api::kGroupVersion, "TrainingJob", StrCat("j", s), StrCat("job-", s), true};
  gang.job.workers = kWorkers;
  gang.job.parallelism_given = true;
  gang.job.parallelism.tensor = 8;
  gang.job.parallelism.data = kWorkers;
  gang.rank_bases = {{"", 0}};
  gang.status.plan_generation = 1;
  gang.status.outcome = placement::Outcome::kPlaced;
  gang.status.conditions = {{"Planned", api::ConditionStatus::kTrue, "Placed", "", 0, 0},
                            {"Released", api::ConditionStatus::kTrue, "PodsReleased", "", 0, 0},
                            {"Running", api::ConditionStatus::kTrue, "AllBound", "", 0, 0}};
  for (int rank = 0; rank < kWorkers; ++rank) {
    gang.status.assignments.push_back({rank, Host(s, rank), StrCat("p", s / 15), Segment(s), {0}});
  }
  return api::EncodeGang(gang);
}

// A TrainingJob that waits for its place, and its Gang as the operator makes it.
struct Waiting {
  int jobs = 0;
  int kinds = 1;
  int WorkersOf(int i) const { return 1'000 + i % kinds; }
};
json WaitingJob(int i, int workers) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", "TrainingJob"},
          {"metadata",
           {{"name", StrCat("w", i)},
            {"namespace", "team"},
            {"uid", StrCat("waiting-", i)},
            {"resourceVersion", "1"}}},
          {"spec",
           {{"workers", workers},
            {"gpusPerWorker", 8},
            {"template",
             {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
}

json WaitingGang(int i, int workers) {
  api::Gang gang;
  gang.metadata.name = api::GangName(api::kTrainingJobKind, StrCat("w", i));
  gang.metadata.namespace_name = "team";
  gang.metadata.uid = StrCat("waiting-gang-", i);
  gang.owner = {api::kGroupVersion, "TrainingJob", StrCat("w", i), StrCat("waiting-", i), true};
  gang.job.workers = workers;
  gang.job.gpus_per_worker = 8;
  gang.requests = {{api::kGpuResource, 8}};
  gang.rank_bases = {{"", 0}};
  gang.pods = api::GangPods::kFollow;
  return api::EncodeGang(gang);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The cluster, and what may happen to it. Every change is one that needs no write.
class BenchCluster {
 public:
  BenchCluster(int nodes, int pods) : segments_(nodes / kHostsPerSegment) {
    for (int s = 0; s < segments_; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) cache_.Deliver(state::Kind::kNode, Node(s, h));
      cache_.Deliver(state::Kind::kGang, GangObject(s));
      for (int rank = 0; rank < kWorkers; ++rank) {
        cache_.Deliver(state::Kind::kPod, GangPod(s, rank));
      }
    }
    gang_pods_ = segments_ * kWorkers;
    for (pods_ = gang_pods_; pods_ < pods; ++pods_) DeliverOtherPod(pods_);
  }
  void AddWaiting(const Waiting& waiting, kube::FakeClient& client) {
    for (int i = 0; i < waiting.jobs; ++i) {
      cache_.Deliver(state::Kind::kTrainingJob, WaitingJob(i, waiting.WorkersOf(i)));
      client.Seed(kube::Gangs(), WaitingGang(i, waiting.WorkersOf(i)));
    }
    for (const json& gang : client.All(kube::Gangs())) cache_.Deliver(state::Kind::kGang, gang);
  }
  state::ClusterCache& cache() { return cache_; }
  int pods() const { return pods_; }

  void ChangePod(int round) { DeliverGangPod(round % segments_, 7); }
  void ChangeNode(int round) { DeliverNode(round % segments_, 7); }
  // Every second round it comes back.
  void RemoveNode(int round) {
    if (round % 2 == 0) {
      json node = Node(0, kHostsPerSegment - 1);
      node["metadata"]["resourceVersion"] = StrCat(++version_);
      cache_.Remove(state::Kind::kNode, node);
    } else {
      DeliverNode(0, kHostsPerSegment - 1);
    }
  }
  void ChangeAll(int) {
    for (int s = 0; s < segments_; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) DeliverNode(s, h);
      for (int rank = 0; rank < kWorkers; ++rank) DeliverGangPod(s, rank);
    }
    for (int i = gang_pods_; i < pods_; ++i) DeliverOtherPod(i);
  }

 private:
  void DeliverGangPod(int s, int rank) {
    json pod = GangPod(s, rank);
    pod["metadata"]["resourceVersion"] = StrCat(++version_);
    cache_.Deliver(state::Kind::kPod, pod);
  }
  // Cordoned and back: its state changes, what runs there stays.
  void DeliverNode(int s, int h) {
    json node = Node(s, h);
    node["metadata"]["resourceVersion"] = StrCat(++version_);
    const auto before = cache_.FindNode(Host(s, h));
    node["spec"]["unschedulable"] = before != nullptr && !before->unschedulable;
    cache_.Deliver(state::Kind::kNode, node);
  }
  void DeliverOtherPod(int i) {
    json pod = OtherPod(i, Host(i % segments_, i % kHostsPerSegment));
    pod["metadata"]["resourceVersion"] = StrCat(++version_);
    cache_.Deliver(state::Kind::kPod, pod);
  }

  const int segments_;
  int gang_pods_ = 0;
  int pods_ = 0;
  int version_ = 1;
  state::ClusterCache cache_;
};

std::vector<std::shared_ptr<const gather::GatheredGang>> GangsOf(gather::Gatherer& gatherer,
                                                                 const state::ClusterState& state) {
  gatherer.Update(state.pods);
  std::map<NamespacedName, const api::Gang*> known;
  for (const auto& gang : state.gangs) known[KeyOf(gang->metadata)] = gang.get();
  return gatherer.Gangs([&](const gather::GatheredGang& pods) -> const api::Gang* {
    const auto at = known.find({pods.namespace_name, pods.name});
    return at == known.end() ? nullptr : at->second;
  });
}

// Until no pass has more to say.
void Settle(ClusterPlanner& planner) {
  int passes = 1;
  const auto began = SteadyClock::now();
  while (planner.RunOnce().run_again_now && passes < 1'000) ++passes;
  std::printf("  everything said after %d passes, %.0f ms\n", passes, Since(began));
}

void Run(int nodes, int pods, const Waiting& waiting) {
  const int kRounds = waiting.jobs > 0 ? 49 : 9;
  double before = ResidentMib();
  auto began = SteadyClock::now();
  BenchCluster cluster(nodes, pods);
  std::printf("%d nodes, %d pods: decoded in %.0f ms, objects %.0f MiB\n", nodes, cluster.pods(),
              Since(began), ResidentMib() - before);

  // Memory first, while no other snapshot has left free memory.
  before = ResidentMib();
  gather::Gatherer gatherer;
  state::SnapshotBuilder builder;
  state::ClusterState state = cluster.cache().Take();
  auto gangs = GangsOf(gatherer, state);
  plan::Snapshot snapshot = builder.Build(state);
  std::printf("  snapshot, gathered pods and all that is kept for the next: %.0f MiB\n",
              ResidentMib() - before);

  std::vector<double> take, gather, build, all;
  for (int i = 0; i < 3; ++i) {
    began = SteadyClock::now();
    gather::Gatherer fresh;
    GangsOf(fresh, state);
    gather.push_back(Since(began));
    began = SteadyClock::now();
    state::BuildSnapshot(state);
    build.push_back(Since(began));
  }
  std::printf("  from nothing           gather %8.2f ms, snapshot %8.2f ms\n", Median(gather),
              Median(build));

  FakeClock clock;
  kube::FakeClient client(clock);
  std::shared_ptr<const View> view;
  ClusterPlanner::Options options;
  options.await_limit_ms = 30'000;  // as the process has it
  ClusterPlanner planner(
      client, cluster.cache(), clock, {[] { return std::int64_t{1}; }, [](std::int64_t) {}},
      [&](auto v) { view = std::move(v); }, [](const ObjectNotice&) {}, options);
  planner.RunOnce();
  if (waiting.jobs > 0) {
    cluster.AddWaiting(waiting, client);
    Settle(planner);
  }
  struct Change {
    const char* name;
    std::function<void(int)> happens;
    int rounds;
  };
  const std::vector<Change> changes = {
      {"nothing changed", [](int) {}, kRounds},
      {"one pod changed", [&](int i) { cluster.ChangePod(i); }, kRounds},
      {"one node changed", [&](int i) { cluster.ChangeNode(i); }, kRounds},
      {"one node came or went", [&](int i) { cluster.RemoveNode(i); }, kRounds},
      {"all changed", [&](int i) { cluster.ChangeAll(i); }, 3},
  };
  for (const Change& change : changes) {
    take.clear(), gather.clear(), build.clear(), all.clear();
    int writes = 0;
    for (int i = 0; i < change.rounds; ++i) {
      change.happens(i);
      began = SteadyClock::now();
      state = cluster.cache().Take();
      take.push_back(Since(began));
      began = SteadyClock::now();
      gangs = GangsOf(gatherer, state);
      gather.push_back(Since(began));
      began = SteadyClock::now();
      snapshot = builder.Build(state);
      build.push_back(Since(began));
      began = SteadyClock::now();
      const PassReport report = planner.RunOnce();
      all.push_back(Since(began));
      writes += report.committed + report.released_pods + report.taint_changes +
                report.gangs_created +
                static_cast<int>(report.errors.size() + report.problems.size());
    }
    std::printf("  %-21s  gather %8.2f ms, snapshot %8.2f ms, take %6.2f ms, whole pass %7.1f ms",
                change.name, Median(gather), Median(build), Median(take), Median(all));
    if (waiting.jobs > 0)
      std::printf(", longest %.1f ms", *std::max_element(all.begin(), all.end()));
    std::printf("%s\n", writes == 0 ? "" : " (it found something to do)");
  }
}

}  // namespace
}  // namespace yardmaster::extender

// Each size in a process of its own, so that the memory of one is not found free by the next.
int main(int argc, char** argv) {
  std::vector<std::pair<int, int>> sizes;
  const bool has_waiting = argc > 3 && std::string(argv[1]) == "--waiting";
  yardmaster::extender::Waiting waiting;
  if (has_waiting) waiting = {std::atoi(argv[2]), std::max(1, std::atoi(argv[3]))};
  for (int i = has_waiting ? 4 : 1; i + 1 < argc; i += 2)
    sizes.push_back({std::atoi(argv[i]), std::atoi(argv[i + 1])});
  if (sizes.empty()) sizes = {{2040, 15000}, {16320, 15000}, {16320, 140000}};
  for (const auto& [nodes, pods] : sizes) {
    const pid_t child = fork();
    if (child == 0) {
      yardmaster::extender::Run(nodes, pods, waiting);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
}
