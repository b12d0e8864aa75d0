#include "pkg/extender/facts/departures.h"

#include <gmock/gmock.h>

#include "pkg/extender/testing/facts_fixture.h"

namespace yardmaster::extender {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "old" has three pods on hosts.
class DeparturesTest : public FactsFixture {
 protected:
  DeparturesTest() {
    AddJob("old", 3);
    auto gang = std::make_shared<api::Gang>(*Facts().gangs.at(GangOf("old")));
    gang->status.plan_generation = 1;
    for (int rank = 0; rank < 3; ++rank) {
      api::AssignmentEntry slot;
      slot.rank = rank;
      slot.host = NodeName(0, rank);
      gang->status.assignments.push_back(slot);
    }
    gang_ = gang;
    for (int rank = 0; rank < 3; ++rank) {
      ChangePod(rank, [&](json& pod) {
        pod["spec"].erase("schedulingGates");
        pod["spec"]["nodeName"] = NodeName(0, rank);
        pod["status"]["phase"] = "Running";
      });
    }
  }

  template <typename Change>
  void ChangePod(int rank, Change change) {
    json pod = *client_.Find(kube::Pods(), "team", StrCat("old-", rank));
    change(pod);
    client_.Seed(kube::Pods(), pod);
  }
  void DeletePodIn(int rank, std::int64_t ms) {
    ChangePod(rank, [&](json& pod) {
      pod["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs() + ms);
      pod["metadata"]["finalizers"] = json::array({"example.com/held"});
    });
  }
  void EndJob() {
    json job = *client_.Find(kube::TrainingJobs(), "team", "old");
    job["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs());
    job["metadata"]["finalizers"] = json::array({"foregroundDeletion"});
    client_.Seed(kube::TrainingJobs(), job);
  }
  // With a Gang that has these hosts, where `placed`; else without.
  PassFacts FactsNow(bool placed) {
    PassFacts facts = ObjectsNow();
    const GangPtr gang = placed ? gang_ : nullptr;
    if (placed) facts.gangs[GangOf("old")] = gang;
    gather::Gatherer gatherer(gather::Orphans::kRefuse);
    gatherer.Update(facts.cluster.pods);
    for (const auto& pods :
         gatherer.Gangs([&](const gather::GatheredGang&) { return gang.get(); })) {
      facts.gathered[{pods->namespace_name, pods->name}] = pods;
    }
    facts.leaving_pods = gatherer.LeavingAlone();
    TakeSnapshot(facts);
    return facts;
  }
  // "s0h1 in 12 s".
  std::vector<std::string> Text(const PassFacts& facts) {
    std::vector<std::string> out;
    for (const plan::Departure& departure : DeparturesOf(facts)) {
      EXPECT_EQ(departure.gpus, 8);
      EXPECT_EQ(departure.holder, "TrainingJob team/old");
      out.push_back(StrCat(facts.snapshot->places->name(departure.host), " in ",
                           (departure.free_ms - clock_.WallMs()) / 1000, " s"));
    }
    return out;
  }

  GangPtr gang_;
};

TEST_F(DeparturesTest, NothingLeavesWhileTheJobRuns) {
  EXPECT_THAT(Text(FactsNow(true)), IsEmpty());
  EXPECT_THAT(Text(FactsNow(false)), IsEmpty());
}

TEST_F(DeparturesTest, AJobThatIsBeingDeletedLeavesAllItsHostsTogether) {
  EndJob();
  EXPECT_THAT(Text(FactsNow(true)), ElementsAre("s0h0 in 30 s", "s0h1 in 30 s", "s0h2 in 30 s"));
  for (int rank = 0; rank < 3; ++rank) DeletePodIn(rank, 5'000 + rank * 1'000);
  EXPECT_THAT(Text(FactsNow(true)), ElementsAre("s0h0 in 7 s", "s0h1 in 7 s", "s0h2 in 7 s"));
}

TEST_F(DeparturesTest, ARankThatIsMadeAgainKeepsItsHost) {
  DeletePodIn(1, 5'000);
  EXPECT_THAT(Text(FactsNow(true)), IsEmpty());
}

TEST_F(DeparturesTest, WithoutAGangThePodsLeaveEachAtItsTime) {
  EndJob();
  DeletePodIn(0, 5'000);
  DeletePod("old-1");
  EXPECT_THAT(Text(FactsNow(false)), ElementsAre("s0h0 in 5 s", "s0h2 in 30 s"));
}

TEST_F(DeparturesTest, OfPodsWithoutAGangOneThatIsDeletedSpeaksForAll) {
  DeletePodIn(0, 5'000);
  EXPECT_THAT(Text(FactsNow(false)), ElementsAre("s0h0 in 5 s", "s0h1 in 5 s", "s0h2 in 5 s"));
}

TEST_F(DeparturesTest, APodThatHasFinishedHoldsNothing) {
  EndJob();
  Finish("old");
  EXPECT_THAT(Text(FactsNow(false)), IsEmpty());
}

TEST_F(DeparturesTest, WhatShouldHaveBeenFreeIsNotExpectedAnyMore) {
  EndJob();
  for (int rank = 0; rank < 3; ++rank) DeletePodIn(rank, 5'000);
  clock_.Advance(14'000);
  EXPECT_EQ(Text(FactsNow(false)).size(), 3u);
  clock_.Advance(2'000);
  EXPECT_THAT(Text(FactsNow(false)), IsEmpty());
}

TEST_F(DeparturesTest, APodOfNoGangThatIsDeletedLeaves) {
  json pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", "notebook"},
        {"namespace", "team"},
        {"uid", "n"},
        {"finalizers", json::array({"example.com/held"})},
        {"deletionTimestamp", FormatTime(clock_.WallMs() + 9'000)}}},
      {"spec",
       {{"nodeName", "s1h0"},
        {"containers",
         json::array({{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "2"}}}}}}})}}},
      {"status", {{"phase", "Running"}}}};
  client_.Seed(kube::Pods(), pod);
  const std::vector<plan::Departure> leaving = DeparturesOf(FactsNow(true));
  ASSERT_EQ(leaving.size(), 1u);
  EXPECT_EQ(leaving[0].gpus, 2);
  EXPECT_EQ(leaving[0].holder, "Pod team/notebook");
}

}  // namespace
}  // namespace yardmaster::extender
