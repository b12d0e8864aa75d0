#include "pkg/gather/ended_replicas.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::gather {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EndedReplicasTest, IndexesAreReadAsAJobWritesThem) {
  EXPECT_THAT(ParseIndexes(""), IsEmpty());
  EXPECT_THAT(ParseIndexes("0"), ElementsAre(0));
  EXPECT_THAT(ParseIndexes("7,0,2-4,3"), ElementsAre(0, 2, 3, 4, 7));
}

TEST(EndedReplicasTest, WhatIsNoIndexIsLeftOut) {
  EXPECT_THAT(ParseIndexes("a,-1,1-b,4-2,,5"), ElementsAre(5));
  EXPECT_EQ(ParseIndexes("0-2147483647").size(), 16'384u);
  EXPECT_THAT(ParseIndexes("99999999999999999999"), IsEmpty());
  EXPECT_THAT(ParseIndexes("16384-16390"), IsEmpty());
}

TEST(EndedReplicasTest, AnIndexEndsByItsSuccessOrByItsLastFailure) {
  EXPECT_THAT(EndedIndexes(json{{"status", {{"completedIndexes", "0"}, {"failedIndexes", "2"}}}}),
              ElementsAre(0, 2));
  EXPECT_THAT(EndedIndexes(json{{"status", {{"completedIndexes", 5}}}}), IsEmpty());
  EXPECT_THAT(EndedIndexes(json::object()), IsEmpty());
}

TEST(EndedReplicasTest, TheJobsOfAJobSetAreNumberedThroughAllReplicatedJobs) {
  const json set = json::parse(R"({
      "metadata": {"name": "s"},
      "spec": {"replicatedJobs": [{"name": "driver"}, {"name": "none", "replicas": 0},
                                  {"name": "w", "replicas": 2}]}})");
  EXPECT_EQ(JobOfSubgroup(set, "0"), "s-driver-0");
  EXPECT_EQ(JobOfSubgroup(set, "1"), "s-w-0");
  EXPECT_EQ(JobOfSubgroup(set, "2"), "s-w-1");
  EXPECT_EQ(JobOfSubgroup(set, "3"), std::nullopt);
  EXPECT_EQ(JobOfSubgroup(set, "-1"), std::nullopt);
  EXPECT_EQ(JobOfSubgroup(set, "w"), std::nullopt);
  EXPECT_EQ(JobOfSubgroup(json::object(), "0"), std::nullopt);
}

TEST(EndedReplicasTest, AFailedPodEndsItsReplicaOnlyWhereNoOtherIsMade) {
  api::Pod pod;
  const api::OwnerReference job{"batch/v1", "Job", "a", "u", true};
  const api::OwnerReference mpi{"kubeflow.org/v2beta1", "MPIJob", "a", "u", true};
  EXPECT_FALSE(SaysEnded(pod, mpi));
  pod.phase = "Failed";
  EXPECT_FALSE(SaysEnded(pod, job));
  EXPECT_TRUE(SaysEnded(pod, mpi));
  pod.phase = "Succeeded";
  EXPECT_TRUE(SaysEnded(pod, job));
}

}  // namespace
}  // namespace yardmaster::gather
