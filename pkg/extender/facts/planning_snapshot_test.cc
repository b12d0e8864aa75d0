#include "pkg/extender/facts/planning_snapshot.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "pkg/api/refusals.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/testing/facts_fixture.h"

namespace yardmaster::extender {
namespace {

class PlanningSnapshotTest : public FactsFixture {
 protected:
  // The Gang with hosts, by rank.
  static GangPtr WithHosts(const GangPtr& gang, const std::vector<std::string>& hosts) {
    auto placed = std::make_shared<api::Gang>(*gang);
    placed->status.plan_generation = 1;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      placed->status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
    }
    return placed;
  }
  static const placement::HostState& Host(const PassFacts& facts, const std::string& name) {
    return facts.snapshot->cluster.hosts[facts.snapshot->places->FindHost(name).index()];
  }
  static bool IsHeld(const PassFacts& facts, const std::string& host, HoldReason reason,
                     const NamespacedName& holder) {
    return std::count(facts.holds.begin(), facts.holds.end(), Hold{host, reason, holder}) == 1;
  }
};

TEST_F(PlanningSnapshotTest, HostsOfAGangInQuarantineAreFullAndHeldByIt) {
  AddJob("a", 2);
  PassFacts facts = Facts();
  facts.gangs[GangOf("a")] = WithHosts(facts.gangs[GangOf("a")], {"s0h0", "s0h1"});
  facts.isolated[GangOf("a")] = "it throws";
  TakeSnapshot(facts);
  EXPECT_FALSE(IdOfJob(*facts.snapshot, GangOf("a")).valid()) << "it is not planned";
  for (const char* host : {"s0h0", "s0h1"}) {
    EXPECT_EQ(Host(facts, host).free_gpus, 0);
    EXPECT_TRUE(IsHeld(facts, host, HoldReason::kIsolated, GangOf("a")));
  }
  EXPECT_EQ(Host(facts, "s0h2").free_gpus, 8);
}

TEST_F(PlanningSnapshotTest,
       HostsThatALostWriteMayHavePromisedAreTakenAndThoseOfBeforeStayPromised) {
  AddJob("a", 2);
  PassFacts facts = Facts();
  facts.gangs[GangOf("a")] = WithHosts(facts.gangs[GangOf("a")], {"s0h0", "s0h1"});
  TakeSnapshot(facts);
  Apply(GangMayBecome{WithHosts(facts.gangs[GangOf("a")], {})}, facts);
  EXPECT_TRUE(facts.holds.empty()) << "no other host than before";
  auto moved = std::make_shared<api::Gang>(*facts.gangs[GangOf("a")]);
  moved->status.assignments[1].host = "s0h2";
  Apply(GangMayBecome{moved}, facts);
  EXPECT_TRUE(IsHeld(facts, "s0h2", HoldReason::kIndeterminateWrite, GangOf("a")));
  for (const char* host : {"s0h0", "s0h1", "s0h2"}) EXPECT_EQ(Host(facts, host).free_gpus, 0);
  const plan::Snapshot before = *facts.snapshot;
  TakeSnapshot(facts);
  EXPECT_EQ(facts.snapshot->cluster.hosts, before.cluster.hosts) << "a new one says the same";
}

TEST_F(PlanningSnapshotTest, HostsKeptForAGangThatMakesRoomAreReservedFromItsWriteOn) {
  AddJob("low", 6);
  AddJob("high", 2);
  PassFacts facts = Facts();
  facts.gangs[GangOf("low")] =
      WithHosts(facts.gangs[GangOf("low")], {"s0h0", "s0h1", "s0h2", "s1h0", "s1h1", "s1h2"});
  facts.gathered.erase(GangOf("low"));
  TakeSnapshot(facts);
  auto winner = std::make_shared<api::Gang>(*facts.gangs[GangOf("high")]);
  winner->status.preemption.emplace();
  winner->status.preemption->victims.push_back(
      {"team", GangOf("low").name, facts.gangs[GangOf("low")]->metadata.uid});
  winner->status.preemption->hosts = {"s0h0", "s0h1"};
  Apply(GangRead{winner}, facts);
  EXPECT_TRUE(facts.IsStopping(GangOf("low")));
  const plan::JobId high = IdOfJob(*facts.snapshot, GangOf("high"));
  ASSERT_TRUE(high.valid());
  EXPECT_EQ(Host(facts, "s0h0").reserved_for, high.value);
  EXPECT_TRUE(IsHeld(facts, "s0h1", HoldReason::kPreemption, GangOf("high")));

  // One that backs off is still planned on them; one that is left out keeps them for another pass.
  facts.backing_off.insert(GangOf("high"));
  TakeSnapshot(facts);
  EXPECT_GE(Host(facts, "s0h0").reserved_for, 0);
  Apply(GangMarked{GangOf("high"), GangMark::kLeftOut}, facts);
  TakeSnapshot(facts);
  EXPECT_LT(Host(facts, "s0h0").reserved_for, 0);
  EXPECT_EQ(Host(facts, "s0h0").free_gpus, 0);

  // The decision is given up.
  auto waits = std::make_shared<api::Gang>(*winner);
  waits->status.preemption.reset();
  Apply(GangRead{waits}, facts);
  EXPECT_FALSE(facts.IsStopping(GangOf("low")));
}

TEST_F(PlanningSnapshotTest, APromiseHoldsInItsPassWhatASnapshotAfterItCounts) {
  AddJob("a", 3);
  PassFacts facts = Facts();
  const GangPtr placed = WithHosts(facts.gangs[GangOf("a")], {"s0h0", "s0h0", "s0h1"});
  auto gang = std::make_shared<api::Gang>(*placed);
  gang->job.gpus_per_worker = 3;
  facts.gangs[GangOf("a")] = gang;
  TakeSnapshot(facts);
  auto promised = std::make_shared<api::Gang>(*gang);
  promised->status.move.emplace();
  promised->status.move->state = api::GangMoveState::kPromised;
  promised->status.move->assignments = gang->status.assignments;
  // One rank stays, one goes where another was, beside whom it was not, and one elsewhere.
  promised->status.move->assignments[1].host = "s0h1";
  promised->status.move->assignments[2].host = "s0h1";
  Apply(GangRead{promised}, facts);
  EXPECT_EQ(Host(facts, "s0h0").free_gpus, 2);
  EXPECT_EQ(Host(facts, "s0h1").free_gpus, 2) << "a second rank goes there";
  EXPECT_EQ(Host(facts, "s0h2").free_gpus, 8);
  const std::vector<placement::HostState> in_pass = facts.snapshot->cluster.hosts;
  TakeSnapshot(facts);
  EXPECT_EQ(facts.snapshot->cluster.hosts, in_pass);
}

TEST_F(PlanningSnapshotTest, AGangThatGaveItsPlaceBackWaitsSinceThen) {
  AddJob("a", 1);
  AddJob("b", 1);
  PassFacts facts = Facts();
  const std::int64_t lost_ms = facts.now.wall_ms - 5'000;
  for (const char* job : {"a", "b"}) {
    auto gang = std::make_shared<api::Gang>(*facts.gangs[GangOf(job)]);
    SetCondition(gang->status, *gang, api::kPlannedCondition, false, "HostLost", "", lost_ms);
    gang->status.plan_generation = job == std::string("a") ? 3 : 0;
    facts.gangs[GangOf(job)] = gang;
  }
  TakeSnapshot(facts);
  EXPECT_EQ(facts.Job(IdOfJob(*facts.snapshot, GangOf("a"))).gave_back_ms, lost_ms);
  EXPECT_EQ(facts.Job(IdOfJob(*facts.snapshot, GangOf("b"))).gave_back_ms, 0) << "it had none";
  facts.now.wall_ms = lost_ms - 1;
  TakeSnapshot(facts);
  EXPECT_EQ(facts.Job(IdOfJob(*facts.snapshot, GangOf("a"))).gave_back_ms, 0) << "another clock";
}

TEST_F(PlanningSnapshotTest, GangsThatWaitAreLeftOutBehindOneThatIsYetToBeMade) {
  AddJob("low", 1);
  AddJob("high", 1, "{}", {{"priority", 10}});
  PassFacts facts = Facts();
  Apply(PriorityLeft{5}, facts);
  TakeSnapshot(facts);
  EXPECT_FALSE(IdOfJob(*facts.snapshot, GangOf("low")).valid());
  EXPECT_TRUE(IdOfJob(*facts.snapshot, GangOf("high")).valid());
}

TEST_F(PlanningSnapshotTest, ASnapshotIsOutOfDateOnceAGangGivesItsHostsBack) {
  AddJob("a", 1);
  PassFacts facts = Facts();
  facts.gangs[GangOf("a")] = WithHosts(facts.gangs[GangOf("a")], {"s0h0"});
  TakeSnapshot(facts);
  auto told = std::make_shared<api::Gang>(*facts.gangs[GangOf("a")]);
  told->status.conditions.push_back({"Degraded", api::ConditionStatus::kTrue, "X", "", 0, 0});
  Apply(GangRead{told}, facts);
  EXPECT_TRUE(facts.snapshot_is_current()) << "a condition holds no host";
  auto free = std::make_shared<api::Gang>(*told);
  free->status.assignments.clear();
  Apply(GangRead{free}, facts);
  EXPECT_FALSE(facts.snapshot_is_current());
}

TEST_F(PlanningSnapshotTest, ThePlaceOfOneGangMakesNoSnapshotCurrentThatLacksWhatAnotherLost) {
  AddJob("a", 1);
  AddJob("b", 1);
  PassFacts facts = Facts();
  facts.gangs[GangOf("a")] = WithHosts(facts.gangs[GangOf("a")], {"s0h0"});
  TakeSnapshot(facts);
  Apply(GangDeleted{GangOf("a")}, facts);
  const GangPtr placed = WithHosts(facts.gangs[GangOf("b")], {"s0h1"});
  Apply(GangRead{placed}, facts);
  const fabric::HostId host = facts.snapshot->places->FindHost("s0h1");
  Apply(extender::Placed{IdOfJob(*facts.snapshot, GangOf("b")), {host}}, facts);
  EXPECT_FALSE(facts.snapshot_is_current());
  TakeSnapshot(facts);
  EXPECT_TRUE(facts.snapshot_is_current());
}

TEST_F(PlanningSnapshotTest, ADecisionThatWasDeletedStopsNoGang) {
  AddJob("low", 6);
  AddJob("high", 2);
  PassFacts facts = Facts();
  facts.gangs[GangOf("low")] =
      WithHosts(facts.gangs[GangOf("low")], {"s0h0", "s0h1", "s0h2", "s1h0", "s1h1", "s1h2"});
  auto winner = std::make_shared<api::Gang>(*facts.gangs[GangOf("high")]);
  winner->status.preemption.emplace();
  winner->status.preemption->victims.push_back(
      {"team", GangOf("low").name, facts.gangs[GangOf("low")]->metadata.uid});
  Apply(GangRead{winner}, facts);
  ASSERT_TRUE(facts.IsStopping(GangOf("low")));
  Apply(GangDeleted{GangOf("high")}, facts);
  EXPECT_FALSE(facts.IsStopping(GangOf("low")));
}

TEST_F(PlanningSnapshotTest, AGangThatThrowsIsNamedAndTheOthersAreReadInFull) {
  AddJob("a", 1);
  AddJob("b", 1);
  PassFacts facts = Facts();
  auto refused = std::make_shared<api::Gang>(*facts.gangs[GangOf("b")]);
  AddRefusal(refused->status, 0, "s0h0", "no", facts.now.wall_ms);
  facts.gangs[GangOf("b")] = refused;
  plan::Snapshot snapshot = state::BuildSnapshot(PlannedObjects(facts));
  facts.gangs.erase(GangOf("a"));
  const std::vector<Unreadable> unreadable = SetSnapshot(std::move(snapshot), facts);
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_EQ(unreadable[0].gang, GangOf("a"));
  const auto& eligible = facts.Job(IdOfJob(*facts.snapshot, GangOf("b"))).eligible;
  ASSERT_NE(eligible, nullptr);
  EXPECT_EQ((*eligible)[facts.snapshot->places->FindHost("s0h0").index()], 0);
}

TEST_F(PlanningSnapshotTest, AGangThatHostsWereRefusedToPrefersOthersAndMayUseAll) {
  AddJob("a", 1);
  PassFacts facts = Facts();
  auto refused = std::make_shared<api::Gang>(*facts.gangs[GangOf("a")]);
  AddRefusal(refused->status, 0, "s0h0", "no", facts.now.wall_ms);
  facts.gangs[GangOf("a")] = refused;
  facts.now.wall_ms += 12 * 3'600'000;  // the refusal has ended
  TakeSnapshot(facts);
  const plan::JobState& job = facts.Job(IdOfJob(*facts.snapshot, GangOf("a")));
  const std::size_t host = facts.snapshot->places->FindHost("s0h0").index();
  EXPECT_TRUE(job.eligible == nullptr || job.eligible->empty() || (*job.eligible)[host] != 0);
  ASSERT_NE(job.preferred, nullptr);
  EXPECT_EQ((*job.preferred)[host], 0);
}

TEST_F(PlanningSnapshotTest, NewRanksOfAGangThatGrowsDoNotInheritTheVolumesOfTheLastOne) {
  AddJob("a", 1);
  const PassFacts facts = Facts();
  gather::GatheredGang pods = *facts.GatheredOf(GangOf("a"));
  auto pod = std::make_shared<api::Pod>(*pods.members[0].pod);
  pod->volume_claims = {"data"};
  pods.members[0].pod = pod;
  const nlohmann::json term = {{"matchFields",
                                {{{"key", "metadata.name"},
                                  {"operator", "In"},
                                  {"values", nlohmann::json::array({"s0h0"})}}}}};
  nlohmann::json volume;
  volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = nlohmann::json::array({term});
  const VolumesByClaim volumes = {{{"team", "data"}, ReachOfVolume(volume)}};
  plan::JobState job = facts.Job(IdOfJob(*facts.snapshot, GangOf("a")));
  auto resize = std::make_shared<plan::Resize>();
  resize->job = job.job;
  resize->job.workers = 3;
  job.resize = resize;
  LimitToVolumes(volumes, pods, facts.cluster.nodes, *facts.snapshot, job);
  ASSERT_NE(job.role_hosts, nullptr);
  const fabric::HostId other = facts.snapshot->places->FindHost("s0h1");
  placement::GangRequest request = plan::RequestOf(job, plan::JobId(0));
  EXPECT_FALSE(request.AllowsRank(other, 0));
  EXPECT_TRUE(request.AllowsRank(other, 1));
  EXPECT_TRUE(request.AllowsRank(other, 2));
}

}  // namespace
}  // namespace yardmaster::extender
