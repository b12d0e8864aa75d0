#include "pkg/extender/steps/adoption.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class AdoptionTest : public PlannerFixture {
 protected:
  void RunAndLoseTheGang(const std::string& job) {
    PassOfANewProcess();
    RunReleasedPods();
    slots_ = Slots(job);
    ASSERT_FALSE(slots_.empty());
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-" + job, ""}, {}).ok());
  }
  void Change(const std::string& pod, const std::function<void(json&)>& how) {
    json object = *client_.Find(kube::Pods(), "team", pod);
    how(object);
    client_.Seed(kube::Pods(), object);
  }
  json slots_;
};

TEST_F(AdoptionTest, ADeletedGangIsRebuiltFromItsRunningPods) {
  AddJob("a", 3);
  RunAndLoseTheGang("a");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.adopted, 1) << Join(report.problems, "\n");
  EXPECT_EQ(report.committed, 0);
  EXPECT_EQ(Slots("a"), slots_) << "rank by rank, with segments and stages";
  EXPECT_EQ(Condition("a", "Planned")["reason"], "Adopted");
  EXPECT_EQ(CountNotices("Adopted"), 1);
  CheckPromises();
  // The hosts stay promised: another job goes elsewhere.
  AddJob("b", 3);
  PassOfANewProcess();
  EXPECT_TRUE(Placed("b"));
  CheckPromises();
  EXPECT_EQ(PassOfANewProcess().adopted, 0);
}

TEST_F(AdoptionTest, KilledBetweenTheNewGangAndItsPlanTheNextProcessAdopts) {
  AddJob("a", 2);
  RunAndLoseTheGang("a");
  client_.FailNext(kube::Verb::kReplace, "gangs/status", absl::UnavailableError("killed"));
  EXPECT_EQ(PassOfANewProcess().adopted, 0);
  EXPECT_EQ(PassOfANewProcess().adopted, 1);
  EXPECT_EQ(Slots("a"), slots_);
}

TEST_F(AdoptionTest, PodsThatDoNotAgreeAreReportedAndNothingIsMadeUp) {
  AddJob("a", 3);
  RunAndLoseTheGang("a");
  Change("a-1", [](json& pod) { pod["metadata"]["annotations"].erase(api::kSlotAnnotation); });
  PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.adopted, 0);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("pod a-1 has no annotation"), std::string::npos)
      << report.problems[0];
  EXPECT_FALSE(Placed("a")) << "and no second place is looked for";
  Change("a-1", [&](json& pod) {
    pod["metadata"]["annotations"][api::kSlotAnnotation] =
        R"({"version":1,"gang":"trainingjob-a","rank":2,"fabricPod":"p0","segment":"s0","stages":[0]})";
  });
  report = PassOfANewProcess();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("says that it is rank 2"), std::string::npos);
}

TEST_F(AdoptionTest, APlaceThatAPlanCouldNotHaveIsNotAdopted) {
  AddJob("a", 3, R"({"data": {"within": "Segment", "mode": "Required"}})");
  RunAndLoseTheGang("a");
  const int other = slots_[0]["segment"] == "s0" ? 1 : 0;
  Change("a-1", [&](json& pod) { pod["spec"]["nodeName"] = NodeName(other, 0); });
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.adopted, 0);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("split although Required"), std::string::npos)
      << report.problems[0];
}

TEST_F(AdoptionTest, AHostThatAnotherGangWasPromisedMeanwhileIsNotTakenTwice) {
  AddJob("a", 2);
  RunAndLoseTheGang("a");
  AddJob("b", 2);
  PassOfANewProcess();
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
  const std::string taken = Slots("b")[0]["host"];
  Change("a-0", [&](json& pod) { pod["spec"]["nodeName"] = taken; });
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.adopted, 0);
  EXPECT_NE(Join(report.problems, "\n").find("promised to others"), std::string::npos)
      << Join(report.problems, "\n");
}

TEST_F(AdoptionTest, HostsThatCannotBeUsedAreLookedAtEverLessOften) {
  for (const char* job : {"a", "b"}) {
    AddJob(job, 1);
    Change(StrCat(job, "-0"), [](json& pod) {
      pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", NodeName(0, 0)}};
    });
  }
  Process process(*this, true);
  EXPECT_EQ(process.Pass().adopted, 1);
  for (int i = 0; i < 20; ++i) {
    const PassReport report = process.Pass();
    EXPECT_EQ(report.problems.size(), 1u) << Join(report.problems, "\n");
    clock_.Advance(1'000);
  }
  Finish("a");
  EXPECT_EQ(process.Pass().adopted, 0) << "it waits";
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().adopted, 1);
}

TEST_F(AdoptionTest, APassLooksAtAFewOfManyPlans) {
  for (int i = 0; i < 40; ++i) {
    const std::string job = StrCat("j", i);
    AddJob(job, 1);
    Change(job + "-0", [](json& pod) {
      pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "elsewhere"}};
    });
  }
  Process process(*this, true);
  const PassReport first = process.Pass();
  EXPECT_EQ(first.problems.size(), 16u);
  EXPECT_EQ(first.wake_in_ms, 0);
  std::size_t known = first.problems.size();
  for (int i = 0; i < 4 && known < 40; ++i) {
    const std::size_t now = process.Pass().problems.size();
    EXPECT_LE(now, known + 16);
    known = now;
  }
  EXPECT_EQ(known, 40u) << "each had its turn";
}

// The garbage collector takes Gang and pods of a deleted owner in any order.
class AdoptionOfJobsTest : public BatchJobFixture {
 protected:
  // A Job whose Gang is gone while its pods run.
  void RunAndLoseTheGang() {
    AddBatchJob("a", 2);
    process_.Pass();
    RunReleasedPods();
    process_.Pass();
    ASSERT_EQ(HostsOf("job-a").size(), 2u);
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-a", ""}, {}).ok());
  }
  void ExpectNothingIsSaid() {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(process_.Pass().adopted, 0);
      clock_.Advance(11'000);
    }
    EXPECT_EQ(CountNotices("Adopted") + CountNotices("NotAdopted"), 0);
  }

  Process process_{*this, true};
};

TEST_F(AdoptionOfJobsTest, PodsThatOutliveTheirJobForAMomentAreNotAdopted) {
  RunAndLoseTheGang();
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  ExpectNothingIsSaid();
}

TEST_F(AdoptionOfJobsTest, NorThoseOfAJobThatIsBeingDeleted) {
  RunAndLoseTheGang();
  ChangeJob("a", [](json& job) {
    job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    job["metadata"]["finalizers"] = {"foregroundDeletion"};
  });
  ExpectNothingIsSaid();
}

TEST_F(AdoptionOfJobsTest, NorThoseOfAJobThatWasMadeAgain) {
  RunAndLoseTheGang();
  ChangeJob("a", [](json& job) { job["metadata"]["uid"] = "another"; });
  ExpectNothingIsSaid();
}

TEST_F(AdoptionOfJobsTest, PodsWhoseJobIsThereAreAdopted) {
  RunAndLoseTheGang();
  EXPECT_EQ(process_.Pass().adopted, 1);
  EXPECT_EQ(CountNotices("Adopted"), 1);
}

TEST_F(AdoptionOfJobsTest, AlsoWhileTheJobCannotBeRead) {
  RunAndLoseTheGang();
  client_.FailNext(kube::Verb::kGet, "jobs", absl::PermissionDeniedError("no right"), 10);
  EXPECT_EQ(process_.Pass().adopted, 1);
}

// Hosts that pods name by nodeSelector are taken as they are, but not from gangs that no snapshot
// shows.
class ObservedHostsTest : public AdoptionTest {
 protected:
  void AddJobOn(const std::string& job, const std::string& host) {
    AddJob(job, 1);
    Change(job + "-0", [&](json& pod) {
      pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", host}};
    });
  }
};

TEST_F(ObservedHostsTest, HostsOfAGangThatCannotBeReadAreNotTaken) {
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-a");
  const std::string host = gang["status"]["assignments"][1]["host"];
  gang["status"]["assignments"][0]["rank"] = 3;
  client_.Seed(kube::Gangs(), gang);
  AddJobOn("b", host);
  const PassReport report = process.Pass();
  EXPECT_FALSE(Placed("b")) << GangStatus("b").dump();
  EXPECT_NE(Join(report.problems, "\n").find(host + " is kept for another gang"), std::string::npos)
      << Join(report.problems, "\n");
}

TEST_F(ObservedHostsTest, HostsThatAWriteInDoubtMayHavePromisedAreNotTakenUntilItIsSettled) {
  AddJob("a", 2);
  Process process(*this, true);
  json late;
  client_.SetHook([&](const kube::Call& call) {
    const bool status = call.verb == kube::Verb::kReplace && call.target.subresource == "status";
    if (status && late.is_null()) late = call.body;
    return absl::OkStatus();
  });
  client_.FailNext(kube::Verb::kReplace, "gangs/status", absl::DeadlineExceededError("delayed"));
  client_.FailNext(kube::Verb::kPatch, "gangs/status", absl::UnavailableError("down"), 2);
  EXPECT_EQ(process.Pass().committed, 0);
  ASSERT_TRUE(late.is_object());
  AddJobOn("b", late["status"]["assignments"][0]["host"]);
  process.Pass();
  EXPECT_FALSE(Placed("b")) << GangStatus("b").dump();
  ASSERT_TRUE(client_.Replace({kube::Gangs(), "team", "trainingjob-a", "status"}, late, {}).ok());
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_TRUE(Placed("a"));
  EXPECT_FALSE(Placed("b"));
  CheckPromises();
}

TEST_F(ObservedHostsTest, BackupHostsAreNotTaken) {
  AddJobOn("b", NodeName(0, kHostsPerSegment - 1));
  const PassReport report = PassOfANewProcess();
  EXPECT_FALSE(Placed("b")) << GangStatus("b").dump();
  EXPECT_NE(Join(report.problems, "\n").find("s0h3 is kept as backup"), std::string::npos)
      << Join(report.problems, "\n");
}

TEST_F(ObservedHostsTest, AJobWhoseHostsAreRefusedIsTold) {
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  AddJobOn("b", Slots("a")[0]["host"]);
  process.Pass();
  ASSERT_FALSE(Placed("b"));
  EXPECT_EQ(Condition("b", "Planned")["status"], "False");
  EXPECT_EQ(Condition("b", "Planned")["reason"], "HostsRefused");
  EXPECT_EQ(GangStatus("b")["outcome"], "NotNow");
  EXPECT_EQ(CountNotices("HostsRefused"), 2) << "on the job and on a pod";
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(11'000);
    process.Pass();
  }
  EXPECT_EQ(CountNotices("HostsRefused"), 2) << "once";
  // The controller chooses another host.
  Change("b-0", [](json& pod) {
    pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", NodeName(1, 2)}};
  });
  process.Pass();
  EXPECT_EQ(Condition("b", "Planned")["reason"], "Observed");
}

TEST_F(ObservedHostsTest, APlacedJobWhoseNewHostIsRefusedIsToldAndKeepsItsPlace) {
  AddJobOn("b", NodeName(1, 0));
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(Placed("b"));
  DeletePod("b-0");
  AddPod("b", 0);
  Change("b-0", [](json& pod) {
    pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", NodeName(0, kHostsPerSegment - 1)}};
  });
  process.Pass();
  EXPECT_EQ(CountNotices("HostsRefused"), 2);
  EXPECT_EQ(Condition("b", "Planned")["status"], "True");
  EXPECT_EQ(Slots("b")[0]["host"], NodeName(1, 0));
}

TEST_F(ObservedHostsTest, HostsKeptForAGangThatMakesRoomAreNotTaken) {
  AddJob("low", 6);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  AddJob("high", 6, "{}", {{"priority", 10}});
  process.Pass();
  ASSERT_TRUE(GangStatus("high").contains("preemption")) << GangStatus("high").dump();
  const std::string host = GangStatus("high")["preemption"]["hosts"][0];
  // The victim is gone before the planner looks again.
  for (int rank = 0; rank < 6; ++rank) DeletePod(StrCat("low-", rank));
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "low", ""}, {}).ok());
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-low", ""}, {}).ok());
  AddJobOn("b", host);
  process.Pass();
  EXPECT_FALSE(Placed("b")) << GangStatus("b").dump();
  EXPECT_TRUE(Placed("high"));
}

}  // namespace
}  // namespace yardmaster::extender
