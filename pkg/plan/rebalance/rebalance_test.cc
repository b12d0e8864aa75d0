#include "pkg/plan/rebalance/rebalance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/testing/rebalance_cases.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Segments of four hosts and a backup host.
MovingCase FourHosts(int segments) {
  MovingCase c;
  c.snapshot = MakeSnapshot(fabric::SmallHpn(1, segments, 5));
  return c;
}

Rebalancing Proposed(const MovingCase& c, const RebalanceOptions& options = {}) {
  auto answer = ProposeMoves(c.snapshot, c.terms, options);
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(FaultsOf(c, *answer), "");
  return *std::move(answer);
}

// a and b have half a segment each, and big needs a whole one.
MovingCase TwoHalves() {
  MovingCase c = FourHosts(2);
  AddRunning(c, "a", HostsOfSegment(c.snapshot, 0, 0, 2), 200);
  AddRunning(c, "b", HostsOfSegment(c.snapshot, 1, 0, 2), 100);
  AddWaiting(c, "big", 4);
  return c;
}

TEST(RebalanceTest, AWaitingGangGetsASegmentByMovingTheCheaperGang) {
  const MovingCase c = TwoHalves();
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(1));
  const Move& move = answer.moves[0];
  EXPECT_EQ(move.job, JobId(1));
  EXPECT_EQ(move.from, HostsOfSegment(c.snapshot, 1, 0, 2));
  EXPECT_EQ(move.to, HostsOfSegment(c.snapshot, 0, 2, 2));
  EXPECT_EQ(move.price_gpu_seconds, 2 * 8 * 100);
  EXPECT_THAT(move.gain.admits, ElementsAre(JobId(2)));
  EXPECT_EQ(move.gain.gpu_seconds, 4 * 8 * 6 * 3600);
  EXPECT_EQ(move.why, "makes place for default/big, which then fits");
  EXPECT_EQ(answer.before.waiting, 1);
  EXPECT_EQ(answer.after.waiting, 0);
}

TEST(RebalanceTest, AWaitingGangGainsNoMoreThanTheTimeThatItRuns) {
  MovingCase c = TwoHalves();
  c.snapshot.jobs[2].job.run_seconds = 60;
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(1));
  EXPECT_EQ(answer.moves[0].gain.gpu_seconds, 4 * 8 * 60);
  EXPECT_THAT(Proposed(c, {.min_gain = 1.3}).moves, IsEmpty());
}

TEST(RebalanceTest, ASearchThatIsStoppedIsCut) {
  const MovingCase c = TwoHalves();
  std::stop_source stop;
  stop.request_stop();
  RebalanceOptions options;
  options.stop = stop.get_token();
  const Rebalancing answer = Proposed(c, options);
  EXPECT_THAT(answer.moves, IsEmpty());
  EXPECT_TRUE(answer.is_cut);
}

TEST(RebalanceTest, AGangThatMayNotMoveStays) {
  MovingCase c = TwoHalves();
  c.terms[1].movable = false;
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(1));
  EXPECT_EQ(answer.moves[0].job, JobId(0));
  c.terms[0].movable = false;
  EXPECT_THAT(Proposed(c).moves, IsEmpty());
}

TEST(RebalanceTest, AGangOfWhichABudgetProtectsAPodStays) {
  MovingCase c = TwoHalves();
  c.snapshot.budgets = {{"default/b", 1}};
  c.snapshot.jobs[1].budgets = {{0, 2}};
  ASSERT_THAT(Proposed(c).moves, SizeIs(1));
  EXPECT_EQ(Proposed(c).moves[0].job, JobId(0));
  c.snapshot.budgets[0].allowed = 2;
  EXPECT_EQ(Proposed(c).moves[0].job, JobId(1));
  c.snapshot.jobs[1].may_be_preempted = false;
  EXPECT_EQ(Proposed(c).moves[0].job, JobId(0));
}

TEST(RebalanceTest, AGangThatDoesNotRunAsAWholeStays) {
  for (const auto& edit : std::vector<void (*)(JobState&)>{
           [](JobState& state) { state.leaving = true; },
           [](JobState& state) { state.lost_ranks = {0}; },
           [](JobState& state) { state.resize = std::make_shared<const Resize>(); },
           [](JobState& state) { state.assignment->host_of_rank[0] = HostId(); }}) {
    MovingCase c = TwoHalves();
    edit(c.snapshot.jobs[1]);
    ASSERT_THAT(Proposed(c).moves, SizeIs(1));
    EXPECT_EQ(Proposed(c).moves[0].job, JobId(0));
  }
}

TEST(RebalanceTest, AGangThatFitsNowNeedsNoMove) {
  MovingCase c = FourHosts(2);
  AddRunning(c, "a", HostsOfSegment(c.snapshot, 0, 0, 2));
  AddWaiting(c, "big", 4);
  const Rebalancing answer = Proposed(c);
  EXPECT_THAT(answer.moves, IsEmpty());
  EXPECT_EQ(answer.before.waiting, 0);
}

TEST(RebalanceTest, HostsOfAGangThatFitsNowAreNotMovedTo) {
  MovingCase c = TwoHalves();
  AddWaiting(c, "small", 2);
  c.snapshot.jobs[3].job.priority = 1;
  // It goes first, and what is left does not suffice for both.
  EXPECT_THAT(Proposed(c).moves, IsEmpty());
}

// Each of a, b and c stands in its own segment of four; only one after the other do they make two
// segments free.
TEST(RebalanceTest, SeveralMovesMakePlaceForOneGang) {
  MovingCase c = FourHosts(3);
  for (int i = 0; i < 3; ++i) {
    AddRunning(c, StrCat("a", i), HostsOfSegment(c.snapshot, i, 0, 1));
  }
  AddWaiting(c, "big", 8, /*may_be_cut=*/true);
  c.snapshot.jobs[3].job.parallelism.data = 4;
  c.snapshot.jobs[3].job.parallelism.pipeline = 2;
  c.snapshot.jobs[3].job.placement.data = {workload::TopologyLevel::kSegment,
                                           workload::Enforcement::kRequired};
  c.snapshot.jobs[3].groups =
      std::make_shared<const workload::WorkerGroups>(GroupsOf(c.snapshot.jobs[3].job));
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(2));
  EXPECT_THAT(answer.moves[0].gain.admits, IsEmpty());
  EXPECT_EQ(answer.moves[0].why, "makes place for default/big, which then fits after 1 more move");
  EXPECT_THAT(answer.moves[1].gain.admits, ElementsAre(JobId(3)));
  RebalanceOptions one;
  one.max_moves = 1;
  EXPECT_THAT(Proposed(c, one).moves, IsEmpty());
}

// y fits into a segment once x has left it.
TEST(RebalanceTest, AMoveTakesHostsThatTheOneBeforeItLeft) {
  MovingCase c = FourHosts(2);
  const auto hosts = [&](int segment, int first, int count) {
    return HostsOfSegment(c.snapshot, segment, first, count);
  };
  AddRunning(c, "x", Joined(hosts(0, 0, 2), hosts(1, 0, 1)));
  AddRunning(c, "y", Joined(hosts(0, 2, 2), hosts(1, 1, 1)), 200);
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(2));
  EXPECT_EQ(answer.moves[0].job, JobId(0));
  EXPECT_EQ(answer.moves[0].why, "1 segment instead of 2");
  EXPECT_EQ(answer.moves[1].job, JobId(1));
  EXPECT_THAT(answer.moves[1].to, Contains(hosts(0, 0, 1)[0]));
  EXPECT_EQ(answer.before.places.segments, 4);
  EXPECT_EQ(answer.after.places.segments, 2);
}

TEST(RebalanceTest, AMoveThatGainsLessThanAskedForIsLeftOut) {
  MovingCase c = TwoHalves();
  RebalanceOptions options;
  options.min_gain = 4 * 8 * 6 * 3600 / (2.0 * 8 * 100);
  EXPECT_THAT(Proposed(c, options).moves, SizeIs(1));
  options.min_gain += 1;
  EXPECT_THAT(Proposed(c, options).moves, IsEmpty());
}

TEST(RebalanceTest, AWaitThatEndsSoonGainsLittle) {
  MovingCase c = TwoHalves();
  c.snapshot.now_ms = 1'000'000;
  c.snapshot.jobs[0].started_ms = 0;
  c.snapshot.jobs[0].job.run_seconds = 1060;
  const Rebalancing answer = Proposed(c);
  ASSERT_THAT(answer.moves, SizeIs(1));
  EXPECT_EQ(answer.moves[0].gain.gpu_seconds, 4 * 8 * 60);
}

TEST(RebalanceTest, AWaitForAGangThatShouldHaveEndedIsOfUnknownLength) {
  MovingCase c = TwoHalves();
  c.snapshot.now_ms = 1'000'000;
  c.snapshot.jobs[0].started_ms = 0;
  c.snapshot.jobs[0].job.run_seconds = 500;
  const Rebalancing answer = Proposed(c, {.min_gain = 3});
  ASSERT_THAT(answer.moves, SizeIs(1));
  EXPECT_EQ(answer.moves[0].gain.gpu_seconds, 4 * 8 * 6 * 3600);
}

TEST(RebalanceTest, NothingMovesForAGangThatWouldNotStart) {
  MovingCase c = TwoHalves();
  c.snapshot.jobs[2].may_stop_others = false;
  const Rebalancing answer = Proposed(c);
  EXPECT_THAT(answer.moves, IsEmpty());
  EXPECT_THAT(answer.stays, IsEmpty());
  EXPECT_EQ(answer.before.waiting, 0);
}

// "<job>: <reason>: <why>" of each gang without a move.
std::vector<std::string> StaysOf(const MovingCase& c, const Rebalancing& answer) {
  std::vector<std::string> texts;
  for (const Stay& stay : answer.stays) {
    texts.push_back(StrCat(c.snapshot.jobs[stay.job.index()].job.key.name, ": ",
                           kStayReasonNames[static_cast<std::size_t>(stay.reason)], ": ",
                           stay.why));
  }
  return texts;
}

TEST(RebalanceTest, AGangThatWaitsWithoutHelpHasItsReason) {
  MovingCase c = TwoHalves();
  c.terms[0] = {false, 0, "spec.movable: is Never"};
  c.terms[1] = {false, 0, "spec.movable: is Never"};
  EXPECT_THAT(StaysOf(c, Proposed(c)),
              ElementsAre("big: NoMoveHelps: no moves make place for it; 0 of 2 placed gangs may "
                          "be moved"));
  c = TwoHalves();
  EXPECT_THAT(
      StaysOf(c, Proposed(c, {.min_gain = 1'000})),
      ElementsAre("big: GainsTooLittle: its start after 1 move gains 192.0 GPU hours and costs "
                  "0.4; it has to gain 1000.0 times its cost"));
  EXPECT_THAT(StaysOf(c, Proposed(c)), IsEmpty()) << "what moves, or is in one segment, is not one";
}

TEST(RebalanceTest, ACutGangThatIsNotMovedHasItsReason) {
  MovingCase c = FourHosts(2);
  AddRunning(c, "cut",
             Joined(HostsOfSegment(c.snapshot, 0, 0, 1), HostsOfSegment(c.snapshot, 1, 0, 1)));
  EXPECT_THAT(StaysOf(c, Proposed(c)), IsEmpty());
  EXPECT_THAT(StaysOf(c, Proposed(c, {.min_gain = 3})),
              ElementsAre("cut: GainsTooLittle: 1 segment instead of 2 gains at most 0.0 GPU hours "
                          "and costs 0.4; it has to gain 3.0 times its cost"));
  c.terms[0] = {false, 0, "spec.movable: is Never"};
  EXPECT_THAT(StaysOf(c, Proposed(c)), ElementsAre("cut: NotMovable: spec.movable: is Never"));
  c.terms[0] = {true, 100};
  c.snapshot.jobs[0].may_be_preempted = false;
  EXPECT_THAT(StaysOf(c, Proposed(c)),
              ElementsAre("cut: NotMovable: a disruption budget protects its pods"));
  c.snapshot.jobs[0].may_be_preempted = true;
  for (int segment : {0, 1}) {
    AddRunning(c, StrCat("full", segment), HostsOfSegment(c.snapshot, segment, 1, 3));
  }
  EXPECT_THAT(StaysOf(c, Proposed(c)), ElementsAre("cut: NoBetterPlace: no better place is free"));
}

TEST(RebalanceTest, AGangThatIsCutNoMoreThanItsSizeNeedsIsNotListed) {
  MovingCase c = FourHosts(3);
  AddRunning(c, "large",
             Joined(HostsOfSegment(c.snapshot, 0, 0, 4), HostsOfSegment(c.snapshot, 1, 0, 1)));
  EXPECT_THAT(StaysOf(c, Proposed(c)), IsEmpty());
  c.terms[0] = {false, 0, "spec.movable: is Never"};
  EXPECT_THAT(StaysOf(c, Proposed(c)), IsEmpty());
  c = FourHosts(3);
  AddRunning(
      c, "large",
      Joined(Joined(HostsOfSegment(c.snapshot, 0, 0, 3), HostsOfSegment(c.snapshot, 1, 0, 1)),
             HostsOfSegment(c.snapshot, 2, 0, 1)));
  for (int segment : {1, 2}) {
    AddRunning(c, StrCat("full", segment), HostsOfSegment(c.snapshot, segment, 1, 3));
  }
  AddRunning(c, "one", HostsOfSegment(c.snapshot, 0, 3, 1));
  EXPECT_THAT(StaysOf(c, Proposed(c)),
              ElementsAre("large: NoBetterPlace: no better place is free"));
}

TEST(RebalanceTest, ALimitBelowThePriceIsStatedAsItIs) {
  MovingCase c = TwoHalves();
  for (MoveTerms& terms : c.terms) terms.lost_seconds = 1e6;
  EXPECT_THAT(StaysOf(c, Proposed(c, {.min_gain = 0.5})),
              ElementsAre(HasSubstr("it has to gain 0.5 times its cost")));
}

TEST(RebalanceTest, ACutGangEarnsItsMoveWhereUplinksAreNarrow) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 5);
  const auto moves = [&](int uplink_gbps) {
    spec.tiers[0].up_gbps = spec.tiers[1].down_gbps = uplink_gbps;
    MovingCase c;
    c.snapshot = MakeSnapshot(spec);
    AddRunning(c, "cut",
               Joined(HostsOfSegment(c.snapshot, 0, 0, 1), HostsOfSegment(c.snapshot, 1, 0, 1)),
               1'500);
    workload::Job& job = c.snapshot.jobs[0].job;
    job.profile.flop_per_iteration = 4e15;
    job.profile.compute_seconds = 1;
    job.profile.data_bytes = 50e9;
    return Proposed(c, {.min_gain = 3}).moves;
  };
  ASSERT_THAT(moves(100), SizeIs(1));
  EXPECT_EQ(moves(100)[0].why, "1 segment instead of 2, 6.4 GPUs less lost to the network");
  EXPECT_THAT(moves(400), IsEmpty());
}

// Segments with one scarce uplink per ToR.
TEST(RebalanceTest, GangsThatSlowEachOtherPartWhereThatEarnsThePrice) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 5);
  spec.tiers[0].up_ports = 1;
  spec.tiers[0].up_gbps = 200;
  spec.tiers[1].switches = 1;
  spec.tiers[1].down_gbps = 200;
  MovingCase c;
  c.snapshot = MakeSnapshot(spec);
  const auto half = [&](int segment, int first) {
    return HostsOfSegment(c.snapshot, segment, first, 2);
  };
  // Each is too large for a segment; x and y share two, and two others have place for one of them.
  for (int i = 0; i < 2; ++i) {
    AddRunning(c, StrCat("x", i), Joined(half(0, 2 * i), half(1, 2 * i)), 300);
    workload::Job& job = c.snapshot.jobs.back().job;
    job.profile.flop_per_iteration = 4e15;
    job.profile.compute_seconds = 1;
    job.profile.data_bytes = 40e9;
  }
  for (int s = 2; s < 4; ++s) AddRunning(c, StrCat("w", s), half(s, 0));
  for (int i : {2, 3}) c.terms[static_cast<std::size_t>(i)].movable = false;
  const Rebalancing answer = Proposed(c);
  // What the first leaves gives the other a segment to itself.
  ASSERT_THAT(answer.moves, SizeIs(2));
  EXPECT_EQ(answer.moves[1].gain.segments, 1);
  EXPECT_GT(answer.moves[0].gain.lost_gpus, 1);
  EXPECT_GT(answer.moves[0].gain.gpu_seconds, answer.moves[0].price_gpu_seconds);
  EXPECT_EQ(answer.moves[0].gain.segments, 0);
  EXPECT_THAT(answer.moves[0].why, HasSubstr("GPUs less lost to the network"));
  EXPECT_LT(answer.after.lost_gpus, answer.before.lost_gpus);

  for (MoveTerms& terms : c.terms) terms.lost_seconds = 1e6;
  EXPECT_THAT(Proposed(c).moves, IsEmpty());
}

TEST(RebalanceTest, MovesAreValidAndImproveWhateverTheCluster) {
  Random random(1);
  int moves = 0, admitted = 0, several = 0;
  for (int round = 0; round < Rounds(600); ++round) {
    const MovingCase c = RandomMoves(random, {});
    RebalanceOptions options;
    options.max_moves = 1 + static_cast<int>(random.Below(6));
    if (random.Below(4) == 0) options.max_plans = static_cast<int>(random.Below(40));
    if (random.Below(4) == 0) options.min_gain = 1;
    SCOPED_TRACE(round);
    const Rebalancing answer = Proposed(c, options);
    ASSERT_LE(answer.moves.size(), static_cast<std::size_t>(options.max_moves));
    moves += static_cast<int>(answer.moves.size());
    several += answer.moves.size() > 1;
    for (const Move& move : answer.moves) admitted += static_cast<int>(move.gain.admits.size());
    if (!answer.moves.empty()) {
      EXPECT_TRUE(IsBetter(answer.after, answer.before));
    }
    const Rebalancing again = Proposed(c, options);
    ASSERT_EQ(again.moves.size(), answer.moves.size());
    for (std::size_t i = 0; i < again.moves.size(); ++i) {
      EXPECT_EQ(again.moves[i].to, answer.moves[i].to);
    }
  }
  EXPECT_GT(moves, MoreThan(200));
  EXPECT_GT(admitted, MoreThan(20));
  EXPECT_GT(several, MoreThan(50));
}

// The least price for which one gang, put onto any hosts that are no worse for it, lets the waiting
// one fit.
std::optional<double> CheapestMove(const MovingCase& c, JobId waiting) {
  std::optional<double> best;
  const int num_hosts = c.snapshot.places->num_hosts();
  for (const JobId job : c.snapshot.job_ids()) {
    const JobState& state = c.snapshot.jobs[job.index()];
    if (!state.assignment || !c.terms[job.index()].movable) continue;
    const double price = static_cast<double>(state.job.gpus()) * c.terms[job.index()].lost_seconds;
    if (best && *best <= price) continue;
    const auto present =
        placement::Evaluate(*c.snapshot.places, *state.groups, state.assignment->host_of_rank);
    placement::Cluster without = c.snapshot.cluster;
    placement::ReleaseHosts(without, state.job, state.assignment->host_of_rank);
    for (int set = 0; set < 1 << num_hosts; ++set) {
      std::vector<HostId> hosts;
      for (int h = 0; h < num_hosts; ++h) {
        const placement::HostState& host = without.hosts[static_cast<std::size_t>(h)];
        if ((set >> h) % 2 == 1 && !host.backup && host.free_gpus == 8) hosts.emplace_back(h);
      }
      if (static_cast<int>(hosts.size()) != state.job.workers) continue;
      if (placement::Evaluate(*c.snapshot.places, *state.groups, hosts) > present) continue;
      placement::Cluster moved = without;
      placement::MoveOccupation(moved, state.job, {}, hosts);
      const auto plan = placement::PlanGang(
          moved, RequestOf(c.snapshot.jobs[waiting.index()], waiting), {.explain = false});
      if (plan.outcome != placement::Outcome::kPlaced) continue;
      best = price;
      break;
    }
  }
  return best;
}

TEST(RebalanceTest, OneMoveIsFoundWhereThereIsOneAndIsTheCheapest) {
  Random random(2);
  int found = 0, none = 0;
  for (int round = 0; round < Rounds(600); ++round) {
    MovingCase c = RandomMoves(
        random,
        {.segments = 3, .hosts = 4, .running = 6, .whole_hosts = true, .one_segment = true});
    while (c.snapshot.jobs.size() > 1 && !c.snapshot.jobs[c.snapshot.jobs.size() - 2].assignment) {
      c.snapshot.jobs.pop_back();
      c.terms.pop_back();
    }
    const JobId waiting = LastJob(c.snapshot);
    RebalanceOptions options;
    options.max_moves = 1;
    const Rebalancing answer = Proposed(c, options);
    if (answer.before.waiting == 0) continue;
    const std::optional<double> cheapest = CheapestMove(c, waiting);
    SCOPED_TRACE(round);
    ASSERT_EQ(answer.after.waiting, cheapest ? 0 : 1);
    if (cheapest) {
      EXPECT_EQ(answer.moves.at(0).price_gpu_seconds, *cheapest);
    }
    ++(cheapest ? found : none);
  }
  EXPECT_GT(found, MoreThan(10));
  EXPECT_GT(none, MoreThan(20));
}

TEST(RebalanceTest, TermsAreOfEveryJob) {
  MovingCase c = TwoHalves();
  c.terms.pop_back();
  EXPECT_EQ(ProposeMoves(c.snapshot, c.terms).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace yardmaster::plan
