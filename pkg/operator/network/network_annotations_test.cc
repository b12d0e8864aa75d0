#include "pkg/operator/network/network_annotations.h"

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::op {
namespace {

using fabric::HostId;

plan::Snapshot MakeSnapshot() {
  plan::Snapshot snapshot;
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  snapshot.places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  snapshot.network = std::make_shared<const fabric::Network>(
      fabric::Network::Build(spec, snapshot.places).value());
  plan::JobState job;
  job.job.workers = 2;
  snapshot.jobs.push_back(job);
  return snapshot;
}

netplan::PathAssignment PathOf(int rail, int nic_port, std::uint16_t source_port) {
  netplan::PathAssignment path;
  path.job = plan::JobId(0);
  path.to_rank = 1;
  path.src = {HostId(0), rail, nic_port};
  path.dst = {HostId(4), rail, nic_port};
  path.source_port = source_port;
  return path;
}

netplan::NetworkPlan MakePlanOfTwo() {
  netplan::NetworkPlan plan;
  netplan::JobNetwork job;
  job.flop_per_iteration = 1e15;
  job.communication_seconds = 0.5;
  job.intensity = job.priority = 2e15;
  job.level = 6;
  plan.jobs.push_back(job);
  plan.paths = {PathOf(3, 1, 50001), PathOf(3, 0, 50000), PathOf(2, 0, 50002)};
  return plan;
}

TEST(NetworkAnnotationsTest, EveryWorkerGetsItsLevelAndItsOwnConnectionsInOrder) {
  const plan::Snapshot snapshot = MakeSnapshot();
  const NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto networks = NetworksOf(MakePlanOfTwo(), snapshot, options);
  ASSERT_EQ(networks.size(), 1u);
  const api::PodPathPlan& paths = networks[0].paths_of_rank[0];
  ASSERT_EQ(paths.rails.size(), 2u);
  EXPECT_EQ(paths.rails[0].rail, 2);
  EXPECT_EQ(paths.rails[0].address, snapshot.network->nic_address(HostId(0), 2).ToString());
  ASSERT_EQ(paths.rails[1].peers.size(), 2u);
  EXPECT_EQ(paths.rails[1].peers[0].plane, 0);
  EXPECT_EQ(paths.rails[1].peers[0].source_ports, std::vector<std::uint16_t>{50000});
  EXPECT_EQ(paths.rails[1].peers[1].host, snapshot.places->name(HostId(4)));
  EXPECT_TRUE(networks[0].paths_of_rank[1].rails.empty());

  const auto first = AnnotationsToWrite(networks[0], 0, {}, options).value().annotations;
  EXPECT_EQ(first.at(api::kPriorityAnnotation), "6");
  EXPECT_EQ(first.at(api::kNcclConfAnnotation), "NCCL_IB_TC=128\n");
  api::PodPathPlan written = paths;
  written.traffic_class = 128;
  EXPECT_EQ(api::DecodePathPlan(first.at(api::kPathPlanAnnotation)).value(), written);
  const auto second = AnnotationsToWrite(networks[0], 1, {}, options).value().annotations;
  EXPECT_EQ(second.count(api::kPathPlanAnnotation), 0u);
}

TEST(NetworkAnnotationsTest, TheReceiverOfOneWayTrafficGetsThePathOfItsAnswers) {
  const plan::Snapshot snapshot = MakeSnapshot();
  netplan::NetworkPlan plan = MakePlanOfTwo();
  netplan::PathAssignment answer = PathOf(2, 0, 50003);
  std::swap(answer.src, answer.dst);
  std::swap(answer.from_rank, answer.to_rank);
  plan.ack_paths = {answer};
  const auto networks = NetworksOf(plan, snapshot, {7, 1'000'000, 10'000'000});
  ASSERT_EQ(networks[0].paths_of_rank[1].rails.size(), 1u);
  const api::PeerPaths& peer = networks[0].paths_of_rank[1].rails[0].peers.at(0);
  EXPECT_EQ(peer.rank, 0);
  EXPECT_EQ(peer.address, snapshot.network->nic_address(HostId(0), 2).ToString());
  EXPECT_EQ(peer.source_ports, std::vector<std::uint16_t>{50003});
}

TEST(NetworkAnnotationsTest, WhatIsThereAlreadyIsNotWrittenAgainUntilHalfItsLifeIsOver) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto written =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, {}, options)
          .value()
          .annotations;
  options.now_ms += 4'000'000;
  EXPECT_TRUE(
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, written, options)
          .value()
          .annotations.empty());
  options.now_ms += 2'000'000;
  EXPECT_EQ(
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, written, options)
          .value()
          .annotations.size(),
      1u);
}

TEST(NetworkAnnotationsTest, AnotherFabricGenerationOrAnotherLevelIsWritten) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto written =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, {}, options)
          .value()
          .annotations;
  options.fabric_generation = 8;
  netplan::NetworkPlan plan = MakePlanOfTwo();
  plan.jobs[0]->level = 2;
  const auto again =
      AnnotationsToWrite(NetworksOf(plan, snapshot, options)[0], 0, written, options).value();
  EXPECT_EQ(again.annotations.size(), 3u);
  EXPECT_EQ(again.annotations.at(api::kNcclConfAnnotation), "NCCL_IB_TC=40\n");
  EXPECT_FALSE(again.renewal);
}

TEST(NetworkAnnotationsTest, ALevelThatTheFabricGivesAnotherClassIsWrittenAgain) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const GangNetwork network = NetworksOf(MakePlanOfTwo(), snapshot, options)[0];
  const auto written = AnnotationsToWrite(network, 0, {}, options).value().annotations;
  options.levels.traffic_class_of_level[6] = 104;
  const auto again = AnnotationsToWrite(network, 0, written, options).value();
  EXPECT_EQ(again.annotations.size(), 2u);
  EXPECT_EQ(api::DecodePathPlan(again.annotations.at(api::kPathPlanAnnotation))->traffic_class,
            104);
  EXPECT_FALSE(again.renewal);
}

// As many peers as a large group of experts has.
GangNetwork OfManyPeers(const plan::Snapshot& snapshot, const NetworkOptions& options, int peers) {
  GangNetwork network = NetworksOf(MakePlanOfTwo(), snapshot, options)[0];
  api::PodPathPlan& plan = network.paths_of_rank[0];
  plan.rails.resize(1);
  plan.rails[0].peers.clear();
  for (int i = 0; i < peers; ++i) {
    api::PeerPaths peer;
    peer.rank = i + 1;
    peer.host = StrCat("p00s00h", 100 + i);
    peer.address = StrCat("10.0.", i / 256, ".", i % 256);
    peer.source_ports = {50000};
    peer.alternate_ports = {50001};
    plan.rails[0].peers.push_back(peer);
  }
  return network;
}

TEST(NetworkAnnotationsTest,
     AWorkerWithTooManyPeersForAnAnnotationHasItsLevelAndIsNotWrittenAgain) {
  const plan::Snapshot snapshot = MakeSnapshot();
  const NetworkOptions options{7, 1'000'000, 10'000'000};
  const GangNetwork network = OfManyPeers(snapshot, options, 1000);
  const auto change = AnnotationsToWrite(network, 0, {}, options);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->annotations.at(api::kPriorityAnnotation), "6");
  EXPECT_EQ(change->annotations.at(api::kNcclConfAnnotation), "NCCL_IB_TC=128\n");
  EXPECT_NE(change->problem.find("64 KiB"), std::string::npos) << change->problem;
  auto present = change->annotations;
  EXPECT_TRUE(AnnotationsToWrite(network, 0, present, options)->annotations.empty());
  // Ports that a smaller gang had left are not those of this one.
  const auto before = AnnotationsToWrite(OfManyPeers(snapshot, options, 10), 0, {}, options);
  present = AnnotationsToWrite(network, 0, before->annotations, options).value().annotations;
  EXPECT_TRUE(api::DecodePathPlan(present.at(api::kPathPlanAnnotation))->rails.empty());
}

TEST(NetworkAnnotationsTest, AlternatePortsAreLeftOutBeforePorts) {
  const plan::Snapshot snapshot = MakeSnapshot();
  const NetworkOptions options{7, 1'000'000, 10'000'000};
  const GangNetwork network = OfManyPeers(snapshot, options, 620);
  const auto change = AnnotationsToWrite(network, 0, {}, options);
  ASSERT_TRUE(change.ok()) << change.status();
  const auto plan = api::DecodePathPlan(change->annotations.at(api::kPathPlanAnnotation));
  ASSERT_EQ(plan->rails.size(), 1u);
  EXPECT_EQ(plan->rails[0].peers.size(), 620u);
  EXPECT_TRUE(plan->rails[0].peers[0].alternate_ports.empty());
  EXPECT_TRUE(AnnotationsToWrite(network, 0, change->annotations, options)->annotations.empty());
}

TEST(NetworkAnnotationsTest, APlanNamesItsFabricAndIsWrittenAgainForAnother) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto nameless =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, {}, options);
  options.fabric_uid = "uid-1";
  const auto network = NetworksOf(MakePlanOfTwo(), snapshot, options);
  // A plan of an earlier version is renewed in its turn.
  EXPECT_TRUE(
      AnnotationsToWrite(network[0], 0, nameless->annotations, options)->annotations.empty());
  const auto written = AnnotationsToWrite(network[0], 0, {}, options)->annotations;
  EXPECT_EQ(api::DecodePathPlan(written.at(api::kPathPlanAnnotation))->fabric_uid, "uid-1");
  options.fabric_uid = "uid-2";
  const auto again =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, written, options);
  ASSERT_EQ(again->annotations.count(api::kPathPlanAnnotation), 1u);
  EXPECT_FALSE(again->renewal);
}

}  // namespace
}  // namespace yardmaster::op
