#include "pkg/extender/ledger/ledger.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/extender/testing/planner_fixture.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {
namespace {

using kube::FaultWhen;
using kube::Verb;

class LedgerTest : public PlannerFixture {
 protected:
  // As its owner and the garbage collector would.
  void RemoveJob(const std::string& job) {
    for (const json& pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] == job) DeletePod(pod["metadata"]["name"]);
    }
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", job, ""}, {}).ok());
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-" + job, ""}, {}).ok());
  }
  // Six hosts are not backup hosts. "x" waits with a message that does not change while "filler"
  // runs, and again while another gang holds the same hosts.
  void LetXWait(Process& leader) {
    AddJob("filler", 6);
    leader.Pass();
    AddJob("x", 6);
    leader.Pass();
    ASSERT_EQ(GangStatus("x")["outcome"], "NotNow");
    RemoveJob("filler");
  }
  static bool IsCommit(const kube::Call& call) {
    return call.verb == Verb::kReplace && call.body.contains("/status/assignments/0"_json_pointer);
  }
  // Calls `then` once, while the first commit is on the network.
  void DuringTheFirstCommit(std::function<void()> then) {
    client_.SetHook([this, then = std::move(then)](const kube::Call& call) {
      if (IsCommit(call) && !std::exchange(committing_, true)) then();
      return absl::OkStatus();
    });
  }
  // The operator writes the Gang while the next write of its status is on the network.
  void MeetTheOperator(const std::string& job, const std::function<void(json&)>& edit) {
    client_.SetHook([this, job, edit](const kube::Call& call) {
      if (call.verb == Verb::kReplace && call.target.subresource == "status" &&
          !std::exchange(committing_, true)) {
        json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-" + job);
        edit(gang);
        client_.Seed(kube::Gangs(), gang);
      }
      return absl::OkStatus();
    });
  }
  int Gated() {
    int gated = 0;
    for (const json& pod : client_.All(kube::Pods())) gated += PlannerFixture::Gated(pod) ? 1 : 0;
    return gated;
  }
  std::int64_t TokenOn(const std::string& job) { return GangStatus(job).value("fencingToken", 0); }

  bool committing_ = false;  // a hook is copied for every call and cannot remember
};

TEST_F(LedgerTest, ACommitThatIsDelayedPastTheLeaseDoesNotTakeHostsThatTheNextLeaderPromised) {
  Process a(*this, /*leader=*/true), b(*this, /*leader=*/false);
  LetXWait(a);
  bool delayed = false;
  DuringTheFirstCommit([&] {
    delayed = true;
    a.LoseLease();
    b.Lead();
    AddJob("z", 6, "{}", {{"priority", 10}});
    EXPECT_EQ(b.Pass().committed, 1);
  });
  EXPECT_EQ(a.Pass().committed, 0);
  EXPECT_TRUE(delayed);
  EXPECT_TRUE(Placed("z"));
  EXPECT_FALSE(Placed("x"));
  CheckPromises();
}

TEST_F(LedgerTest, APassEndsWithItsHoldAlsoWhenTheProcessLeadsAgain) {
  AddJob("a", 3);
  AddJob("b", 3);
  Process process(*this, /*leader=*/true);
  DuringTheFirstCommit([&] { process.Lead(); });
  const PassReport cut = process.Pass();
  EXPECT_EQ(cut.committed, 1);
  EXPECT_EQ(cut.released_pods, 0);
  CheckPromises();
  const PassReport next = process.Pass();
  EXPECT_EQ(next.committed, 1);
  EXPECT_EQ(next.released_pods, 6);
  CheckPromises();
}

TEST_F(LedgerTest, ANewLeaderWritesItsTokenOnceOnEveryGangThatIsNotFinished) {
  for (const char* job : {"a", "b", "done"}) AddJob(job, 1);
  PassOfANewProcess();
  Finish("done");
  PassOfANewProcess();
  Process next(*this, /*leader=*/true);
  client_.ClearCalls();
  EXPECT_EQ(next.Pass().fenced, 2);
  EXPECT_EQ(client_.CountCalls(Verb::kPatch, "gangs/status"), 2);
  EXPECT_EQ(TokenOn("a"), next.token());
  EXPECT_EQ(TokenOn("b"), next.token());
  EXPECT_LT(TokenOn("done"), next.token());
  client_.ClearCalls();
  EXPECT_EQ(next.Pass().fenced, 0);
  EXPECT_EQ(client_.CountCalls(Verb::kPatch, "gangs/status"), 0);
}

TEST_F(LedgerTest, NothingIsCommittedBeforeEveryGangIsFenced) {
  AddJob("a", 1);
  PassOfANewProcess();
  AddJob("b", 1);
  Process next(*this, /*leader=*/true);
  client_.FailNext(Verb::kPatch, "gangs/status", absl::UnavailableError("lost"));
  const PassReport report = next.Pass();
  EXPECT_FALSE(report.errors.empty());
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_EQ(next.Pass().committed, 1);
}

TEST_F(LedgerTest, AGangWhoseStatusIsRefusedIsReportedAndDelaysNobody) {
  AddJob("a", 1);
  PassOfANewProcess();
  AddJob("b", 1);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool on_a = call.verb == Verb::kPatch && call.target.name == "trainingjob-a";
    return on_a ? absl::PermissionDeniedError("a policy of the namespace") : absl::OkStatus();
  });
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.committed, 1);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("Gang team/trainingjob-a"), std::string::npos);
}

TEST_F(LedgerTest, ATokenThatTheLeaseDoesNotKnowIsSteppedOverBeforeAnythingIsWritten) {
  AddJob("a", 1);
  PassOfANewProcess();
  json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-a");
  gang["status"]["fencingToken"] = 41;  // the Lease was deleted since
  client_.Seed(kube::Gangs(), gang);
  AddJob("b", 1);
  Process next(*this, /*leader=*/true);
  client_.ClearCalls();
  EXPECT_EQ(next.Pass().gangs_created, 0);
  EXPECT_EQ(client_.CountCalls(Verb::kPatch, "*"), 0);
  EXPECT_EQ(next.Pass().committed, 1);
  EXPECT_EQ(TokenOn("a"), 42);
}

TEST_F(LedgerTest, ACommitWhoseAnswerIsLostCountsInTheSamePass) {
  for (const absl::Status& answer :
       {absl::UnavailableError("cut"), absl::DeadlineExceededError("no answer"),
        absl::AbortedError("a retry met the first try"),
        kube::MarkReplayed(absl::PermissionDeniedError("a retry met a new rule"))}) {
    SCOPED_TRACE(answer.ToString());
    // Two ranks whose hosts are lost, and one backup host in their segment.
    AddJob("a", 1);
    AddJob("b", 1);
    Process process(*this, /*leader=*/true);
    process.Pass();
    std::set<std::string> lost;
    for (const char* job : {"a", "b"}) lost.insert(Slots(job)[0]["host"]);
    for (const std::string& host : lost) AddNode(host[1] - '0', host[3] - '0', /*ready=*/false);
    process.Pass();
    for (const char* job : {"a", "b"}) {
      DeletePod(StrCat(job, "-0"));
      AddPod(job, 0);
    }
    client_.FailNext(Verb::kReplace, "gangs/status", answer, 1, FaultWhen::kAfterEffect);
    process.Pass();
    CheckPromises();
    process.Pass();
    CheckPromises();
    for (const std::string& host : lost) AddNode(host[1] - '0', host[3] - '0');
    RemoveJob("a");
    RemoveJob("b");
  }
}

TEST_F(LedgerTest, HostsOfACommitInDoubtAreNotPromisedToOthersAndALateOneIsNotLost) {
  AddJob("x", 6);
  Process process(*this, /*leader=*/true);
  json late;
  client_.SetHook([&](const kube::Call& call) {
    if (IsCommit(call) && late.is_null()) late = call.body;
    return absl::OkStatus();
  });
  client_.FailNext(Verb::kReplace, "gangs/status", absl::DeadlineExceededError("delayed"));
  client_.FailNext(Verb::kPatch, "gangs/status", absl::UnavailableError("down"), 2);
  EXPECT_EQ(process.Pass().committed, 0);
  AddJob("z", 6, "{}", {{"priority", 10}});
  EXPECT_EQ(process.Pass().committed, 0) << "the Gang could not be settled";
  EXPECT_FALSE(Placed("z"));
  ASSERT_TRUE(client_.Replace({kube::Gangs(), "team", "trainingjob-x", "status"}, late, {}).ok());
  EXPECT_EQ(process.Pass().committed, 0);
  EXPECT_TRUE(Placed("x"));
  EXPECT_FALSE(Placed("z"));
  CheckPromises();
}

TEST_F(LedgerTest, ACommitThatIsSettledAsNotMadeCannotArriveLater) {
  AddJob("x", 6);
  Process process(*this, /*leader=*/true);
  json late;
  client_.SetHook([&](const kube::Call& call) {
    if (!IsCommit(call) || !late.is_null()) return absl::OkStatus();
    late = call.body;
    return absl::DeadlineExceededError("delayed");
  });
  EXPECT_EQ(process.Pass().committed, 0);
  EXPECT_EQ(GangStatus("x")["settledWrites"], 1);
  const auto arrived =
      client_.Replace({kube::Gangs(), "team", "trainingjob-x", "status"}, late, {});
  EXPECT_TRUE(absl::IsAborted(arrived.status()));
  AddJob("z", 6, "{}", {{"priority", 10}});
  process.Pass();
  EXPECT_TRUE(Placed("z"));
  CheckPromises();
}

TEST_F(LedgerTest, ARefusedWriteIsNotInDoubt) {
  AddJob("x", 1);
  client_.FailNext(Verb::kReplace, "gangs/status", absl::InvalidArgumentError("no"));
  EXPECT_EQ(PassOfANewProcess().committed, 0);
  EXPECT_EQ(client_.CountCalls(Verb::kPatch, "gangs/status"), 0);
}

TEST_F(LedgerTest, AConditionThatMeetsTheOperatorsWriteIsWrittenBesideIt) {
  AddJob("a", 1);
  Process process(*this, /*leader=*/true);
  process.Pass();
  ASSERT_TRUE(Placed("a"));
  ASSERT_NE(Condition("a", api::kReleasedCondition).value("status", ""), "True");
  MeetTheOperator("a", [](json& gang) {
    gang["status"]["network"] = {{"level", 3}};
    gang["status"]["conditions"].push_back({{"type", "NetworkPlanned"},
                                            {"status", "True"},
                                            {"reason", "Planned"},
                                            {"message", "level 3"},
                                            {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  });
  EXPECT_EQ(process.Pass().errors, std::vector<std::string>());
  EXPECT_EQ(Condition("a", api::kReleasedCondition).value("status", ""), "True");
  EXPECT_EQ(Condition("a", "NetworkPlanned").value("status", ""), "True");
  EXPECT_EQ(GangStatus("a")["network"]["level"], 3);
}

TEST_F(LedgerTest, AConditionIsDecidedAgainWhereOthersChangedWhatItWasDecidedFrom) {
  AddJob("a", 1);
  Process process(*this, /*leader=*/true);
  process.Pass();
  MeetTheOperator("a", [](json& gang) { gang["spec"]["pods"] = "Refused"; });
  EXPECT_EQ(process.Pass().errors.size(), 1u);
  EXPECT_NE(Condition("a", api::kReleasedCondition).value("status", ""), "True");
}

TEST_F(LedgerTest, APlanThatMeetsAnotherWriteIsMadeAgain) {
  AddJob("a", 1);
  Process process(*this, /*leader=*/true);
  MeetTheOperator("a", [](json& gang) { gang["status"]["network"] = {{"level", 3}}; });
  EXPECT_EQ(process.Pass().committed, 0);
  EXPECT_FALSE(Placed("a"));
  EXPECT_EQ(process.Pass().committed, 1);
}

TEST_F(LedgerTest, AReleaseEndsWithTheHoldOfThePass) {
  AddJob("a", 3);
  Process process(*this, /*leader=*/true);
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == Verb::kPatch && call.target.resource == kube::Pods()) process.LoseLease();
    return absl::OkStatus();
  });
  EXPECT_EQ(process.Pass().released_pods, 1) << "the one that was on the network";
  EXPECT_EQ(Gated(), 2);
}

TEST_F(LedgerTest, APodThatIsReadAgainIsNotReleasedOnceTheHoldOfThePassHasEnded) {
  AddJob("a", 1);
  Process process(*this, /*leader=*/true);
  client_.FailNext(Verb::kPatch, "pods", absl::FailedPreconditionError("a test failed"));
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == Verb::kGet && call.target.resource == kube::Pods()) process.LoseLease();
    return absl::OkStatus();
  });
  EXPECT_EQ(process.Pass().released_pods, 0);
  EXPECT_EQ(Gated(), 1);
}

TEST_F(LedgerTest, APodMadeAgainUnderItsNameIsNotReleasedForTheOneThatWasPlanned) {
  AddJob("a", 2);
  Process process(*this, /*leader=*/true);
  bool made_again = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == Verb::kPatch && call.target.name == "a-0" &&
        !std::exchange(made_again, true)) {
      DeletePod("a-0");
      AddPod("a", 0);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(process.Pass().released_pods, 1);
  EXPECT_EQ(Gated(), 1);
  EXPECT_EQ(process.Pass().released_pods, 1) << "once the pass has seen it";
}

}  // namespace
}  // namespace yardmaster::extender
