// Jobs of a snapshot, and what pods and promises hold.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/heap_meter.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/testing/snapshot_fixture.h"

namespace yardmaster::state {
namespace {

using placement::Unavailability;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(SnapshotBuilderTest, EqualTemplatesShareOneMask) {
  const char* spec = R"({"workers":1,"template":{"spec":{"nodeSelector":
                         {"yardmaster.dev/segment":"a"}}}})";
  jobs_ = {Job("a", spec), Job("b", spec)};
  const plan::Snapshot s = Build();
  ASSERT_NE(s.jobs[0].eligible, nullptr);
  EXPECT_EQ(s.jobs[0].eligible, s.jobs[1].eligible);
  EXPECT_EQ(std::count(s.jobs[0].eligible->begin(), s.jobs[0].eligible->end(), 1), 4);
}

// What ten lines of YAML cost, before any pod exists.
TEST_F(SnapshotBuilderTest, AJobTakesMemoryForTheWorkersThatAGangCanHave) {
  const struct {
    const char* spec;
    bool sound;
  } cases[] = {
      {R"({"workers":1000000,"gpusPerWorker":1,"parallelism":{"tensor":2}})", false},
      {R"({"workers":16384,"gpusPerWorker":8,"parallelism":{"tensor":16,"pipeline":64}})", true},
      {R"({"workers":16384,"gpusPerWorker":1,"parallelism":{"tensor":2,"context":2,"expert":2}})",
       true}};
  for (const auto& [spec, sound] : cases) {
    jobs_ = {Job("a", spec)};
    const HeapMeter heap;
    const plan::Snapshot s = Build();
    EXPECT_EQ(s.jobs[0].problems.empty(), sound) << spec;
    EXPECT_LE(heap.held(), 16 << 20) << spec;
  }
}

// Each name would take a number for every host.
TEST_F(SnapshotBuilderTest, OfManyResourcesThatNoHostHasOnlyTheJobIsTold) {
  for (api::Node& node : nodes_) workload::SetAmount(node.allocatable, "example.com/real", 4);
  jobs_ = {Job("a", R"({"workers":1})"), Job("b", R"({"workers":1})"), Job("c", R"({"workers":1})"),
           Job("d", R"({"workers":1})")};
  for (std::size_t j = 0; j < 3; ++j) {
    for (int i = 0; i < 60; ++i) {
      workload::SetAmount(jobs_[j].requests, StrCat("example.com/made-up-", j, "-", i), 1);
    }
  }
  workload::SetAmount(jobs_[3].requests, "example.com/real", 1);
  plan::Snapshot s = Build();
  EXPECT_LE(s.cluster.resources.columns(), 4u);
  for (std::size_t j = 0; j < 3; ++j) {
    ASSERT_EQ(s.jobs[j].problems.size(), 1u);
    EXPECT_THAT(s.jobs[j].problems[0], HasSubstr("example.com/made-up-"));
  }
  EXPECT_TRUE(s.jobs[3].problems.empty());
  jobs_.erase(jobs_.begin(), jobs_.begin() + 2);
  s = Build();
  EXPECT_TRUE(s.jobs[0].problems.empty())
      << "few names are counted, and the reason says how many hosts lack them";
}

TEST_F(SnapshotBuilderTest, BoundUnfinishedPodsHoldTheirGpus) {
  pods_ = {PodOn("x", "a0", 3), PodOn("y", "a0", 2), PodOn("z", "a1", 8), PodOn("q", "gone", 8)};
  pods_[2].phase = "Succeeded";
  pods_.push_back(PodOn("unbound", "", 8));
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").free_gpus, 3);
  EXPECT_EQ(State(s, "a1").free_gpus, 8);
}

TEST_F(SnapshotBuilderTest, PromisedHostsAreOccupiedOnceBeforeAndAfterTheirPodsAreBound) {
  const api::TrainingJob job = Job("a", R"({"workers":2,"gpusPerWorker":4})");
  gangs_ = {GangOf(job, {"a0", "a1"})};
  jobs_ = {job};
  EXPECT_EQ(State(Build(), "a0").free_gpus, 4);
  // Bound by label (the operator's pods) and by slot (pods of other controllers).
  api::Pod by_label = PodOn("a-0", "a0", 4);
  by_label.metadata.labels = {{api::kJobLabel, "a"}, {api::kRankLabel, "0"}};
  api::Pod by_slot = PodOn("a-1", "a1", 4);
  by_slot.metadata.annotations[api::kSlotAnnotation] =
      api::EncodeSlot({"trainingjob-a", 1, "p", "a", {0}});
  pods_ = {by_label, by_slot};
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").free_gpus, 4);
  EXPECT_EQ(State(s, "a1").free_gpus, 4);
  // A pod that still runs where its rank was before holds that host, too.
  pods_[0].node_name = "a2";
  EXPECT_EQ(State(Build(), "a2").free_gpus, 4);
  EXPECT_EQ(State(Build(), "a0").free_gpus, 4);
}

TEST_F(SnapshotBuilderTest, EveryPodOnAHostHoldsWhatItAsksForGpusOrNot) {
  node("a0").allocatable = {{"cpu", 96000}, {api::kGpuResource, 8}, {"pods", 3}};
  jobs_ = {Job("a", R"({"workers":1,"template":{"spec":{"containers":[{"name":"t",
      "resources":{"requests":{"cpu":"90"}}}]}}})")};
  api::Pod web = PodOn("web", "a0", 0);
  web.requests = {{"cpu", 8000}, {"memory", 5}, {"pods", 1}};
  pods_ = {web};
  const auto column = [](const plan::Snapshot& s, const std::string& host, std::size_t c) {
    const auto& r = s.cluster.resources;
    return r.free[s.places->FindHost(host).index() * r.columns() + c];
  };
  plan::Snapshot s = Build();
  EXPECT_THAT(*s.cluster.resources.names, ElementsAre("cpu", "pods"));
  EXPECT_EQ(column(s, "a0", 0), 88000);
  EXPECT_EQ(column(s, "a0", 1), 2);
  // The manifests of the others say nothing of their cpu and pods.
  EXPECT_GT(column(s, "a1", 0), 1'000'000'000);
  EXPECT_GT(column(s, "a1", 1), 1'000'000'000);
  // A promise holds before the pod is there, and the pod counts for what it asks beyond that.
  gangs_ = {GangOf(jobs_[0], {"a0"})};
  gangs_[0].requests = jobs_[0].requests;
  EXPECT_EQ(column(Build(), "a0", 0), -2000);
  api::Pod pod = PodOn("a-0", "a0", 8);
  pod.metadata.labels = {{api::kJobLabel, "a"}, {api::kRankLabel, "0"}};
  workload::SetAmount(pod.requests, "cpu", 91000);
  workload::SetAmount(pod.requests, "pods", 1);
  pods_.push_back(pod);
  EXPECT_EQ(column(Build(), "a0", 0), -3000);
  EXPECT_EQ(column(Build(), "a0", 1), 1);
}

TEST_F(SnapshotBuilderTest, GpusOfAnotherNameAreCountedWhereTheFabricOrTheJobSaysSo) {
  for (api::Node& n : nodes_) {
    n.allocatable = {{"amd.com/gpu", 4}, {"nvidia.com/mig-1g.10gb", 7}};
  }
  fabrics_[0].spec.gpu_resource = "amd.com/gpu";
  jobs_ = {Job("a", R"({"workers":1,"gpusPerWorker":4,"gpuResource":"amd.com/gpu"})"),
           Job("m", R"({"workers":1,"gpusPerWorker":2,"gpuResource":"nvidia.com/mig-1g.10gb"})")};
  api::Pod other = PodOn("x", "a0", 0);
  other.requests = {{"amd.com/gpu", 1}};
  pods_ = {other};
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").gpus, 4);
  EXPECT_EQ(State(s, "a0").free_gpus, 3);
  EXPECT_TRUE(s.jobs[0].job.counts_gpus);
  EXPECT_FALSE(s.jobs[1].job.counts_gpus);
  EXPECT_EQ(s.jobs[1].job.requests,
            (workload::ResourceList{{"nvidia.com/mig-1g.10gb", 2}, {"pods", 1}}));
}

TEST_F(SnapshotBuilderTest, AGangAndItsTrainingJobAreOneJob) {
  const api::TrainingJob job = Job("a", R"({"workers":2})");
  jobs_ = {job, Job("b", R"({"workers":1})")};
  gangs_ = {GangOf(job, {"a0", "a1"})};
  const plan::Snapshot s = Build();
  ASSERT_EQ(s.jobs.size(), 2u);
  EXPECT_EQ(s.jobs[0].job.key.name, "trainingjob-a");
  ASSERT_TRUE(s.jobs[0].assignment.has_value());
  EXPECT_EQ(s.places->name(s.jobs[0].assignment->host_of_rank[1]), "a1");
  EXPECT_FALSE(s.jobs[1].assignment.has_value());
}

TEST_F(SnapshotBuilderTest, AGangOfAnEarlierObjectOfTheSameNameIsNotTheJobs) {
  api::TrainingJob job = Job("a", R"({"workers":2})");
  api::Gang old = GangOf(job, {"a0", "a1"});
  old.owner.uid = "older";
  old.metadata.name = "old";
  gangs_ = {old};
  jobs_ = {job};
  const plan::Snapshot s = Build();
  ASSERT_EQ(s.jobs.size(), 2u);
  EXPECT_FALSE(s.jobs[1].assignment.has_value());
  EXPECT_EQ(State(s, "a0").free_gpus, 0);
}

TEST_F(SnapshotBuilderTest, FinishedGangsAndJobsHoldNothing) {
  const api::TrainingJob job = Job("a", R"({"workers":2})");
  gangs_ = {GangOf(job, {"a0", "a1"})};
  gangs_[0].status.conditions = {{kFinishedCondition, api::ConditionStatus::kTrue, "", "", 0, 0}};
  jobs_ = {job, Job("b", R"({"workers":1})")};
  jobs_[1].status.conditions = {{"Failed", api::ConditionStatus::kTrue, "", "", 0, 0}};
  const plan::Snapshot s = Build();
  EXPECT_TRUE(s.jobs.empty());
  EXPECT_EQ(State(s, "a0").free_gpus, 8);
}

TEST_F(SnapshotBuilderTest, ATrainingJobWithoutAGangIsPlacedWhereAllItsPodsAre) {
  jobs_ = {Job("a", R"({"workers":2})")};
  for (int rank : {0, 1}) {
    api::Pod pod = PodOn(StrCat("a-", rank), StrCat("b", rank), 8);
    pod.metadata.labels = {{api::kJobLabel, "a"}, {api::kRankLabel, StrCat(rank)}};
    pods_.push_back(pod);
  }
  plan::Snapshot s = Build();
  ASSERT_TRUE(s.jobs[0].assignment.has_value());
  EXPECT_EQ(State(s, "b1").free_gpus, 0);
  EXPECT_THAT(s.warnings, ElementsAre());
  pods_.pop_back();
  s = Build();
  EXPECT_FALSE(s.jobs[0].assignment.has_value());
  EXPECT_EQ(State(s, "b0").free_gpus, 0);
}

TEST_F(SnapshotBuilderTest, RanksWhoseHostIsGoneNotReadyOrEvictingAreLost) {
  const api::TrainingJob job = Job("a", R"({"workers":4})");
  gangs_ = {GangOf(job, {"a0", "a1", "a2", "a3"})};
  nodes_.erase(nodes_.begin());  // a0
  node("a1").ready = false;
  node("a2").taints = {{"broken", "", api::TaintEffect::kNoExecute}};
  node("a3").unschedulable = true;  // what runs there may go on
  const plan::Snapshot s = Build();
  EXPECT_THAT(s.jobs[0].lost_ranks, ElementsAre(0, 1, 2));
  EXPECT_TRUE(s.jobs[0].assignment->host_of_rank[0].valid());
  EXPECT_EQ(State(s, "a0").unavailable, Unavailability::kNotReady);
  EXPECT_EQ(State(s, "a0").gpus, 0);
}

// Pods of rank 0 tolerate what the others do not, and the others select segment b.
TEST_F(SnapshotBuilderTest, RolesHaveTheHostsThatTheirOwnPodsMayUse) {
  node("a0").taints = {{"team", "", api::TaintEffect::kNoSchedule}};
  api::Gang gang = GangOf(Job("a", R"({"workers":3})"), {});
  gang.constraints.tolerations = {{"team", api::TolerationOperator::kExists, "", ""}};
  api::NodeConstraints workers;
  workers.node_selector = {{api::kSegmentLabel, "b"}};
  gang.roles = {{0, {}, 8, {}}, {1, {}, 8, workers}};
  gangs_ = {gang};
  const plan::Snapshot s = Build();
  const auto bit = [&](const placement::HostSet& hosts, const char* host) {
    return static_cast<int>(hosts[s.places->FindHost(host).index()]);
  };
  ASSERT_NE(s.jobs[0].role_hosts, nullptr);
  const std::vector<placement::RoleHosts>& roles = *s.jobs[0].role_hosts;
  ASSERT_EQ(roles.size(), 2u);
  EXPECT_EQ(roles[0].hosts, nullptr) << "all, the tainted one, too";
  EXPECT_EQ(roles[1].first_rank, 1);
  EXPECT_EQ(bit(*roles[1].hosts, "a1"), 0);
  EXPECT_EQ(bit(*roles[1].hosts, "b1"), 1);
  EXPECT_EQ(s.jobs[0].eligible, nullptr) << "some rank may use each";
  EXPECT_TRUE(s.jobs[0].job.roles.empty()) << "they ask for the same of a host";
}

TEST_F(SnapshotBuilderTest, RolesThatEachSelectAGpuModelMayHaveDifferentOnes) {
  api::Gang gang = GangOf(Job("a", R"({"workers":3})"), {});
  gang.constraints.node_selector = {{api::kGpuModelLabel, "A"}};
  api::NodeConstraints other;
  other.node_selector = {{api::kGpuModelLabel, "B"}};
  gang.roles = {{0, {}, 8, {}}, {1, {}, 8, other}};
  gangs_ = {gang};
  EXPECT_TRUE(Build().jobs[0].job.mixed_gpu_models);
  gangs_[0].roles[1].constraints->node_selector = {{"pool", "work"}};
  EXPECT_FALSE(Build().jobs[0].job.mixed_gpu_models) << "one model for those that name none";
  gangs_[0].roles[1].gpus = 0;
  EXPECT_FALSE(Build().jobs[0].job.mixed_gpu_models);
}

TEST_F(SnapshotBuilderTest, ARankIsLostByTheTolerationsOfItsOwnRole) {
  const api::TrainingJob job = Job("a", R"({"workers":2})");
  api::Gang gang = GangOf(job, {"a0", "a1"});
  api::NodeConstraints tolerant;
  tolerant.tolerations = {{"broken", api::TolerationOperator::kExists, "", ""}};
  gang.roles = {{0, {}, 8, {}}, {1, {}, 8, tolerant}};
  gangs_ = {gang};
  for (const char* host : {"a0", "a1"}) {
    node(host).taints = {{"broken", "", api::TaintEffect::kNoExecute}};
  }
  EXPECT_THAT(Build().jobs[0].lost_ranks, ElementsAre(0));
}

TEST_F(SnapshotBuilderTest, ANodeThatTakesThePlaceOfAPromisedOneHasRoomInItsSegment) {
  const api::TrainingJob job = Job("a", R"({"workers":1})");
  gangs_ = {GangOf(job, {"a0"})};
  // The segment has all the hosts that its switches have ports for.
  node("a0").metadata.name = "a9";
  const plan::Snapshot s = Build();
  EXPECT_THAT(s.warnings, ElementsAre());
  ASSERT_NE(s.network, nullptr);
  EXPECT_TRUE(s.places->FindHost("a9").valid());
  EXPECT_THAT(s.jobs[0].lost_ranks, ElementsAre(0));
}

TEST_F(SnapshotBuilderTest, AJobThatContradictsItselfHasProblemsAndStopsNoOther) {
  jobs_ = {Job("bad", R"({"workers":2,"parallelism":{"tensor":3,"data":5}})"),
           Job("good", R"({"workers":2})"), Job("huge", R"({"workers":1000000})")};
  const plan::Snapshot s = Build();
  EXPECT_THAT(s.jobs[0].problems, ElementsAre(HasSubstr("spec.parallelism: tensor*context")));
  EXPECT_TRUE(s.jobs[1].problems.empty());
  EXPECT_EQ(s.jobs[1].groups->workers, 2);
  EXPECT_THAT(s.jobs[2].problems, ElementsAre(HasSubstr("spec.workers: its 1000000 workers")));
}

// Its ranks: 4 GPUs each, two on a0 and one on a1.
class NextPlaceTest : public SnapshotBuilderTest {
 protected:
  NextPlaceTest() {
    jobs_ = {Job("a", R"({"workers":3,"gpusPerWorker":4})")};
    gangs_ = {GangOf(jobs_[0], {"a0", "a0", "a1"})};
    workload::SetAmount(gangs_[0].requests, "cpu", 32'000);
    for (api::Node& node : nodes_) workload::SetAmount(node.allocatable, "cpu", 96'000);
  }
  void Promise(const std::vector<std::string>& hosts) {
    api::GangMove move{"m", api::GangMoveState::kPromised, "", 0, 0, {}, {}};
    move.assignments = GangOf(jobs_[0], hosts).status.assignments;
    gangs_[0].status.move = move;
  }
  static std::vector<int> FreeGpus(const plan::Snapshot& s) {
    std::vector<int> free;
    for (const char* host : {"a0", "a1", "a2", "b0"}) free.push_back(State(s, host).free_gpus);
    return free;
  }
};

TEST_F(NextPlaceTest, NextHostsAreHeldBesideThePresentOnes) {
  EXPECT_THAT(FreeGpus(Build()), ElementsAre(0, 4, 8, 8));
  Promise({"a2", "a2", "b0"});
  const plan::Snapshot s = Build();
  EXPECT_THAT(FreeGpus(s), ElementsAre(0, 4, 0, 4));
  ASSERT_TRUE(s.jobs[0].next);
  EXPECT_EQ(s.jobs[0].assignment->host_of_rank[2], s.places->FindHost("a1"));
  EXPECT_EQ(s.jobs[0].next->host_of_rank[2], s.places->FindHost("b0"));
  const auto& resources = s.cluster.resources;
  const auto column =
      static_cast<std::size_t>(std::find(resources.names->begin(), resources.names->end(), "cpu") -
                               resources.names->begin());
  const auto row = s.places->FindHost("a2").index() * resources.columns();
  EXPECT_EQ(resources.free[row + column], 32'000);
}

TEST_F(NextPlaceTest, WhatRanksHoldThereAlreadyIsNotHeldTwice) {
  Promise({"a0", "a1", "a1"});  // one of a0 goes to a1
  EXPECT_THAT(FreeGpus(Build()), ElementsAre(0, 0, 8, 8));
  Promise({"a1", "a0", "a0"});  // they exchange hosts
  EXPECT_THAT(FreeGpus(Build()), ElementsAre(0, 4, 8, 8));
}

TEST_F(NextPlaceTest, APodOnThePresentHostHoldsNothingBesides) {
  Promise({"a2", "a2", "b0"});
  api::Pod pod = PodOn("a-2", "a1", 4);
  pod.metadata.annotations[api::kSlotAnnotation] =
      api::EncodeSlot({gangs_[0].metadata.name, 2, "p", "a", {0}});
  pods_ = {pod};
  EXPECT_THAT(FreeGpus(Build()), ElementsAre(0, 4, 0, 4));
}

TEST_F(NextPlaceTest, AMoveThatIsOverHoldsNothing) {
  Promise({"a2", "a2", "b0"});
  gangs_[0].status.move->state = api::GangMoveState::kGivenUp;
  EXPECT_THAT(FreeGpus(Build()), ElementsAre(0, 4, 8, 8));
}

TEST_F(NextPlaceTest, AHostWithoutItsNodeStaysKnownAndAPlaceThatIsNotWholeIsNone) {
  Promise({"a2", "a2", "b0"});
  nodes_.erase(std::remove_if(nodes_.begin(), nodes_.end(),
                              [](const api::Node& n) { return n.metadata.name == "b0"; }),
               nodes_.end());
  plan::Snapshot s = Build();
  ASSERT_TRUE(s.jobs[0].next);
  EXPECT_NE(State(s, "b0").unavailable, Unavailability::kNo);
  gangs_[0].status.move->assignments.pop_back();
  s = Build();
  EXPECT_FALSE(s.jobs[0].next);
  EXPECT_TRUE(s.jobs[0].problems.empty());
}

}  // namespace
}  // namespace yardmaster::state
