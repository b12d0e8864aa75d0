#include "pkg/operator/jobs/incident.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

using api::FailureAction;
using api::IncidentCause;
using api::OnHostLoss;

constexpr std::int64_t kMinuteMs = 60'000;

// A job of four workers on hosts n0 to n3 that run.
class IncidentTest : public ::testing::Test {
 protected:
  IncidentTest() {
    job_.now_ms = 1'000'000'000;
    for (int rank = 0; rank < 4; ++rank) {
      Worker worker;
      worker.phase = WorkerPhase::kRunning;
      worker.host = StrCat("n", rank);
      job_.workers.push_back(worker);
    }
  }

  Worker& At(int rank) { return job_.workers[static_cast<std::size_t>(rank)]; }
  void Fail(int rank, int code, std::int64_t finished_ms = 0) {
    At(rank).phase = WorkerPhase::kFailed;
    At(rank).exits = {{"c", code, finished_ms}};
  }
  void AddRole(const std::string& name, OnHostLoss on_failure) {
    job_.roles.push_back({name, static_cast<int>(job_.workers.size()), 1, on_failure});
    job_.workers.emplace_back().phase = WorkerPhase::kRunning;
  }
  void AddRule(int exit_code, FailureAction action) {
    api::FailureRule rule;
    rule.exit_codes = {exit_code};
    rule.action = action;
    job_.policy.rules.push_back(rule);
  }
  const api::Incident& Decide(const RankFailures& failures) {
    EXPECT_TRUE(DecideIncident(job_, failures, state_));
    return state_.incidents.back();
  }
  // The incident is over and the job runs in its attempt.
  void Recover() {
    state_.incidents.back().end_ms = job_.now_ms;
    state_.running_attempt = state_.attempt;
    for (Worker& worker : job_.workers) worker.attempt = state_.attempt;
  }
  std::int64_t BackoffSeconds(int rank) {
    const api::Incident& incident = Decide({{}, {rank}, {}});
    const std::int64_t seconds =
        incident.not_before_ms == 0 ? -1 : (incident.not_before_ms - incident.start_ms) / 1000;
    Recover();
    return seconds;
  }

  JobObservation job_;
  api::RecoveryState state_;
};

TEST_F(IncidentTest, NothingThatIsWrongIsNoIncident) {
  EXPECT_FALSE(DecideIncident(job_, {}, state_));
  EXPECT_TRUE(state_.incidents.empty());
}

TEST_F(IncidentTest, ALostHostBeginsAnAttemptAndTakesNoRestartOfTheBudget) {
  const api::Incident& incident = Decide({{1, 2}, {}, {}});
  EXPECT_EQ(incident.cause, IncidentCause::kHostLost);
  EXPECT_EQ(incident.action, OnHostLoss::kRestart);
  EXPECT_EQ(incident.attempt, 1);
  EXPECT_EQ(incident.host, "n1");
  EXPECT_EQ(incident.ranks, (std::vector<int>{1, 2}));
  EXPECT_FALSE(incident.counted);
  EXPECT_EQ(state_.min_attempt, 1) << "all workers restart";
  job_.policy.on_host_loss = OnHostLoss::kReplace;
  Recover();
  EXPECT_EQ(Decide({{3}, {}, {}}).action, OnHostLoss::kReplace);
  EXPECT_EQ(state_.min_attempt, 1) << "the others stay";
}

TEST_F(IncidentTest, ALossComesBeforeAFailureAndAFailureBeforeARemoval) {
  Fail(1, 1);
  EXPECT_EQ(Decide({{0}, {1}, {2}}).cause, IncidentCause::kHostLost);
  Recover();
  EXPECT_EQ(Decide({{}, {1}, {2}}).cause, IncidentCause::kWorkerFailed);
  Recover();
  job_.policy.on_host_loss = OnHostLoss::kFail;
  const api::Incident& removed = Decide({{}, {}, {2}});
  EXPECT_EQ(removed.cause, IncidentCause::kWorkerRemoved);
  EXPECT_EQ(removed.action, OnHostLoss::kRestart) << "a deleted pod does not end the job";
}

TEST_F(IncidentTest, TheFirstRestartIsImmediateAndTheWaitsOfTheNextDouble) {
  job_.policy.backoff_seconds = 10;
  job_.policy.max_backoff_seconds = 35;
  Fail(0, 1);
  EXPECT_EQ(BackoffSeconds(0), 0);
  EXPECT_EQ(BackoffSeconds(0), 10);
  EXPECT_EQ(BackoffSeconds(0), 20);
  EXPECT_EQ(BackoffSeconds(0), 35);
  job_.running_ms = 10 * kMinuteMs;
  EXPECT_EQ(BackoffSeconds(0), 0) << "ten minutes of all workers end the row";
}

TEST_F(IncidentTest, ASpentBudgetFailsTheJobAndIsFullAgainAfterItsWindow) {
  job_.policy.max_restarts = 2;
  job_.policy.restart_window_seconds = 3'600;
  Fail(0, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Decide({{}, {0}, {}}).action, OnHostLoss::kRestart);
    Recover();
  }
  const api::RecoveryState spent = state_;
  const api::Incident& last = Decide({{}, {0}, {}});
  EXPECT_EQ(last.action, OnHostLoss::kFail);
  EXPECT_NE(last.message.find("after 2 restarts"), std::string::npos) << last.message;
  state_ = spent;
  job_.now_ms += 61 * kMinuteMs;
  EXPECT_EQ(Decide({{}, {0}, {}}).action, OnHostLoss::kRestart);
}

TEST_F(IncidentTest, TheWorkerThatFailedFirstIsTheCause) {
  Fail(0, 143, job_.now_ms - 100);
  Fail(2, 7, job_.now_ms - 900);
  Fail(3, 143);  // its end was not reported
  const api::Incident& incident = Decide({{}, {0, 2, 3}, {}});
  EXPECT_EQ(incident.first_rank, 2);
  EXPECT_EQ(incident.exit_code, 7);
  EXPECT_EQ(incident.host, "n2");
  EXPECT_TRUE(incident.blames_host);
  EXPECT_TRUE(incident.counted);
}

TEST_F(IncidentTest, ADisruptedWorkerCostsNothingAndBlamesNoHost) {
  Fail(1, 137);
  At(1).final_conditions = {api::kDisruptionTarget};
  job_.policy.on_worker_failure = OnHostLoss::kFail;
  const api::Incident& incident = Decide({{}, {1}, {}});
  EXPECT_EQ(incident.action, OnHostLoss::kRestart);
  EXPECT_FALSE(incident.counted);
  EXPECT_FALSE(incident.blames_host);
}

struct RuleCase {
  FailureAction rule;
  OnHostLoss action;
  bool counted;
  bool blames_host;
};

class IncidentRuleTest : public IncidentTest, public ::testing::WithParamInterface<RuleCase> {};

TEST_P(IncidentRuleTest, ARuleThatMatchesDecides) {
  AddRule(42, GetParam().rule);
  Fail(1, 42);
  const api::Incident& incident = Decide({{}, {1}, {}});
  EXPECT_EQ(incident.action, GetParam().action);
  EXPECT_EQ(incident.counted, GetParam().counted);
  EXPECT_EQ(incident.blames_host, GetParam().blames_host);
  EXPECT_EQ(state_.avoided.empty(), GetParam().rule != FailureAction::kReplaceHost);
}

INSTANTIATE_TEST_SUITE_P(
    AllActions, IncidentRuleTest,
    ::testing::Values(RuleCase{FailureAction::kIgnore, OnHostLoss::kRestart, false, false},
                      RuleCase{FailureAction::kReplace, OnHostLoss::kReplace, true, true},
                      RuleCase{FailureAction::kRestart, OnHostLoss::kRestart, true, true},
                      RuleCase{FailureAction::kFail, OnHostLoss::kFail, false, false},
                      RuleCase{FailureAction::kReplaceHost, OnHostLoss::kRestart, true, true}));

TEST_F(IncidentTest, AHostThatARuleReplacesIsAvoidedForADay) {
  AddRule(42, FailureAction::kReplaceHost);
  Fail(1, 42);
  Decide({{}, {1}, {}});
  ASSERT_EQ(state_.avoided.size(), 1u);
  EXPECT_EQ(state_.avoided[0].host, "n1");
  EXPECT_EQ(state_.avoided[0].until_ms, job_.now_ms + 24 * 60 * kMinuteMs);
}

TEST_F(IncidentTest, AHostWithAFaultIsAvoidedForAnHour) {
  At(1).host_verdict.fault = FaultAction::kDrain;
  At(1).host_verdict.fault_name = "xid-79";
  const api::Incident& incident = Decide({{1}, {}, {}});
  EXPECT_EQ(incident.cause, IncidentCause::kHostFault);
  EXPECT_NE(incident.message.find("xid-79"), std::string::npos);
  ASSERT_EQ(state_.avoided.size(), 1u);
  EXPECT_EQ(state_.avoided[0].until_ms, job_.now_ms + 60 * kMinuteMs);
}

TEST_F(IncidentTest, HostsThatAreLostWithTheirSegmentAreOneIncidentOfTheSegment) {
  for (const int rank : {0, 1}) At(rank).host_verdict.segment = "p0/s1";
  const api::Incident& incident = Decide({{0, 1}, {}, {}});
  EXPECT_EQ(incident.cause, IncidentCause::kSegmentLost);
  EXPECT_EQ(incident.segment, "p0/s1");
}

TEST_F(IncidentTest, TheStrictestPolicyOfTheRolesConcernedDecidesAndNoHostIsBlamed) {
  AddRole("data", OnHostLoss::kReplace);
  AddRole("launcher", OnHostLoss::kFail);
  Fail(4, 1);
  const api::Incident& data = Decide({{}, {4}, {}});
  EXPECT_EQ(data.action, OnHostLoss::kReplace);
  EXPECT_FALSE(data.blames_host);
  EXPECT_NE(data.message.find("data 0 failed"), std::string::npos) << data.message;
  Recover();
  Fail(5, 1);
  EXPECT_EQ(Decide({{}, {4, 5}, {}}).action, OnHostLoss::kFail);
}

TEST_F(IncidentTest, ARankThatIsLostSoonAfterAnotherJoinsItsIncident) {
  job_.policy.on_host_loss = OnHostLoss::kReplace;
  Decide({{1}, {}, {}});
  job_.now_ms += 20'000;
  EXPECT_EQ(Decide({{3}, {}, {}}).ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(state_.incidents.size(), 1u);
  job_.now_ms += 20'000;
  EXPECT_EQ(Decide({{0}, {}, {}}).attempt, 2) << "30 s after the first it is another one";
  EXPECT_EQ(state_.incidents.back().ranks, (std::vector<int>{0, 1, 3})) << "which is not over";
}

TEST_F(IncidentTest, AFailureWhosePolicyOrRuleAsksForMoreDoesNotJoinAReplacement) {
  AddRule(42, FailureAction::kReplace);
  AddRule(43, FailureAction::kFail);
  Fail(1, 42);
  EXPECT_EQ(Decide({{}, {1}, {}}).action, OnHostLoss::kReplace);
  job_.now_ms += 1'000;
  Fail(2, 42);
  EXPECT_EQ(Decide({{}, {2}, {}}).ranks, (std::vector<int>{1, 2}));
  Fail(3, 1);
  EXPECT_EQ(Decide({{}, {3}, {}}).action, OnHostLoss::kRestart) << "as onWorkerFailure says";
  EXPECT_EQ(state_.incidents.size(), 2u);
  Recover();
  Fail(1, 42);
  Decide({{}, {1}, {}});
  Fail(2, 43);
  EXPECT_EQ(Decide({{}, {2}, {}}).action, OnHostLoss::kFail);
}

TEST_F(IncidentTest, AFailureThatCountsDoesNotJoinOneThatDoesNot) {
  job_.policy.on_worker_failure = OnHostLoss::kReplace;
  AddRule(42, FailureAction::kIgnore);
  Fail(1, 42);
  EXPECT_FALSE(Decide({{}, {1}, {}}).counted);
  Fail(2, 1);
  const api::Incident& incident = Decide({{}, {2}, {}});
  EXPECT_TRUE(incident.counted);
  EXPECT_EQ(incident.ranks, (std::vector<int>{1, 2}));
  EXPECT_EQ(state_.restarts_in_window, 1);
  Fail(3, 42);
  EXPECT_EQ(Decide({{}, {3}, {}}).ranks, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(state_.incidents.size(), 2u);
}

TEST_F(IncidentTest, AHostThatARuleReplacesIsAvoidedAlsoWhereItsFailureJoins) {
  job_.policy.on_worker_failure = OnHostLoss::kReplace;
  AddRule(42, FailureAction::kReplaceHost);
  Fail(1, 1);
  Decide({{}, {1}, {}});
  Fail(2, 42);
  Decide({{}, {2}, {}});
  EXPECT_EQ(state_.incidents.size(), 1u);
  ASSERT_EQ(state_.avoided.size(), 1u);
  EXPECT_EQ(state_.avoided[0].host, "n2");
}

TEST_F(IncidentTest, AHostWithAFaultDoesNotJoinThoseThatAreLost) {
  job_.policy.on_host_loss = OnHostLoss::kReplace;
  Decide({{1}, {}, {}});
  At(2).host_verdict.fault = FaultAction::kDrain;
  At(2).host_verdict.fault_name = "xid-79";
  const api::Incident& incident = Decide({{2}, {}, {}});
  EXPECT_EQ(incident.cause, IncidentCause::kHostFault);
  EXPECT_EQ(incident.ranks, (std::vector<int>{1, 2}));
  EXPECT_EQ(state_.avoided.size(), 1u);
}

TEST_F(IncidentTest, TheLastTenIncidentsAreKept) {
  for (int i = 0; i < 13; ++i) {
    Decide({{1}, {}, {}});
    Recover();
  }
  EXPECT_EQ(state_.incidents.size(), api::kKeptIncidents);
  EXPECT_EQ(state_.incidents.back().attempt, 13);
}

TEST_F(IncidentTest, ADeadlineFailsTheJob) {
  job_.run.active_deadline_seconds = 60;
  FailAtDeadline(job_, state_);
  EXPECT_EQ(state_.incidents.back().cause, IncidentCause::kDeadlineExceeded);
  EXPECT_EQ(state_.incidents.back().action, OnHostLoss::kFail);
  EXPECT_STREQ(NameOf(IncidentCause::kDeadlineExceeded), "DeadlineExceeded");
}

// Ranks 0 and 2 are one data group, 1 and 3 the other.
class DataGroupIncidentTest : public IncidentTest {
 protected:
  DataGroupIncidentTest() { job_.group_of_rank = {0, 1, 0, 1}; }
};

TEST_F(DataGroupIncidentTest, ALostHostRestartsItsDataGroupAndTheOthersGoOn) {
  const api::Incident& incident = Decide({{1}, {}, {}});
  EXPECT_EQ(incident.action, OnHostLoss::kReplace);
  EXPECT_EQ(incident.ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(incident.first_rank, 1);
  EXPECT_EQ(incident.message,
            "worker 1 lost host n1: 1 of 2 data groups restarts, the others go on");
  EXPECT_EQ(state_.min_attempt, 0);
}

TEST_F(DataGroupIncidentTest, AFailedWorkerTakesOneRestartOfTheBudgetForItsWholeGroup) {
  job_.policy.max_restarts = 1;
  Fail(2, 1);
  const api::Incident& incident = Decide({{}, {2}, {}});
  EXPECT_EQ(incident.ranks, (std::vector<int>{0, 2}));
  EXPECT_TRUE(incident.counted);
  Recover();
  Fail(1, 1);
  EXPECT_EQ(Decide({{}, {1}, {}}).action, OnHostLoss::kFail) << "the budget is the job's";
  EXPECT_EQ(state_.incidents.back().ranks, std::vector<int>{1});
}

TEST_F(DataGroupIncidentTest, WhereEveryGroupIsConcernedTheWholeJobRestarts) {
  EXPECT_EQ(Decide({{0, 1}, {}, {}}).action, OnHostLoss::kRestart);
  EXPECT_EQ(state_.min_attempt, 1);
}

TEST_F(DataGroupIncidentTest, APolicyThatReplacesASingleRankStillDoes) {
  job_.policy.on_host_loss = OnHostLoss::kReplace;
  EXPECT_EQ(Decide({{1}, {}, {}}).ranks, std::vector<int>{1});
}

TEST_F(DataGroupIncidentTest, ARoleWhoseFailureRestartsAllStillDoes) {
  AddRole("launcher", OnHostLoss::kRestart);
  Fail(4, 1);
  EXPECT_EQ(Decide({{}, {4}, {}}).action, OnHostLoss::kRestart);
  EXPECT_EQ(state_.min_attempt, 1);
}

TEST_F(DataGroupIncidentTest, AGroupThatFailsAMomentLaterJoinsAsAWhole) {
  job_.group_of_rank = {0, 1, 2, 2};
  Decide({{1}, {}, {}});
  const api::Incident& incident = Decide({{2}, {}, {}});
  EXPECT_EQ(state_.incidents.size(), 1u);
  EXPECT_EQ(incident.ranks, (std::vector<int>{1, 2, 3}));
}

TEST_F(DataGroupIncidentTest, TheLastGroupThatJoinsMakesItARestartOfTheJob) {
  job_.policy.max_restarts = 1;
  Fail(1, 1);
  Decide({{}, {1}, {}});
  At(3) = Worker{};  // gone, and not made again yet
  Fail(2, 1);
  const api::Incident& incident = Decide({{}, {2}, {}});
  EXPECT_EQ(incident.action, OnHostLoss::kRestart);
  EXPECT_EQ(state_.incidents.size(), 1u) << "failures of one incident count once";
  EXPECT_EQ(state_.min_attempt, 1);
  EXPECT_NE(incident.message.find("all workers restart"), std::string::npos) << incident.message;
}

TEST_F(DataGroupIncidentTest, TheRuleOfEachFailureSaysWhatJoins) {
  job_.group_of_rank = {0, 1, 2, 2};
  AddRule(42, FailureAction::kReplace);
  AddRule(43, FailureAction::kFail);
  Fail(1, 1);
  Decide({{}, {1}, {}});
  Fail(2, 42);
  EXPECT_EQ(Decide({{}, {2}, {}}).ranks, (std::vector<int>{1, 2})) << "that rank alone";
  EXPECT_EQ(state_.incidents.size(), 1u);
  Fail(3, 43);
  EXPECT_EQ(Decide({{}, {3}, {}}).action, OnHostLoss::kFail);
}

TEST_F(DataGroupIncidentTest, AGroupJoinsARankThatIsReplacedAlone) {
  job_.group_of_rank = {0, 1, 2, 2};
  job_.policy.on_worker_failure = OnHostLoss::kReplace;
  AddRule(42, FailureAction::kRestart);
  Fail(1, 1);
  Decide({{}, {1}, {}});
  Fail(2, 42);
  EXPECT_EQ(Decide({{}, {2}, {}}).ranks, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(state_.incidents.size(), 1u);
}

TEST_F(DataGroupIncidentTest, WithWhatIsUnfinishedEveryGroupIsARestartOfTheJob) {
  Decide({{1}, {}, {}});
  At(3).attempt = 1;  // made again; rank 1 is not
  job_.now_ms += kMinuteMs;
  const api::Incident& incident = Decide({{2}, {}, {}});
  EXPECT_EQ(incident.action, OnHostLoss::kRestart);
  EXPECT_EQ(incident.message, "worker 2 lost host n2: all workers restart");
  EXPECT_EQ(state_.min_attempt, 2);
}

// Whoever is waited for: a stall that more than half of the workers share stops every group.
TEST_F(DataGroupIncidentTest, AStallRestartsTheWholeJob) {
  RestartStalled(job_, "the job makes no progress", {1}, state_);
  EXPECT_EQ(state_.incidents.back().action, OnHostLoss::kRestart);
  EXPECT_EQ(state_.min_attempt, 1);
}

TEST_F(DataGroupIncidentTest, WhatAGroupHasNotFinishedIsPartOfTheNextGroupsIncident) {
  job_.group_of_rank = {0, 1, 2, 1};
  Decide({{1}, {}, {}});
  At(1) = Worker{};  // gone, and not made again yet
  job_.now_ms += kMinuteMs;
  EXPECT_EQ(Decide({{2}, {}, {}}).ranks, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace yardmaster::op
