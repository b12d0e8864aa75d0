#include "pkg/app/job_loop.h"

#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::app {
namespace {

using nlohmann::json;
using op::JobTurn;

class JobLoopTest : public ::testing::Test {
 protected:
  // A job in the cache, which may be refused already.
  void Put(const std::string& ns, const std::string& name, bool stalled, int generation = 1,
           int ready = 0) {
    json job = {{"apiVersion", "yardmaster.dev/v1alpha1"},
                {"kind", "TrainingJob"},
                {"metadata",
                 {{"name", name},
                  {"namespace", ns},
                  {"uid", name},
                  {"generation", generation},
                  {"resourceVersion", StrCat(++version_)}}},
                {"spec", {{"workers", 1}}}};
    if (stalled) {
      job["status"]["conditions"] = json::array({{{"type", "Stalled"},
                                                  {"status", "True"},
                                                  {"reason", "QuotaExceeded"},
                                                  {"message", "x"}}});
    }
    if (ready > 0) {
      job["spec"]["workers"] = ready + 1;
      job["status"]["readyWorkers"] = ready;
    }
    cache_.Deliver(state::Kind::kTrainingJob, job);
  }
  absl::StatusOr<op::TurnResult> Turn(const std::string& key, JobTurn turn) {
    turns_[key].push_back(turn);
    if (turn == JobTurn::kLook) return look_();
    const auto outcome = outcomes_.find(key);
    return outcome == outcomes_.end() ? op::TurnResult() : outcome->second();
  }
  RunResult RunOnce(const std::string& key, JobTurn turn = JobTurn::kBackground) {
    return loop_.RunOnce(key, turn);
  }
  double Failures() {
    return registry_.GetCounter("yardmaster_loop_failures_total", "", {{"loop", "jobs"}}).value();
  }

  FakeClock clock_;
  std::ostringstream out_;
  metrics::Logger log_{{.out = &out_}, clock_};
  metrics::Registry registry_;
  state::ClusterCache cache_;
  int version_ = 0;
  bool leads_ = true;
  std::map<std::string, std::vector<JobTurn>> turns_;
  std::map<std::string, std::function<absl::StatusOr<op::TurnResult>()>> outcomes_;
  std::function<absl::StatusOr<op::TurnResult>()> look_ = [] {  // what a turn without pods says
    return op::TurnResult{std::nullopt, 8};
  };
  std::function<absl::StatusOr<std::optional<std::int64_t>>()> rent_ = [] {
    return std::optional<std::int64_t>();
  };
  std::vector<op::JobNotice> notices_;
  int waits_ = 0;
  JobLoop loop_{cache_,
                clock_,
                registry_,
                log_,
                {.rent = [this](const std::string&) { return rent_(); },
                 .run = [this](const std::string& key, JobTurn turn) { return Turn(key, turn); },
                 .notify = [this](const op::JobNotice& notice) { notices_.push_back(notice); },
                 .leads = [this] { return leads_; },
                 .on_follower = [this] { ++waits_; }}};
};

TEST_F(JobLoopTest, AJobWhoseTurnThrowsIsToldCountedAndTriedAgainAndTheOthersGoOn) {
  Put("team", "bad", false);
  outcomes_["team/bad"] = []() -> absl::StatusOr<op::TurnResult> {
    throw std::runtime_error("type must be string");
  };
  loop_.Add("team/bad");
  loop_.Add("other/good");
  loop_.ShutDown();  // what is ready is still done
  loop_.Run();
  EXPECT_EQ(turns_["other/good"].size(), 1u);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "ReconcileFailed");
  EXPECT_EQ(notices_[0].job, "bad");
  EXPECT_NE(notices_[0].note.find("type must be string"), std::string::npos);
  EXPECT_EQ(Failures(), 1);
  EXPECT_NE(out_.str().find("team/bad"), std::string::npos);
}

TEST_F(JobLoopTest, AnErrorOfTheApiServerIsAFailureAndNoEvent) {
  Put("team", "a", false);
  outcomes_["team/a"] = [] { return absl::UnavailableError("no answer"); };
  EXPECT_FALSE(RunOnce("team/a").ok());
  EXPECT_TRUE(notices_.empty());
}

TEST_F(JobLoopTest, WhereHostsCannotBeRentedPodsAreMadeAllTheSame) {
  rent_ = []() -> absl::StatusOr<std::optional<std::int64_t>> { throw 5; };
  EXPECT_FALSE(RunOnce("team/a").ok());
  EXPECT_EQ(turns_["team/a"].size(), 1u);
}

TEST_F(JobLoopTest, AJobThatWaitsForItsHostsHasNoTurnUntilItIsWoken) {
  Put("team", "a", false);
  op::TurnResult waits;
  waits.pods_left = 4;
  waits.waits = true;
  outcomes_["team/a"] = [waits] { return waits; };
  const RunResult result = RunOnce("team/a");
  EXPECT_TRUE(result.ok());
  EXPECT_FALSE(result.again_ms);
  EXPECT_EQ(loop_.Depth(), 0u);
  outcomes_["team/a"] = [] { return op::TurnResult{std::nullopt, 4}; };
  RunOnce("team/a");
  EXPECT_EQ(loop_.Depth(), 1u) << "it has its hosts, and pods to make";
}

TEST_F(JobLoopTest, PodsOfAJobThatHasItsHostsAreMadeBeforeOthersAsk) {
  std::vector<std::string> made;
  const auto add = [&](const std::string& key, const op::TurnResult& prompt) {
    outcomes_[key] = [this, &made, key, prompt] {
      if (turns_[key].back() == JobTurn::kPrompt) return prompt;
      made.push_back(key);
      if (made.size() == 4) loop_.ShutDown();
      return op::TurnResult();
    };
    loop_.Add(key);
  };
  for (int i = 0; i < 3; ++i) add(StrCat("team/asks", i), {std::nullopt, 1});
  op::TurnResult placed{std::nullopt, 1'000};
  placed.has_hosts = true;
  add("team/placed", placed);
  loop_.Run();
  EXPECT_EQ(made,
            (std::vector<std::string>{"team/placed", "team/asks0", "team/asks1", "team/asks2"}));
}

TEST_F(JobLoopTest, AJobThatIsToGoFirstDoes) {
  for (const char* key : {"team/a", "team/b", "team/c"}) loop_.Add(key);
  loop_.AddFirst("team/c");
  std::vector<std::string> order;
  for (const char* key : {"team/a", "team/b", "team/c"}) {
    outcomes_[key] = [&order, key] {
      order.push_back(key);
      return op::TurnResult();
    };
  }
  loop_.ShutDown();
  loop_.Run();
  EXPECT_EQ(order, (std::vector<std::string>{"team/c", "team/a", "team/b"}));
}

TEST_F(JobLoopTest, ARefusedJobWaitsAndItsTurnsMakeNoPodsMeanwhile) {
  Put("team", "a", true);
  outcomes_["team/a"] = [] { return absl::PermissionDeniedError("exceeded quota"); };
  const RunResult refused = RunOnce("team/a");
  EXPECT_TRUE(refused.ok()) << "its condition says it";
  EXPECT_EQ(refused.again_ms, 1'000);
  outcomes_["team/a"] = [] { return op::TurnResult{std::nullopt, 8}; };
  EXPECT_LE(RunOnce("team/a", JobTurn::kPrompt).again_ms.value_or(9'999), 1'000);
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kLook);
  EXPECT_EQ(loop_.Depth(), 0u) << "no background turn";
  clock_.Advance(1'000);
  RunOnce("team/a", JobTurn::kPrompt);
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kPrompt);
}

// Its lost worker is one pod, and new jobs are not before it.
TEST_F(JobLoopTest, AJobThatRunsIsTriedAsSoonAsASmallOneAndBehindNoFlood) {
  const auto refused = [] { return absl::PermissionDeniedError("exceeded quota"); };
  for (int i = 0; i < 50; ++i) {
    const std::string name = StrCat("flood-", i);
    Put("team", name, true);
    outcomes_["team/" + name] = refused;
    RunOnce("team/" + name);
  }
  Put("team", "training", true, 1, 1'000);
  outcomes_["team/training"] = refused;
  EXPECT_EQ(RunOnce("team/training", JobTurn::kPrompt).again_ms, 1'000);
}

TEST_F(JobLoopTest, ARefusedJobThatIsEditedIsTriedAtOnce) {
  Put("team", "a", true);
  outcomes_["team/a"] = [] { return absl::PermissionDeniedError("exceeded quota"); };
  RunOnce("team/a");
  RunOnce("team/a");
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kLook);
  outcomes_.erase("team/a");
  Put("team", "a", true, 2);
  RunOnce("team/a");
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kBackground);
}

TEST_F(JobLoopTest, WhatAJobTakesBackAtItsFirstRefusalWakesNoOther) {
  for (const char* name : {"a", "b"}) {
    Put("team", name, true);
    outcomes_[StrCat("team/", name)] = [] { return absl::PermissionDeniedError("exceeded quota"); };
  }
  RunOnce("team/a");
  clock_.Advance(500);
  look_ = [this] {
    loop_.RoomMayHaveCome("team", "team/b");  // its pods go
    return op::TurnResult{100, 8, 63};
  };
  const RunResult refused = RunOnce("team/b");
  EXPECT_EQ(turns_["team/b"], (std::vector<JobTurn>{JobTurn::kBackground, JobTurn::kLook}));
  EXPECT_EQ(refused.again_ms, 100) << "to take back the rest";
  EXPECT_EQ(loop_.Depth(), 0u);
  outcomes_.erase("team/a");
  clock_.Advance(700);
  RunOnce("team/a");
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kLook) << "a quota has not counted it yet";
}

TEST_F(JobLoopTest, PodsThatCannotBeTakenBackAreAFailureThatIsTriedAgain) {
  Put("team", "a", true);
  outcomes_["team/a"] = [] { return absl::PermissionDeniedError("exceeded quota"); };
  look_ = [] { return absl::UnavailableError("busy"); };
  EXPECT_FALSE(RunOnce("team/a").ok());
}

TEST_F(JobLoopTest, ARefusalThatNoConditionExplainsIsAFailure) {
  Put("team", "a", false);
  outcomes_["team/a"] = [] { return absl::PermissionDeniedError("policy"); };
  EXPECT_FALSE(RunOnce("team/a").ok());
}

TEST_F(JobLoopTest, JobsThatWereRefusedAreTriedWhenAnotherIsLetThroughAndWhenPodsEnd) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    Put("team", name, true);
    const std::string key = StrCat("team/", name);
    outcomes_[key] = [] { return absl::PermissionDeniedError("exceeded quota"); };
    RunOnce(key);
    clock_.Advance(1);
  }
  look_ = [] { return op::TurnResult(); };  // its pods are there
  RunOnce("team/a");
  EXPECT_EQ(loop_.Depth(), 2u) << "b and c";
  loop_.RoomMayHaveCome("other", "");
  EXPECT_EQ(loop_.Depth(), 2u);
  clock_.Advance(100);
  loop_.RoomMayHaveCome("team", "team/b");
  EXPECT_EQ(loop_.Depth(), 2u) << "what a refused job takes back";
  loop_.RoomMayHaveCome("team", "team/gone");
  EXPECT_EQ(loop_.Depth(), 4u) << "d and e";
}

TEST_F(JobLoopTest, OfJobsThatWereRefusedTogetherTheFirstTriesAloneWhenBothAreDue) {
  for (const char* key : {"team/a", "team/b"}) {
    Put("team", std::string(key).substr(5), true);
    outcomes_[key] = [] { return absl::PermissionDeniedError("exceeded quota"); };
    RunOnce(key);
  }
  clock_.Advance(1'500);
  const auto makes_some = [] { return op::TurnResult{std::nullopt, 8}; };
  outcomes_["team/a"] = outcomes_["team/b"] = makes_some;
  EXPECT_GT(RunOnce("team/b").again_ms.value_or(0), 0);
  EXPECT_EQ(turns_["team/b"].back(), JobTurn::kLook) << "a is before it";
  RunOnce("team/a");
  EXPECT_EQ(turns_["team/a"].back(), JobTurn::kBackground);
  RunOnce("team/b");
  EXPECT_EQ(turns_["team/b"].back(), JobTurn::kLook) << "a has begun";
  Put("team", "new", false);
  RunOnce("team/new");
  EXPECT_EQ(turns_["team/new"].back(), JobTurn::kLook) << "it was not refused, and takes turns";
  RunOnce("team/new", JobTurn::kPrompt);
  EXPECT_EQ(turns_["team/new"].back(), JobTurn::kPrompt) << "which makes no pods of a new job";
  outcomes_["team/a"] = [] { return op::TurnResult(); };
  RunOnce("team/a");
  RunOnce("team/b");
  EXPECT_EQ(turns_["team/b"].back(), JobTurn::kBackground);
}

TEST_F(JobLoopTest, JobsWaitWhileThisProcessDoesNotLead) {
  leads_ = false;
  loop_.Add("team/a");
  loop_.ShutDown();
  loop_.Run();
  EXPECT_TRUE(turns_.empty());
  EXPECT_EQ(waits_, 1);
}

}  // namespace
}  // namespace yardmaster::app
