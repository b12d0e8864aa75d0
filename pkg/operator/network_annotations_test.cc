#include "pkg/operator/network_annotations.h"

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/fabric/testing.h"

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

plan::Plan MakePlanOfTwo() {
  plan::Plan plan;
  plan::JobPlan job;
  job.network = plan::JobNetwork{1e15, 0.5, 2e15, 2e15, 6};
  plan.jobs.push_back(job);
  for (int port : {1, 0}) {
    plan.paths.push_back({0,
                          0,
                          1,
                          {HostId(0), 3, port},
                          {HostId(4), 3, port},
                          static_cast<std::uint16_t>(50000 + port),
                          {}});
  }
  plan.paths.push_back({0, 0, 1, {HostId(0), 2, 0}, {HostId(4), 2, 0}, 50002, {}});
  return plan;
}

TEST(NetworkAnnotationsTest, EveryWorkerGetsItsLevelAndItsOwnConnectionsInOrder) {
  const plan::Snapshot snapshot = MakeSnapshot();
  const NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto networks = NetworksOf(MakePlanOfTwo(), snapshot, options);
  ASSERT_EQ(networks.size(), 1u);
  const api::PathPlan& paths = networks[0].paths_of_rank[0];
  ASSERT_EQ(paths.rails.size(), 2u);
  EXPECT_EQ(paths.rails[0].rail, 2);
  ASSERT_EQ(paths.rails[1].peers.size(), 2u);
  EXPECT_EQ(paths.rails[1].peers[0].plane, 0);
  EXPECT_EQ(paths.rails[1].peers[0].source_ports, std::vector<std::uint16_t>{50000});
  EXPECT_EQ(paths.rails[1].peers[1].host, snapshot.places->name(HostId(4)));
  EXPECT_TRUE(networks[0].paths_of_rank[1].rails.empty());

  const auto first = AnnotationsToWrite(networks[0], 0, {}, options).value();
  EXPECT_EQ(first.at(api::kPriorityAnnotation), "6");
  EXPECT_EQ(api::DecodePathPlan(first.at(api::kPathPlanAnnotation)).value(), paths);
  const auto second = AnnotationsToWrite(networks[0], 1, {}, options).value();
  EXPECT_EQ(second.count(api::kPathPlanAnnotation), 0u);
}

TEST(NetworkAnnotationsTest, WhatIsThereAlreadyIsNotWrittenAgainUntilHalfItsLifeIsOver) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto written =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, {}, options).value();
  options.now_ms += 4'000'000;
  EXPECT_TRUE(
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, written, options)
          .value()
          .empty());
  options.now_ms += 2'000'000;
  EXPECT_EQ(
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, written, options)
          .value()
          .size(),
      1u);
}

TEST(NetworkAnnotationsTest, AnotherFabricGenerationOrAnotherLevelIsWritten) {
  const plan::Snapshot snapshot = MakeSnapshot();
  NetworkOptions options{7, 1'000'000, 10'000'000};
  const auto written =
      AnnotationsToWrite(NetworksOf(MakePlanOfTwo(), snapshot, options)[0], 0, {}, options).value();
  options.fabric_generation = 8;
  plan::Plan plan = MakePlanOfTwo();
  plan.jobs[0].network->level = 2;
  const auto again =
      AnnotationsToWrite(NetworksOf(plan, snapshot, options)[0], 0, written, options).value();
  EXPECT_EQ(again.size(), 2u);
}

}  // namespace
}  // namespace yardmaster::op
