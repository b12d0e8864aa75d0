// Pods of indexed Jobs behind the gate, and a Gang that has places for them. TESTONLY. Thread
// safety: pure functions.
#pragma once

#include <memory>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/api/pod.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

inline api::Pod GatedPodOfJob(const std::string& job, int index, const std::string& uid = "uid") {
  api::Pod pod;
  pod.metadata.namespace_name = "team";
  pod.metadata.name = StrCat(job, "-", index);
  pod.metadata.uid = StrCat(uid, "-", index);
  pod.metadata.labels = {{"batch.kubernetes.io/job-name", job},
                         {"batch.kubernetes.io/controller-uid", uid},
                         {"batch.kubernetes.io/job-completion-index", StrCat(index)}};
  pod.metadata.owners = {{"batch/v1", "Job", job, uid, true}};
  pod.scheduling_gates = {api::kPlacementGate};
  workload::SetAmount(pod.requests, api::kGpuResource, 8);
  return pod;
}

inline api::Gang PlacedGangOfJob(const std::string& job, int workers,
                                 const std::string& uid = "uid") {
  api::Gang gang;
  gang.metadata.namespace_name = "team";
  gang.metadata.name = api::GangName("Job", job);
  gang.owner = {"batch/v1", "Job", job, uid, true};
  gang.rank_bases = {{"", 0}};
  gang.status.plan_generation = 1;
  gang.status.assignments.resize(static_cast<std::size_t>(workers));
  return gang;
}

}  // namespace yardmaster::op
