#include "pkg/extender/observe/observer.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;

using testing::HasSubstr;
using testing::IsEmpty;

// Segments s0 and s1 of four hosts each, and pods of indexed Jobs that a plain scheduler has bound.
class ObserverTest : public testing::Test {
 protected:
  ObserverTest() {
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < 4; ++h) Node(StrCat("s", s, "h", h), StrCat("s", s));
    }
  }

  void Node(const std::string& name, const std::string& segment, const char* ready = "True") {
    auto node = api::DecodeNode(json{
        {"metadata",
         {{"name", name},
          {"labels", {{"yardmaster.dev/fabric-pod", "p0"}, {"yardmaster.dev/segment", segment}}}}},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions", json::array({{{"type", "Ready"}, {"status", ready}}})}}}});
    ASSERT_TRUE(node.ok()) << node.status();
    cluster_.nodes.Put(std::make_shared<const api::Node>(*std::move(node)));
  }

  // On these hosts, by index; an empty name: not bound.
  void Job(const std::string& name, const std::vector<std::string>& hosts,
           const std::string& parallelism = "") {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      json pod = {{"metadata",
                   {{"name", StrCat(name, "-", i)},
                    {"namespace", "team"},
                    {"uid", StrCat(name, i)},
                    {"labels",
                     {{"batch.kubernetes.io/job-name", name},
                      {"batch.kubernetes.io/job-completion-index", StrCat(i)}}},
                    {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                                      {"kind", "Job"},
                                                      {"name", name},
                                                      {"uid", name},
                                                      {"controller", true}}})}}},
                  {"spec",
                   {{"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}}};
      if (!parallelism.empty()) {
        pod["metadata"]["annotations"][api::kParallelismAnnotation] = parallelism;
      }
      if (!hosts[i].empty()) pod["spec"]["nodeName"] = hosts[i];
      auto decoded = api::DecodePod(pod);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      cluster_.pods.Put(std::make_shared<const api::Pod>(*std::move(decoded)));
    }
  }

  state::ClusterState cluster_;
  Observer observer_{/*max_comparisons=*/100};
};

TEST_F(ObserverTest, AGangThatWasSpreadIsComparedWithThePlaceThatWasThere) {
  Job("spread", {"s0h0", "s1h0"}, "tp=8,dp=2");
  const Observation seen = observer_.Observe(cluster_);
  ASSERT_EQ(seen.gangs.size(), 1u);
  const ObservedGang& gang = seen.gangs[0];
  EXPECT_EQ(gang.name, "spread");
  EXPECT_EQ(gang.kind, "Job");
  EXPECT_EQ(gang.gpus, 16);
  EXPECT_FALSE(gang.guessed);
  ASSERT_TRUE(gang.actual);
  EXPECT_EQ(gang.actual->objective.segments, 2);
  EXPECT_EQ(gang.actual->objective.data_split_segments, 8);
  ASSERT_TRUE(gang.planned);
  EXPECT_EQ(gang.planned->objective.segments, 1);
  EXPECT_EQ(gang.planned->objective.data_split_segments, 0);
  EXPECT_TRUE(gang.is_better_planned());
  EXPECT_FALSE(gang.actual->contention) << "no Fabric";
}

TEST_F(ObserverTest, WhatOthersHoldIsNotPlannedAway) {
  Job("filler", {"s0h1", "s0h2", "s0h3"}, "tp=8,dp=3");
  Job("other", {"s1h1", "s1h2", "s1h3"}, "tp=8,dp=3");
  Job("spread", {"s0h0", "s1h0"}, "tp=8,dp=2");
  const Observation seen = observer_.Observe(cluster_);
  ASSERT_EQ(seen.gangs.size(), 3u);
  for (const ObservedGang& gang : seen.gangs) {
    ASSERT_TRUE(gang.planned) << gang.name;
    EXPECT_FALSE(gang.is_better_planned()) << gang.name;
    EXPECT_EQ(gang.planned->objective, gang.actual->objective) << gang.name;
  }
}

TEST_F(ObserverTest, PodsThatSayNothingAreOneDataParallelGroup) {
  Job("plain", {"s0h0", "s1h0"});
  Job("alone", {"s0h1"});
  const Observation seen = observer_.Observe(cluster_);
  ASSERT_EQ(seen.gangs.size(), 1u) << "a lone pod is an ordinary one";
  EXPECT_TRUE(seen.gangs[0].guessed);
  EXPECT_EQ(seen.gangs[0].actual->objective.data_split_segments, 1);
  EXPECT_TRUE(seen.gangs[0].is_better_planned());
}

TEST_F(ObserverTest, AGangThatRunsWhereNoPlaceIsKnownDoesNotWait) {
  // A gang on hosts that are not in the cluster any more, or without labels of places.
  Job("elsewhere", {"x0", "x1"}, "tp=8,dp=2");
  EXPECT_THAT(observer_.Observe(cluster_).gangs, IsEmpty());
}

TEST_F(ObserverTest, AGangThatWaitsIsPlanned) {
  Job("fits", {"", ""}, "tp=8,dp=2");
  Job("huge", std::vector<std::string>(9), "tp=8,dp=9");
  const Observation seen = observer_.Observe(cluster_);
  ASSERT_EQ(seen.gangs.size(), 2u);
  EXPECT_FALSE(seen.gangs[0].actual);
  EXPECT_EQ(seen.gangs[0].outcome, placement::Outcome::kPlaced);
  EXPECT_EQ(seen.gangs[0].planned->objective.segments, 1);
  EXPECT_EQ(seen.gangs[1].outcome, placement::Outcome::kNever);
  EXPECT_FALSE(seen.gangs[1].planned);
  EXPECT_THAT(seen.gangs[1].message, HasSubstr("short"));
}

TEST_F(ObserverTest, AGangIsComparedOnceForItsHosts) {
  Job("spread", {"s0h0", "s1h0"}, "tp=8,dp=2");
  EXPECT_EQ(observer_.Observe(cluster_).gangs[0].planned->objective.segments, 1);
  // What comes later does not make the place that was there worse.
  Job("filler", {"s0h1", "s0h2", "s0h3"}, "tp=8,dp=3");
  Job("other", {"s1h1", "s1h2", "s1h3"}, "tp=8,dp=3");
  EXPECT_TRUE(observer_.Observe(cluster_).gangs[2].is_better_planned());
}

TEST_F(ObserverTest, ComparisonsAreSpreadOverSeveralLooks) {
  Observer slow(/*max_comparisons=*/1);
  Job("a", {"s0h0", "s1h0"}, "tp=8,dp=2");
  Job("b", {"s0h1", "s1h1"}, "tp=8,dp=2");
  const auto compared = [&] {
    int count = 0;
    for (const ObservedGang& gang : slow.Observe(cluster_).gangs) count += gang.planned ? 1 : 0;
    return count;
  };
  EXPECT_EQ(compared(), 1);
  EXPECT_TRUE(slow.has_more());
  EXPECT_EQ(compared(), 2);
  EXPECT_FALSE(slow.has_more());
}

TEST_F(ObserverTest, ALostHostIsCountedAndWhetherAnotherWouldTakeItsRank) {
  Job("a", {"s0h0", "s0h1"}, "tp=8,dp=2");
  Node("s0h1", "s0", "False");
  const ObservedGang gang = observer_.Observe(cluster_).gangs[0];
  EXPECT_EQ(gang.lost_ranks, 1);
  EXPECT_EQ(gang.replaceable_ranks, 1);
}

TEST_F(ObserverTest, AClusterWithoutGpusOrJobsIsEmpty) {
  EXPECT_THAT(observer_.Observe(cluster_).gangs, IsEmpty());
  EXPECT_THAT(observer_.Observe({}).notes, IsEmpty());
}

}  // namespace
}  // namespace yardmaster::extender
