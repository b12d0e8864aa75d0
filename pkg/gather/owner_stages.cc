#include "pkg/gather/owner_stages.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/gather/job_set.h"
#include "pkg/gather/template_gpus.h"

namespace yardmaster::gather {

namespace {

// Pods that an owner makes at the same time: those of a replicated job, or of a task.
struct Batch {
  std::string subgroup;    // of a task
  std::int64_t first = 0;  // of a replicated job: the subgroup of its first Job
  std::int64_t jobs = 1;
  std::int64_t pods = 0;  // of all its Jobs
  bool is_first = true;   // no other has to run before it
  std::int64_t there = 0;
};

std::int64_t CountOf(JsonView value) {
  return std::clamp<std::int64_t>(value.WholeNumber().value_or(1), 0, api::kMaxListedRanks);
}

bool HasAnnotation(JsonView object, std::string_view key) {
  return object.At({"metadata", "annotations", key}).present();
}

std::vector<Batch> BatchesOfJobSet(JsonView object) {
  const JsonView policy = object.At({"spec", "startupPolicy"});
  const bool in_order = policy["startupPolicyOrder"].String() == "InOrder";
  std::vector<Batch> batches;
  ForEachReplicatedJob(object, [&](const ReplicatedJob& job) {
    Batch batch;
    batch.first = job.first_job;
    batch.jobs = job.jobs;
    const JsonView spec = job.object.At({"template", "spec"});
    // Pods that ask for no GPU are in no gang, and do not wait for it.
    if (AsksForGpus(spec["template"]) != false) {
      batch.pods = batch.jobs * CountOf(spec["parallelism"]);
    }
    bool depends = in_order && !batches.empty();
    job.object["dependsOn"].ForEachElement([&depends](JsonView) { depends = true; });
    batch.is_first = !depends;
    batches.push_back(batch);
  });
  return batches;
}

std::vector<Batch> BatchesOfTasks(JsonView object) {
  std::vector<Batch> batches;
  object.At({"spec", "tasks"}).ForEachElement([&](JsonView task) {
    Batch batch;
    batch.subgroup = task["name"].Text();
    batch.pods = CountOf(task["replicas"]);
    batch.is_first = !task["dependsOn"].is_object();
    batches.push_back(batch);
  });
  return batches;
}

Batch* FindBatch(std::vector<Batch>& batches, const std::string& subgroup, bool by_number) {
  if (!by_number) {
    const auto at = std::find_if(batches.begin(), batches.end(),
                                 [&](const Batch& b) { return b.subgroup == subgroup; });
    return at == batches.end() ? nullptr : &*at;
  }
  const auto number = ParseNumber<std::int64_t>(subgroup);
  if (!number || *number < 0) return nullptr;
  const auto after = std::upper_bound(
      batches.begin(), batches.end(), *number,
      [](std::int64_t wanted, const Batch& batch) { return wanted < batch.first; });
  if (after == batches.begin()) return nullptr;
  Batch& batch = *(after - 1);
  return *number < batch.first + batch.jobs ? &batch : nullptr;
}

// False: some stage that has begun lacks pods, or none is to come.
bool AreWhole(std::vector<Batch> batches, const GatheredGang& pods, bool by_number) {
  std::string last;  // subgroup of the pods that are there
  for (const auto* list : {&pods.members, &pods.strays}) {
    for (const GangMember& member : *list) {
      const std::string& subgroup = member.membership->subgroup;
      Batch* batch = FindBatch(batches, subgroup, by_number);
      if (batch == nullptr) return false;
      ++batch->there;
      if (last.empty() || api::SubgroupLess(last, subgroup)) last = subgroup;
    }
  }
  for (const Replica& replica : pods.ended) {
    if (Batch* batch = FindBatch(batches, replica.subgroup, by_number)) ++batch->there;
  }
  bool some_to_come = false;
  for (const Batch& batch : batches) {
    if (batch.pods == 0) continue;
    const bool has_begun = batch.is_first || batch.there > 0;
    if (has_begun && batch.there < batch.pods) return false;
    if (has_begun) continue;
    some_to_come = true;
    const std::string subgroup = by_number ? StrCat(batch.first) : batch.subgroup;
    if (!api::SubgroupLess(last, subgroup)) return false;
  }
  return some_to_come;
}

Stages OfJobSet(JsonView object, const GatheredGang& pods) {
  constexpr std::string_view kExclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  bool exclusive = HasAnnotation(object, kExclusive);
  ForEachReplicatedJob(object, [&](const ReplicatedJob& job) {
    exclusive |= HasAnnotation(job.object["template"], kExclusive);
  });
  if (exclusive) {
    return {false,
            StrCat("with the annotation ", kExclusive,
                   " the JobSet makes all pods but the first of each Job only when that one "
                   "is on a node, and a gang starts whole; remove the annotation, and say by ",
                   "yardmaster.dev/parallelism what belongs together")};
  }
  return {AreWhole(BatchesOfJobSet(object), pods, /*by_number=*/true), ""};
}

Stages OfLeaderWorkerSet(JsonView object, const GatheredGang& pods) {
  const bool leader_first = object.At({"spec", "startupPolicy"}).String() == "LeaderReady" ||
                            HasAnnotation(object, "leaderworkerset.sigs.k8s.io/exclusive-topology");
  const bool is_leader = pods.members.size() == 1 && pods.strays.empty() &&
                         pods.members.front().membership->index == 0;
  return {leader_first && is_leader, ""};
}

Stages OfMpiJob(JsonView object) {
  const JsonView spec = object["spec"];
  if (spec["launcherCreationPolicy"].String() != "WaitForWorkersReady" ||
      spec["runLauncherAsWorker"].Bool() != true) {
    return {};
  }
  return {
      false,
      "with launcherCreationPolicy WaitForWorkersReady the launcher, which is rank 0, is made only "
      "when the workers run, and a gang starts whole; use launcherCreationPolicy AtStartup, or "
      "leave runLauncherAsWorker out"};
}

}  // namespace

Stages StagesOf(const api::OwnerReference& owner, JsonView object, const GatheredGang& pods) {
  if (owner.kind == "JobSet") return OfJobSet(object, pods);
  if (owner.kind == "LeaderWorkerSet") return OfLeaderWorkerSet(object, pods);
  if (owner.kind == "MPIJob") return OfMpiJob(object);
  if (owner.api_version.starts_with("batch.volcano.sh/")) {
    return {AreWhole(BatchesOfTasks(object), pods, /*by_number=*/false), ""};
  }
  return {};
}

}  // namespace yardmaster::gather
