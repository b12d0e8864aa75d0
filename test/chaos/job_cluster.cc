#include "test/chaos/job_cluster.h"

#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "test/chaos/job_names.h"

namespace yardmaster::chaos {

using nlohmann::json;

namespace {

constexpr int kPools = 6;
constexpr std::size_t kLost = 2;  // hosts at a time: fewer than a full disruption (host_health.h)

int Below(Random& random, int bound) {
  return static_cast<int>(random.Below(static_cast<std::uint64_t>(bound)));
}
template <std::size_t n>
const char* OneOf(Random& random, const char* const (&names)[n]) {
  return names[random.Below(n)];
}
json Template(const char* container) {
  return {{"spec", {{"containers", json::array({{{"name", container}, {"image", "i"}}})}}}};
}

json SpecOf(Random& random) {
  const int workers = 2 + Below(random, 3);
  json spec = {{"workers", workers}, {"gpusPerWorker", 8}, {"template", Template("c")}};
  spec["recovery"] = {
      {"hostGraceSeconds", 10},
      {"maxRestarts", Below(random, 3) == 0 ? 1 : 10},
      {"restartWindowSeconds", 86'400},
      {"backoffSeconds", 10},
      {"maxBackoffSeconds", 40},
      {"inPlaceSeconds", Below(random, 2) == 0 ? 0 : 120},
      {"onHostLoss", OneOf(random, {"Restart", "Replace", "Restart", "Replace", "Fail"})},
      {"onWorkerFailure", OneOf(random, {"Restart", "Replace", "Restart", "Replace", "Fail"})}};
  if (Below(random, 2) == 0) {
    spec["recovery"]["rules"] = json::array({{{"action", "ReplaceHost"}, {"exitCodes", {79}}},
                                             {{"action", "Ignore"}, {"exitCodes", {143}}},
                                             {{"action", "Fail"}, {"exitCodes", {2}}}});
  }
  if (Below(random, 2) == 0) {
    spec["checkpoint"] = {
        {"request", "Annotation"}, {"graceSeconds", 60}, {"directory", "/checkpoints"}};
  }
  if (Below(random, 4) == 0) {
    spec["roles"] = json::array({{{"name", "launcher"},
                                  {"onFailure", OneOf(random, {"Replace", "Restart"})},
                                  {"template", Template("l")}}});
  } else if (Below(random, 3) == 0) {
    spec["elastic"] = {{"minData", 8}, {"maxData", 8 * workers}, {"growAfterSeconds", 86'400}};
  }
  if (Below(random, 3) == 0) spec["cleanPodPolicy"] = "All";
  if (Below(random, 4) == 0) spec["ttlSecondsAfterFinished"] = 60;
  if (Below(random, 6) == 0) spec["activeDeadlineSeconds"] = 1'000;
  if (Below(random, 4) == 0) spec["successPolicy"] = "RankZero";
  if (Below(random, 4) == 0) spec["template"]["spec"]["hostNetwork"] = true;
  spec["suspend"] = Below(random, 8) == 0;
  return spec;
}

}  // namespace

JobCluster::JobCluster(const FakeClock& clock) : clock_(clock), server_(clock) {
  for (int pool = 0; pool < kPools; ++pool) {
    for (int host = 0; host < kPoolHosts; ++host) PutNode(HostName(pool, host), true, false);
  }
  PutNode(kRoleHost, true, false);
}

void JobCluster::PutNode(const std::string& name, bool ready, bool leaving) {
  json node = {
      {"metadata",
       {{"name", name}, {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, "s0"}}}}},
      {"spec", json::object()}};
  if (const auto before = server_.Find(kube::Nodes(), "", name)) node = *before;
  json taints = json::array();
  for (const json& taint : node["spec"].value("taints", json::array())) {
    if (taint["key"] != kLeaving) taints.push_back(taint);
  }
  if (leaving) taints.push_back({{"key", kLeaving}, {"effect", "NoSchedule"}});
  node["spec"]["taints"] = taints;
  node["status"] = {
      {"allocatable", {{api::kGpuResource, "8"}}},
      {"conditions", json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}};
  server_.Seed(kube::Nodes(), node);
}

json JobCluster::ObjectOf(const Job& job) const {
  return server_.Find(kube::TrainingJobs(), kTeam, job.name).value_or(json());
}

void JobCluster::PatchSpec(const Job& job, const json& spec) {
  (void)server_.Patch({kube::TrainingJobs(), kTeam, job.name, ""},
                      kube::MergePatch({{"spec", spec}}), {"people"});
}

JobCluster::Pods JobCluster::PodsOf(const Job& job) const {
  Pods pods;
  for (json& pod : server_.All(kube::Pods())) {
    if (pod["metadata"]["labels"].value(api::kJobLabel, "") == job.name) {
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

const JobCluster::Job* JobCluster::AnyJob(Random& random) const {
  if (jobs_.empty()) return nullptr;
  auto at = jobs_.begin();
  std::advance(at, Below(random, static_cast<int>(jobs_.size())));
  return &at->second;
}

const JobCluster::Job* JobCluster::AnyRunningJob(Random& random) const {
  std::vector<const Job*> running;
  for (const auto& [name, job] : jobs_) {
    if (IsTrue(ObjectOf(job), "Running")) running.push_back(&job);
  }
  return running.empty() ? nullptr : running[random.Below(running.size())];
}

json JobCluster::AnyRunning(const Job& job, bool of_role, Random& random) const {
  Pods running;
  for (json& pod : PodsOf(job)) {
    const bool role = RankOf(pod) < 0;
    if (role == of_role && PhaseOf(pod) == "Running" && !IsDeleting(pod)) {
      running.push_back(std::move(pod));
    }
  }
  return running.empty() ? json() : running[random.Below(running.size())];
}

std::string JobCluster::AddJob(Random& random) {
  std::set<int> taken;
  for (const auto& [name, job] : jobs_) taken.insert(job.pool);
  if (taken.size() == kPools) return "no room for a job";
  Job job;
  while (taken.count(job.pool) != 0) ++job.pool;
  job.name = StrCat("j", next_job_++);
  job.uid = "u-" + job.name;
  job.answers = Below(random, 2) == 0;
  server_.Seed(kube::TrainingJobs(),
               {{"metadata",
                 {{"name", job.name}, {"namespace", kTeam}, {"uid", job.uid}, {"generation", 1}}},
                {"spec", SpecOf(random)}});
  jobs_[job.name] = job;
  return StrCat("job ", job.name, " comes");
}

std::string JobCluster::SuspendOrResume(Random& random) {
  const Job* job = AnyJob(random);
  if (job == nullptr) return "nothing";
  const bool suspended = ObjectOf(*job)["spec"].value("suspend", false);
  json spec = {{"suspend", !suspended}};
  const bool elastic = ObjectOf(*job)["spec"].contains("elastic");
  if (suspended && !elastic && Below(random, 2) == 0) spec["workers"] = 1 + Below(random, 4);
  PatchSpec(*job, spec);
  return StrCat("job ", job->name, suspended ? " is resumed" : " is suspended");
}

std::string JobCluster::Scale(Random& random) {
  for (const auto& [name, job] : jobs_) {
    const json object = ObjectOf(job);
    if (!object["spec"].contains("elastic") || Below(random, 2) == 0) continue;
    const int workers = 1 + Below(random, 4);
    PatchSpec(job, {{"workers", workers}});
    return StrCat("job ", name, " is scaled to ", workers);
  }
  return "no elastic job";
}

std::string JobCluster::DeleteJob(Random& random) {
  const Job* job = AnyJob(random);
  if (job == nullptr) return "nothing";
  server_.Delete({kube::TrainingJobs(), kTeam, job->name, ""}, {}).IgnoreError();
  return StrCat("job ", job->name, " is deleted");
}

std::string JobCluster::FailWorkers(Random& random) {
  const Job* job = AnyRunningJob(random);
  if (job == nullptr) return "no job runs";
  static constexpr int kCodes[] = {1, 134, 79, 143, 2, 137, 1, 1};
  const json first = AnyRunning(*job, /*of_role=*/false, random);
  const int code = kCodes[random.Below(std::size(kCodes))];
  const bool together = Below(random, 3) == 0;
  if (first.is_null()) return "no worker runs";
  const std::string name = first["metadata"]["name"];
  EndContainer(first, code, 0);
  if (!together) return StrCat("worker ", name, " ends with ", code);
  int second = 0;
  for (const json& pod : PodsOf(*job)) {
    if (RankOf(pod) < 0 || pod["metadata"]["name"] == name || PhaseOf(pod) != "Running") continue;
    EndContainer(pod, 1, ++second);
  }
  return StrCat("worker ", name, " ends with ", code, ", the others after it");
}

std::string JobCluster::FailRole(Random& random) {
  for (const auto& [name, job] : jobs_) {
    const json pod = AnyRunning(job, /*of_role=*/true, random);
    if (pod.is_null()) continue;
    EndContainer(pod, 1, 0);
    return StrCat("a launcher of job ", name, " fails");
  }
  return "no launcher runs";
}

// Of workers: of a pod without a slot nothing says where it ran once it is gone.
std::string JobCluster::RemovePods(Random& random) {
  const Job* job = AnyRunningJob(random);
  if (job == nullptr) return "nothing";
  std::string names;
  for (int i = 1 + Below(random, 2); i > 0; --i) {
    const json pod = AnyRunning(*job, /*of_role=*/false, random);
    if (pod.is_null()) continue;
    const std::string name = pod["metadata"]["name"];
    server_.Delete({kube::Pods(), kTeam, name, ""}, {}).IgnoreError();
    names += StrCat(" ", name);
  }
  return StrCat("others remove", names.empty() ? std::string(" nothing") : names);
}

std::string JobCluster::Finish(Random& random) {
  const Job* job = AnyRunningJob(random);
  if (job == nullptr) return "nothing";
  jobs_[job->name].done = true;
  for (json& pod : PodsOf(*job)) {
    if (PhaseOf(pod) != "Running") continue;
    pod["status"]["phase"] = "Succeeded";
    server_.Seed(kube::Pods(), pod);
  }
  return StrCat("job ", job->name, " finishes");
}

std::string JobCluster::LoseHost(Random& random) {
  const Job* job = AnyRunningJob(random);
  if (job == nullptr || lost_.size() >= kLost) return "no host is lost";
  const json pod = AnyRunning(*job, /*of_role=*/false, random);
  if (pod.is_null()) return "no worker runs";
  const std::string host = pod["spec"]["nodeName"];
  const int how = Below(random, 3);
  lost_.insert(host);
  if (how == 2) {
    PutNode(host, true, /*leaving=*/true);
    return StrCat("host ", host, " is taken back");
  }
  // No kubelet ends these pods any more.
  for (json& there : PodsOf(*job)) {
    if (there["spec"].value("nodeName", "") != host) continue;
    there["metadata"].erase("finalizers");
    server_.Seed(kube::Pods(), there);
  }
  if (how == 0) {
    PutNode(host, false, false);
  } else {
    server_.Delete({kube::Nodes(), "", host, ""}, {}).IgnoreError();
  }
  return StrCat("host ", host, how == 0 ? " is not Ready" : " is gone");
}

std::string JobCluster::ReturnHost() {
  if (lost_.empty()) return "every host is there";
  const std::string host = *lost_.begin();
  lost_.erase(host);
  PutNode(host, true, false);
  return StrCat("host ", host, " is back");
}

std::string JobCluster::Act(Random& random) {
  const int what = Below(random, 24);
  if (what < 5 || jobs_.size() < 3) return AddJob(random);
  if (what < 11) return FailWorkers(random);
  if (what < 12) return FailRole(random);
  if (what < 14) return RemovePods(random);
  if (what < 16) return LoseHost(random);
  if (what < 17) return ReturnHost();
  if (what < 20) return SuspendOrResume(random);
  if (what < 21) return Scale(random);
  if (what < 22) return Finish(random);
  return DeleteJob(random);
}

std::string JobCluster::Unfinished() const {
  for (const auto& [name, job] : jobs_) {
    const json object = ObjectOf(job);
    if (job.done && object.is_object() && !IsTrue(object, "Succeeded")) {
      return StrCat("job ", name, " is done and has not succeeded");
    }
  }
  return "";
}

json JobCluster::Picture() const {
  json picture;
  for (const kube::Resource& resource :
       {kube::TrainingJobs(), kube::Pods(), kube::Services(), kube::Gangs(), kube::Nodes()}) {
    json& kind = picture[resource.kind] = json::object();
    for (json& object : server_.All(resource)) {
      const std::string name = object["metadata"]["name"];
      kind[name] = WithoutTimes(std::move(object));
    }
  }
  return picture;
}

}  // namespace yardmaster::chaos
