// What a look of Observe mode costs beside an ordinary pass over the same cluster: one that acts on
// none of it, as extenders in that mode make. Gangs of indexed Jobs that know nothing of us run on
// all hosts, half of them across two segments, so that a better place exists; the other pods ask
// for no GPU.
//
//   bench/observe_bench [NODES PODS]...         default: 2040 15000 16320 140000
//
// Prints, without and with a Fabric: a pass from nothing, a pass after one pod has changed, the
// looks until every gang is compared (their number, the first, the longest, in all), and a look
// after one pod has changed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/fabric.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/extender/observe/observer.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kHostsPerSegment = 136;
constexpr int kSegmentsPerFabricPod = 15;
constexpr int kWorkers = 64;
constexpr int kComparisons = 8;  // of one look, as the process has it

double Since(SteadyClock::time_point began) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - began).count();
}

std::string HostName(int index) { return StrCat("h", 100'000 + index); }

json Node(int index) {
  const int segment = index / kHostsPerSegment;
  const std::string fabric_pod = StrCat("p", segment / kSegmentsPerFabricPod);
  return {{"metadata",
           {{"name", HostName(index)},
            {"resourceVersion", "1"},
            {"labels",
             {{api::kFabricPodLabel, fabric_pod},
              {api::kSegmentLabel, StrCat(fabric_pod, "s", segment % kSegmentsPerFabricPod)}}}}},
          {"spec", json::object()},
          {"status",
           {{"allocatable", {{api::kGpuResource, "8"}}},
            {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

json JobPod(int job, int index, int host, int version) {
  const std::string name = StrCat("train-", job);
  return {
      {"metadata",
       {{"name", StrCat(name, "-", index)},
        {"namespace", "team"},
        {"uid", StrCat("pod-", job, "-", index)},
        {"resourceVersion", StrCat(version)},
        {"annotations", {{api::kParallelismAnnotation, StrCat("tp=8,dp=", kWorkers)}}},
        {"labels",
         {{"batch.kubernetes.io/job-name", name},
          {"batch.kubernetes.io/controller-uid", StrCat("job-", job)},
          {"batch.kubernetes.io/job-completion-index", StrCat(index)}}},
        {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                          {"kind", "Job"},
                                          {"name", name},
                                          {"uid", StrCat("job-", job)},
                                          {"controller", true}}})}}},
      {"spec",
       {{"nodeName", HostName(host)},
        {"containers",
         json::array({{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
      {"status", {{"phase", "Running"}}}};
}

json OtherPod(int i, int host) {
  return {
      {"metadata", {{"name", StrCat("web-", i)}, {"namespace", "web"}, {"uid", StrCat("web-", i)}}},
      {"spec", {{"nodeName", HostName(host)}, {"containers", json::array({{{"name", "c"}}})}}},
      {"status", {{"phase", "Running"}}}};
}

// Of two segments beside each other, two jobs have half of their hosts in each and two lie in one;
// the last segment is free.
class BenchCluster {
 public:
  BenchCluster(int nodes, int pods, bool with_fabric) {
    const int segments = nodes / kHostsPerSegment;
    if (with_fabric) {
      const int fabric_pods = (segments + kSegmentsPerFabricPod - 1) / kSegmentsPerFabricPod;
      api::Fabric fabric;
      fabric.spec = fabric::SmallHpn(fabric_pods, kSegmentsPerFabricPod, kHostsPerSegment);
      fabric.metadata.name = fabric.spec.name;
      cache_.Deliver(state::Kind::kFabric, api::EncodeFabric(fabric));
    }
    for (int i = 0; i < segments * kHostsPerSegment; ++i) {
      cache_.Deliver(state::Kind::kNode, Node(i));
    }
    for (int s = 0; s + 2 < segments; s += 2) {
      const int first = s * kHostsPerSegment;
      AddJob(first, first + kHostsPerSegment);
      AddJob(first + kWorkers / 2, first + kHostsPerSegment + kWorkers / 2);
      AddJob(first + kWorkers, first + kWorkers + kWorkers / 2);
      AddJob(first + kHostsPerSegment + kWorkers, first + kHostsPerSegment + kWorkers * 3 / 2);
    }
    for (int i = jobs_ * kWorkers; i < pods; ++i) {
      cache_.Deliver(state::Kind::kPod, OtherPod(i, i % (segments * kHostsPerSegment)));
    }
  }
  void ChangePod() { cache_.Deliver(state::Kind::kPod, JobPod(0, 0, 0, ++version_)); }
  state::ClusterCache& cache() { return cache_; }
  int jobs() const { return jobs_; }

 private:
  // Half of its workers from each of these hosts on.
  void AddJob(int first, int second) {
    for (int i = 0; i < kWorkers; ++i) {
      const int host = i < kWorkers / 2 ? first + i : second + i - kWorkers / 2;
      cache_.Deliver(state::Kind::kPod, JobPod(jobs_, i, host, 1));
    }
    ++jobs_;
  }

  int jobs_ = 0;
  int version_ = 1;
  state::ClusterCache cache_{state::Templates::kDrop};
};

void Run(int nodes, int pods, bool with_fabric) {
  BenchCluster cluster(nodes, pods, with_fabric);
  std::printf("%d nodes, %d pods, %d jobs of %d workers, %s a Fabric\n", nodes, pods,
              cluster.jobs(), kWorkers, with_fabric ? "with" : "without");
  FakeClock clock;
  kube::FakeClient client(clock);
  ClusterPlanner planner(
      client, cluster.cache(), clock, {[] { return std::int64_t{0}; }, [](std::int64_t) {}},
      [](auto) {}, [](const ObjectNotice&) {}, {});
  auto began = SteadyClock::now();
  planner.RunOnce();
  const double first_pass = Since(began);
  cluster.ChangePod();
  began = SteadyClock::now();
  planner.RunOnce();
  std::printf("  pass from nothing %8.1f ms, after one pod %8.1f ms\n", first_pass, Since(began));

  Observer observer(kComparisons);
  std::vector<double> looks;
  double all = 0;
  std::size_t better = 0;
  do {
    began = SteadyClock::now();
    const Observation seen = observer.Observe(cluster.cache().Take());
    looks.push_back(Since(began));
    all += looks.back();
    better = static_cast<std::size_t>(
        std::count_if(seen.gangs.begin(), seen.gangs.end(),
                      [](const ObservedGang& gang) { return gang.is_better_planned(); }));
  } while (observer.has_more());
  cluster.ChangePod();
  began = SteadyClock::now();
  observer.Observe(cluster.cache().Take());
  const double steady = Since(began);
  std::printf(
      "  %zu looks that compare, the first %8.1f ms, the longest %8.1f ms, in all %8.1f ms; then, "
      "after one pod, %8.1f ms (%.1f passes from nothing); %zu jobs have a better place\n",
      looks.size(), looks.front(), *std::max_element(looks.begin(), looks.end()), all, steady,
      steady / first_pass, better);
}

}  // namespace
}  // namespace yardmaster::extender

int main(int argc, char** argv) {
  std::vector<std::pair<int, int>> sizes;
  for (int i = 1; i + 1 < argc; i += 2)
    sizes.push_back({std::atoi(argv[i]), std::atoi(argv[i + 1])});
  if (sizes.empty()) sizes = {{2040, 15000}, {16320, 140000}};
  for (const auto& [nodes, pods] : sizes) {
    for (const bool with_fabric : {false, true})
      yardmaster::extender::Run(nodes, pods, with_fabric);
  }
}
