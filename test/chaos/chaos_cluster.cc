#include "test/chaos/chaos_cluster.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "test/chaos/chaos_kinds.h"

namespace yardmaster::chaos {

using nlohmann::json;

namespace {

constexpr int kSegments = 3;
constexpr int kHosts = 5;  // of a segment, the last one is a backup host
constexpr int kMaxJobs = 7;

std::string NodeName(int segment, int host) { return StrCat("s", segment, "h", host); }
bool IsBackup(const std::string& node) { return node.back() == '0' + kHosts - 1; }

bool Gated(const json& pod) {
  const auto gates = pod.value("/spec/schedulingGates"_json_pointer, json::array());
  return !gates.empty();
}
bool Ended(const json& pod) {
  const std::string phase = pod["status"]["phase"];
  return phase == "Succeeded" || phase == "Failed";
}
std::string NodeOf(const json& pod) { return pod["spec"].value("nodeName", std::string()); }
std::string PinOf(const json& pod) {
  return pod.value(
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
      "nodeSelectorTerms/0/matchFields/0/values/0"_json_pointer,
      std::string());
}
std::string JobOf(const json& pod) { return pod["metadata"]["labels"]["chaos/job"]; }
int RankOf(const json& pod) {
  return std::stoi(pod["metadata"]["annotations"]["chaos/rank"].get<std::string>());
}

bool IsTrue(const json& gang, const char* type) {
  for (const json& condition : gang.value("/status/conditions"_json_pointer, json::array())) {
    if (condition["type"] == type) return condition["status"] == "True";
  }
  return false;
}
json SlotsOf(const json& gang) {
  return gang.value("/status/assignments"_json_pointer, json::array());
}
std::string PlannedMessage(const json& gang) {
  for (const json& condition : gang.value("/status/conditions"_json_pointer, json::array())) {
    if (condition["type"] == api::kPlannedCondition) return condition.value("message", "");
  }
  return "not planned yet";
}
bool Holds(const json& gang) { return !IsTrue(gang, "Finished") && !SlotsOf(gang).empty(); }

// One line for every Gang, for a failure's text.
std::string Others(const std::map<std::string, json>& gangs) {
  std::string text;
  for (const auto& [job, gang] : gangs) {
    text += StrCat("\n  ", job, ": ", gang["spec"]["workers"].get<int>(), " workers, priority ",
                   gang["spec"].value("priority", 0), ", ", SlotsOf(gang).size(), " slots, ",
                   gang.contains("/status/preemption"_json_pointer) ? "preempting, " : "",
                   PlannedMessage(gang));
  }
  return text;
}

}  // namespace

ChaosCluster::ChaosCluster(const FakeClock& clock) : server_(clock) {
  // As the validation rules of the Gang's CRD.
  server_.SetRule(kube::Gangs(), [](const json& before, const json& after) -> absl::Status {
    for (const char* field : {"fencingToken", "planGeneration"}) {
      const json::json_pointer at(StrCat("/status/", field));
      if (before.value(at, std::int64_t{0}) > after.value(at, std::int64_t{0})) {
        return absl::InvalidArgumentError(StrCat(field, " must not go back"));
      }
    }
    const std::size_t slots = SlotsOf(after).size();
    const bool whole = slots == after["spec"].value("workers", std::size_t{0});
    if (slots != 0 && !whole && slots != SlotsOf(before).size()) {
      return absl::InvalidArgumentError("status.assignments must hold every rank or none");
    }
    return absl::OkStatus();
  });
  AddFabric();
  for (int s = 0; s < kSegments; ++s) {
    for (int h = 0; h < kHosts; ++h) AddNode(s, h, true);
  }
}

// With a network, gangs wait for the operator's plan.
void ChaosCluster::AddFabric() {
  json fabric = json::parse(R"({
    "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
    "metadata": {"name": "small", "uid": "u-fabric", "generation": 1},
    "spec": {"size": {"fabricPods": 1}, "addressing": {"base": "10.0.0.0"},
             "ecmpHash": {"tor": {"model": "xor16"}, "agg": {"model": "xor16"}},
             "tiers": [{"role": "tor", "scope": "Segment", "perRail": true, "downPorts": 8,
                        "downGbps": 200, "upPorts": 4, "upGbps": 400},
                       {"role": "agg", "scope": "FabricPod", "switches": 4, "downPorts": 24,
                        "downGbps": 400}]}})");
  fabric["spec"]["size"]["segmentsPerFabricPod"] = kSegments;
  fabric["spec"]["size"]["hostsPerSegment"] = kHosts;
  server_.Seed(kube::Fabrics(), fabric);
}

void ChaosCluster::AddNode(int segment, int host, bool ready) {
  const std::string name = NodeName(segment, host);
  json node = {
      {"metadata",
       {{"name", name},
        {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, StrCat("s", segment)}}}}},
      {"spec", json::object()},
      {"status",
       {{"allocatable", {{api::kGpuResource, "8"}}},
        {"conditions", json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
  if (IsBackup(name)) node["metadata"]["labels"][api::kBackupKey] = "true";
  if (const auto before = server_.Find(kube::Nodes(), "", name)) {
    node["spec"] = before->value("spec", json::object());
  }
  server_.Seed(kube::Nodes(), node);
  ready_[name] = ready;
}

void ChaosCluster::AddJob(Random& random) {
  if (jobs_.size() >= kMaxJobs) return;
  const char* kind = kKinds[random.Below(std::size(kKinds))];
  const int workers = 1 + static_cast<int>(random.Below(6));
  AddJob(kind, workers, static_cast<int>(random.Below(3)));
}

void ChaosCluster::AddJob(const std::string& kind, int workers, int priority) {
  Job job;
  job.name = StrCat("j", next_job_++);
  job.kind = kind;
  job.workers = workers;
  job.priority = priority;
  jobs_[job.name] = job;
  PutOwner(job);
}

// The owner as its API server has it: its size and whether it is suspended matter here.
void ChaosCluster::PutOwner(const Job& job) {
  const json metadata = {{"name", job.name}, {"namespace", kNamespace}, {"uid", "u-" + job.name}};
  if (job.kind == "TrainingJob") {
    server_.Seed(kube::TrainingJobs(),
                 {{"metadata", metadata},
                  {"spec",
                   {{"workers", job.workers},
                    {"gpusPerWorker", 8},
                    {"priority", job.priority},
                    {"parallelism", {{"tensor", 8}, {"data", job.workers}}},
                    {"template", {{"spec", {{"containers", json::array()}}}}}}}});
    return;
  }
  json spec = SpecOf(job.kind, job.workers);
  spec["suspend"] = job.suspended;
  server_.Seed(OwnersOf(job.kind), {{"metadata", metadata}, {"spec", spec}});
}

void ChaosCluster::ScaleJob(Random& random) {
  // Before there is a Gang its pods contradict each other, and nothing says which of them are
  // right.
  std::set<std::string> made;
  for (const json& gang : server_.All(kube::Gangs())) made.insert(gang["spec"]["owner"]["name"]);
  Job* job = AnyJob(
      random, [&](const Job& j) { return !j.finished && !j.suspended && made.count(j.name) != 0; });
  if (job == nullptr) return;
  job->workers = 1 + static_cast<int>(random.Below(6));
  PutOwner(*job);
}

void ChaosCluster::AddPod(Job& job, int rank) {
  const std::string name = job.kind == "TrainingJob" ? StrCat(job.name, "-", rank)
                                                     : StrCat(job.name, "-", rank, "-", job.life);
  if (server_.Find(kube::Pods(), kNamespace, name)) return;
  ++job.life;
  server_.Seed(
      kube::Pods(),
      {{"metadata",
        {{"name", name},
         {"namespace", kNamespace},
         {"uid", StrCat("p-", job.name, "-", rank, "-", job.life)},
         {"labels", LabelsOf(job.kind, job.name, rank)},
         {"annotations",
          {{"chaos/rank", StrCat(rank)},
           {api::kParallelismAnnotation, StrCat("tp=8,dp=", job.workers)}}},
         {"ownerReferences", json::array({ControllerOf(job.kind, job.name, rank)})}}},
       {"spec",
        {{"priority", job.priority},
         {"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
         {"containers", json::array({{{"name", "c"},
                                      {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
       {"status", {{"phase", "Pending"}}}});
}

ChaosCluster::Job* ChaosCluster::AnyJob(Random& random,
                                        const std::function<bool(const Job&)>& fits) {
  std::vector<Job*> fitting;
  for (auto& [name, job] : jobs_) {
    if (fits(job)) fitting.push_back(&job);
  }
  return fitting.empty() ? nullptr : fitting[random.Below(fitting.size())];
}

std::vector<json> ChaosCluster::PodsOf(const std::string& job) const {
  std::vector<json> pods;
  for (json& pod : server_.All(kube::Pods())) {
    if (JobOf(pod) == job) pods.push_back(std::move(pod));
  }
  return pods;
}

void ChaosCluster::DeletePods(const std::string& job) {
  for (const json& pod : PodsOf(job)) {
    server_.Delete({kube::Pods(), kNamespace, pod["metadata"]["name"], ""}, {}).IgnoreError();
  }
}

void ChaosCluster::SuspendOrResumeJob(Random& random) {
  Job* job = AnyJob(random, [](const Job& j) { return !j.finished; });
  if (job == nullptr) return;
  job->suspended = !job->suspended;
  if (!job->suspended && job->kind != "TrainingJob" && random.Below(2) == 0) {
    job->workers = 1 + static_cast<int>(random.Below(6));
  }
  PutOwner(*job);
  if (job->suspended) DeletePods(job->name);
}

void ChaosCluster::ResumeJobs() {
  for (auto& [name, job] : jobs_) {
    job.suspended = false;
    PutOwner(job);
  }
}

void ChaosCluster::FinishJob(Random& random) {
  Job* job = AnyJob(random, [](const Job& j) { return !j.finished && !j.suspended; });
  if (job == nullptr) return;
  std::vector<json> running;
  for (json& pod : PodsOf(job->name)) {
    if (!Ended(pod) && !NodeOf(pod).empty()) running.push_back(std::move(pod));
  }
  if (static_cast<int>(running.size()) != job->workers) return;
  for (json& pod : running) {
    pod["status"]["phase"] = "Succeeded";
    server_.Seed(kube::Pods(), pod);
  }
  job->finished = true;
}

void ChaosCluster::DeleteJob(Random& random) {
  Job* job = AnyJob(random, [](const Job&) { return true; });
  if (job == nullptr) return;
  const std::string name = job->name;
  if (job->kind != "TrainingJob") {
    server_.Delete({OwnersOf(job->kind), kNamespace, name, ""}, {}).IgnoreError();
  }
  jobs_.erase(name);
  server_.Delete({kube::TrainingJobs(), kNamespace, name, ""}, {}).IgnoreError();
}

// Pods and Gangs whose owner is gone.
void ChaosCluster::CollectGarbage() {
  for (const json& pod : server_.All(kube::Pods())) {
    if (jobs_.count(JobOf(pod)) != 0) continue;
    server_.Delete({kube::Pods(), kNamespace, pod["metadata"]["name"], ""}, {}).IgnoreError();
  }
  for (const json& gang : server_.All(kube::Gangs())) {
    if (jobs_.count(gang["spec"]["owner"]["name"]) != 0) continue;
    server_.Delete({kube::Gangs(), kNamespace, gang["metadata"]["name"], ""}, {}).IgnoreError();
  }
}

void ChaosCluster::FailPod(Random& random) {
  std::vector<json> running;
  for (json& pod : server_.All(kube::Pods())) {
    if (!Ended(pod) && !NodeOf(pod).empty()) running.push_back(std::move(pod));
  }
  if (running.empty()) return;
  json pod = running[random.Below(running.size())];
  pod["status"]["phase"] = "Failed";
  server_.Seed(kube::Pods(), pod);
}

void ChaosCluster::LoseOrReturnHost(Random& random) {
  const int segment = static_cast<int>(random.Below(kSegments));
  const int host = static_cast<int>(random.Below(kHosts));
  AddNode(segment, host, !ready_[NodeName(segment, host)]);
}

void ChaosCluster::ReturnHosts() {
  for (int s = 0; s < kSegments; ++s) {
    for (int h = 0; h < kHosts; ++h) {
      if (!ready_[NodeName(s, h)]) AddNode(s, h, true);
    }
  }
}

// Every rank of a job that runs has one pod: on lost hosts pods are deleted, failed and missing
// ones are made again. A TrainingJob's failed pods go, because their names are needed.
void ChaosCluster::RunOwners() {
  for (auto& [name, job] : jobs_) {
    if (job.suspended || job.finished) continue;
    std::set<int> there;
    for (const json& pod : PodsOf(name)) {
      const std::string host = NodeOf(pod).empty() ? PinOf(pod) : NodeOf(pod);
      const bool lost = !Ended(pod) && !host.empty() && !ready_[host];
      const bool surplus = RankOf(pod) >= job.workers;
      if (lost || surplus || (Ended(pod) && job.kind == "TrainingJob")) {
        server_.Delete({kube::Pods(), kNamespace, pod["metadata"]["name"], ""}, {}).IgnoreError();
      } else if (!Ended(pod)) {
        there.insert(RankOf(pod));
      }
    }
    for (int rank = 0; rank < job.workers; ++rank) {
      if (there.count(rank) == 0) AddPod(job, rank);
    }
  }
}

// Released pods run on the host they are pinned to once its GPUs are free and filter lets them.
// The others are unschedulable.
void ChaosCluster::RunScheduler(const Filter& filter) {
  std::set<std::string> taken;
  const std::vector<json> pods = server_.All(kube::Pods());
  for (const json& pod : pods) {
    if (!Ended(pod)) taken.insert(NodeOf(pod));
  }
  for (json pod : pods) {
    const std::string host = PinOf(pod);
    if (Gated(pod) || Ended(pod) || !NodeOf(pod).empty() || host.empty()) continue;
    if (ready_[host] && taken.count(host) == 0 && filter(pod, host)) {
      taken.insert(host);
      pod["spec"]["nodeName"] = host;
      pod["status"] = {{"phase", "Running"}};
    } else if (!pod["status"].contains("conditions")) {
      pod["status"]["conditions"] = json::array({{{"type", "PodScheduled"},
                                                  {"status", "False"},
                                                  {"reason", "Unschedulable"},
                                                  {"message", "0/15 nodes are available"}}});
    } else {
      continue;
    }
    server_.Seed(kube::Pods(), pod);
  }
}

std::string ChaosCluster::BrokenPromise() {
  std::map<std::string, std::string> holder;
  for (const json& gang : server_.All(kube::Gangs())) {
    const std::string name = gang["metadata"]["name"];
    const json slots = SlotsOf(gang);
    std::size_t& before = slots_[gang["metadata"]["uid"]];
    const bool whole = slots.size() == gang["spec"]["workers"].get<std::size_t>();
    if (!slots.empty() && !whole && slots.size() != before) {
      return StrCat("Gang ", name, " has ", slots.size(), " of its slots");
    }
    before = slots.size();
    if (!Holds(gang)) continue;
    for (const json& slot : slots) {
      const auto [at, fresh] = holder.emplace(slot["host"], name);
      if (!fresh) {
        return StrCat("host ", at->first, " is promised to Gang ", at->second, " and Gang ", name);
      }
    }
  }
  return "";
}

std::string ChaosCluster::Unfinished() const {
  std::map<std::string, json> gangs;  // by job
  std::set<std::string> held;
  for (const json& gang : server_.All(kube::Gangs())) {
    gangs[gang["spec"]["owner"]["name"]] = gang;
    if (!Holds(gang)) continue;
    for (const json& slot : SlotsOf(gang)) held.insert(slot["host"]);
  }
  int free = 0;
  for (const auto& [node, ready] : ready_) {
    if (ready && !IsBackup(node) && held.count(node) == 0) ++free;
  }
  for (const auto& [name, job] : jobs_) {
    if (job.finished) continue;
    const auto gang = gangs.find(name);
    if (gang == gangs.end()) return StrCat("job ", name, " has no Gang");
    const json slots = SlotsOf(gang->second);
    if (!Holds(gang->second)) {
      if (free < job.workers) continue;
      return StrCat("job ", name, " of ", job.workers, " waits, and ", free,
                    " hosts are free: ", PlannedMessage(gang->second), Others(gangs));
    }
    const int placed = static_cast<int>(slots.size());
    if (placed > job.workers || (placed < job.workers && free >= job.workers - placed)) {
      return StrCat("job ", name, " wants ", job.workers, " workers, has ", placed, ", and ", free,
                    " hosts are free", Others(gangs));
    }
    for (const json& pod : PodsOf(name)) {
      if (Ended(pod) || RankOf(pod) >= placed) continue;
      const std::string host = slots[static_cast<std::size_t>(RankOf(pod))]["host"];
      if (NodeOf(pod) != host) {
        return StrCat("pod ", pod["metadata"]["name"].get<std::string>(),
                      " of a placed gang is on \"", NodeOf(pod), "\", pinned to \"", PinOf(pod),
                      "\"; its slot is ", host);
      }
    }
  }
  return "";
}

}  // namespace yardmaster::chaos
