#include "pkg/state/testing/cluster_history.h"

#include <memory>
#include <optional>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/state/job_index.h"

namespace yardmaster::state {

template <typename T, typename Make>
void ClusterHistory::Change(ObjectTable<T>& table, const std::string& ns, const std::string& name,
                            Make make) {
  if (OneIn(4)) {
    table.Erase({ns, name});
    return;
  }
  T object = make();
  object.metadata.namespace_name = ns;
  object.metadata.name = name;
  table.Put(std::make_shared<const T>(std::move(object)));
}

void ClusterHistory::Step() {
  switch (Below(14)) {
    case 0:
      return ChangeFabric();
    case 1:
      return Toggle(cluster_.problems);
    case 2:
    case 3:
      return Change(cluster_.jobs, "team", StrCat("j", Below(4)), [&] { return Job(); });
    case 4:
    case 5:
    case 6:
      return Change(cluster_.gangs, "team", GangName(), [&] { return Gang(); });
    case 7:
    case 8:
    case 9:
    case 10:
      return ChangePod();
    default:
      return ChangeNode();
  }
}

void ClusterHistory::Toggle(std::vector<std::string>& problems) {
  if (problems.empty()) {
    problems = {"Pod team/x: cannot be read"};
  } else {
    problems.clear();
  }
}

void ClusterHistory::ChangeFabric() {
  const std::string name = StrCat("f", Below(2));
  const std::shared_ptr<const api::Fabric> before = cluster_.fabrics.Find({"", name});
  if (before != nullptr && OneIn(2)) {  // its status alone
    api::Fabric fabric = *before;
    fabric.status.hosts = static_cast<int>(Below(9));
    cluster_.fabrics.Put(std::make_shared<const api::Fabric>(fabric));
    return;
  }
  Change(cluster_.fabrics, "", name, [&] {
    api::Fabric fabric;
    fabric.spec = fabric::SmallHpn(2, 2, 4);
    fabric.spec.name = name;
    fabric.spec.backup.hosts_per_segment = static_cast<int>(Below(3));
    if (OneIn(2)) fabric.spec.backup.which = fabric::BackupWhich::kChosen;
    fabric.spec.backup.lend_to_preemptible = OneIn(2);
    if (OneIn(5)) fabric.spec.segment_label = "rack";
    if (OneIn(5)) fabric.spec.gpu_resource = "amd.com/gpu";
    if (OneIn(5)) fabric.spec.tiers[0].down_ports = 1;  // does not add up
    if (OneIn(2)) {
      fabric.metadata.uid = name;
      fabric.metadata.generation = ++generation_;
    }
    return fabric;
  });
}

std::string ClusterHistory::Addresses() {
  const unsigned net = Below(4);
  if (net == 0) return "10.0.0.1,300.1";
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) all.push_back(StrCat("10.", net, ".0.", i + 1));
  return Join(all, ",");
}

void ClusterHistory::ChangeNode() {
  const std::string name = NodeName();
  const std::shared_ptr<const api::Node> before = cluster_.nodes.Find({"", name});
  if (before != nullptr && OneIn(2)) {  // where it is, another state
    api::Node node = *before;
    ChangeState(node);
    cluster_.nodes.Put(std::make_shared<const api::Node>(node));
    return;
  }
  Change(cluster_.nodes, "", name, [&] {
    api::Node node;
    const std::string segment = StrCat("s", Below(2));
    if (!OneIn(8)) node.metadata.labels[api::kFabricPodLabel] = StrCat("p", Below(2));
    if (!OneIn(8)) node.metadata.labels[api::kSegmentLabel] = segment;
    if (!OneIn(4)) node.metadata.labels["rack"] = segment;
    if (!OneIn(4)) node.metadata.labels[api::kGpuModelLabel] = StrCat("gpu-", Below(3));
    workload::SetAmount(node.allocatable, api::kGpuResource, OneIn(6) ? 0 : OneIn(4) ? 16 : 8);
    if (OneIn(3)) workload::SetAmount(node.allocatable, "amd.com/gpu", 8);
    if (!OneIn(4)) workload::SetAmount(node.allocatable, "cpu", OneIn(2) ? 96000 : 12500);
    if (!OneIn(4)) workload::SetAmount(node.allocatable, "pods", OneIn(2) ? 110 : 1);
    node.ready = true;
    ChangeState(node);
    return node;
  });
}

void ClusterHistory::ChangeState(api::Node& node) {
  node.ready = OneIn(6) ? std::optional<bool>() : !OneIn(4);
  node.unschedulable = OneIn(6);
  node.metadata.labels.erase(api::kBackupKey);
  if (OneIn(5)) node.metadata.labels[api::kBackupKey] = "true";
  node.metadata.deleted_ms.reset();
  if (OneIn(12)) node.metadata.deleted_ms = 5;
  node.metadata.annotations.clear();
  if (OneIn(4)) node.metadata.annotations[api::kDownPortsAnnotation] = OneIn(3) ? "x" : "r0p1";
  if (OneIn(4)) node.metadata.annotations[api::kNicAddressesAnnotation] = Addresses();
  node.taints.clear();
  const char* const keys[] = {"team", "broken", "node.kubernetes.io/disk-pressure",
                              api::kPromisedKey, api::kBackupKey};
  for (const char* key : keys) {
    if (!OneIn(5)) continue;
    const api::TaintEffect effects[] = {api::TaintEffect::kNoSchedule,
                                        api::TaintEffect::kPreferNoSchedule,
                                        api::TaintEffect::kNoExecute};
    node.taints.push_back({key, "", effects[Below(3)]});
  }
}

void ClusterHistory::ChangePod() {
  const std::string name = StrCat("p", Below(12));
  const std::shared_ptr<const api::Pod> before = cluster_.pods.Find({"team", name});
  if (before == nullptr || OneIn(2)) {
    return Change(cluster_.pods, "team", name, [&] { return Pod(); });
  }
  api::Pod pod = *before;  // another state of it
  const api::Pod other = Pod();
  pod.metadata.resource_version = StrCat(Below(1000));
  switch (Below(7)) {
    case 0:
      pod.phase = other.phase;
      break;
    case 1:
      pod.node_name = other.node_name;
      break;
    case 2:
      pod.requests = other.requests;
      break;
    case 3:
      pod.requests_unreadable = !pod.requests_unreadable;
      break;
    case 4:
      pod.metadata.labels = other.metadata.labels;
      break;
    case 5:
      pod.metadata.annotations = other.metadata.annotations;
      break;
    default:  // nothing that is read
      break;
  }
  cluster_.pods.Put(std::make_shared<const api::Pod>(std::move(pod)));
}

api::NodeConstraints ClusterHistory::Constraints() {
  api::NodeConstraints constraints;
  if (OneIn(3)) constraints.node_selector = {{api::kSegmentLabel, StrCat("s", Below(2))}};
  if (OneIn(3)) constraints.tolerations = {{"team", api::TolerationOperator::kExists, "", ""}};
  return constraints;
}

workload::ResourceList ClusterHistory::Requests() {
  workload::ResourceList requests;
  if (OneIn(4)) return requests;
  workload::SetAmount(requests, "pods", 1);
  if (!OneIn(3)) workload::SetAmount(requests, "cpu", 1000 * Below(20));
  if (OneIn(8)) workload::SetAmount(requests, "rdma/hca", 1);
  if (OneIn(6)) workload::SetAmount(requests, "yardmaster.dev/one-per-host-a", 1);
  return requests;
}

api::JobSpec ClusterHistory::Spec() {
  api::JobSpec spec;
  spec.workers = 1 + static_cast<int>(Below(4));
  spec.gpus_per_worker = OneIn(2) ? 8 : 4;
  if (OneIn(5)) spec.gpu_resource = "amd.com/gpu";
  spec.preemptible = OneIn(3);
  spec.parallelism.data = spec.workers * spec.gpus_per_worker;
  spec.parallelism_given = true;
  if (OneIn(6)) spec.parallelism.tensor = 3;  // does not multiply out
  return spec;
}

api::TrainingJob ClusterHistory::Job() {
  api::TrainingJob job;
  job.metadata.uid = StrCat("u", Below(2));
  job.metadata.created_ms = Below(1000);
  job.job = Spec();
  job.constraints = Constraints();
  job.requests = Requests();
  if (OneIn(8)) job.metadata.deleted_ms = 7;
  if (OneIn(8)) {
    job.status.conditions = {{"Failed", api::ConditionStatus::kTrue, "", "", 0, 0}};
  }
  return job;
}

api::AssignmentEntry ClusterHistory::Slot(int rank) {
  // Some never had a Node.
  const std::string host = OneIn(12) ? "gone" : NodeName();
  const bool told = !OneIn(5);
  return {rank, host, told ? StrCat("p", Below(2)) : "", told ? StrCat("s", Below(2)) : "", {0}};
}

api::Gang ClusterHistory::Gang() {
  api::Gang gang;
  gang.owner = {api::kGroupVersion, OneIn(5) ? "Job" : "TrainingJob", StrCat("j", Below(4)),
                StrCat("u", Below(2)), false};
  gang.job = Spec();
  gang.constraints = Constraints();
  gang.requests = Requests();
  if (OneIn(3)) {
    gang.roles = {{0, gang.requests, gang.job.gpus_per_worker, {}},
                  {1, gang.requests, gang.job.gpus_per_worker, Constraints()}};
  }
  gang.rank_bases = {{"", OneIn(4) ? 1 : 0}};
  gang.metadata.created_ms = Below(1000);
  if (OneIn(3)) return gang;
  gang.status.plan_generation = 1;
  gang.status.committed_ms = OneIn(2) ? 0 : 1 + Below(1000);
  for (int rank = 0; rank < gang.job.workers; ++rank) gang.status.assignments.push_back(Slot(rank));
  if (OneIn(3)) {
    api::GangMove move;
    move.state = OneIn(4) ? api::GangMoveState::kDone : api::GangMoveState::kPromised;
    const int ranks = gang.job.workers - (OneIn(8) ? 1 : 0);
    for (int rank = 0; rank < ranks; ++rank) move.assignments.push_back(Slot(rank));
    gang.status.move = std::move(move);
  }
  if (OneIn(8)) {
    gang.status.conditions = {{kFinishedCondition, api::ConditionStatus::kTrue, "", "", 0, 0}};
  }
  return gang;
}

api::Pod ClusterHistory::Pod() {
  api::Pod pod;
  if (!OneIn(4)) pod.node_name = OneIn(10) ? "elsewhere" : NodeName();
  pod.requests = Requests();
  workload::SetAmount(pod.requests, api::kGpuResource, OneIn(5) ? 0 : OneIn(2) ? 8 : 4);
  if (OneIn(5)) pod.phase = "Failed";
  if (OneIn(2)) {
    pod.metadata.labels = {{api::kJobLabel, StrCat("j", Below(4))},
                           {api::kRankLabel, StrCat(Below(4))}};
  } else if (OneIn(2)) {
    pod.metadata.annotations[api::kSlotAnnotation] =
        api::EncodeSlot({GangName(), static_cast<int>(Below(4)), "p0", "s0", {0}});
  }
  return pod;
}

}  // namespace yardmaster::state
