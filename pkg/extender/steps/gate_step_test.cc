#include "pkg/extender/steps/gate_step.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class GateStepTest : public BatchJobFixture {
 protected:
  GateStepTest() {
    // Pods of the fixture were made then.
    clock_.Advance(*ParseTime("2026-01-01T00:00:00Z") - clock_.WallMs());
  }
  void Limits(std::int64_t gate_ms, GateTimeoutAction action, std::int64_t ready_ms) {
    planner_options_.gates = {gate_ms, action, ready_ms};
  }
  json Pod(const std::string& name) { return *client_.Find(kube::Pods(), "team", name); }
  // A patch of a pod whose name begins so takes a tenth of a second.
  void SlowPatches(const std::string& name) {
    client_.SetHook([this, name](const kube::Call& call) {
      const bool slow = call.verb == kube::Verb::kPatch && call.target.name.rfind(name, 0) == 0;
      if (slow) clock_.Advance(100);
      return absl::OkStatus();
    });
  }
  // Another pod of that name takes the place of "a-0-1" at the first call of `verb` for it.
  void MakeAgainAt(kube::Verb verb) {
    client_.SetHook([this, verb, again = false](const kube::Call& call) mutable {
      if (call.verb != verb || call.target.name != "a-0-1" || std::exchange(again, true)) {
        return absl::OkStatus();
      }
      json pod = Pod("a-0-1");
      pod["metadata"]["uid"] = "another";
      client_.Seed(kube::Pods(), std::move(pod));
      return absl::OkStatus();
    });
  }
  // The first of the pods whose limit is over is gone when its turn comes.
  void ExpectNoBackOffWhenAPodIsGone() {
    AddBatchJob("a", 7);
    Process process(*this, true);
    process.Pass();
    clock_.Advance(60'000);
    client_.SetHook([done = false](const kube::Call& call) mutable -> absl::Status {
      const bool first = call.target.name == "a-0-1";
      return first && !std::exchange(done, true) ? absl::NotFoundError("pods not found")
                                                 : absl::OkStatus();
    });
    const PassReport report = process.Pass();
    EXPECT_TRUE(report.errors.empty()) << Join(report.errors, "\n");
    EXPECT_EQ(report.gate_timeouts, 1);
    client_.SetHook({});
    DeletePod("a-0-1");
    AddJobPod("a", 0, "tp=8,dp=7");
    EXPECT_EQ(process.Pass().gate_timeouts, 1) << "its gang is not on a back-off";
  }
  int CountGated(const std::string& name) {
    int gated = 0;
    for (const json& pod : client_.All(kube::Pods())) {
      const bool named = pod["metadata"]["name"].get<std::string>().rfind(name, 0) == 0;
      gated += named && Gated(pod) ? 1 : 0;
    }
    return gated;
  }
};

TEST_F(GateStepTest, AGangThatWaitsTooLongIsReleasedToTheScheduler) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  AddBatchJob("a", 7);  // six hosts are there
  Process process(*this, true);
  process.Pass();
  clock_.Advance(59'000);
  const PassReport before = process.Pass();
  EXPECT_TRUE(Gated(Pod("a-0-1")));
  EXPECT_LE(before.wake_in_ms, 1'000);
  clock_.Advance(1'000);
  EXPECT_EQ(process.Pass().gate_timeouts, 1);
  for (const json& pod : PodsOf("a")) {
    EXPECT_FALSE(Gated(pod));
    EXPECT_EQ(PinnedTo(pod), "");
    EXPECT_NE(pod["metadata"]["annotations"][api::kReleasedAnnotation].get<std::string>().find(
                  "had no place for 60 s"),
              std::string::npos);
  }
  EXPECT_EQ(CountNotices("GateTimeout"), 1);
  const PassReport after = process.Pass();
  EXPECT_TRUE(after.problems.empty()) << Join(after.problems, "\n");
  EXPECT_EQ(after.waiting, 0) << "they are ordinary pods now";
}

TEST_F(GateStepTest, AGangsOwnLimitsGoBeforeTheProcess) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  AddBatchJob("a", 7);
  AddBatchJob("b", 7);
  AddBatchJob("c", 7);
  const auto annotate = [this](const std::string& job, const char* key, const char* value) {
    for (json pod : PodsOf(job)) {
      pod["metadata"]["annotations"][key] = value;
      client_.Seed(kube::Pods(), pod);
    }
  };
  annotate("a", api::kGateTimeoutAnnotation, "10");
  annotate("a", api::kGateTimeoutActionAnnotation, "Fail");
  annotate("b", api::kGateTimeoutAnnotation, "0");
  annotate("c", api::kGateTimeoutAnnotation, "soon");
  Process process(*this, true);
  process.Pass();
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().gate_timeouts, 1);
  EXPECT_EQ(PodsOf("a").front()["status"]["reason"], "GateTimeout");
  clock_.Advance(50'000);
  const PassReport later = process.Pass();
  EXPECT_EQ(later.gate_timeouts, 1) << "what cannot be read is treated as left out";
  EXPECT_FALSE(Gated(PodsOf("c").front()));
  EXPECT_TRUE(Gated(PodsOf("b").front())) << "it waits for as long as it takes";
  EXPECT_NE(Join(later.problems, "\n").find("\"soon\" is not used; write whole seconds"),
            std::string::npos);
}

TEST_F(GateStepTest, AGangMayShortenTheTimeInWhichItHasToRunAndNotLengthenIt) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 3);
  AddBatchJob("b", 3);
  for (json pod : client_.All(kube::Pods())) {
    const bool is_a = pod["metadata"]["name"].get<std::string>()[0] == 'a';
    pod["metadata"]["annotations"][api::kReadyTimeoutAnnotation] = is_a ? "10" : "3600";
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 3u);
  ASSERT_EQ(HostsOf("job-b").size(), 3u);
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().evicted_pods, 3);
  EXPECT_EQ(PodsOf("b").size(), 3u);
  clock_.Advance(50'000);
  process.Pass();
  EXPECT_EQ(PodsOf("b").size(), 0u);
}

TEST_F(GateStepTest, AGangCannotTakeTheTimeLimitOfItsStartAwayAndIsTold) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 2);
  for (json pod : PodsOf("a")) {
    pod["metadata"]["annotations"][api::kReadyTimeoutAnnotation] = "0";
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  EXPECT_EQ(process.Pass().committed, 1);
  const PassReport placed = process.Pass();
  EXPECT_NE(Join(placed.problems, "\n").find("\"0\" is not used; write whole seconds from 1"),
            std::string::npos);
  EXPECT_LE(placed.wake_in_ms, 60'000) << "the process's limit holds";
}

TEST_F(GateStepTest, OrItFailsWithTheReason) {
  Limits(60'000, GateTimeoutAction::kFail, 0);
  AddBatchJob("a", 7);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(60'000);
  process.Pass();
  for (const json& pod : PodsOf("a")) {
    EXPECT_EQ(pod["status"]["phase"], "Failed");
    EXPECT_EQ(pod["status"]["reason"], "GateTimeout");
  }
}

TEST_F(GateStepTest, APodMadeAgainUnderItsNameIsNotReleasedForTheOneThatWaited) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  AddBatchJob("a", 7);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(60'000);
  MakeAgainAt(kube::Verb::kGet);
  process.Pass();
  const json pod = Pod("a-0-1");
  EXPECT_EQ(pod["metadata"]["uid"], "another");
  EXPECT_TRUE(Gated(pod));
}

TEST_F(GateStepTest, APodMadeAgainUnderItsNameIsNotFailedForTheOneThatWaited) {
  Limits(60'000, GateTimeoutAction::kFail, 0);
  AddBatchJob("a", 7);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(60'000);
  MakeAgainAt(kube::Verb::kPatch);
  process.Pass();
  const json pod = Pod("a-0-1");
  EXPECT_EQ(pod["metadata"]["uid"], "another");
  EXPECT_NE(pod.value("/status/phase"_json_pointer, ""), "Failed");
}

TEST_F(GateStepTest, WaitingForAControllerOfOthersIsNotWaitingForUs) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  AddBatchJob("a", 2);
  for (json pod : PodsOf("a")) {
    pod["spec"]["schedulingGates"].push_back({{"name", "kueue.x-k8s.io/admission"}});
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  clock_.Advance(3'600'000);
  process.Pass();
  EXPECT_TRUE(Gated(Pod("a-0-1")));
  EXPECT_TRUE(Gang("job-a").empty()) << "nor is it planned";
}

TEST_F(GateStepTest, APlacedGangThatDoesNotRunInFullGivesItsHostsBackAndQueuesBehind) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 6);
  Process process(*this, true);
  process.Pass();
  // One pod never comes up.
  for (json pod : PodsOf("a")) {
    if (pod["metadata"]["name"] == "a-5-6") continue;
    pod["spec"]["nodeName"] = PinnedTo(pod);
    pod["status"]["phase"] = "Running";
    client_.Seed(kube::Pods(), pod);
  }
  AddBatchJob("b", 6);
  process.Pass();
  clock_.Advance(60'000);
  EXPECT_EQ(process.Pass().evicted_pods, 6) << "also the one that may still be bound";
  process.Pass();
  EXPECT_EQ(CountNotices("NotReadyInTime"), 1);
  for (int index = 0; index < 6; ++index) AddJobPod("a", index, "tp=8,dp=6");
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
}

TEST_F(GateStepTest, AGangThatHasRunInFullKeepsItsHostsWhileAPodIsRetried) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Running"));
  const auto hosts = HostsOf("job-a");
  DeletePod("a-1-2");
  clock_.Advance(3'600'000);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(GateStepTest, AGangOfWhichNoPodCanBeBoundGivesItsHostsBackByDefault) {
  AddBatchJob("a", 6);
  Process process(*this, true);
  process.Pass();
  AddBatchJob("b", 6);
  clock_.Advance(599'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 6u);
  clock_.Advance(1'000);
  EXPECT_EQ(process.Pass().evicted_pods, 6);
  for (int index = 0; index < 6; ++index) AddJobPod("a", index, "tp=8,dp=6");
  process.Pass();
  EXPECT_NE(NoticesAbout("NotReadyInTime").find("no pod of the gang was bound within 600 s"),
            std::string::npos);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
}

// The Job counts those that ran and are stopped.
TEST_F(GateStepTest, AJobDoesNotCountPodsAsFailedThatWereNeverBound) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 2);
  for (json pod : PodsOf("a")) {
    pod["metadata"]["finalizers"] = {"batch.kubernetes.io/job-tracking"};
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  process.Pass();
  json runs = Pod("a-0-1");
  runs["spec"]["nodeName"] = PinnedTo(runs);
  runs["status"]["phase"] = "Running";
  client_.Seed(kube::Pods(), runs);
  process.Pass();
  clock_.Advance(60'000);
  EXPECT_EQ(process.Pass().evicted_pods, 2);
  EXPECT_FALSE(client_.Find(kube::Pods(), "team", "a-1-2").has_value());
  EXPECT_EQ(Pod("a-0-1")["metadata"]["finalizers"].size(), 1u);
}

TEST_F(GateStepTest, AJobCountsAPodThatWasBoundBeforeTheWatchShowedIt) {
  AddBatchJob("a", 1);
  json pod = Pod("a-0-1");
  pod["metadata"]["finalizers"] = {"batch.kubernetes.io/job-tracking"};
  client_.Seed(kube::Pods(), pod);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(600'000);
  // Between the last look of the pass and its eviction.
  client_.SetHook([this](const kube::Call& call) -> absl::Status {
    if (call.target.subresource != "eviction") return absl::OkStatus();
    json runs = Pod("a-0-1");
    runs["spec"]["nodeName"] = PinnedTo(runs);
    runs["status"]["phase"] = "Running";
    client_.Seed(kube::Pods(), runs);
    return absl::OkStatus();
  });
  EXPECT_EQ(process.Pass().evicted_pods, 1);
  EXPECT_TRUE(Pod("a-0-1")["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(Pod("a-0-1")["metadata"]["finalizers"].size(), 1u);
}

TEST_F(GateStepTest, APodThatRunsOrThatKubeSchedulerHasNotSeenYetKeepsThem) {
  AddBatchJob("a", 2);
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  json pod = Pod("a-0-1");
  pod["spec"]["nodeName"] = PinnedTo(pod);
  client_.Seed(kube::Pods(), pod);
  clock_.Advance(600'000);
  pod = Pod("b-1-4");
  pod["metadata"]["creationTimestamp"] = FormatTime(clock_.WallMs());
  client_.Seed(kube::Pods(), pod);
  const PassReport report = process.Pass();
  EXPECT_EQ(report.evicted_pods, 0);
  EXPECT_LE(report.wake_in_ms, 30'000);
  clock_.Advance(30'000);
  EXPECT_EQ(process.Pass().evicted_pods, 2) << "those of b";
}

TEST_F(GateStepTest, PodsThatGiveThemselvesAYearDoNotKeepTheHostsForIt) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  json pod = Pod("a-0-1");
  pod["spec"]["nodeName"] = PinnedTo(pod);
  pod["metadata"]["deletionTimestamp"] = "2027-01-01T00:00:00Z";
  pod["metadata"]["finalizers"] = json::array({"example.com/held"});
  client_.Seed(kube::Pods(), pod);
  DeletePod("a-1-2");
  clock_.Advance(60'000);
  client_.ClearCalls();
  process.Pass();
  int shortened = 0;
  for (const kube::Call& call : client_.calls()) {
    if (call.target.subresource != "eviction") continue;
    ++shortened;
    EXPECT_EQ(call.body["deleteOptions"]["gracePeriodSeconds"], 600);
  }
  EXPECT_EQ(shortened, 1);
}

TEST_F(GateStepTest, AGangThatHasRunInFullIsNotBoundByTheLimitWhenItRestarts) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  process.Pass();
  EXPECT_FALSE(IsTrue("job-a", "Running")) << "written once the gang has shown that it stays";
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Running"));
  const auto hosts = HostsOf("job-a");
  clock_.Advance(3'600'000);
  DeletePodsOf("a");
  for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
  EXPECT_EQ(process.Pass().released_pods, 2);
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(GateStepTest, AGangWhosePodsAreNeverReleasedGivesItsHostsBackToo) {
  AddBatchJob("a", 2);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    return call.verb == kube::Verb::kPatch ? absl::PermissionDeniedError("a policy")
                                           : absl::OkStatus();
  });
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 2u);
  clock_.Advance(600'000);
  EXPECT_EQ(process.Pass().given_back, 1);
}

TEST_F(GateStepTest, APodThatIsGoneDoesNotPutItsGangOff) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  ExpectNoBackOffWhenAPodIsGone();
}

TEST_F(GateStepTest, NorWhenItsPodsAreFailed) {
  Limits(60'000, GateTimeoutAction::kFail, 0);
  ExpectNoBackOffWhenAPodIsGone();
}

TEST_F(GateStepTest, APodWithoutGpusThatIsGoneDoesNotPutOffOneOfItsName) {
  AddBatchJob("a", 1);
  json launcher = Pod("a-0-1");
  launcher["metadata"]["name"] = "launcher";
  launcher["metadata"]["uid"] = "l";
  launcher["spec"]["containers"] = json::array({{{"name", "c"}}});
  client_.Seed(kube::Pods(), launcher);
  Process process(*this, true);
  client_.FailNext(kube::Verb::kGet, "pods", absl::NotFoundError("pods not found"));
  process.Pass();
  EXPECT_TRUE(Gated(Pod("launcher")));
  process.Pass();
  EXPECT_FALSE(Gated(Pod("launcher")));
}

TEST_F(GateStepTest, APodWithoutGpusDoesNotWait) {
  AddBatchJob("a", 2);
  json launcher = Pod("a-0-1");
  launcher["metadata"]["name"] = "launcher";
  launcher["metadata"]["uid"] = "l";
  launcher["spec"]["containers"] = json::array({{{"name", "c"}}});
  client_.Seed(kube::Pods(), launcher);
  Process process(*this, true);
  process.Pass();
  EXPECT_FALSE(Gated(Pod("launcher")));
  EXPECT_EQ(PinnedTo(Pod("launcher")), "");
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(GateStepTest, ManyPodsWithoutGpusHoldUpNoGang) {
  for (int i = 0; i < 10; ++i) {
    client_.Seed(
        kube::Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", StrCat("idle-", i)}, {"namespace", "team"}, {"uid", StrCat("idle-", i)}}},
         {"spec",
          {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
           {"containers", json::array({{{"name", "c"}}})}}},
         {"status", {{"phase", "Pending"}}}});
  }
  AddBatchJob("a", 2);
  SlowPatches("idle-");
  Process process(*this, true);
  const PassReport first = process.Pass();
  EXPECT_EQ(CountGated("idle-"), 7) << "a quarter of a second";
  EXPECT_TRUE(first.run_again_now);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_EQ(CountGated("a-"), 0);
  for (int i = 0; i < 3; ++i) process.Pass();
  EXPECT_EQ(CountGated("idle-"), 0);
}

TEST_F(GateStepTest, ALargeGangWhoseLimitIsOverHoldsUpNoOther) {
  Limits(60'000, GateTimeoutAction::kRelease, 0);
  AddBatchJob("a", 7);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(60'000);
  AddBatchJob("b", 7);
  SlowPatches("");
  const PassReport first = process.Pass();
  EXPECT_EQ(CountGated("a-"), 4) << "a quarter of a second";
  EXPECT_TRUE(first.run_again_now);
  EXPECT_EQ(first.gate_timeouts, 0) << "counted once, when all are released";
  process.Pass();
  EXPECT_EQ(CountGated("b-"), 4) << "each in turn";
  int timeouts = 0;
  for (int i = 0; i < 4; ++i) timeouts += process.Pass().gate_timeouts;
  EXPECT_EQ(timeouts, 2);
  EXPECT_EQ(CountGated("a-") + CountGated("b-"), 0);
  EXPECT_EQ(CountNotices("GateTimeout"), 2);
}

TEST_F(GateStepTest, AGangWhosePodsABudgetKeepsIsTriedEverLessOften) {
  Limits(0, GateTimeoutAction::kRelease, 60'000);
  AddBatchJob("a", 5);
  Process process(*this, true);
  process.Pass();
  process.Pass();
  clock_.Advance(60'000);
  int evictions = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.target.subresource != "eviction") return absl::OkStatus();
    ++evictions;
    return absl::ResourceExhaustedError("it would violate the pod's disruption budget");
  });
  for (int i = 0; i < 4; ++i) process.Pass();
  EXPECT_LE(evictions, 6);
  EXPECT_EQ(HostsOf("job-a").size(), 5u);
  client_.SetHook({});
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().evicted_pods, 5);
}

}  // namespace
}  // namespace yardmaster::extender
