#include "pkg/extender/cluster_planner.h"

#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/testing/planner_fixture.h"
#include "pkg/extender/webhook/decisions.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

class ClusterPlannerTest : public PlannerFixture {};

TEST_F(ClusterPlannerTest, ACompleteGangIsCommittedInOneWriteAndItsPodsPinnedAndReleased) {
  AddJob("a", 3);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.errors, std::vector<std::string>());
  EXPECT_EQ(report.gangs_created, 1);
  EXPECT_EQ(report.committed, 1);
  EXPECT_EQ(report.released_pods, 3);
  CheckPromises();
  std::set<std::string> segments;
  const json status = GangStatus("a");
  for (const json& slot : status["assignments"]) segments.insert(slot["segment"]);
  EXPECT_EQ(segments.size(), 1u) << "three workers fit one segment";
  for (const json& pod : client_.All(kube::Pods())) EXPECT_FALSE(Gated(pod));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "Placed");
  EXPECT_EQ(PassOfANewProcess().committed, 0) << "nothing is left to do";
}

TEST_F(ClusterPlannerTest, AnIncompleteGangHoldsNothing) {
  AddJob("a", 3);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_TRUE(client_.All(kube::Gangs()).empty());
  for (const json& pod : client_.All(kube::Pods())) EXPECT_TRUE(Gated(pod));
}

TEST_F(ClusterPlannerTest, WhatIsLeftOfADeletedJobIsNoNewGang) {
  AddJob("a", 2);
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  EXPECT_EQ(PassOfANewProcess().gangs_created, 0);
}

TEST_F(ClusterPlannerTest, KilledAtAnyWriteAnotherProcessFinishesAndNoPromiseIsBroken) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    DeleteAllJobs();
    AddJob("a", 2);
    AddJob("b", 3);
    // From the n-th write on this process does nothing any more.
    int writes = 0;
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      PassOfANewProcess();
      writes = kill.writes();
    }
    CheckPromises();
    PassOfANewProcess();
    CheckPromises();
    for (const json& pod : client_.All(kube::Pods())) EXPECT_FALSE(Gated(pod));
    if (writes < killed_at) break;  // it was never killed
  }
}

TEST_F(ClusterPlannerTest, ALostAnswerToTheCommitIsNotASecondCommit) {
  AddJob("a", 2);
  client_.FailNext(kube::Verb::kReplace, "gangs/status", absl::UnavailableError("lost"), 1,
                   kube::FaultWhen::kAfterEffect);
  EXPECT_EQ(PassOfANewProcess().committed, 1) << "the ledger was read";
  CheckPromises();
  PassOfANewProcess();
  CheckPromises();
  EXPECT_EQ(GangStatus("a")["planGeneration"], 1);
}

TEST_F(ClusterPlannerTest, AJobThatCanNeverFitIsToldSoOnce) {
  AddJob("big", 5, R"({"data": {"within": "Segment", "mode": "Required"}})");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(report.waiting_gpus, 40);
  ASSERT_EQ(report.decisions.size(), 1u);
  EXPECT_EQ(report.decisions[0].outcome, placement::Outcome::kNever);
  EXPECT_EQ(GangStatus("big")["outcome"], "Never");
  EXPECT_FALSE(GangStatus("big")["reasons"].empty());
  EXPECT_TRUE(PassOfANewProcess().decisions.empty());
  ASSERT_EQ(notices_.size(), 2u) << "one on the job, one on its first pod, none again";
  EXPECT_EQ(notices_[0].regarding.kind, "TrainingJob");
  EXPECT_EQ(notices_[1].regarding.name, "big-0");
  for (const ObjectNotice& notice : notices_) {
    EXPECT_EQ(notice.reason, "NotPlaced");
    EXPECT_EQ(notice.note, notices_[0].note);
    EXPECT_TRUE(notice.warning);
  }
  for (const json& pod : client_.All(kube::Pods())) EXPECT_TRUE(Gated(pod));
  clock_.Advance(90'000);
  EXPECT_DOUBLE_EQ(PassOfANewProcess().oldest_gated_seconds, report.oldest_gated_seconds + 90);
}

TEST_F(ClusterPlannerTest, ARankOfALostHostMovesToTheBackupHostOfItsSegmentAndNobodyElseMoves) {
  AddJob("a", 3);
  PassOfANewProcess();
  const json before = GangStatus("a")["assignments"];
  const std::string lost = before[1]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  PassOfANewProcess();
  EXPECT_EQ(GangStatus("a")["assignments"], before) << "its old pod may still run";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  AddPod("a", 1);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.replaced_ranks, 1) << Join(report.errors, "\n");
  const json after = GangStatus("a")["assignments"];
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[2], before[2]);
  EXPECT_EQ(after[1]["segment"], before[1]["segment"]);
  EXPECT_EQ(after[1]["host"], NodeName(lost[1] - '0', kHostsPerSegment - 1));
  EXPECT_EQ(GangStatus("a")["planGeneration"], 2);
  CheckPromises();
}

TEST_F(ClusterPlannerTest, APodMadeAgainOnAHealthyHostGoesBackToIt) {
  AddJob("a", 2);
  PassOfANewProcess();
  const json before = GangStatus("a")["assignments"];
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  AddPod("a", 0);
  EXPECT_EQ(PassOfANewProcess().released_pods, 1);
  EXPECT_EQ(GangStatus("a")["assignments"], before);
  CheckPromises();
}

TEST_F(ClusterPlannerTest, AFollowerPublishesAViewAndWritesNothing) {
  AddJob("a", 2);
  const PassReport report = PassOfANewProcess(/*leader=*/false);
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_TRUE(client_.All(kube::Gangs()).empty());
  ASSERT_NE(view_, nullptr);
  EXPECT_EQ(CheckNode(*view_, {NamespacedName{"team", "trainingjob-a"}, 0, 8}, NodeName(0, 0)),
            NodeVerdict::kGangNotPlanned);
}

TEST_F(ClusterPlannerTest, ANewLeaderReadsTheLedgerItselfBeforeItPlans) {
  AddJob("a", 3);
  AddJob("b", 3);
  state::ClusterCache behind;  // has seen everything but the Gangs
  for (const json& o : client_.All(kube::Nodes())) behind.Deliver(state::Kind::kNode, o);
  for (const json& o : client_.All(kube::Pods())) behind.Deliver(state::Kind::kPod, o);
  for (const json& o : client_.All(kube::TrainingJobs())) {
    behind.Deliver(state::Kind::kTrainingJob, o);
  }
  PassOfANewProcess();
  ClusterPlanner next(
      client_, behind, clock_, {[] { return std::int64_t{9}; }, [](std::int64_t) {}}, [](auto) {},
      [](const ObjectNotice&) {}, OneThread());
  const PassReport report = next.RunOnce();
  EXPECT_EQ(report.committed, 0);
  CheckPromises();
}

TEST_F(ClusterPlannerTest, AJobMadeAgainUnderItsNameDoesNotInheritTheOldGang) {
  AddJob("a", 2);
  PassOfANewProcess();
  // The job and its pods are gone and made again; the garbage collector has not taken the Gang yet.
  for (const json& pod : client_.All(kube::Pods())) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).ok());
  }
  AddPod("a", 0, "job-a-again");
  AddPod("a", 1, "job-a-again");
  EXPECT_EQ(PassOfANewProcess().released_pods, 0);
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
  EXPECT_EQ(PassOfANewProcess().released_pods, 2);
  CheckPromises();
}

TEST_F(ClusterPlannerTest, AFinishedGangGivesItsHostsBack) {
  AddJob("a", 6);
  PassOfANewProcess();
  AddJob("b", 6);
  EXPECT_EQ(PassOfANewProcess().waiting, 1);
  for (json pod : client_.All(kube::Pods())) {
    if (pod["metadata"]["labels"][api::kJobLabel] != "a") continue;
    pod["status"]["phase"] = "Succeeded";
    client_.Seed(kube::Pods(), pod);
  }
  EXPECT_EQ(PassOfANewProcess().committed, 1);
  EXPECT_EQ(GangStatus("b")["outcome"], "Placed");
}

TEST_F(ClusterPlannerTest, ALostHostShowsAsDegradedUntilItsRankHasMovedOrTheHostIsBack) {
  AddJob("a", 3);
  PassOfANewProcess();
  RunReleasedPods();
  const std::string lost = Slots("a")[1]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  EXPECT_EQ(PassOfANewProcess().degraded, 1);
  json degraded = Condition("a", api::kDegradedCondition);
  EXPECT_EQ(degraded["status"], "True");
  EXPECT_NE(degraded["message"].get<std::string>().find("rank 1 on " + lost), std::string::npos);
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/true);
  PassOfANewProcess();
  EXPECT_EQ(Condition("a", api::kDegradedCondition)["status"], "False");
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  PassOfANewProcess();
  DeletePod("a-1");
  AddPod("a", 1);
  PassOfANewProcess();
  PassOfANewProcess();
  EXPECT_EQ(Condition("a", api::kDegradedCondition)["status"], "False");
  client_.ClearCalls();
  PassOfANewProcess();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kReplace, "gangs/status"), 0) << "said once";
}

TEST_F(ClusterPlannerTest, ARankThatFindsNoHostStaysDegradedAndSaysWhy) {
  AddJob("a", 6);
  AddJob("b", 2, "{}", {{"preemptible", true}});
  PassOfANewProcess();
  for (int s = 0; s < 2; ++s) AddNode(s, kHostsPerSegment - 1, /*ready=*/false);
  const std::string lost = Slots("a")[0]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  DeletePod("a-0");
  AddPod("a", 0);
  PassOfANewProcess();
  EXPECT_EQ(Condition("a", api::kDegradedCondition)["status"], "True");
  EXPECT_EQ(Condition("a", "Planned")["status"], "False");
  EXPECT_EQ(Slots("a").size(), 6u) << "the others keep their places";
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/true);
  PassOfANewProcess();
  EXPECT_EQ(Condition("a", "Planned")["status"], "True") << "its host is back";
  EXPECT_EQ(Condition("a", "Planned")["reason"], "Placed");
  EXPECT_TRUE(GangStatus("a").value("reasons", json::array()).empty());
  EXPECT_FALSE(Gated(*client_.Find(kube::Pods(), "team", "a-0")));
  PassOfANewProcess();
  client_.ClearCalls();
  PassOfANewProcess();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kReplace, "gangs/status"), 0) << "said once";
}

TEST_F(ClusterPlannerTest, AJobThatHasWaitedLongEnoughReservesHostsThatOthersAreRefused) {
  AddJob("running", 2, R"({"data": {"within": "Segment", "mode": "Required"}})");
  PassOfANewProcess();
  RunReleasedPods();
  clock_.Advance(1'000'000'000);  // jobs of the test were created at time 0
  AddJob("big", 6, "{}", {{"reserveAfterSeconds", 60}});
  AddJob("small", 1);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.waiting, 2);
  EXPECT_FALSE(Placed("small"));
  const std::string message = Condition("small", "Planned")["message"];
  EXPECT_NE(message.find("TrainingJob team/big"), std::string::npos)
      << "the message names the gang for which hosts are kept: " << message;
  // Ordinary pods are refused by filter, gangs by the planner.
  int reserved = 0;
  for (int s = 0; s < 2; ++s) {
    for (int h = 0; h < kHostsPerSegment; ++h) {
      reserved += CheckNode(*view_, {std::nullopt, -1, 1}, NodeName(s, h)) == NodeVerdict::kReserved
                      ? 1
                      : 0;
    }
  }
  EXPECT_GE(reserved, 4);
  Finish("running");
  PassOfANewProcess();
  PassOfANewProcess();
  EXPECT_TRUE(Placed("big"));
  EXPECT_FALSE(Placed("small"));
}

TEST_F(ClusterPlannerTest, APreemptibleJobRunsOnReservedHostsUntilTheyAreNeeded) {
  AddJob("running", 2, R"({"data": {"within": "Segment", "mode": "Required"}})");
  PassOfANewProcess();
  RunReleasedPods();
  clock_.Advance(1'000'000'000);
  AddJob("big", 6, "{}", {{"reserveAfterSeconds", 60}});
  AddJob("filler", 4, "{}", {{"preemptible", true}});
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.errors.empty()) << Join(report.errors, "\n");
  EXPECT_FALSE(Placed("big"));
  EXPECT_TRUE(Placed("filler"));
}

TEST_F(ClusterPlannerTest, AProcessThatStaysSeesWhatOneThatHasJustStartedSees) {
  Process stays(*this, /*leader=*/false);
  const auto compare = [&] {
    PassOfANewProcess(/*leader=*/false);
    const auto fresh = view_;
    stays.Pass();
    const plan::Snapshot& a = view_->snapshot();
    const plan::Snapshot& b = fresh->snapshot();
    EXPECT_EQ(a.cluster.hosts, b.cluster.hosts);
    ASSERT_EQ(a.jobs.size(), b.jobs.size());
    for (std::size_t j = 0; j < a.jobs.size(); ++j) {
      EXPECT_EQ(a.jobs[j].job.key, b.jobs[j].job.key);
      EXPECT_EQ(a.jobs[j].lost_ranks, b.jobs[j].lost_ranks);
      ASSERT_EQ(a.jobs[j].assignment.has_value(), b.jobs[j].assignment.has_value());
      if (a.jobs[j].assignment) {
        EXPECT_EQ(a.jobs[j].assignment->host_of_rank, b.jobs[j].assignment->host_of_rank);
      }
      EXPECT_EQ(view_->FindNote(a.jobs[j].job.key)->waiting,
                fresh->FindNote(a.jobs[j].job.key)->waiting);
    }
  };
  AddJob("a", 3);
  compare();
  PassOfANewProcess();
  compare();
  RunReleasedPods();
  AddJob("b", 2);
  AddJob("c", 9);
  compare();
  const std::string lost = Slots("a")[1]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  DeletePod("a-1");
  MakeMissingPods();
  compare();
  PassOfANewProcess();
  compare();
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", lost, ""}, {}).ok());
  Finish("b");
  compare();
  PassOfANewProcess();
  AddFabric();
  compare();
  AddNode(lost[1] - '0', lost[3] - '0');
  for (int rank = 0; rank < 3; ++rank) DeletePod(StrCat("a-", rank));
  compare();
}

TEST_F(ClusterPlannerTest, AJobOfAPriorityClassHasItsPriority) {
  AddJob("a", 1);
  json pod = *client_.Find(kube::Pods(), "team", "a-0");
  pod["spec"]["priority"] = 1000;
  client_.Seed(kube::Pods(), pod);
  AddJob("b", 1, "{}", {{"priority", 5}});
  PassOfANewProcess();
  const auto priority = [&](const char* name) {
    return (*client_.Find(kube::Gangs(), "team", name))["spec"]["priority"].get<int>();
  };
  EXPECT_EQ(priority("trainingjob-a"), 1000);
  EXPECT_EQ(priority("trainingjob-b"), 5);
}

TEST_F(ClusterPlannerTest, PodsThatCameWithoutTheGateAreToldTheirSlotAndLetOntoPromisedHosts) {
  AddJob("a", 2);
  for (json pod : client_.All(kube::Pods())) {
    pod["spec"].erase("schedulingGates");
    client_.Seed(kube::Pods(), pod);
  }
  PassOfANewProcess();
  for (const json& pod : client_.All(kube::Pods())) {
    EXPECT_TRUE(pod["metadata"]["annotations"].contains(api::kSlotAnnotation));
    EXPECT_EQ(pod["spec"]["tolerations"][0]["key"], api::kPromisedKey);
  }
  EXPECT_EQ(PassOfANewProcess().released_pods, 0) << "once";
}

TEST_F(ClusterPlannerTest, APlacedGangThatLooksForAnotherHostIsNotCountedAsWaiting) {
  AddJob("a", 6);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  // Its host is lost, and no other is there: not even a backup host.
  const std::string lost = Slots("a")[0]["host"];
  for (const json& node : client_.All(kube::Nodes())) {
    const std::string name = node["metadata"]["name"];
    const bool backup = node["metadata"]["labels"].contains(api::kBackupKey);
    if (name == lost || backup) AddNode(name[1] - '0', name[3] - '0', /*ready=*/false);
  }
  DeletePod("a-0");
  AddPod("a", 0);
  const PassReport report = process.Pass();
  EXPECT_EQ(Condition("a", "Planned")["status"], "False");
  EXPECT_EQ(report.degraded, 1);
  EXPECT_EQ(report.waiting, 0);
  AddJob("b", 6);
  EXPECT_EQ(process.Pass().waiting, 1);
}

}  // namespace
}  // namespace yardmaster::extender
