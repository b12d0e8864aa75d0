#include "pkg/extender/gatherer.h"

#include <random>

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {
namespace {

using Pods = state::ObjectTable<api::Pod>;

// Pods of two jobs with one or two subgroups, some made again under an old name, some with labels
// that say nothing.
PodPtr RandomPod(std::mt19937& random, int number) {
  api::Pod pod;
  pod.metadata.namespace_name = "team";
  pod.metadata.name = StrCat("p", number);
  const std::string job = StrCat("j", random() % 2);
  switch (random() % 6) {
    case 0:  // an ordinary pod
      break;
    case 1:  // wants a gang and does not say which
      pod.scheduling_gates = {api::kPlacementGate};
      break;
    case 2:
      pod.metadata.labels = {{api::kJobLabel, job}, {api::kRankLabel, "x"}};
      break;
    default:
      pod.metadata.labels = {{api::kJobLabel, job}, {api::kRankLabel, StrCat(random() % 6)}};
      if (random() % 2 == 0) pod.scheduling_gates = {api::kPlacementGate};
  }
  if (random() % 4 != 0) {
    pod.metadata.owners = {
        {api::kGroupVersion, "TrainingJob", job, StrCat("uid", random() % 2), true}};
  }
  if (random() % 3 == 0) pod.node_name = "n";
  if (random() % 5 == 0) pod.metadata.deleted_ms = 1;
  if (random() % 5 == 0) pod.phase = "Succeeded";
  return std::make_shared<const api::Pod>(pod);
}

void ExpectSame(const GatheredGang& a, const GatheredGang& b) {
  EXPECT_EQ(a.namespace_name, b.namespace_name);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.owner_uid, b.owner_uid);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.gated, b.gated);
  EXPECT_EQ(a.unbound, b.unbound);
  EXPECT_EQ(a.deleted, b.deleted);
  EXPECT_EQ(a.whole, b.whole);
  ASSERT_EQ(a.members.size(), b.members.size());
  for (std::size_t m = 0; m < a.members.size(); ++m) {
    EXPECT_EQ(a.members[m].pod, b.members[m].pod);
    EXPECT_EQ(a.members[m].rank, b.members[m].rank);
    EXPECT_EQ(a.members[m].membership.index, b.members[m].membership.index);
  }
}

TEST(GathererTest, AfterAnyHistoryItHasWhatItWouldHaveFromNothing) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed);
    Pods pods;
    Gatherer kept;
    std::vector<api::RankBase> bases = {{"", 0}};
    for (int step = 0; step < 60; ++step) {
      for (unsigned i = 0; i < 1 + random() % 3; ++i) {
        const int number = static_cast<int>(random() % 16);
        if (random() % 4 == 0) {
          pods.Erase({"team", StrCat("p", number)});
        } else {
          pods.Put(RandomPod(random, number));
        }
      }
      if (random() % 10 == 0) bases = {{"", static_cast<int>(random() % 2)}};
      // Gangs of one owner are known, those of the other not.
      const auto bases_of = [&](const auto&, const auto&, const std::string& uid) {
        return uid == "uid0" ? &bases : nullptr;
      };
      kept.Update(pods);
      Gathered fresh = Gather(pods);
      EXPECT_EQ(kept.Problems(), fresh.problems);
      const auto gangs = kept.Gangs(bases_of);
      ASSERT_EQ(gangs.size(), fresh.gangs.size());
      for (std::size_t g = 0; g < gangs.size(); ++g) {
        if (fresh.gangs[g].owner_uid == "uid0") AssignRanks(bases, fresh.gangs[g]);
        ExpectSame(*gangs[g], fresh.gangs[g]);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(GathererTest, AGangIsWholeWhenEveryRankHasOnePod) {
  const auto pod = [](const std::string& name, int rank) {
    api::Pod p;
    p.metadata.namespace_name = "team";
    p.metadata.name = name;
    p.metadata.labels = {{api::kJobLabel, "j"}, {api::kRankLabel, StrCat(rank)}};
    return std::make_shared<const api::Pod>(p);
  };
  const auto whole = [](const std::vector<PodPtr>& pods) {
    Gathered gathered = Gather(pods);
    AssignRanks({{"", 0}}, gathered.gangs.at(0));
    return gathered.gangs[0].whole;
  };
  EXPECT_EQ(whole({pod("a", 1), pod("b", 0), pod("c", 2)}), 3);
  EXPECT_EQ(whole({pod("a", 1), pod("b", 0), pod("c", 1)}), -1);
  EXPECT_EQ(whole({pod("a", 0), pod("b", 2)}), -1);
  EXPECT_EQ(whole({pod("a", 1), pod("b", 2)}), -1);
}

TEST(GathererTest, WhatDidNotChangeIsHandedOutAgainAsItWas) {
  std::mt19937 random(3);
  Pods pods;
  for (int i = 0; i < 30; ++i) pods.Put(RandomPod(random, i));
  const auto open = [](const auto&, const auto&, const auto&) { return nullptr; };
  Gatherer kept;
  kept.Update(pods);
  const auto before = kept.Gangs(open);
  kept.Update(pods);
  EXPECT_EQ(kept.Gangs(open), before);
}

}  // namespace
}  // namespace yardmaster::extender
