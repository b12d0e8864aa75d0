// Gangs whose pods follow their place, with what their operator does. TESTONLY. Thread safety:
// none.
#pragma once

#include <cstddef>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/slot.h"
#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {

class PlacedFirstFixture : public PlannerFixture {
 protected:
  // A TrainingJob without pods, and the Gang that its operator makes for it.
  void AddRequest(const std::string& name, int workers, int workers_of_job = 0) {
    AddJob(name, workers_of_job == 0 ? workers : workers_of_job);
    for (const json& pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] == name) DeletePod(kube::NameOf(pod));
    }
    api::Gang gang;
    gang.metadata.name = GangName(name);
    gang.metadata.namespace_name = "team";
    gang.metadata.uid = "gang-" + name;
    gang.owner = {api::kGroupVersion, api::kTrainingJobKind, name, "job-" + name, false};
    gang.metadata.owners = {gang.owner};
    gang.job.workers = workers;
    gang.job.gpus_per_worker = 8;
    gang.job.parallelism.tensor = 8;
    gang.job.parallelism.data = workers;
    gang.rank_bases = {{"", 0}};
    workload::SetAmount(gang.requests, api::kGpuResource, 8);
    gang.pods = api::GangPods::kFollow;
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }
  static std::string GangName(const std::string& job) {
    return api::GangName(api::kTrainingJobKind, job);
  }
  void SetPods(const std::string& job, const char* pods) {
    json gang = *client_.Find(kube::Gangs(), "team", GangName(job));
    gang["spec"]["pods"] = pods;
    client_.Seed(kube::Gangs(), gang);
  }
  json SpecOf(const std::string& job) {
    return (*client_.Find(kube::Gangs(), "team", GangName(job)))["spec"];
  }
  void ChangeJob(const std::string& name, const json& change) {
    json job = *client_.Find(kube::TrainingJobs(), "team", name);
    job.merge_patch(change);
    client_.Seed(kube::TrainingJobs(), job);
  }
  // As the operator makes the pod of a rank that has its place.
  void MakePod(const std::string& job, int rank) {
    AddPod(job, rank);
    json pod = *client_.Find(kube::Pods(), "team", StrCat(job, "-", rank));
    const json slot = Slots(job)[static_cast<std::size_t>(rank)];
    pod["spec"].erase("schedulingGates");
    pod["metadata"]["annotations"][api::kSlotAnnotation] =
        api::EncodeSlot({GangName(job), rank, slot["fabricPod"], slot["segment"], slot["stages"]});
    const json term = {{"matchFields", json::array({{{"key", "metadata.name"},
                                                     {"operator", "In"},
                                                     {"values", {slot["host"]}}}})}};
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
       ["nodeSelectorTerms"] = json::array({term});
    pod["spec"]["tolerations"] = json::array(
        {{{"key", api::kPromisedKey}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
    client_.Seed(kube::Pods(), pod);
  }
  bool Released(const std::string& job) {
    return Condition(job, api::kReleasedCondition).value("status", "") == "True";
  }
};

}  // namespace yardmaster::extender
