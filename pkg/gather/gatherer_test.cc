#include "pkg/gather/gatherer.h"

#include <random>

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::gather {
namespace {

using Pods = state::ObjectTable<api::Pod>;

// Pods of two jobs with one or two subgroups, some made again under an old name, some with labels
// that say nothing.
PodPtr RandomPod(std::mt19937& random, int number) {
  api::Pod pod;
  workload::SetAmount(pod.requests, api::kGpuResource, 8);
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
  if (random() % 6 != 0) {
    pod.metadata.owners = {
        {api::kGroupVersion, "TrainingJob", job, StrCat("uid", random() % 2), true}};
  }
  if (random() % 3 == 0) pod.node_name = "n";
  if (random() % 5 == 0) pod.metadata.deleted_ms = 1;
  if (random() % 5 == 0) pod.phase = "Succeeded";
  return std::make_shared<const api::Pod>(pod);
}

// The same pod after one of the things that happen to pods.
PodPtr NextState(std::mt19937& random, const api::Pod& pod) {
  api::Pod next = pod;
  next.metadata.resource_version = StrCat(random() % 1000);
  switch (random() % 7) {
    case 0:
      next.node_name = pod.node_name.empty() ? "n" : "";
      break;
    case 1:
      next.phase = pod.phase.empty() ? "Succeeded" : "";
      break;
    case 2:
      next.metadata.deleted_ms = 1;
      break;
    case 3:
      next.scheduling_gates.clear();
      break;
    case 4:
      next.metadata.labels[api::kRankLabel] = StrCat(random() % 6);
      break;
    case 5:
      next.problems = {"spec.priority: is not a number"};
      break;
    default:
      break;
  }
  return std::make_shared<const api::Pod>(next);
}

void ExpectSame(const GatheredGang& a, const GatheredGang& b) {
  EXPECT_EQ(a.namespace_name, b.namespace_name);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.owner_uid, b.owner_uid);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.gated, b.gated);
  EXPECT_EQ(a.unbound, b.unbound);
  EXPECT_EQ(a.succeeded, b.succeeded);
  EXPECT_EQ(a.leaving.size(), b.leaving.size());
  EXPECT_EQ(a.strays.size(), b.strays.size());
  EXPECT_EQ(a.whole, b.whole);
  ASSERT_EQ(a.members.size(), b.members.size());
  for (std::size_t m = 0; m < a.members.size(); ++m) {
    EXPECT_EQ(a.members[m].pod, b.members[m].pod);
    EXPECT_EQ(a.members[m].rank, b.members[m].rank);
    EXPECT_EQ(a.members[m].membership->index, b.members[m].membership->index);
  }
}

// A job of four ranks, the last of which has ended, is scaled to three.
TEST(GathererTest, ARankThatEndedBeyondTheSizeKeepsNoGangIncomplete) {
  GatheredGang gang;
  for (int index = 0; index < 3; ++index) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = StrCat("p", index);
    api::Membership membership;
    membership.index = index;
    gang.members.push_back({pod, std::make_shared<const api::Membership>(membership), {}});
  }
  gang.ended = {{"", 3}};
  GatheredGang four = gang;
  AssignRanks({{"", 0}}, 4, four);
  EXPECT_TRUE(IsComplete(four, 4));
  AssignRanks({{"", 0}}, 3, gang);
  EXPECT_TRUE(IsComplete(gang, 3));
}

// Without what it has kept.
Gathered FromNothing(const Pods& pods, Ungated ungated) {
  Gatherer gatherer(Orphans::kAccept, ungated);
  for (const PodPtr& pod : pods) gatherer.Add(pod);
  Gathered out;
  for (const auto& gang :
       gatherer.Gangs([](const GatheredGang&) -> const api::Gang* { return nullptr; })) {
    out.gangs.push_back(*gang);
  }
  out.problems = gatherer.Problems();
  return out;
}

TEST(GathererTest, PodsThatCameWithoutTheGateMayBeLeft) {
  Pods pods;
  for (int i = 0; i < 3; ++i) {
    api::Pod pod;
    workload::SetAmount(pod.requests, api::kGpuResource, 8);
    pod.metadata.namespace_name = "team";
    pod.metadata.name = StrCat("p", i);
    pod.metadata.labels = {{api::kJobLabel, "j"}, {api::kRankLabel, StrCat(i)}};
    pod.metadata.owners = {{api::kGroupVersion, "TrainingJob", "j", "uid", true}};
    if (i == 0) pod.scheduling_gates = {api::kPlacementGate};
    if (i == 1) pod.metadata.annotations = {{api::kSlotAnnotation, "{}"}};  // released before
    pods.Put(std::make_shared<const api::Pod>(pod));
  }
  EXPECT_EQ(FromNothing(pods, Ungated::kGather).gangs[0].members.size(), 3u);
  EXPECT_EQ(FromNothing(pods, Ungated::kLeave).gangs[0].members.size(), 2u);
}

TEST(GathererTest, AfterAnyHistoryItHasWhatItWouldHaveFromNothing) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed);
    Pods pods;
    const Ungated ungated = seed % 3 == 0 ? Ungated::kLeave : Ungated::kGather;
    Gatherer kept(Orphans::kAccept, ungated);
    api::Gang known;
    known.job.workers = 5;
    known.rank_bases = {{"", 0}};
    for (int step = 0; step < 60; ++step) {
      for (unsigned i = 0; i < 1 + random() % 3; ++i) {
        const int number = static_cast<int>(random() % 16);
        const PodPtr before = pods.Find({"team", StrCat("p", number)});
        if (random() % 4 == 0) {
          pods.Erase({"team", StrCat("p", number)});
        } else if (before != nullptr && random() % 2 == 0) {
          pods.Put(NextState(random, *before));
        } else {
          pods.Put(RandomPod(random, number));
        }
      }
      if (random() % 10 == 0) known.rank_bases = {{"", static_cast<int>(random() % 2)}};
      if (random() % 10 == 0) known.job.workers = 1 + static_cast<int>(random() % 6);
      // Gangs of one owner are known, those of the other not.
      const auto gang_of = [&](const GatheredGang& gang) {
        return gang.owner_uid == "uid0" ? &known : nullptr;
      };
      kept.Update(pods);
      Gathered fresh = FromNothing(pods, ungated);
      EXPECT_EQ(kept.Problems(), fresh.problems);
      const auto gangs = kept.Gangs(gang_of);
      ASSERT_EQ(gangs.size(), fresh.gangs.size());
      for (std::size_t g = 0; g < gangs.size(); ++g) {
        if (fresh.gangs[g].owner_uid == "uid0") {
          AssignRanks(known.rank_bases, known.job.workers, fresh.gangs[g]);
        }
        ExpectSame(*gangs[g], fresh.gangs[g]);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(GathererTest, AGangIsWholeWhenEveryRankHasOnePod) {
  const auto pod = [](const std::string& name, int rank) {
    api::Pod p;
    workload::SetAmount(p.requests, api::kGpuResource, 8);
    p.metadata.namespace_name = "team";
    p.metadata.name = name;
    p.metadata.labels = {{api::kJobLabel, "j"}, {api::kRankLabel, StrCat(rank)}};
    p.metadata.owners = {{api::kGroupVersion, "TrainingJob", "j", "u", true}};
    return std::make_shared<const api::Pod>(p);
  };
  const auto whole = [](const std::vector<PodPtr>& pods) {
    Gathered gathered = Gather(pods);
    AssignRanks({{"", 0}}, 4, gathered.gangs.at(0));
    return gathered.gangs[0].whole;
  };
  EXPECT_EQ(whole({pod("a", 1), pod("b", 0), pod("c", 2)}), 3);
  EXPECT_EQ(whole({pod("a", 1), pod("b", 0), pod("c", 1)}), 2) << "one of the two is leaving";
  EXPECT_EQ(whole({pod("a", 0), pod("b", 2)}), -1);
  EXPECT_EQ(whole({pod("a", 1), pod("b", 2)}), -1);
}

TEST(GathererTest, TheNewestPodOfARankCountsAndRanksTheGangDoesNotHaveAreApart) {
  const auto pod = [](const char* name, int rank, std::int64_t created_ms) {
    api::Pod p;
    workload::SetAmount(p.requests, api::kGpuResource, 8);
    p.metadata.namespace_name = "team";
    p.metadata.name = name;
    p.metadata.uid = name;
    p.metadata.created_ms = created_ms;
    p.metadata.labels = {{api::kJobLabel, "j"}, {api::kRankLabel, StrCat(rank)}};
    p.metadata.owners = {{api::kGroupVersion, "TrainingJob", "j", "u", true}};
    return p;
  };
  api::Pod old = pod("z", 0, 1'000);
  old.node_name = "n";
  api::Pod newer = pod("a", 0, 2'000);
  newer.scheduling_gates = {api::kPlacementGate};
  api::Pod dying = pod("d", 1, 9'000);
  dying.metadata.deleted_ms = 1;
  api::Pod absurd = pod("x", 900'000, 0);
  std::vector<PodPtr> pods;
  for (const api::Pod& p : {old, newer, dying, pod("b", 1, 1'000), absurd}) {
    pods.push_back(std::make_shared<const api::Pod>(p));
  }
  GatheredGang gang = Gather(pods).gangs.at(0);
  AssignRanks({{"", 0}}, 2, gang);
  EXPECT_EQ(gang.whole, 2);
  EXPECT_EQ(gang.members[0].pod->metadata.name, "a");
  EXPECT_EQ(gang.members[1].pod->metadata.name, "b");
  EXPECT_EQ(gang.gated, 1);
  EXPECT_EQ(gang.leaving.size(), 2u);
  ASSERT_EQ(gang.strays.size(), 1u);
  const auto problems = StrayProblems(gang, 2);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text,
            "Pod team/x: its index 900000 lies outside gang trainingjob-j, which was placed with 2 "
            "workers; remove labels that were copied to it, or, where the job was scaled, suspend "
            "the job, set yardmaster.dev/parallelism to the new size, and resume it");
}

TEST(GathererTest, WhatDidNotChangeIsHandedOutAgainAsItWas) {
  std::mt19937 random(3);
  Pods pods;
  for (int i = 0; i < 30; ++i) pods.Put(RandomPod(random, i));
  const auto open = [](const GatheredGang&) -> const api::Gang* { return nullptr; };
  Gatherer kept;
  kept.Update(pods);
  const auto before = kept.Gangs(open);
  kept.Update(pods);
  EXPECT_EQ(kept.Gangs(open), before);
}

}  // namespace
}  // namespace yardmaster::gather
