// Whole clusters of hostile objects: Pods, Nodes, Gangs and Jobs whose labels, annotations, owners
// and fields come from the bytes, over which the extender's planner makes passes as leader. No pass
// may crash or end in an exception, no host may be promised to two gangs, and a gang is committed
// whole or not at all. What Observe mode does on the same clusters, a pass that does not lead and a
// look, must not write anything.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/extender/observe/observer.h"
#include "pkg/kube/object.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/kube/testing/relist.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file
using nlohmann::json;

// Choices out of the input; zeros when it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  unsigned Next() { return empty() ? 0 : data_[at_++]; }
  unsigned Below(unsigned n) { return Next() % n; }
  bool OneIn(unsigned n) { return Below(n) == 1; }
  template <std::size_t N>
  const char* Pick(const char* const (&words)[N]) {
    return words[Below(N)];
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

constexpr const char* kNumbers[] = {"0",      "1",       "2",       "3",  "4",
                                    "900000", "1000000", "1000001", "-1", "99999999999999999999",
                                    "x",      "",        "1.5"};
constexpr const char* kSizes[] = {
    "tp=8,dp=2", "tp=8,dp=3",        "tp=8", "tp=1000000,dp=1000000", "dp=0", "tp=8,pp=2,dp=1",
    "nonsense",  "tp=8,dp=16777216", ""};
constexpr const char* kJobs[] = {"a", "b"};
constexpr const char* kQuantities[] = {"8", "4", "0", "1", "9223372036854775807", "-8", "8Ei", "?"};
constexpr const char* kPhases[] = {"Pending", "Running", "Failed", "Succeeded", "Odd"};
constexpr const char* kOperators[] = {"Exists", "Equal", "Gt", "In", ""};

class ClusterMaker {
 public:
  ClusterMaker(Bytes& in, kube::FakeClient& client) : in_(in), client_(client) {}

  void Nodes() {
    for (int n = 0; n < 6; ++n) PutNode(n);
  }
  // One change.
  void Step() {
    switch (in_.Below(8)) {
      case 0:
        return PutNode(static_cast<int>(in_.Below(6)));
      case 1:
        return ChangeGang();
      case 2:
        return PutJob();
      case 3:
        return Bind();
      case 4:
        return Remove();
      default:
        return PutPod();
    }
  }

 private:
  void PutNode(int n) {
    json node = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", StrCat("n", n)},
          {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, StrCat("s", n % 2)}}}}},
        {"spec", {{"unschedulable", in_.OneIn(9)}}},
        {"status",
         {{"allocatable", {{api::kGpuResource, in_.OneIn(9) ? in_.Pick(kQuantities) : "8"}}},
          {"conditions",
           json::array({{{"type", "Ready"}, {"status", in_.OneIn(6) ? "False" : "True"}}})}}}};
    if (n > 3) node["metadata"]["labels"][api::kBackupKey] = "true";
    client_.Seed(kube::Nodes(), node);
  }

  json Owner(const std::string& job) {
    static constexpr const char* kKinds[] = {"Job", "TrainingJob", "MPIJob", "StatefulSet",
                                             "PyTorchJob"};
    static constexpr const char* kVersions[] = {"batch/v1",
                                                "yardmaster.dev/v1alpha1",
                                                "kubeflow.org/v2beta1",
                                                "apps/v1",
                                                "kubeflow.org/v1",
                                                "batch.volcano.sh/v1alpha1",
                                                "../../x",
                                                ""};
    const bool plain = !in_.OneIn(4);
    return {{"apiVersion", plain ? "batch/v1" : in_.Pick(kVersions)},
            {"kind", plain ? "Job" : in_.Pick(kKinds)},
            {"name", job},
            {"uid", in_.OneIn(8) ? "other" : "uid-" + job},
            {"controller", !in_.OneIn(9)}};
  }

  json Labels(const std::string& job) {
    const char* index = in_.OneIn(4) ? in_.Pick(kNumbers) : kNumbers[in_.Below(4)];
    switch (in_.Below(7)) {
      case 0:
        return {{api::kJobLabel, job}, {api::kRankLabel, index}};
      case 1:
        return {{"jobset.sigs.k8s.io/jobset-name", job},
                {"jobset.sigs.k8s.io/jobset-uid", "uid-" + job},
                {"jobset.sigs.k8s.io/job-global-index", in_.Pick(kNumbers)},
                {"batch.kubernetes.io/job-completion-index", index}};
      case 2:
        return {{"leaderworkerset.sigs.k8s.io/name", job},
                {"leaderworkerset.sigs.k8s.io/group-index", in_.Pick(kNumbers)},
                {"leaderworkerset.sigs.k8s.io/worker-index", index}};
      default:
        return {{"batch.kubernetes.io/job-name", job},
                {"batch.kubernetes.io/controller-uid", "uid-" + job},
                {"batch.kubernetes.io/job-completion-index", index}};
    }
  }

  void PutPod() {
    const std::string job = in_.Pick(kJobs);
    const std::string name = StrCat("p", in_.Below(24));
    if (client_.Find(kube::Pods(), "team", name)) {
      client_.Delete({kube::Pods(), "team", name, ""}, {}).IgnoreError();
    }
    json limits = {{api::kGpuResource, in_.OneIn(9) ? in_.Pick(kQuantities) : "8"}};
    json pod = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata",
         {{"name", name},
          {"namespace", "team"},
          {"uid", StrCat("pod-", ++pods_)},
          {"labels", Labels(job)},
          {"annotations",
           {{api::kParallelismAnnotation, in_.OneIn(5) ? in_.Pick(kSizes) : "tp=8,dp=2"}}},
          {"ownerReferences", json::array({Owner(job)})}}},
        {"spec",
         {{"tolerations", json::array({{{"key", "k"}, {"operator", in_.Pick(kOperators)}}})},
          {"containers", json::array({{{"name", "c"}, {"resources", {{"limits", limits}}}}})}}},
        {"status", {{"phase", in_.OneIn(5) ? in_.Pick(kPhases) : "Pending"}}}};
    if (!in_.OneIn(6)) {
      pod["spec"]["schedulingGates"] = json::array({{{"name", api::kPlacementGate}}});
    }
    if (in_.OneIn(9))
      pod["spec"]["schedulingGates"].push_back({{"name", "kueue.x-k8s.io/topology"}});
    if (in_.OneIn(9)) {
      pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", StrCat("n", in_.Below(7))}};
    }
    if (in_.OneIn(12)) pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    if (in_.OneIn(12)) pod["spec"]["containers"] = in_.Pick(kNumbers);
    client_.Seed(kube::Pods(), pod);
  }

  // As kube-scheduler and kubelets would, or as they should not.
  void Bind() {
    for (json pod : client_.All(kube::Pods())) {
      const json gates = pod["spec"].value("schedulingGates", json::array());
      if (!gates.empty() || pod["spec"].contains("nodeName")) continue;
      if (in_.OneIn(4)) {
        pod["status"]["conditions"] = json::array(
            {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}});
      } else {
        const json::json_pointer pin(
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
            "nodeSelectorTerms/0/matchFields/0/values/0");
        if (!pod.contains(pin)) continue;
        pod["spec"]["nodeName"] = pod[pin];
        pod["status"]["phase"] = in_.Pick(kPhases);
      }
      client_.Seed(kube::Pods(), pod);
    }
  }

  // What people, and later versions, may write into the ledger.
  void ChangeGang() {
    for (json gang : client_.All(kube::Gangs())) {
      if (in_.OneIn(2)) continue;
      json& slots = gang["status"]["assignments"];
      switch (in_.Below(7)) {
        case 0:
          gang["status"]["future"] = {{"x", in_.Next()}};
          break;
        case 1:
          if (slots.is_array() && !slots.empty()) slots[0]["rank"] = in_.Next();
          break;
        case 2:
          gang["spec"]["workers"] = in_.Next();
          break;
        case 3:
          if (slots.is_array() && !slots.empty()) slots[0]["host"] = in_.Pick(kNumbers);
          break;
        case 4:
          gang["status"]["refusals"] = json::array({{{"rank", in_.Next()},
                                                     {"host", StrCat("n", in_.Below(9))},
                                                     {"until", "2030-01-01T00:00:00Z"}}});
          break;
        case 5:
          gang["spec"]["rankBases"] =
              json::array({{{"subgroup", in_.Pick(kNumbers)}, {"firstRank", in_.Next()}}});
          break;
        default:
          gang["status"]["conditions"] = json::array({{{"type", "Finished"}, {"status", "True"}}});
      }
      client_.Seed(kube::Gangs(), gang);
    }
  }

  void PutJob() {
    const std::string name = in_.Pick(kJobs);
    static constexpr const char* kEnds[] = {"Complete", "Failed", "Other"};
    client_.Seed({"batch", "v1", "jobs", "Job", true},
                 {{"apiVersion", "batch/v1"},
                  {"kind", "Job"},
                  {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "uid-" + name}}},
                  {"spec", {{"suspend", in_.OneIn(2)}, {"parallelism", in_.Below(4)}}},
                  {"status",
                   {{"conditions",
                     in_.OneIn(3) ? json::array({{{"type", in_.Pick(kEnds)}, {"status", "True"}}})
                                  : json(in_.Pick(kNumbers))}}}});
    if (in_.OneIn(3)) {
      client_.Seed(kube::TrainingJobs(),
                   {{"apiVersion", api::kGroupVersion},
                    {"kind", "TrainingJob"},
                    {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "uid-" + name}}},
                    {"spec",
                     {{"workers", 1 + in_.Below(3)},
                      {"gpusPerWorker", 8},
                      {"template", {{"spec", {{"containers", json::array()}}}}}}}});
    }
  }

  void Remove() {
    const std::string name = StrCat("p", in_.Below(24));
    client_.Delete({kube::Pods(), "team", name, ""}, {}).IgnoreError();
  }

  Bytes& in_;
  kube::FakeClient& client_;
  int pods_ = 0;
};

// Delivers what the informers would.
class Feed {
 public:
  Feed(kube::FakeClient& client, state::ClusterCache& cache) : client_(client), cache_(cache) {}
  void Run() {
    Read(state::Kind::kNode, kube::Nodes());
    Read(state::Kind::kPod, kube::Pods());
    Read(state::Kind::kTrainingJob, kube::TrainingJobs());
    Read(state::Kind::kGang, kube::Gangs());
  }

 private:
  void Read(state::Kind kind, const kube::Resource& resource) {
    kube::Relist(client_, resource, cache_.sink(kind));
  }

  kube::FakeClient& client_;
  state::ClusterCache& cache_;
};

[[noreturn]] void Stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

// Plans that the planner itself committed since the last look.
void CheckReport(const extender::PassReport& report) {
  for (const std::string& error : report.errors) {
    if (error.find("cut short") != std::string::npos) Stop(error);
    if (error.find("verifier") != std::string::npos) Stop(error);
    if (error.find("the snapshot failed") != std::string::npos) Stop(error);
  }
  for (const std::string& problem : report.problems) {
    if (problem.find(" failed: ") != std::string::npos) Stop(problem);
  }
}

}  // namespace

namespace {

// Ends the program at a write.
absl::Status RefuseWrites(const kube::Call& call) {
  const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList ||
                     call.verb == kube::Verb::kWatch;
  if (reads) return absl::OkStatus();
  std::fprintf(stderr, "Observe mode writes %s\n", kube::Describe(call.target).c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  FakeClock clock;
  kube::FakeClient client(clock);
  state::ClusterCache cache;
  Feed feed(client, cache);
  extender::ClusterPlanner::Options options;
  options.release.threads = options.eviction_threads = options.taints.threads = 1;
  options.gates.gate_timeout_ms = in.OneIn(4) ? 60'000 : 0;
  options.gates.ready_timeout_ms = in.OneIn(4) ? 60'000 : 0;
  options.await_limit_ms = 30'000;
  extender::ClusterPlanner planner(
      client, cache, clock, {[] { return std::int64_t{1}; }, [](std::int64_t) {}}, [](auto) {},
      [](const extender::ObjectNotice&) {}, options);
  extender::ClusterPlanner follower(
      client, cache, clock, {[] { return std::int64_t{0}; }, [](std::int64_t) {}}, [](auto) {},
      [](const extender::ObjectNotice&) {}, options);
  extender::Observer observer(/*max_comparisons=*/4);
  ClusterMaker maker(in, client);
  maker.Nodes();
  for (int pass = 0; pass < 12 && !in.empty(); ++pass) {
    for (unsigned i = 0; i <= in.Below(8); ++i) maker.Step();
    feed.Run();
    client.SetHook(RefuseWrites);
    CheckReport(follower.RunOnce());
    observer.Observe(cache.Take());
    client.SetHook({});
    CheckReport(planner.RunOnce());
    clock.Advance(1'000 * in.Below(90));
  }
  return 0;
}
