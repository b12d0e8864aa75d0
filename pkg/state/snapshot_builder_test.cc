// Hosts, places and the network of a snapshot.
#include "pkg/state/snapshot_builder.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/state/testing/snapshot_fixture.h"

namespace yardmaster::state {
namespace {

using placement::Unavailability;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(SnapshotBuilderTest, HostsStandWhereTheirLabelsSay) {
  const plan::Snapshot s = Build();
  EXPECT_EQ(s.places->num_segments(), 2);
  EXPECT_EQ(s.places->num_hosts(), 8);
  ASSERT_NE(s.network, nullptr);
  EXPECT_THAT(s.warnings, ElementsAre());
  EXPECT_EQ(State(s, "a0"), (placement::HostState{8, 8, Unavailability::kNo, false, false, 0, -1}));
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

TEST_F(SnapshotBuilderTest, ANewFabricTakesNothingOverWhateverItsName) {
  fabrics_.push_back(fabrics_[0]);
  fabrics_[0].metadata.created_ms = 1'000;
  fabrics_[1].metadata.created_ms = 2'000;
  fabrics_[1].metadata.name = fabrics_[1].spec.name = "a";
  EXPECT_EQ(Build().network->spec().name, fabrics_[0].spec.name);
  fabrics_[1].metadata.annotations[api::kInUseAnnotation] = "false";
  EXPECT_EQ(Build().network->spec().name, fabrics_[0].spec.name);
  fabrics_[1].metadata.annotations[api::kInUseAnnotation] = "true";
  EXPECT_EQ(Build().network->spec().name, "a") << "somebody means it";
  fabrics_[0].metadata.annotations[api::kInUseAnnotation] = "true";
  EXPECT_EQ(Build().network->spec().name, fabrics_[0].spec.name) << "both: the older one";
}

TEST_F(SnapshotBuilderTest, TheFirstLabelOfANodeNamesItsDomainAndContradictionsAreNamed) {
  EXPECT_FALSE(Build().places->has_domains());
  fabrics_[0].spec.scale_up.more_labels = {"nvidia.com/gpu.clique"};
  fabrics_[0].spec.scale_up.hosts_per_domain = 2;
  for (const char* name : {"a0", "a1", "a2", "b0"}) {
    node(name).metadata.labels["yardmaster.dev/domain"] = "d";
  }
  for (const char* name : {"b1", "b2"}) node(name).metadata.labels["nvidia.com/gpu.clique"] = "u.1";
  const plan::Snapshot s = Build();
  const auto domain = [&](const char* name) {
    return s.places->domain_of(s.places->FindHost(name));
  };
  EXPECT_EQ(domain("a0"), domain("a2"));
  EXPECT_NE(domain("a0"), domain("b0")) << "cut between segments";
  EXPECT_EQ(domain("b1"), domain("b2"));
  EXPECT_EQ(s.places->hosts_of(domain("a3")).size(), 1);
  EXPECT_THAT(
      s.warnings,
      ElementsAre("Node a2: metadata.labels[\"yardmaster.dev/domain\"]: names domain d, which 3 "
                  "Nodes name and which has room for 2; correct the label, or "
                  "spec.scaleUp.hostsPerDomain of Fabric f",
                  "Node b0: metadata.labels[\"yardmaster.dev/domain\"]: names domain d, which lies "
                  "in segment a, too; the parts count as two domains; correct the label"));
}

TEST_F(SnapshotBuilderTest, DomainsOfMixedSizesAreNamedWhereTheFabricStatesNone) {
  for (const char* name : {"a0", "a1"}) node(name).metadata.labels["yardmaster.dev/domain"] = "d";
  for (const char* name : {"a2", "a3"}) node(name).metadata.labels["yardmaster.dev/domain"] = "e";
  for (const char* name : {"b0", "b1", "b2"}) {
    node(name).metadata.labels["yardmaster.dev/domain"] = "g";
  }
  EXPECT_THAT(Build().warnings,
              ElementsAre("Node b2: metadata.labels[\"yardmaster.dev/domain\"]: names domain g of "
                          "3 hosts; most domains have 2; correct the label, or state "
                          "spec.scaleUp.hostsPerDomain of Fabric f"));
  fabrics_[0].spec.scale_up.hosts_per_domain = 3;
  EXPECT_THAT(Build().warnings, ElementsAre()) << "domains may have lost Nodes";
}

TEST_F(SnapshotBuilderTest, ContradictionsOfManyDomainsAreOneLine) {
  fabrics_[0].spec.scale_up.hosts_per_domain = 1;
  for (int d = 0; d < 20; ++d) {
    for (const char* half : {"x", "y"}) {
      nodes_.push_back(NodeAt(StrCat("c", 10 + d, half), "p", "b"));
      nodes_.back().metadata.labels["yardmaster.dev/domain"] = StrCat("d", 10 + d);
    }
  }
  std::vector<std::string> about_domains;
  for (const std::string& warning : Build().warnings) {
    if (warning.find("domain d") != std::string::npos) about_domains.push_back(warning);
  }
  EXPECT_THAT(about_domains,
              ElementsAre("Node c10y: metadata.labels[\"yardmaster.dev/domain\"]: names domain "
                          "d10, which 2 Nodes name and which has room for 1; correct the label, or "
                          "spec.scaleUp.hostsPerDomain of Fabric f; likewise of 19 domains more: "
                          "d11 (Node c11y), d12 (Node c12y), d13 (Node c13y), d14 (Node c14y), "
                          "d15 (Node c15y), d16 (Node c16y), d17 (Node c17y), d18 (Node c18y), "
                          "..."));
}

TEST_F(SnapshotBuilderTest, LabelsThatContradictTheFabricAreNamedAndStopNothing) {
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

TEST_F(SnapshotBuilderTest, HostsOfASegmentThatTheFabricCallsLostAreOut) {
  node("a1").ready = false;
  fabrics_[0].status.lost_segments = {{"p", "a", 0}, {"p", "not-there", 0}};
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a0").unavailable, Unavailability::kSegmentLost);
  EXPECT_EQ(State(s, "a1").unavailable, Unavailability::kNotReady);
  EXPECT_EQ(State(s, "b0").unavailable, Unavailability::kNo);
  ASSERT_EQ(s.lost_segments.size(), 1u);
  EXPECT_EQ(s.places->name(s.lost_segments[0]), "a");
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

TEST_F(SnapshotBuilderTest, DownPortsPutTheirCablesDownAndDegradeTheHost) {
  node("a1").metadata.annotations[api::kDownPortsAnnotation] = "r0p1,r9p0,x";
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a1").degraded, 1);
  ASSERT_FALSE(s.cable_down.empty());
  EXPECT_EQ(std::count(s.cable_down.begin(), s.cable_down.end(), 1), 1);
  EXPECT_EQ(s.cable_down[s.network->host_cable({s.places->FindHost("a1"), 0, 1}).index()], 1);
  EXPECT_EQ(s.warnings.size(), 2u);
}

TEST_F(SnapshotBuilderTest, LossyPortsDegradeTheHostAndKeepTheirCablesUp) {
  node("a1").metadata.annotations[api::kDownPortsAnnotation] = "r0p1";
  node("a1").metadata.annotations[api::kLossyPortsAnnotation] = "r0p0=5,r0p1=5,r0p0,r9p0=1";
  node("a2").metadata.annotations[api::kLossyPortsAnnotation] = "r3p0=20000";
  const plan::Snapshot s = Build();
  EXPECT_EQ(State(s, "a1").degraded, 2);
  EXPECT_EQ(State(s, "a2").degraded, 1);
  EXPECT_EQ(std::count(s.cable_down.begin(), s.cable_down.end(), 1), 1);
  EXPECT_EQ(s.warnings.size(), 2u);
}

TEST_F(SnapshotBuilderTest, NoAnnotationOfPortsMakesManyWarnings) {
  for (const char* name : {api::kDownPortsAnnotation, api::kLossyPortsAnnotation}) {
    node("a1").metadata.annotations = {{name, std::string(200'000, ',')}};
    const plan::Snapshot s = Build();
    ASSERT_EQ(s.warnings.size(), 9u);
    EXPECT_NE(s.warnings.back().find("199993 more parts"), std::string::npos) << s.warnings.back();
  }
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

TEST_F(SnapshotBuilderTest, PodsWithCopiedLabelsOnASlotsHostHoldWhatTheyAskForBesides) {
  jobs_ = {Job("j", R"({"workers": 1, "gpusPerWorker": 2, "parallelism": {"tensor": 2}})")};
  gangs_ = {GangOf(jobs_[0], {"a0"})};
  const auto add = [this](const std::string& name, int gpus) {
    api::Pod pod = PodOn(name, "a0", gpus);
    pod.metadata.namespace_name = jobs_[0].metadata.namespace_name;
    pod.metadata.labels = {{api::kJobLabel, "j"}, {api::kRankLabel, "0"}};
    pods_.push_back(pod);
  };
  add("j-0", 2);
  EXPECT_EQ(State(Build(), "a0").free_gpus, 6);
  add("j-0-copy", 1);
  EXPECT_EQ(State(Build(), "a0").free_gpus, 5);
  pods_.clear();
  add("j-0", 7);
  EXPECT_EQ(State(Build(), "a0").free_gpus, 1) << "more than was promised";
}

}  // namespace
}  // namespace yardmaster::state
