#include "pkg/operator/jobs/move_proposals.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/profile_report.h"
#include "pkg/api/slot.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/jobs/move_snapshot.h"

namespace yardmaster::op {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNowMs = 1'800'000'000'000;

std::string LeftOut(const char* reason, int count) {
  return StrCat("yardmaster_operator_moves_left_out{reason=\"", reason, "\"} ", count, "\n");
}

// Two segments of four hosts.
class MoveProposalsTest : public testing::Test {
 protected:
  MoveProposalsTest() {
    auto fabric = std::make_shared<api::Fabric>();
    fabric->metadata.name = "f";
    fabric->spec = fabric::SmallHpn(1, 2, 4);
    fabric->spec.backup = {};
    fabric->spec.backup.hosts_per_segment = 0;
    cluster_.fabrics.Put(std::move(fabric));
    for (const char* segment : {"a", "b"}) {
      for (int i = 0; i < 4; ++i) {
        auto node = std::make_shared<api::Node>();
        node->metadata.name = StrCat(segment, i);
        node->metadata.labels = {{api::kFabricPodLabel, "p"}, {api::kSegmentLabel, segment}};
        workload::SetAmount(node->allocatable, api::kGpuResource, 8);
        node->ready = true;
        cluster_.nodes.Put(std::move(node));
      }
    }
  }

  static std::shared_ptr<api::TrainingJob> Job(const std::string& name, int workers) {
    auto job = std::make_shared<api::TrainingJob>();
    job->metadata.name = name;
    job->metadata.namespace_name = "team";
    job->metadata.uid = "job-" + name;
    job->job.workers = workers;
    job->job.parallelism.data = 8 * workers;
    return job;
  }

  // A job that has run on these hosts for an hour.
  void Run(const std::string& name, const std::vector<std::string>& hosts) {
    auto job = Job(name, static_cast<int>(hosts.size()));
    api::Condition running;
    running.type = "Running";
    running.status = api::ConditionStatus::kTrue;
    running.transition_ms = kNowMs - 3'600'000;
    job->status.conditions = {running};
    auto gang = std::make_shared<api::Gang>();
    gang->metadata.name = api::GangName(api::kTrainingJobKind, name);
    gang->metadata.namespace_name = "team";
    gang->owner = {api::kGroupVersion, api::kTrainingJobKind, name, "job-" + name, false};
    gang->job = job->job;
    gang->pods = api::GangPods::kFollow;
    gang->status.plan_generation = 1;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      gang->status.assignments.push_back({static_cast<int>(rank), hosts[rank], "p", "", {0}});
    }
    cluster_.jobs.Put(std::move(job));
    cluster_.gangs.Put(std::move(gang));
  }
  // A move of x or y lets it start. `reason`: of the extender, why it has no place.
  void AddWaiting(const std::string& reason = "NotNow") {
    auto big = Job("big", 4);
    big->job.placement.data = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
    auto gang = std::make_shared<api::Gang>();
    gang->metadata.name = api::GangName(api::kTrainingJobKind, "big");
    gang->metadata.namespace_name = "team";
    gang->owner = {api::kGroupVersion, api::kTrainingJobKind, "big", big->metadata.uid, false};
    gang->job = big->job;
    gang->pods = api::GangPods::kFollow;
    api::Condition planned;
    planned.type = api::kPlannedCondition;
    planned.status = api::ConditionStatus::kFalse;
    planned.reason = reason;
    gang->status.conditions = {planned};
    cluster_.jobs.Put(std::move(big));
    cluster_.gangs.Put(std::move(gang));
  }
  void Change(const std::string& name, const std::function<void(api::TrainingJob&)>& change) {
    auto job = std::make_shared<api::TrainingJob>(*cluster_.jobs.Find({"team", name}));
    change(*job);
    cluster_.jobs.Put(std::move(job));
  }
  void ChangeGang(const std::string& name, const std::function<void(api::Gang&)>& change) {
    auto gang = std::make_shared<api::Gang>(
        *cluster_.gangs.Find({"team", api::GangName(api::kTrainingJobKind, name)}));
    change(*gang);
    cluster_.gangs.Put(std::move(gang));
  }

  state::ClusterState cluster_;
  metrics::Registry registry_;
  FakeClock clock_;
  kube::FakeClient client_{clock_};
  state::ClusterCache cache_;
  MoveProposals proposals_{registry_, client_, cache_};
};

TEST_F(MoveProposalsTest, MovesThatLetAGangStartAreCountedWithPriceAndGain) {
  Run("x", {"a0", "a1"});
  Run("y", {"b0", "b1"});
  AddWaiting();
  ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves 1\n"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_admissions 1\n"));
  // It has run for an hour, of which half may be lost, and restarts in 300 s.
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves_price_gpu_seconds 33600\n"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves_gain_gpu_seconds 691200\n"));
  proposals_.Clear();
  EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_operator_proposed_moves 0\n"));
}

TEST_F(MoveProposalsTest, AGangWhosePodsComeBeforeTheirPlaceIsNotMoved) {
  Run("x", {"a0", "a1"});
  Run("y", {"b0", "b1"});
  AddWaiting();
  for (const api::GangPods pods : {api::GangPods::kFirst, api::GangPods::kRefused}) {
    for (const char* name : {"x", "y"}) {
      ChangeGang(name, [&](api::Gang& gang) { gang.pods = pods; });
    }
    ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
    EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_operator_proposed_moves 0\n"));
  }
}

TEST_F(MoveProposalsTest, WhoListensHearsOfEveryLookAndOfTheEnd) {
  std::vector<std::string> heard;
  MoveProposals proposals(
      registry_, client_, cache_, {},
      [&](const plan::Rebalancing& proposed, const plan::Snapshot& snapshot) {
        heard.push_back(proposed.moves.empty()
                            ? "none"
                            : snapshot.jobs[proposed.moves[0].job.index()].job.key.name);
      });
  Run("x", {"a0", "a1"});
  ASSERT_TRUE(proposals.Look(cluster_, kNowMs).ok());
  Run("y", {"b0", "b1"});
  AddWaiting();
  ASSERT_TRUE(proposals.Look(cluster_, kNowMs).ok());
  proposals.Clear();
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[0], "none");
  EXPECT_THAT(heard[1], testing::StartsWith("trainingjob-"));
  EXPECT_EQ(heard[2], "none");
}

TEST_F(MoveProposalsTest, AMoveThatGainsNoGpuTimeIsNotCounted) {
  Run("x", {"a0", "b0"});
  ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
  EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_operator_proposed_moves 0\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr(LeftOut("GainsTooLittle", 1)));
}

TEST_F(MoveProposalsTest, WhoIsNotMovedIsCountedByReason) {
  Run("x", {"a0", "b0"});
  Change("x", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Run("y", {"a1", "a2"});
  Change("y", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Run("z", {"b1"});
  Change("z", [](api::TrainingJob& job) { job.status.conditions[0].transition_ms = kNowMs; });
  AddWaiting();
  ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
  EXPECT_THAT(registry_.Text(), HasSubstr(LeftOut("NotMovable", 1))) << "x alone is cut";
  EXPECT_THAT(registry_.Text(), HasSubstr(LeftOut("NoMoveHelps", 1))) << "big";
  proposals_.Clear();
  EXPECT_THAT(registry_.Text(), HasSubstr(LeftOut("NotMovable", 0)));
}

// It would hold hosts that nobody uses, or get none, and the gang that was moved for it has lost
// its work.
TEST_F(MoveProposalsTest, NothingMovesForAJobThatWouldNotStart) {
  Run("x", {"a0", "a1"});
  Run("y", {"b0", "b1"});
  const auto proposed = [this] {
    EXPECT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
    return registry_.Text().find("yardmaster_operator_proposed_moves 0\n") == std::string::npos;
  };
  for (const char* reason : {"PodsMissing", "HostsRefused", "Never"}) {
    AddWaiting(reason);
    EXPECT_FALSE(proposed()) << reason;
  }
  AddWaiting();
  EXPECT_TRUE(proposed());
  using Edit = std::function<void(api::TrainingJob&)>;
  for (const Edit& edit : std::vector<Edit>{
           [](api::TrainingJob& job) { job.run.suspended = true; },
           [](api::TrainingJob& job) { job.status.recovery.suspended = true; },
           [](api::TrainingJob& job) { job.status.queue.phase = api::QueuePhase::kPending; },
           [](api::TrainingJob& job) { job.run.managed_by = "example.com/other"; },
           [](api::TrainingJob& job) { job.metadata.deleted_ms = kNowMs; }}) {
    AddWaiting();
    Change("big", edit);
    EXPECT_FALSE(proposed());
  }
  AddWaiting();
  ChangeGang("big", [](api::Gang& gang) { gang.status.preemption.emplace(); });
  EXPECT_FALSE(proposed()) << "others are stopped for it already";
  AddWaiting();
  ChangeGang("big", [](api::Gang& gang) {
    api::Condition awaits;
    awaits.type = api::kAwaitsHostsCondition;
    awaits.status = api::ConditionStatus::kTrue;
    gang.status.conditions.push_back(awaits);
  });
  EXPECT_FALSE(proposed()) << "its hosts come free soon";
  AddWaiting();
  cluster_.gangs.Erase({"team", api::GangName(api::kTrainingJobKind, "big")});
  EXPECT_FALSE(proposed()) << "the extender has not looked at it";
}

TEST_F(MoveProposalsTest, WhatPodsMeasureCounts) {
  Run("x", {"a0", "b0"});
  api::ProfileReport report;
  report.samples = 40;
  report.compute_seconds = 7.5;
  for (int rank = 0; rank < 2; ++rank) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = StrCat("x-", rank);
    pod->metadata.namespace_name = "team";
    pod->metadata.annotations = {
        {api::kProfileAnnotation, api::EncodeProfileReport(report)},
        {api::kSlotAnnotation,
         api::EncodeSlot(
             {api::GangName(api::kTrainingJobKind, "x"), rank, "p", rank == 0 ? "a" : "b", {0}})}};
    pod->node_name = rank == 0 ? "a0" : "b0";
    cluster_.pods.Put(std::move(pod));
  }
  const plan::Snapshot snapshot = MoveSnapshot(cluster_, kNowMs);
  ASSERT_EQ(snapshot.jobs.size(), 1u);
  EXPECT_EQ(snapshot.jobs[0].job.profile.compute_seconds, 7.5);
}

// The policy asks for moves.
class AutoMovesTest : public MoveProposalsTest {
 protected:
  AutoMovesTest() {
    Run("x", {"a0", "a1"});
    Run("y", {"b0", "b1"});
    AddWaiting();
    Reset({MovesMode::kAuto, 100'000});
  }
  void Reset(MovePolicyOptions options) {
    registry_ = std::make_unique<metrics::Registry>();
    auto_ = std::make_unique<MoveProposals>(*registry_, client_, cache_, options);
  }
  // The API server has every job as `cluster_` has it.
  void SeedJobs() {
    for (const auto& job : cluster_.jobs) {
      client_.Seed(
          kube::TrainingJobs(),
          {{"apiVersion", api::kGroupVersion},
           {"kind", api::kTrainingJobKind},
           {"metadata",
            {{"name", job->metadata.name}, {"namespace", "team"}, {"uid", job->metadata.uid}}},
           {"spec", nlohmann::json::object()}});
    }
  }
  void Look() {
    SeedJobs();
    ASSERT_TRUE(auto_->Look(cluster_, kNowMs).ok());
  }
  nlohmann::json MoveOf(const std::string& job) {
    const auto object = client_.Find(kube::TrainingJobs(), "team", job);
    return object ? object->value("/status/move"_json_pointer, nlohmann::json()) : nlohmann::json();
  }
  // The job whose move was asked for is gone.
  void EraseAsked() {
    ASSERT_TRUE(Asked());
    const std::string name = MoveOf("x").is_null() ? "y" : "x";
    cluster_.jobs.Erase({"team", name});
    cluster_.gangs.Erase({"team", api::GangName(api::kTrainingJobKind, name)});
  }
  bool Asked() { return !MoveOf("x").is_null() || !MoveOf("y").is_null(); }

  std::unique_ptr<metrics::Registry> registry_;
  std::unique_ptr<MoveProposals> auto_;
};

TEST_F(AutoMovesTest, OneMoveIsAskedForWithTheHostsOfItsProposal) {
  Look();
  const bool moves_x = !MoveOf("x").is_null();
  const nlohmann::json move = MoveOf(moves_x ? "x" : "y");
  EXPECT_EQ(move["state"], "Asked");
  EXPECT_EQ(move["byPolicy"], true);
  EXPECT_EQ(move["priceGPUSeconds"], 33'600);
  const std::vector<std::string> other = {moves_x ? "b2" : "a2", moves_x ? "b3" : "a3"};
  EXPECT_EQ(move["hosts"].get<std::vector<std::string>>(), other);
  EXPECT_TRUE(MoveOf(moves_x ? "y" : "x").is_null());
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_asked_moves_total 1\n"));
}

TEST_F(AutoMovesTest, ProposeAndOffAskForNothing) {
  for (const MovesMode mode : {MovesMode::kPropose, MovesMode::kOff}) {
    Reset({mode, 1e9});
    Look();
    EXPECT_FALSE(Asked());
  }
}

TEST_F(AutoMovesTest, AMoveThatCostsMoreThanIsLeftOfTheDayIsNotAskedFor) {
  Reset({MovesMode::kAuto, 33'599});
  Look();
  EXPECT_FALSE(Asked());
  EXPECT_THAT(registry_->Text(), HasSubstr(LeftOut("DayIsSpent", 1)));
}

// 64 GPUs have 55,296 GPU seconds in one percent of a day.
TEST_F(AutoMovesTest, WhereThePolicyHasNoNumberMovesMayCostOnePercentOfTheGpus) {
  Run("x", {"a0", "a1", "a2"});
  Change("y", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Run("y", {"b0"});
  Change("y", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  MovePolicyOptions options;
  options.mode = MovesMode::kAuto;
  Reset(options);
  Look();
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_limit_gpu_seconds 55296\n"));
  EXPECT_EQ(MoveOf("x")["priceGPUSeconds"], 24 * (300 + 1'800));
}

TEST_F(AutoMovesTest, AnyNumberOfThePolicyBoundsWhatMovesCostAndZeroTheMost) {
  for (const double limit : {0.0, 0.5}) {
    Reset({MovesMode::kAuto, limit});
    Look();
    EXPECT_FALSE(Asked()) << limit;
    EXPECT_THAT(registry_->Text(), HasSubstr(LeftOut("DayIsSpent", 1)));
    EXPECT_THAT(registry_->Text(),
                HasSubstr(StrCat("yardmaster_operator_moves_limit_gpu_seconds ", limit, "\n")));
  }
}

// A gang that is cut may be what is in the way.
TEST_F(AutoMovesTest, ACutGangIsGatheredWhereAWaitingOneThenFits) {
  cluster_.jobs.Erase({"team", "y"});
  cluster_.gangs.Erase({"team", api::GangName(api::kTrainingJobKind, "y")});
  Run("x", {"a0", "b0"});
  Change("x", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Reset({MovesMode::kAuto});
  Look();
  EXPECT_TRUE(MoveOf("x").is_null());
  Change("x", [](api::TrainingJob& job) { job.run.movable = api::Movable::kAtCheckpoint; });
  Look();
  EXPECT_EQ(MoveOf("x")["state"], "Asked");
}

TEST_F(AutoMovesTest, WhoMayNotReadBudgetsIsToldWhichRightIsMissing) {
  client_.FailNext(kube::Verb::kList, "poddisruptionbudgets",
                   absl::PermissionDeniedError("poddisruptionbudgets.policy is forbidden"));
  const absl::Status looked = auto_->Look(cluster_, kNowMs);
  EXPECT_THAT(std::string(looked.message()), HasSubstr("moves.mode is Auto"));
  EXPECT_THAT(std::string(looked.message()), HasSubstr("is forbidden"));
}

// The job's last request is one that was refused, or another move.
TEST_F(AutoMovesTest, WhatMovesOfTheLastDayHaveCostIsSpent) {
  const auto spend = [this](const std::vector<std::int64_t>& hours_ago) {
    auto gone = Job("gone", 1);
    api::Condition ended;
    ended.type = "Succeeded";
    ended.status = api::ConditionStatus::kTrue;
    gone->status.conditions = {ended};
    gone->status.move.id = "m";
    gone->status.move.state = api::JobMoveState::kRefused;
    for (const std::int64_t hours : hours_ago) {
      gone->status.move.record.policy_moves.push_back({kNowMs - hours * 3'600'000, 40'000});
    }
    cluster_.jobs.Put(std::move(gone));
  };
  spend({25, 23, 2});
  Look();
  EXPECT_FALSE(Asked());
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_spent_gpu_seconds 80000\n"));
  cluster_.jobs.Erase({"team", "gone"});
  Look();
  EXPECT_FALSE(Asked()) << "a job that is gone has cost what it has cost";
  Reset({MovesMode::kAuto, 100'000});
  spend({23});
  Look();
  EXPECT_TRUE(Asked());
}

// It is asked for, and nothing of the job is there at the next look.
TEST_F(AutoMovesTest, AMoveOfAJobThatGoesBeforeTheNextLookIsSpent) {
  Look();
  EraseAsked();
  Look();
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_spent_gpu_seconds 33600\n"));
}

class LostAnswerTest : public AutoMovesTest, public ::testing::WithParamInterface<absl::Status> {};

TEST_P(LostAnswerTest, TheMoveMayHaveBeenAskedFor) {
  client_.FailNext(kube::Verb::kPatch, "trainingjobs/status", GetParam(), 1,
                   kube::FaultWhen::kAfterEffect);
  SeedJobs();
  EXPECT_FALSE(auto_->Look(cluster_, kNowMs).ok());
  EraseAsked();
  Look();
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_spent_gpu_seconds 33600\n"));
}

// The second: the request was sent twice, and its own first write has made the version another one.
INSTANTIATE_TEST_SUITE_P(Answers, LostAnswerTest,
                         ::testing::Values(absl::UnavailableError("lost"),
                                           kube::MarkReplayed(absl::AbortedError("newer"))));

TEST_F(AutoMovesTest, AMoveThatCouldNotBeAskedForHasCostNothing) {
  for (const absl::Status& refusal : {absl::AbortedError("newer"), absl::NotFoundError("gone")}) {
    client_.FailNext(kube::Verb::kPatch, "trainingjobs/status", refusal);
    SeedJobs();
    EXPECT_FALSE(auto_->Look(cluster_, kNowMs).ok());
    EXPECT_FALSE(Asked());
  }
  cluster_.jobs.Erase({"team", "x"});
  cluster_.jobs.Erase({"team", "y"});
  Look();
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_spent_gpu_seconds 0\n"));
}

TEST_F(AutoMovesTest, ALookThatFailsHasSeenWhatWasSpent) {
  auto gone = Job("gone", 1);
  gone->status.move.record.policy_moves = {{kNowMs - 1'000, 80'000}};
  cluster_.jobs.Put(std::move(gone));
  client_.FailNext(kube::Verb::kList, "poddisruptionbudgets", absl::UnavailableError("down"));
  EXPECT_FALSE(auto_->Look(cluster_, kNowMs).ok());
  cluster_.jobs.Erase({"team", "gone"});
  Look();
  EXPECT_FALSE(Asked());
  EXPECT_THAT(registry_->Text(), HasSubstr("yardmaster_operator_moves_spent_gpu_seconds 80000\n"));
}

TEST_F(AutoMovesTest, AMoveThatIsRefusedLaterHasCostNothing) {
  const auto spend = [this](double gpu_seconds) {
    Change("y", [&](api::TrainingJob& job) {
      job.run.movable = api::Movable::kNever;
      job.status.move.record.policy_moves = {{kNowMs - 1'000, gpu_seconds}};
      if (gpu_seconds == 0) job.status.move.record.policy_moves.clear();
    });
  };
  spend(80'000);
  Look();
  EXPECT_FALSE(Asked());
  spend(0);
  Look();
  EXPECT_TRUE(Asked());
}

// By a clock that was wrong.
TEST_F(AutoMovesTest, AMoveOfAFarFutureIsNotSpent) {
  Change("y", [](api::TrainingJob& job) {
    job.status.move.record.policy_moves = {{kNowMs + 30 * 86'400'000LL, 1e9}};
  });
  Look();
  EXPECT_TRUE(Asked());
}

TEST_F(AutoMovesTest, WhatIsAskedForKeepsTheRecordOfEarlierRequests) {
  const std::vector<api::MoveExpense> earlier = {{kNowMs - 90'000'000, 7}, {kNowMs - 7'200'000, 9}};
  for (const char* name : {"x", "y"}) {
    Change(name, [&](api::TrainingJob& job) {
      job.status.move.id = job.status.move.record.request_id = "m1";
      job.status.move.state = api::JobMoveState::kRefused;
      job.status.move.record.last_ms = kNowMs - 7'200'000;
      job.status.move.record.policy_moves = earlier;
    });
  }
  Look();
  const nlohmann::json move = MoveOf(MoveOf("x").is_null() ? "y" : "x");
  ASSERT_EQ(move["state"], "Asked");
  EXPECT_EQ(move["record"]["requestId"], "m1");
  EXPECT_EQ(move["record"]["lastTime"], FormatTime(kNowMs - 7'200'000));
  ASSERT_EQ(move["record"]["policyMoves"].size(), 2u) << "and not what is older than a day";
  EXPECT_EQ(move["record"]["policyMoves"][0]["gpuSeconds"], 9);
  EXPECT_EQ(move["record"]["policyMoves"][1]["gpuSeconds"], 33'600);
  EXPECT_EQ(move["record"]["policyMoves"][1]["askedTime"], move["askedTime"]);
}

TEST_F(AutoMovesTest, AJobWhoseMoveWasRefusedIsNotAskedAgainForAnHour) {
  for (const char* name : {"x", "y"}) {
    Change(name, [](api::TrainingJob& job) {
      job.status.move.record.policy_refused_ms = kNowMs - kMoveAgainMs + 1'000;
    });
  }
  Look();
  EXPECT_FALSE(Asked());
  Change("x", [](api::TrainingJob& job) {
    job.status.move.record.policy_refused_ms = kNowMs - kMoveAgainMs;
  });
  Look();
  EXPECT_FALSE(MoveOf("x").is_null());
}

TEST_F(AutoMovesTest, ASegmentWithAMoveUnderWayHasNoOther) {
  Run("z", {"a2"});
  Change("z", [](api::TrainingJob& job) { job.status.move.state = api::JobMoveState::kMoving; });
  cluster_.jobs.Erase({"team", "big"});
  Run("split", {"a3", "b2"});
  Change("y", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Look();
  EXPECT_FALSE(Asked());
  EXPECT_TRUE(MoveOf("split").is_null());
}

TEST_F(AutoMovesTest, AMoveThatWaitsForAnotherOneInItsSegmentIsCounted) {
  Run("z", {"a2"});
  Change("z", [](api::TrainingJob& job) { job.status.move.state = api::JobMoveState::kMoving; });
  Change("x", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  Run("y", {"b0"});
  Look();
  EXPECT_FALSE(Asked());
  EXPECT_THAT(registry_->Text(), HasSubstr(LeftOut("SegmentIsBusy", 1)));
}

TEST_F(AutoMovesTest, AJobThatIsDeletedOrHasEndedHasNoMoveUnderWay) {
  for (const bool is_deleted : {false, true}) {
    Run("y", {"b0", "b1"});
    Change("y", [&](api::TrainingJob& job) {
      job.status.move.state = api::JobMoveState::kMoving;
      if (is_deleted) {
        job.metadata.deleted_ms = kNowMs;
      } else {
        job.status.conditions[0].type = "Failed";
      }
    });
    Look();
    EXPECT_FALSE(MoveOf("x").is_null()) << is_deleted;
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "x", ""}, {}).ok());
  }
}

TEST_F(AutoMovesTest, AJobThatABudgetKeepsIsNotMoved) {
  Change("y", [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; });
  for (int rank = 0; rank < 2; ++rank) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = StrCat("x-", rank);
    pod->metadata.namespace_name = "team";
    pod->metadata.labels = {{api::kJobLabel, "x"}};
    pod->node_name = StrCat("a", rank);
    cluster_.pods.Put(std::move(pod));
  }
  const auto seed = [this](int allowed) {
    client_.Seed(kube::PodDisruptionBudgets(),
                 {{"apiVersion", "policy/v1"},
                  {"kind", "PodDisruptionBudget"},
                  {"metadata", {{"name", "b"}, {"namespace", "team"}, {"generation", 1}}},
                  {"spec", {{"selector", {{"matchLabels", {{api::kJobLabel, "x"}}}}}}},
                  {"status", {{"observedGeneration", 1}, {"disruptionsAllowed", allowed}}}});
  };
  seed(1);
  Look();
  EXPECT_FALSE(Asked());
  seed(2);
  Look();
  EXPECT_FALSE(MoveOf("x").is_null());
}

}  // namespace
}  // namespace yardmaster::op
