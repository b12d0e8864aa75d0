#include "pkg/state/snapshot_builder.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::state {
namespace {

using fabric::HostId;
using nlohmann::json;
using placement::Unavailability;
using testing::ElementsAre;
using testing::HasSubstr;

api::Node NodeAt(const std::string& name, const std::string& pod, const std::string& segment) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels = {{api::kFabricPodLabel, pod}, {api::kSegmentLabel, segment}};
  workload::SetAmount(node.allocatable, api::kGpuResource, 8);
  node.ready = true;
  return node;
}

// Two segments of four hosts: a0 .. a3 and b0 .. b3.
class SnapshotBuilderTest : public testing::Test {
 protected:
  SnapshotBuilderTest() {
    api::Fabric fabric;
    fabric.metadata.name = "f";
    fabric.spec = fabric::SmallHpn(1, 2, 4);
    fabric.spec.name = "f";
    fabrics_ = {fabric};
    for (const char* segment : {"a", "b"}) {
      for (int i = 0; i < 4; ++i) nodes_.push_back(NodeAt(StrCat(segment, i), "p", segment));
    }
  }

  api::Node& node(const std::string& name) {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const api::Node& n) { return n.metadata.name == name; });
  }

  api::TrainingJob Job(const std::string& name, const char* spec) {
    const json object = {{"metadata", {{"name", name}, {"uid", "u-" + name}}},
                         {"spec", json::parse(spec)}};
    auto job = api::DecodeTrainingJob(object);
    EXPECT_TRUE(job.ok()) << job.status();
    return *job;
  }

  api::Gang GangOf(const api::TrainingJob& job, std::vector<std::string> hosts) {
    api::Gang gang;
    gang.metadata.name = api::GangName("TrainingJob", job.metadata.name);
    gang.metadata.namespace_name = job.metadata.namespace_name;
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", job.metadata.name, job.metadata.uid,
                  false};
    gang.job = job.job;
    gang.constraints = job.constraints;
    gang.rank_bases = {{"", 0}};
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      gang.status.assignments.push_back(
          {static_cast<int>(r), hosts[r], "p", hosts[r].substr(0, 1), {0}});
    }
    gang.status.plan_generation = hosts.empty() ? 0 : 1;
    return gang;
  }

  api::Pod PodOn(const std::string& name, const std::string& node_name, int gpus) {
    api::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_name = "default";
    pod.node_name = node_name;
    workload::SetAmount(pod.requests, api::kGpuResource, gpus);
    return pod;
  }

  plan::Snapshot Build() {
    ClusterState world;
    auto share = [](const auto& from, auto& to) {
      for (const auto& object : from) {
        to.Put(std::make_shared<std::decay_t<decltype(object)>>(object));
      }
    };
    share(fabrics_, world.fabrics);
    share(nodes_, world.nodes);
    share(pods_, world.pods);
    share(jobs_, world.jobs);
    share(gangs_, world.gangs);
    return BuildSnapshot(world);
  }

  static const placement::HostState& State(const plan::Snapshot& s, const std::string& host) {
    return s.cluster.hosts[s.places->FindHost(host).index()];
  }

  std::vector<api::Fabric> fabrics_;
  std::vector<api::Node> nodes_;
  std::vector<api::Pod> pods_;
  std::vector<api::TrainingJob> jobs_;
  std::vector<api::Gang> gangs_;
};

TEST_F(SnapshotBuilderTest, HostsStandWhereTheirLabelsSay) {
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.places->num_segments(), 2);
  EXPECT_EQ(s.places->num_hosts(), 8);
  ASSERT_NE(s.network, nullptr);
  EXPECT_THAT(s.warnings, ElementsAre());
  EXPECT_EQ(State(s, "a0"), (placement::HostState{8, 8, Unavailability::kNo, false, false, -1}));
}

TEST_F(SnapshotBuilderTest, TheFabricsOwnLabelsAreUsed) {
  fabrics_[0].spec.segment_label = "rack";
  node("a0").metadata.labels["rack"] = "r1";
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.places->num_hosts(), 1);
  EXPECT_EQ(s.warnings.size(), 7u);
  EXPECT_THAT(s.warnings[0], HasSubstr("Node a1: metadata.labels.rack: is missing"));
}

TEST_F(SnapshotBuilderTest, WithoutAFabricTheDefaultLabelsCountAndThereIsNoNetwork) {
  fabrics_.clear();
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.places->num_hosts(), 8);
  EXPECT_EQ(s.network, nullptr);
}

TEST_F(SnapshotBuilderTest, DefaultsFollowTheLargestHostThatIsThere) {
  jobs_ = {Job("j", R"({"workers":4,"gpusPerWorker":4,"parallelism":{"tensor":8,"data":2}})")};
  EXPECT_EQ(Build().jobs[0].job.placement.tensor.within, workload::TopologyLevel::kHost);
  for (api::Node& n : nodes_) workload::SetAmount(n.allocatable, api::kGpuResource, 4);
  EXPECT_EQ(Build().jobs[0].job.placement.tensor.within, workload::TopologyLevel::kSegment);
  fabrics_.clear();
  EXPECT_EQ(Build().jobs[0].job.placement.tensor.within, workload::TopologyLevel::kSegment);
}

TEST_F(SnapshotBuilderTest, AFabricThatDoesNotAddUpIsAWarningAndPlacementStillWorks) {
  fabrics_[0].spec.tiers[0].down_ports = 1;
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.network, nullptr);
  EXPECT_EQ(s.places->num_hosts(), 8);
  ASSERT_FALSE(s.warnings.empty());
  EXPECT_THAT(s.warnings[0], HasSubstr("spec.tiers[0].downPorts"));
}

TEST_F(SnapshotBuilderTest, ASecondFabricIsNamedAndNotUsed) {
  fabrics_.push_back(fabrics_[0]);
  fabrics_[1].metadata.name = "e";
  fabrics_[1].spec.name = "e";
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.network->spec().name, "e");
  EXPECT_THAT(s.warnings, ElementsAre(HasSubstr("Fabric f: is not used")));
}

TEST_F(SnapshotBuilderTest, LabelsThatContradictTheFabricAreNamedAndStopNobody) {
  node("a3").metadata.labels[api::kFabricPodLabel] = "q";
  nodes_.push_back(NodeAt("b4", "p", "b"));
  nodes_.push_back(NodeAt("c0", "p", "c"));
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.places->num_hosts(), 10);
  EXPECT_THAT(
      s.warnings,
      ElementsAre("Node a3: metadata.labels[\"yardmaster.dev/fabric-pod\"]: names fabric pod q, "
                  "one of 2 that Nodes name and there are 1; correct the label, or "
                  "spec.size.fabricPods of Fabric f",
                  "Node c0: metadata.labels[\"yardmaster.dev/segment\"]: names segment c in fabric "
                  "pod p, one of 3 that Nodes name and there are 2; correct the label, or "
                  "spec.size.segmentsPerFabricPod of Fabric f",
                  "Node b4: metadata.labels[\"yardmaster.dev/segment\"]: names segment b, which 5 "
                  "Nodes name and which has room for 4; correct the label, or "
                  "spec.size.hostsPerSegment of Fabric f",
                  HasSubstr("Fabric f: spec.tiers[0].downPorts: segment b has 5 hosts")));
}

TEST_F(SnapshotBuilderTest, NodesWithoutAPlaceAreWarnedOfOnlyIfTheyHaveGpus) {
  api::Node lost = NodeAt("lost", "p", "a");
  lost.metadata.labels.clear();
  api::Node web = lost;
  web.metadata.name = "web";
  workload::SetAmount(web.allocatable, api::kGpuResource, 0);
  nodes_.insert(nodes_.end(), {lost, web});
  const plan::Snapshot s = Build();
  EXPECT_THAT(s.warnings, ElementsAre(HasSubstr("Node lost: metadata.labels")));
  EXPECT_EQ(s.places->num_hosts(), 8);
}

TEST_F(SnapshotBuilderTest, CordonedNotReadyAndTaintedHostsAreOut) {
  node("a0").unschedulable = true;
  node("a1").ready = false;
  node("a2").taints = {{"repair", "", api::TaintEffect::kNoExecute}};
  node("a3").taints = {{"soft", "", api::TaintEffect::kPreferNoSchedule}};
  node("b0").taints = {{"node.kubernetes.io/disk-pressure", "", api::TaintEffect::kNoSchedule}};
  node("b1").ready.reset();
  jobs_ = {Job("a", R"({"workers":1})")};
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").unavailable, Unavailability::kCordoned);
  EXPECT_EQ(State(s, "a1").unavailable, Unavailability::kNotReady);
  EXPECT_EQ(State(s, "a2").unavailable, Unavailability::kTainted);
  EXPECT_EQ(State(s, "a3").unavailable, Unavailability::kNo);
  EXPECT_EQ(State(s, "b0").unavailable, Unavailability::kTainted);
  EXPECT_EQ(State(s, "b1").unavailable, Unavailability::kNo);
  // They may come back, so they are not held against the job's template.
  EXPECT_EQ(s.jobs[0].eligible, nullptr);
}

TEST_F(SnapshotBuilderTest, ATaintThatOneJobToleratesFencesTheOthersOut) {
  node("a0").taints = {{"team", "x", api::TaintEffect::kNoSchedule}};
  jobs_ = {Job("other", R"({"workers":1})"),
           Job("x", R"({"workers":1,"template":{"spec":{"tolerations":[
                       {"key":"team","value":"x","effect":"NoSchedule"}]}}})")};
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").unavailable, Unavailability::kNo);
  ASSERT_NE(s.jobs[0].eligible, nullptr);
  EXPECT_EQ((*s.jobs[0].eligible)[s.places->FindHost("a0").index()], 0);
  EXPECT_EQ((*s.jobs[0].eligible)[s.places->FindHost("a1").index()], 1);
  EXPECT_EQ(s.jobs[1].eligible, nullptr);
}

TEST_F(SnapshotBuilderTest, BackupHostsAreMarkedByLabelOrTaintAndStayUsable) {
  node("a3").metadata.labels[api::kBackupKey] = "true";
  node("b3").taints = {{api::kBackupKey, "", api::TaintEffect::kNoSchedule}};
  node("b2").metadata.labels[api::kBackupKey] = "false";
  const plan::Snapshot s = Build();
  EXPECT_TRUE(State(s, "a3").backup);
  EXPECT_TRUE(State(s, "b3").backup);
  EXPECT_FALSE(State(s, "b2").backup);
  EXPECT_EQ(State(s, "b3").unavailable, Unavailability::kNo);
}

TEST_F(SnapshotBuilderTest, EqualTemplatesShareOneMask) {
  const char* spec = R"({"workers":1,"template":{"spec":{"nodeSelector":
                         {"yardmaster.dev/segment":"a"}}}})";
  jobs_ = {Job("a", spec), Job("b", spec)};
  const plan::Snapshot s = Build();
  ASSERT_NE(s.jobs[0].eligible, nullptr);
  EXPECT_EQ(s.jobs[0].eligible, s.jobs[1].eligible);
  EXPECT_EQ(std::count(s.jobs[0].eligible->begin(), s.jobs[0].eligible->end(), 1), 4);
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
  // Bound by label (the operator's pods) and by slot (anybody's).
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

TEST_F(SnapshotBuilderTest, AJobThatContradictsItselfHasProblemsAndStopsNobody) {
  jobs_ = {Job("bad", R"({"workers":2,"parallelism":{"tensor":3,"data":5}})"),
           Job("good", R"({"workers":2})"), Job("huge", R"({"workers":1000000})")};
  const plan::Snapshot s = Build();
  EXPECT_THAT(s.jobs[0].problems, ElementsAre(HasSubstr("spec.parallelism: tensor*context")));
  EXPECT_TRUE(s.jobs[1].problems.empty());
  EXPECT_EQ(s.jobs[1].groups->workers, 2);
  EXPECT_THAT(s.jobs[2].problems, ElementsAre(HasSubstr("spec.workers: 1000000 workers")));
}

TEST_F(SnapshotBuilderTest, DownPortsPutTheirCablesDownAndDegradeTheHost) {
  node("a1").metadata.annotations[api::kDownPortsAnnotation] = "r0p1,r9p0,x";
  const plan::Snapshot s = Build();
  EXPECT_TRUE(State(s, "a1").degraded);
  ASSERT_FALSE(s.cable_down.empty());
  EXPECT_EQ(std::count(s.cable_down.begin(), s.cable_down.end(), 1), 1);
  EXPECT_EQ(s.cable_down[s.network->host_cable({s.places->FindHost("a1"), 0, 1}).index()], 1);
  EXPECT_EQ(s.warnings.size(), 2u);
}

TEST_F(SnapshotBuilderTest, NicAddressesComeFromTheNodeUnlessTheyAreWrongOrRepeated) {
  const std::string good =
      "10.1.0.1,10.1.0.2,10.1.0.3,10.1.0.4,10.1.0.5,10.1.0.6,10.1.0.7,10.1.0.8";
  const std::string twice =
      "10.2.0.1,10.2.0.2,10.2.0.3,10.2.0.4,10.2.0.5,10.2.0.6,10.2.0.7,10.2.0.8";
  node("a0").metadata.annotations[api::kNicAddressesAnnotation] = good;
  node("a1").metadata.annotations[api::kNicAddressesAnnotation] = "10.1.1.1,300.0.0.1";
  node("a2").metadata.annotations[api::kNicAddressesAnnotation] = twice;
  node("a3").metadata.annotations[api::kNicAddressesAnnotation] = twice;
  const plan::Snapshot s = Build();
  ASSERT_NE(s.network, nullptr);
  EXPECT_EQ(s.network->nic_address(s.places->FindHost("a0"), 1).ToString(), "10.1.0.2");
  EXPECT_EQ(s.warnings.size(), 3u);
}

TEST_F(SnapshotBuilderTest, TheOrderOfTheObjectsDoesNotMatter) {
  for (const char* name : {"a", "b", "c"}) jobs_.push_back(Job(name, R"({"workers":2})"));
  gangs_ = {GangOf(jobs_[1], {"a0", "b1"})};
  pods_ = {PodOn("x", "a1", 3), PodOn("y", "b3", 2)};
  node("a2").taints = {{"t", "", api::TaintEffect::kNoSchedule}};
  nodes_.push_back(NodeAt("stray", "", ""));
  const plan::Snapshot first = Build();
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(nodes_.begin(), nodes_.end(), random);
    std::shuffle(jobs_.begin(), jobs_.end(), random);
    std::shuffle(pods_.begin(), pods_.end(), random);
    const plan::Snapshot again = Build();
    EXPECT_EQ(again.cluster.hosts, first.cluster.hosts);
    EXPECT_EQ(again.warnings, first.warnings);
    ASSERT_EQ(again.jobs.size(), first.jobs.size());
    for (std::size_t j = 0; j < again.jobs.size(); ++j) {
      EXPECT_EQ(again.jobs[j].job.key, first.jobs[j].job.key);
    }
  }
}

TEST(SnapshotBuilderEmptyTest, NothingAtAllIsAnEmptySnapshot) {
  const plan::Snapshot s = BuildSnapshot({});
  ASSERT_NE(s.places, nullptr);
  EXPECT_EQ(s.places->num_hosts(), 0);
  EXPECT_TRUE(s.jobs.empty());
}

}  // namespace
}  // namespace yardmaster::state
