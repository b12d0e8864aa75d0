#include "test/chaos/move_cluster.h"

#include <algorithm>
#include <utility>

#include "pkg/api/job_move.h"
#include "pkg/api/names.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "test/chaos/job_names.h"

namespace yardmaster::chaos {

using nlohmann::json;

namespace {

constexpr int kSegments = 2;
constexpr int kHosts = 5;  // of each
constexpr const char* kJobs[] = {"a", "b", "c"};
constexpr int kWorkers = 2;

std::string PinOf(const json& pod) {
  return pod.value(
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
      "nodeSelectorTerms/0/matchFields/0/values/0"_json_pointer,
      "");
}

bool IsGated(const json& pod) {
  return pod["spec"].contains("schedulingGates") && !pod["spec"]["schedulingGates"].empty();
}

json Slots(const json& gang) {
  return gang.value("/status/assignments"_json_pointer, json::array());
}
json NextSlots(const json& gang) {
  return gang.value("/status/move/assignments"_json_pointer, json::array());
}

}  // namespace

MoveCluster::MoveCluster(const FakeClock& clock) : server_(clock) {
  server_.SetRule(kube::Gangs(), [](const json& before, const json& after) -> absl::Status {
    for (const char* field : {"fencingToken", "planGeneration"}) {
      const json::json_pointer at(StrCat("/status/", field));
      if (before.value(at, std::int64_t{0}) > after.value(at, std::int64_t{0})) {
        return absl::InvalidArgumentError(StrCat(field, " must not go back"));
      }
    }
    return absl::OkStatus();
  });
  for (int s = 0; s < kSegments; ++s) {
    for (int h = 0; h < kHosts; ++h) {
      hosts_.push_back(StrCat("s", s, "h", h));
      PutNode(hosts_.back(), true);
    }
  }
  for (const char* name : kJobs) {
    server_.Seed(
        kube::TrainingJobs(),
        {{"apiVersion", api::kGroupVersion},
         {"kind", api::kTrainingJobKind},
         {"metadata",
          {{"name", name}, {"namespace", kTeam}, {"uid", StrCat("u-", name)}, {"generation", 1}}},
         {"spec",
          {{"workers", kWorkers},
           {"gpusPerWorker", 8},
           {"recovery",
            {{"hostGraceSeconds", 10}, {"inPlaceSeconds", 0}, {"maxRestarts", 1'000'000}}},
           {"template",
            {{"spec",
              {{"containers",
                json::array({{{"name", "c"},
                              {"image", "i"},
                              {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}}}}}}});
  }
}

void MoveCluster::PutNode(const std::string& name, bool ready) {
  json node = {
      {"metadata",
       {{"name", name},
        {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, name.substr(0, 2)}}}}},
      {"spec", json::object()}};
  if (const auto before = server_.Find(kube::Nodes(), "", name)) node = *before;
  node["status"] = {
      {"allocatable", {{api::kGpuResource, "8"}}},
      {"conditions", json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}};
  server_.Seed(kube::Nodes(), node);
}

json MoveCluster::Job(const std::string& name) const {
  return server_.Find(kube::TrainingJobs(), kTeam, name).value_or(json());
}

json MoveCluster::PodsOf(const std::string& job) const {
  json pods = json::array();
  for (const json& pod : server_.All(kube::Pods())) {
    if (pod["metadata"]["labels"].value(api::kJobLabel, "") == job) pods.push_back(pod);
  }
  return pods;
}

std::string MoveCluster::AskForMove(Random& random, const std::string& id) {
  const std::string name = kJobs[random.Below(std::size(kJobs))];
  // Mostly free hosts, so that most moves can be made.
  std::set<std::string> taken;
  for (const json& gang : server_.All(kube::Gangs())) {
    for (const json& slot : Slots(gang)) taken.insert(slot["host"]);
  }
  std::vector<std::string> hosts;
  const std::string segment = StrCat("s", random.Below(kSegments));
  while (hosts.size() < kWorkers) {
    const std::string& host = hosts_[random.Below(hosts_.size())];
    const bool is_free = taken.count(host) == 0 && host.starts_with(segment);
    if (is_free || random.Below(12) == 0) hosts.push_back(host);
  }
  const std::string text = api::EncodeMoveRequest({id, hosts});
  (void)server_.Patch(
      {kube::TrainingJobs(), kTeam, name, ""},
      kube::MergePatch({{"metadata", {{"annotations", {{api::kMoveAnnotation, text}}}}}}),
      {"people"});
  return name;
}

std::string MoveCluster::Disturb(Random& random) {
  if (!lost_.empty() && random.Below(2) == 0) {
    const std::string host = *lost_.begin();
    ReturnHosts();
    return StrCat("host ", host, " is back");
  }
  if (lost_.empty() && random.Below(2) == 0) {
    const std::string host = hosts_[random.Below(hosts_.size())];
    lost_.insert(host);
    PutNode(host, false);
    // No kubelet ends these pods any more.
    for (json pod : server_.All(kube::Pods())) {
      if (NodeOf(pod) != host) continue;
      pod["metadata"].erase("finalizers");
      server_.Seed(kube::Pods(), pod);
    }
    return StrCat("host ", host, " is lost");
  }
  const json pods = PodsOf(kJobs[random.Below(std::size(kJobs))]);
  if (pods.empty()) return "no pod is there to fail";
  json pod = pods[random.Below(pods.size())];
  if (PhaseOf(pod) != "Running" || IsDeleting(pod)) return "no worker fails";
  pod["status"]["phase"] = "Failed";
  pod["status"]["containerStatuses"] =
      json::array({{{"name", "c"},
                    {"restartCount", 0},
                    {"state", {{"terminated", {{"exitCode", 1}, {"reason", "Error"}}}}}}});
  server_.Seed(kube::Pods(), pod);
  return StrCat("worker ", pod["metadata"]["name"].get<std::string>(), " fails");
}

void MoveCluster::ReturnHosts() {
  for (const std::string& host : lost_) PutNode(host, true);
  lost_.clear();
}

bool MoveCluster::StartPod(json pod, const Filter& filter) {
  const std::string host = PinOf(pod);
  if (host.empty() || lost_.count(host) != 0) return false;
  for (const json& other : server_.All(kube::Pods())) {
    const bool ended = PhaseOf(other) == "Failed" || PhaseOf(other) == "Succeeded";
    if (NodeOf(other) == host && !ended) return false;  // its GPUs are not free
  }
  if (!filter(pod, host)) return false;
  pod["spec"]["nodeName"] = host;
  pod["metadata"]["finalizers"] = json::array({kKubelet});
  pod["status"] = {
      {"phase", "Running"},
      {"containerStatuses",
       json::array(
           {{{"name", "c"}, {"restartCount", 0}, {"state", {{"running", json::object()}}}}})}};
  server_.Seed(kube::Pods(), pod);
  return true;
}

bool MoveCluster::RunPods(Random& random, bool all, const Filter& filter) {
  bool changed = false;
  for (const json& pod : server_.All(kube::Pods())) {
    if (!all && random.Below(2) == 0) continue;
    const bool is_lost = lost_.count(NodeOf(pod)) != 0;
    if (IsDeleting(pod) && !is_lost) {
      json ended = pod;
      ended["metadata"].erase("finalizers");
      ended["metadata"].erase("deletionTimestamp");
      server_.Seed(kube::Pods(), ended);
      changed |= server_.Delete({kube::Pods(), kTeam, pod["metadata"]["name"], ""}, {}).ok();
    } else if (NodeOf(pod).empty() && !IsGated(pod) && !IsDeleting(pod)) {
      changed |= StartPod(pod, filter);
    }
  }
  return changed;
}

std::string MoveCluster::BrokenPromise() const {
  std::map<std::string, std::string> holder;  // host -> gang
  std::map<std::string, std::string> place;   // pod -> host
  for (const json& gang : server_.All(kube::Gangs())) {
    const std::string name = gang["metadata"]["name"];
    const json slots = Slots(gang), next = NextSlots(gang);
    std::set<std::string> present, promised;
    for (const json& slot : slots) {
      if (!present.insert(slot["host"]).second) return StrCat(name, " has a host twice");
      place[StrCat(gang["spec"]["owner"]["name"].get<std::string>(), "-",
                   slot["rank"].get<int>())] = slot["host"];
    }
    for (const json& slot : next) {
      if (!promised.insert(slot["host"]).second) return StrCat(name, " gets a host twice");
    }
    if (!slots.empty() && slots.size() != kWorkers) return StrCat(name, " has a part of a place");
    if (!next.empty() && next.size() != kWorkers) return StrCat(name, " gets a part of a place");
    if (slots.empty() && !next.empty()) return StrCat(name, " moves from nowhere");
    present.insert(promised.begin(), promised.end());
    for (const std::string& host : present) {
      const auto [at, fresh] = holder.emplace(host, name);
      if (!fresh) return StrCat(host, " is promised to ", at->second, " and to ", name);
    }
  }
  std::map<std::string, std::string> runs;  // host -> pod
  for (const json& pod : server_.All(kube::Pods())) {
    const std::string name = pod["metadata"]["name"];
    const bool ended = PhaseOf(pod) == "Failed" || PhaseOf(pod) == "Succeeded";
    const std::string node = NodeOf(pod);
    if (!node.empty() && !ended) {
      const auto [at, fresh] = runs.emplace(node, name);
      if (!fresh) return StrCat(at->second, " and ", name, " run on ", node);
    }
    if (IsGated(pod) || IsDeleting(pod) || ended) continue;
    const std::string host = node.empty() ? PinOf(pod) : node;
    // A gang without a place gave it back because no pod of it was seen for a minute
    // (owner_step.h). A rank whose host is lost has another one as soon as its pod has been
    // replaced.
    const bool is_placed = place.count(name) != 0;
    if (is_placed && lost_.count(host) == 0 && place[name] != host) {
      return StrCat(name, " is to run on ", host, " and its gang has it on ", place[name]);
    }
  }
  return "";
}

std::string MoveCluster::Unfinished() const {
  for (const char* job : kJobs) {
    const json object = Job(job);
    if (!IsTrue(object, "Running")) return StrCat("job ", job, " does not run");
    const std::string state = object.value("/status/move/state"_json_pointer, "");
    if (state == "Asked" || state == "Moving") return StrCat("job ", job, " moves");
    int running = 0;
    for (const json& pod : PodsOf(job)) running += PhaseOf(pod) == "Running" && !IsDeleting(pod);
    if (running != kWorkers) return StrCat("job ", job, " has ", running, " workers");
  }
  return "";
}

}  // namespace yardmaster::chaos
