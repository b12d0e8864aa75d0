// Whatever happened to a cluster, the snapshot made step by step is the one made from nothing.
#include <map>
#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/state/node_facts.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::state {
namespace {

using fabric::HostId;

void ExpectSamePlaces(const fabric::Places& a, const fabric::Places& b) {
  ASSERT_EQ(a.num_hosts(), b.num_hosts());
  ASSERT_EQ(a.num_segments(), b.num_segments());
  ASSERT_EQ(a.num_fabric_pods(), b.num_fabric_pods());
  for (HostId host : a.hosts()) {
    EXPECT_EQ(a.name(host), b.name(host));
    EXPECT_EQ(a.name(a.segment_of(host)), b.name(b.segment_of(host)));
    EXPECT_EQ(a.name(a.fabric_pod_of(host)), b.name(b.fabric_pod_of(host)));
    EXPECT_EQ(a.nic_addresses(host), b.nic_addresses(host));
    EXPECT_EQ(a.address_problem(host), b.address_problem(host));
  }
}

void ExpectSameJob(const plan::JobState& a, const plan::JobState& b) {
  EXPECT_EQ(a.job.key.text(), b.job.key.text());
  EXPECT_EQ(a.job.uid, b.job.uid);
  EXPECT_EQ(a.job.created_ms, b.job.created_ms);
  EXPECT_EQ(a.job.priority, b.job.priority);
  EXPECT_EQ(a.job.workers, b.job.workers);
  EXPECT_EQ(a.job.gpus_per_worker, b.job.gpus_per_worker);
  EXPECT_EQ(a.job.counts_gpus, b.job.counts_gpus);
  EXPECT_EQ(a.job.requests, b.job.requests);
  EXPECT_EQ(a.job.parallelism, b.job.parallelism);
  EXPECT_EQ(a.job.preemptible, b.job.preemptible);
  EXPECT_EQ(a.groups->workers, b.groups->workers);
  EXPECT_EQ(a.groups->tensor, b.groups->tensor);
  EXPECT_EQ(a.groups->data, b.groups->data);
  EXPECT_EQ(a.groups->stages_of_worker, b.groups->stages_of_worker);
  ASSERT_EQ(a.eligible == nullptr, b.eligible == nullptr);
  if (a.eligible != nullptr) {
    EXPECT_EQ(*a.eligible, *b.eligible);
  }
  ASSERT_EQ(a.assignment.has_value(), b.assignment.has_value());
  if (a.assignment) {
    EXPECT_EQ(a.assignment->host_of_rank, b.assignment->host_of_rank);
  }
  EXPECT_EQ(a.lost_ranks, b.lost_ranks);
  EXPECT_EQ(a.problems, b.problems);
  EXPECT_EQ(a.started_ms, b.started_ms);
  EXPECT_EQ(a.grace_seconds, b.grace_seconds);
}

void ExpectSame(const plan::Snapshot& a, const plan::Snapshot& b) {
  ASSERT_NO_FATAL_FAILURE(ExpectSamePlaces(*a.places, *b.places));
  ASSERT_EQ(a.network == nullptr, b.network == nullptr);
  if (a.network != nullptr) {
    EXPECT_EQ(a.network->spec().name, b.network->spec().name);
    EXPECT_EQ(a.network->num_cables(), b.network->num_cables());
    EXPECT_EQ(a.network->spec().backup.hosts_per_segment,
              b.network->spec().backup.hosts_per_segment);
    EXPECT_EQ(&a.network->places(), a.places.get());
  }
  EXPECT_EQ(a.cluster.places, a.places);
  EXPECT_EQ(a.cluster.hosts, b.cluster.hosts);
  EXPECT_EQ(*a.cluster.resources.names, *b.cluster.resources.names);
  EXPECT_EQ(*a.cluster.resources.allocatable, *b.cluster.resources.allocatable);
  EXPECT_EQ(a.cluster.resources.free, b.cluster.resources.free);
  EXPECT_EQ(a.cable_down, b.cable_down);
  EXPECT_EQ(a.warnings, b.warnings);
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (std::size_t j = 0; j < a.jobs.size(); ++j) {
    SCOPED_TRACE(a.jobs[j].job.key.text());
    ASSERT_NO_FATAL_FAILURE(ExpectSameJob(a.jobs[j], b.jobs[j]));
  }
}

// A small cluster to which anything may happen.
class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Below(14)) {
      case 0:
        return ChangeFabric();
      case 1:
        return Toggle(world_.problems);
      case 2:
      case 3:
        return Change(world_.jobs, "team", StrCat("j", Below(4)), [&] { return Job(); });
      case 4:
      case 5:
      case 6:
        return Change(world_.gangs, "team", GangName(), [&] { return Gang(); });
      case 7:
      case 8:
      case 9:
      case 10:
        return Change(world_.pods, "team", StrCat("p", Below(12)), [&] { return Pod(); });
      default:
        return ChangeNode();
    }
  }
  const ClusterState& world() const { return world_; }
  // An earlier instant, as a cache that had missed everything since would have it.
  void JumpTo(const ClusterState& world) { world_ = world; }
  unsigned Below(unsigned n) { return static_cast<unsigned>(random_() % n); }

 private:
  bool OneIn(unsigned n) { return Below(n) == 0; }
  std::string NodeName() { return StrCat("n", Below(9)); }
  std::string GangName() {
    return OneIn(6) ? StrCat("g", Below(2))
                    : api::GangName(api::kTrainingJobKind, StrCat("j", Below(4)));
  }

  template <typename T, typename Make>
  void Change(ObjectTable<T>& table, const std::string& ns, const std::string& name, Make make) {
    if (OneIn(4)) {
      table.Erase({ns, name});
      return;
    }
    T object = make();
    object.metadata.namespace_name = ns;
    object.metadata.name = name;
    table.Put(std::make_shared<const T>(std::move(object)));
  }

  static void Toggle(std::vector<std::string>& problems) {
    if (problems.empty()) {
      problems = {"Pod team/x: cannot be read"};
    } else {
      problems.clear();
    }
  }

  void ChangeFabric() {
    const std::string name = StrCat("f", Below(2));
    const std::shared_ptr<const api::Fabric> before = world_.fabrics.Find({"", name});
    if (before != nullptr && OneIn(2)) {  // its status alone
      api::Fabric fabric = *before;
      fabric.status.hosts = static_cast<int>(Below(9));
      world_.fabrics.Put(std::make_shared<const api::Fabric>(fabric));
      return;
    }
    Change(world_.fabrics, "", name, [&] {
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

  std::string Addresses() {
    const unsigned net = Below(4);
    if (net == 0) return "10.0.0.1,300.1";
    std::vector<std::string> all;
    for (int i = 0; i < 8; ++i) all.push_back(StrCat("10.", net, ".0.", i + 1));
    return Join(all, ",");
  }

  void ChangeNode() {
    const std::string name = NodeName();
    const std::shared_ptr<const api::Node> before = world_.nodes.Find({"", name});
    if (before != nullptr && OneIn(2)) {  // where it is, another state
      api::Node node = *before;
      ChangeState(node);
      world_.nodes.Put(std::make_shared<const api::Node>(node));
      return;
    }
    Change(world_.nodes, "", name, [&] {
      api::Node node;
      const std::string segment = StrCat("s", Below(2));
      if (!OneIn(8)) node.metadata.labels[api::kFabricPodLabel] = StrCat("p", Below(2));
      if (!OneIn(8)) node.metadata.labels[api::kSegmentLabel] = segment;
      if (!OneIn(4)) node.metadata.labels["rack"] = segment;
      workload::SetAmount(node.allocatable, api::kGpuResource, OneIn(6) ? 0 : OneIn(4) ? 16 : 8);
      if (OneIn(3)) workload::SetAmount(node.allocatable, "amd.com/gpu", 8);
      if (!OneIn(4)) workload::SetAmount(node.allocatable, "cpu", OneIn(2) ? 96000 : 12500);
      if (!OneIn(4)) workload::SetAmount(node.allocatable, "pods", OneIn(2) ? 110 : 1);
      node.ready = true;
      ChangeState(node);
      return node;
    });
  }

  void ChangeState(api::Node& node) {
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

  api::NodeConstraints Constraints() {
    api::NodeConstraints constraints;
    if (OneIn(3)) constraints.node_selector = {{api::kSegmentLabel, StrCat("s", Below(2))}};
    if (OneIn(3)) constraints.tolerations = {{"team", api::TolerationOperator::kExists, "", ""}};
    return constraints;
  }

  workload::ResourceList Requests() {
    workload::ResourceList requests;
    if (OneIn(4)) return requests;
    workload::SetAmount(requests, "pods", 1);
    if (!OneIn(3)) workload::SetAmount(requests, "cpu", 1000 * Below(20));
    if (OneIn(8)) workload::SetAmount(requests, "rdma/hca", 1);
    if (OneIn(6)) workload::SetAmount(requests, "yardmaster.dev/one-per-host-a", 1);
    return requests;
  }

  api::JobSpec Spec() {
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

  api::TrainingJob Job() {
    api::TrainingJob job;
    job.metadata.uid = StrCat("u", Below(2));
    job.metadata.created_ms = Below(1000);
    job.job = Spec();
    job.constraints = Constraints();
    job.requests = Requests();
    job.pod_template = std::make_shared<const nlohmann::json>(nlohmann::json::object());
    if (OneIn(8)) job.metadata.deleted_ms = 7;
    if (OneIn(8)) {
      job.status.conditions = {{"Failed", api::ConditionStatus::kTrue, "", "", 0, 0}};
    }
    return job;
  }

  api::Gang Gang() {
    api::Gang gang;
    gang.owner = {api::kGroupVersion, OneIn(5) ? "Job" : "TrainingJob", StrCat("j", Below(4)),
                  StrCat("u", Below(2)), false};
    gang.job = Spec();
    gang.constraints = Constraints();
    gang.requests = Requests();
    gang.rank_bases = {{"", OneIn(4) ? 1 : 0}};
    gang.metadata.created_ms = Below(1000);
    if (OneIn(3)) return gang;
    gang.status.plan_generation = 1;
    gang.status.committed_ms = OneIn(2) ? 0 : 1 + Below(1000);
    for (int rank = 0; rank < gang.job.workers; ++rank) {
      // Some never had a Node.
      const std::string host = OneIn(12) ? "gone" : NodeName();
      const bool told = !OneIn(5);
      gang.status.assignments.push_back(
          {rank, host, told ? StrCat("p", Below(2)) : "", told ? StrCat("s", Below(2)) : "", {0}});
    }
    if (OneIn(8)) {
      gang.status.conditions = {{kFinishedCondition, api::ConditionStatus::kTrue, "", "", 0, 0}};
    }
    return gang;
  }

  api::Pod Pod() {
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

  std::mt19937 random_;
  ClusterState world_;
  std::int64_t generation_ = 0;
};

TEST(SnapshotHistoryTest, StepByStepAndFromNothingGiveTheSameSnapshot) {
  int placed = 0, lost = 0, narrowed = 0, with_network = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    History history(seed);
    SnapshotBuilder builder;
    std::vector<ClusterState> past;
    for (int step = 0; step < 80; ++step) {
      SCOPED_TRACE(StrCat("step ", step));
      // Often nothing, or one object; sometimes a flock.
      const unsigned changes = step == 0 ? 60 : history.Below(10) == 0 ? 12 : history.Below(3);
      for (unsigned i = 0; i < changes; ++i) history.Step();
      if (!past.empty() && history.Below(15) == 0) {
        history.JumpTo(past[history.Below(static_cast<unsigned>(past.size()))]);
      }
      past.push_back(history.world());
      const plan::Snapshot kept = builder.Build(history.world());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(kept, BuildSnapshot(history.world())));
      if (testing::Test::HasFailure()) return;
      with_network += kept.network != nullptr;
      for (const plan::JobState& job : kept.jobs) {
        placed += job.assignment.has_value();
        lost += !job.lost_ranks.empty();
        narrowed += job.eligible != nullptr;
      }
    }
  }
  // The histories are not about nothing.
  EXPECT_GT(placed, 1000);
  EXPECT_GT(lost, 1000);
  EXPECT_GT(narrowed, 1000);
  EXPECT_GT(with_network, 1000);
}

// What is free on a host, resource by resource and pod by pod: what the Node lists, less what its
// pods ask for, less what was promised to ranks without a pod there.
std::int64_t FreeByHand(const ClusterState& world, const plan::Snapshot& snapshot,
                        const std::string& node, const std::string& resource) {
  const auto object = world.nodes.Find({"", node});
  std::int64_t free = object == nullptr ? 0 : AllocatableOf(*object, resource);
  for (const plan::JobState& job : snapshot.jobs) {
    if (!job.assignment) continue;
    const auto& hosts = job.assignment->host_of_rank;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (snapshot.places->name(hosts[rank]) != node) continue;
      const std::int64_t promised = workload::AmountOf(job.job.requests, resource);
      std::int64_t most = promised, others = 0;
      for (const auto& pod : world.pods) {
        const auto slot = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
        if (!slot || pod->node_name != node || pod->finished()) continue;
        const auto read = api::DecodeSlot(*slot);
        if (read->gang != job.job.key.name || read->rank != static_cast<int>(rank)) continue;
        const std::int64_t asked = workload::AmountOf(pod->requests, resource);
        others += std::max<std::int64_t>(0, asked - promised);
      }
      free -= most + others;
    }
  }
  for (const auto& pod : world.pods) {
    if (pod->node_name != node || pod->finished()) continue;
    const auto slot = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
    bool on_slot = false;
    if (slot) {
      const auto read = api::DecodeSlot(*slot);
      for (const plan::JobState& job : snapshot.jobs) {
        if (job.job.key.name != read->gang || !job.assignment) continue;
        const auto& hosts = job.assignment->host_of_rank;
        on_slot = read->rank < static_cast<int>(hosts.size()) &&
                  snapshot.places->name(hosts[static_cast<std::size_t>(read->rank)]) == node;
      }
    }
    if (!on_slot) free -= workload::AmountOf(pod->requests, resource);
  }
  return free;
}

TEST(SnapshotHistoryTest, WhatIsFreeIsWhatACountPodByPodLeaves) {
  int counted = 0, occupied = 0;
  for (unsigned seed = 200; seed < 260; ++seed) {
    History history(seed);
    for (int i = 0; i < 120; ++i) history.Step();
    ClusterState world = history.world();
    // Labels find ranks through gangs' rank bases; slots say them.
    std::vector<std::shared_ptr<const api::Pod>> labelled;
    for (const auto& pod : world.pods) {
      if (!pod->metadata.labels.empty()) labelled.push_back(pod);
    }
    for (const auto& pod : labelled) {
      world.pods.Erase({pod->metadata.namespace_name, pod->metadata.name});
    }
    const plan::Snapshot snapshot = BuildSnapshot(world);
    const placement::HostResources& resources = snapshot.cluster.resources;
    for (HostId host : snapshot.places->hosts()) {
      for (std::size_t column = 0; column < resources.columns(); ++column) {
        SCOPED_TRACE(StrCat("seed ", seed, " host ", snapshot.places->name(host), " ",
                            (*resources.names)[column]));
        const std::size_t at = host.index() * resources.columns() + column;
        const std::int64_t by_hand =
            FreeByHand(world, snapshot, snapshot.places->name(host), (*resources.names)[column]);
        // A Node that is not used has no row of its own.
        if ((*resources.allocatable)[at] == 0) continue;
        ASSERT_EQ(resources.free[at], by_hand);
        ++counted;
        occupied += resources.free[at] != (*resources.allocatable)[at];
      }
    }
  }
  EXPECT_GT(counted, 500);
  EXPECT_GT(occupied, 200);
}

TEST(SnapshotHistoryTest, WhatNobodyTouchedIsSharedBetweenSnapshots) {
  History history(5);
  for (int i = 0; i < 100; ++i) history.Step();
  SnapshotBuilder builder;
  const plan::Snapshot before = builder.Build(history.world());
  ClusterState world = history.world();
  api::Pod pod;
  pod.metadata.name = "new";
  pod.node_name = before.places->name(HostId(0));
  workload::SetAmount(pod.requests, api::kGpuResource, 1);
  world.pods.Put(std::make_shared<const api::Pod>(pod));
  const plan::Snapshot after = builder.Build(world);
  EXPECT_EQ(after.places, before.places);
  EXPECT_EQ(after.network, before.network);
  ASSERT_EQ(after.jobs.size(), before.jobs.size());
  for (std::size_t j = 0; j < after.jobs.size(); ++j) {
    EXPECT_EQ(after.jobs[j].groups, before.jobs[j].groups);
    EXPECT_EQ(after.jobs[j].eligible, before.jobs[j].eligible);
  }
}

}  // namespace
}  // namespace yardmaster::state
