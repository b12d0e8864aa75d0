// What the other controllers of a JobCluster do.
#include <algorithm>
#include <set>
#include <utility>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "test/chaos/job_cluster.h"
#include "test/chaos/job_names.h"

namespace yardmaster::chaos {

using nlohmann::json;

namespace {

std::string Annotation(const json& pod, const char* name) {
  return pod["metadata"].value("annotations", json::object()).value(name, "");
}

std::int64_t RestartOf(const json& pod) {
  return ParseNumber<std::int64_t>(Annotation(pod, api::kRestartGenerationAnnotation)).value_or(0);
}

// As the operator has sized it.
std::size_t WorkersOf(const json& job) {
  const int data = job.value("/status/elastic/data"_json_pointer, 0);
  return job["spec"].contains("elastic") && data > 0 ? static_cast<std::size_t>(data / 8)
                                                     : job["spec"]["workers"].get<std::size_t>();
}

bool IsHeld(const json& job) {
  return job["spec"].value("suspend", false) ||
         job.value("/status/recovery/suspended"_json_pointer, false) ||
         job.value("/status/elastic/targetData"_json_pointer, 0) != 0;
}

json WithOwner(const api::Gang& gang, const std::string& job, const std::string& uid) {
  json object = api::EncodeGang(gang);
  object["metadata"]["ownerReferences"] = json::array({{{"apiVersion", api::kGroupVersion},
                                                        {"kind", api::kTrainingJobKind},
                                                        {"name", job},
                                                        {"uid", uid},
                                                        {"controller", true}}});
  return object;
}

api::Gang NewGang(const std::string& name, const std::string& uid, std::size_t workers) {
  api::Gang gang;
  gang.metadata.name = api::GangName(api::kTrainingJobKind, name);
  gang.metadata.namespace_name = kTeam;
  gang.metadata.uid = "g-" + name;
  gang.owner.kind = api::kTrainingJobKind;
  gang.owner.name = name;
  gang.owner.uid = uid;
  gang.job.workers = static_cast<int>(workers);
  return gang;
}

void SetReleased(api::Gang& gang, bool released, std::int64_t now_ms) {
  api::SetCondition(gang.status.conditions,
                    {api::kReleasedCondition,
                     released ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                     released ? "PodsReleased" : "Waiting", "", 1, 0},
                    now_ms);
}

bool PodsFollow(const api::Gang& gang) {
  return gang.pods == api::GangPods::kFollow &&
         !api::IsTrue(gang.status.conditions, api::kReleasedCondition);
}

void SetPlanned(api::Gang& gang, bool placed, std::int64_t now_ms) {
  gang.status.plan_generation = placed ? 1 : 0;
  api::SetCondition(
      gang.status.conditions,
      {api::kPlannedCondition, placed ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
       placed ? "Placed" : "Waiting", placed ? "placed" : "its hosts are given back", 1, 0},
      now_ms);
  // Pods start with the next tick; those that follow their place are yet to be made.
  SetReleased(gang, placed && !PodsFollow(gang), now_ms);
}

// Ranks whose pods are there and may start.
std::size_t OpenRanks(const std::vector<json>& pods) {
  std::set<int> ranks;
  for (const json& pod : pods) {
    if (RankOf(pod) >= 0 && !IsDeleting(pod) && !pod["spec"].contains("schedulingGates")) {
      ranks.insert(RankOf(pod));
    }
  }
  return ranks.size();
}

}  // namespace

bool JobCluster::MayHost(const std::string& host, const json& pod) const {
  const auto node = server_.Find(kube::Nodes(), "", host);
  if (!node || !IsTrue(*node, "Ready") || lost_.count(host) != 0) return false;
  // A pod that is yet to be made says nothing.
  if (pod.is_null()) return true;
  const auto avoided = Split(Annotation(pod, api::kAvoidHostsAnnotation), ',');
  return std::find(avoided.begin(), avoided.end(), host) == avoided.end();
}

std::vector<std::string> JobCluster::HostsFor(const Job& job, std::vector<std::string> hosts,
                                              const std::map<int, json>& waiting) const {
  for (const auto& [rank, pod] : waiting) {
    std::string& host = hosts[static_cast<std::size_t>(rank)];
    if (!host.empty() && MayHost(host, pod)) continue;
    for (int i = 0; i < kPoolHosts; ++i) {
      const std::string other = HostName(job.pool, i);
      const bool taken = std::find(hosts.begin(), hosts.end(), other) != hosts.end();
      if (taken || !MayHost(other, pod)) continue;
      host = other;
      break;
    }
  }
  return hosts;
}

bool JobCluster::GiveBack(const api::Gang& gang) {
  if (gang.status.assignments.empty()) return false;
  api::Gang next = gang;
  next.status.assignments.clear();
  SetPlanned(next, false, clock_.WallMs());
  server_.Seed(kube::Gangs(), WithOwner(next, gang.owner.name, gang.owner.uid));
  return true;
}

// The extender: all ranks get their hosts, or none; a rank that waits gets another one where it has
// to.
bool JobCluster::Plan(const Job& job, const Pods& pods) {
  const json object = ObjectOf(job);
  const std::size_t workers = WorkersOf(object);
  std::map<int, json> waiting;
  bool any = false;
  for (const json& pod : pods) {
    const int rank = RankOf(pod);
    any |= rank >= 0;
    const bool waits = rank >= 0 && rank < static_cast<int>(workers) && !IsDeleting(pod) &&
                       pod["spec"].contains("schedulingGates");
    if (waits) waiting[rank] = pod;
  }
  api::Gang gang = NewGang(job.name, job.uid, workers);
  if (const auto found = server_.Find(kube::Gangs(), kTeam, gang.metadata.name)) {
    gang = *api::DecodeGang(*found, api::Decoding::kLenient);
  }
  if (!any && IsHeld(object)) return GiveBack(gang);
  const bool placed = !gang.status.assignments.empty();
  const bool follows = !any && gang.pods == api::GangPods::kFollow && gang.owner.uid == job.uid &&
                       gang.job.workers == static_cast<int>(workers);
  if (!placed && follows) {
    for (std::size_t rank = 0; rank < workers; ++rank) waiting[static_cast<int>(rank)] = json();
  }
  if (!placed && waiting.size() != workers) return false;
  if (placed && PodsFollow(gang) && OpenRanks(pods) == workers) {
    SetReleased(gang, true, clock_.WallMs());
    server_.Seed(kube::Gangs(), WithOwner(gang, job.name, job.uid));
    return true;
  }
  std::vector<std::string> hosts(workers);
  for (const api::AssignmentEntry& slot : gang.status.assignments) {
    if (slot.rank < static_cast<int>(workers))
      hosts[static_cast<std::size_t>(slot.rank)] = slot.host;
  }
  const std::vector<std::string> next = HostsFor(job, hosts, waiting);
  if (next == hosts || std::find(next.begin(), next.end(), "") != next.end()) return false;
  gang.job.workers = static_cast<int>(workers);
  gang.status.assignments.clear();
  for (std::size_t rank = 0; rank < workers; ++rank) {
    gang.status.assignments.push_back({static_cast<int>(rank), next[rank], "p0", "s0", {0}});
  }
  SetPlanned(gang, true, clock_.WallMs());
  server_.Seed(kube::Gangs(), WithOwner(gang, job.name, job.uid));
  return true;
}

void JobCluster::Run(json pod, const std::string& host) {
  pod["metadata"]["finalizers"] = json::array({kKubelet});
  pod["spec"]["nodeName"] = host;
  pod["spec"].erase("schedulingGates");
  // With its slot and as one that is let onto its host, by whom makes no difference.
  if (RankOf(pod) >= 0) {
    const std::string job = pod["metadata"]["labels"][api::kJobLabel];
    pod["metadata"]["annotations"][api::kSlotAnnotation] =
        api::EncodeSlot({api::GangName(api::kTrainingJobKind, job), RankOf(pod), "p0", "s0", {0}});
    pod["spec"].erase("affinity");
    pod["spec"].erase("tolerations");
  }
  pod["status"] = {
      {"phase", "Running"},
      {"containerStatuses", json::array({{{"name", pod["spec"]["containers"][0]["name"]},
                                          {"restartCount", 0},
                                          {"state", {{"running", json::object()}}}}})}};
  started_[pod["metadata"]["uid"]] = RestartOf(pod);
  server_.Seed(kube::Pods(), pod);
}

void JobCluster::EndContainer(json pod, int code, int second) {
  const std::int64_t ended_ms = clock_.WallMs() + 1'000 * (second - 5);
  const json terminated = {
      {"terminated",
       {{"exitCode", code}, {"reason", "Error"}, {"finishedAt", FormatTime(ended_ms)}}}};
  json& status = pod["status"]["containerStatuses"][0];
  if (pod["spec"].value("restartPolicy", "Always") == "Never") {
    pod["status"]["phase"] = "Failed";
    status["state"] = terminated;
  } else {
    status["restartCount"] = status["restartCount"].get<int>() + 1;
    status["lastState"] = terminated;
    started_[pod["metadata"]["uid"]] = RestartOf(pod);
  }
  server_.Seed(kube::Pods(), pod);
}

// kube-scheduler and kubelets: what has its host runs there.
bool JobCluster::StartPods(const Job& job, const Pods& pods) {
  const auto gang =
      server_.Find(kube::Gangs(), kTeam, api::GangName(api::kTrainingJobKind, job.name));
  const json slots =
      gang ? gang->value("/status/assignments"_json_pointer, json::array()) : json::array();
  bool changed = false;
  for (const json& pod : pods) {
    if (!NodeOf(pod).empty() || IsDeleting(pod)) continue;
    std::string host = RankOf(pod) < 0 ? kRoleHost : "";
    for (const json& slot : slots) {
      if (slot["rank"] == RankOf(pod)) host = slot["host"];
    }
    if (host.empty() || !MayHost(host, pod)) continue;
    Run(pod, host);
    changed = true;
  }
  return changed;
}

// All ranks write a checkpoint together, once each of them has been asked.
bool JobCluster::WriteCheckpoint(const json& pod, const Pods& pods) {
  const std::string request = Annotation(pod, api::kCheckpointRequestAnnotation);
  const auto asked = ParseTime(request);
  const bool all_asked = std::all_of(pods.begin(), pods.end(), [&](const json& other) {
    return RankOf(other) < 0 || Annotation(other, api::kCheckpointRequestAnnotation) == request;
  });
  if (!asked.ok() || !all_asked) return false;
  const auto mark = api::DecodeCheckpointMark(Annotation(pod, api::kCheckpointAnnotation));
  if (mark.ok() && mark->time_ms >= *asked) return false;
  json next = pod;
  next["metadata"]["annotations"][api::kCheckpointAnnotation] =
      api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 5});
  server_.Seed(kube::Pods(), next);
  return true;
}

bool JobCluster::RunKubelets(const Job& job, const Pods& pods) {
  bool changed = false;
  for (const json& pod : pods) {
    const auto node = server_.Find(kube::Nodes(), "", NodeOf(pod));
    if (!node || !IsTrue(*node, "Ready")) continue;
    if (IsDeleting(pod)) {
      changed |=
          server_
              .Patch({kube::Pods(), kTeam, pod["metadata"]["name"], ""},
                     kube::MergePatch({{"metadata", {{"finalizers", nullptr}}}}), {"kubelet"})
              .ok();
    } else if (PhaseOf(pod) == "Running") {
      if (RestartOf(pod) > started_[pod["metadata"]["uid"]]) {
        EndContainer(pod, 137, 5);
        changed = true;
      } else if (job.answers && RankOf(pod) == 0) {
        changed |= WriteCheckpoint(pod, pods);
      }
    }
  }
  return changed;
}

// Everything of a job that is gone.
bool JobCluster::CollectGarbage() {
  bool changed = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const Job job = at->second;
    if (!ObjectOf(job).is_null()) {
      ++at;
      continue;
    }
    for (json& pod : PodsOf(job)) {
      const std::string name = pod["metadata"]["name"];
      pod["metadata"].erase("finalizers");
      pod["metadata"].erase("deletionTimestamp");
      server_.Seed(kube::Pods(), pod);
      server_.Delete({kube::Pods(), kTeam, name, ""}, {}).IgnoreError();
    }
    server_.Delete({kube::Services(), kTeam, job.name, ""}, {}).IgnoreError();
    server_.Delete({kube::Gangs(), kTeam, api::GangName(api::kTrainingJobKind, job.name), ""}, {})
        .IgnoreError();
    at = jobs_.erase(at);
    changed = true;
  }
  return changed;
}

bool JobCluster::Tick() {
  bool changed = CollectGarbage();
  std::map<std::string, Pods> pods;
  for (json& pod : server_.All(kube::Pods())) {
    pods[pod["metadata"]["labels"].value(api::kJobLabel, "")].push_back(std::move(pod));
  }
  // What starts is looked at again with the next tick.
  for (const auto& [name, job] : jobs_) {
    changed |= Plan(job, pods[name]);
    changed |= RunKubelets(job, pods[name]);
    changed |= StartPods(job, pods[name]);
  }
  return changed;
}

}  // namespace yardmaster::chaos
