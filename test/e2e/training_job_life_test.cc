// A TrainingJob's life on a real control plane: a suspended job gives its hosts back, a lost host
// is replaced, and a job ends by its own rules. That each condition can be waited for is in
// wait_conditions_test.cc.
#include "pkg/api/progress_report.h"
#include "pkg/base/clock.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

class TrainingJobLifeTest : public StoryTest {
 protected:
  static bool Wait(const std::string& job, const std::string& what) {
    const auto waited = cluster_->plane().Kubectl(
        {"wait", "trainingjob/" + job, "-n", "team", "--for=" + what, "--timeout=60s"});
    EXPECT_TRUE(waited.ok()) << waited.status() << "\n" << Job(job).dump(1);
    return waited.ok();
  }
  static void Patch(const std::string& job, const std::string& spec) {
    ASSERT_TRUE(cluster_->plane()
                    .Kubectl({"patch", "trainingjob", job, "-n", "team", "--type=merge", "-p",
                              StrCat(R"({"spec": )", spec, "}")})
                    .ok());
  }
  // As the pod's agent would.
  static void Report(const std::string& pod, const std::string& annotation,
                     const std::string& text) {
    const json object = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata",
         {{"name", pod}, {"namespace", "team"}, {"annotations", {{annotation, text}}}}}};
    // One patch: the agent may not read a single pod.
    const auto done =
        cluster_->plane().Kubectl({"apply", "--server-side", "--force-conflicts", "-f", "-",
                                   "--as=system:serviceaccount:yardmaster-system:yardmaster-agent"},
                                  object.dump());
    EXPECT_TRUE(done.ok()) << done.status();
  }
  static void EndPods(const std::string& phase) {
    for (const json& pod : Pods()) {
      ASSERT_TRUE(cluster_->plane()
                      .Kubectl({"patch", "pod", pod["metadata"]["name"], "-n", "team",
                                "--subresource=status", "--type=merge", "-p",
                                StrCat(R"({"status": {"phase": ")", phase, R"("}})")})
                      .ok());
    }
  }
};

TEST_F(TrainingJobLifeTest, ASuspendedJobGivesItsHostsBackAndRunsAgainWhenItIsResumed) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("s", 2, R"("priority": 0)")).ok());
  ASSERT_TRUE(Wait("s", "condition=Placed"));
  ASSERT_TRUE(Wait("s", "condition=Running"));
  EXPECT_TRUE(Job("s")["status"].contains("startTime"));
  Patch("s", R"({"suspend": true})");
  ASSERT_TRUE(Wait("s", "condition=Suspended"));
  EXPECT_TRUE(Pods().empty());
  EXPECT_TRUE(WaitFor(kPatience, [&] { return HostsOf("s").empty() && PromisedHosts().empty(); }));
  EXPECT_EQ(Job("s")["status"]["workers"], 0);
  Patch("s", R"({"suspend": false, "workers": 3})");
  ASSERT_TRUE(Wait("s", "condition=Running"));
  EXPECT_TRUE(WaitFor(kPatience, [&] { return HostsOf("s").size() == 3; }))
      << "it was given another size while it was suspended";
  CheckPromises();
  EndPods("Succeeded");
  ASSERT_TRUE(Wait("s", "condition=Succeeded"));
  EXPECT_TRUE(Job("s")["status"].contains("completionTime"));
}

TEST_F(TrainingJobLifeTest, AfterAHostIsLostTheOtherWorkersRestartInTheirPods) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("r", 3, R"("priority": 0)")).ok());
  ASSERT_TRUE(Wait("r", "condition=Running"));
  const auto uid = [](const std::string& pod) -> std::string {
    const json object = cluster_->Get({"pod", "-n", "team", pod});
    return object.is_object() ? object["metadata"]["uid"].get<std::string>() : "";
  };
  const auto restarts = [](const std::string& pod) {
    const json object = cluster_->Get({"pod", "-n", "team", pod});
    return object["status"]["containerStatuses"][0]["restartCount"].get<int>();
  };
  const std::string others[] = {uid("r-0"), uid("r-2")};
  const std::string lost_uid = uid("r-1");
  const std::string lost = cluster_->Get({"pod", "-n", "team", "r-1"})["spec"]["nodeName"];
  const std::string label = "node-not-ready.stage.kwok.x-k8s.io";
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "=true"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    return ConditionOf(Job("r"), "Recovering") == "False" &&
           ConditionOf(Job("r"), "Running") == "True" && uid("r-1") != lost_uid;
  })) << Job("r").dump(1);
  EXPECT_EQ(uid("r-0"), others[0]);
  EXPECT_EQ(uid("r-2"), others[1]);
  EXPECT_EQ(restarts("r-0"), 1);
  EXPECT_EQ(restarts("r-1"), 0);
  EXPECT_EQ(restarts("r-2"), 1);
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "-"}).ok());
  CheckPromises();
}

TEST_F(TrainingJobLifeTest, WhereDataGroupsRestartByThemselvesTheOthersGoOn) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("n", 2, R"("priority": 0)")).ok());
  const auto patched =
      cluster_->plane().Kubectl({"patch", "trainingjob", "n", "-n", "team", "--type=merge", "-p",
                                 R"({"spec": {"recovery": {"unit": "DataGroup"}}})"});
  EXPECT_NE(patched.status().ToString().find("recovery.unit DataGroup needs parallelism"),
            std::string::npos)
      << patched.status();
  // Ranks 0 and 1 are one data group, 2 and 3 the other.
  ASSERT_TRUE(
      cluster_->plane().Apply(TrainingJob("g", 4, R"("parallelism": {"tensor": 16})")).ok());
  Patch("g", R"({"recovery": {"unit": "DataGroup"}})");
  ASSERT_TRUE(Wait("g", "condition=Running"));
  const auto pod = [](int rank) {
    return cluster_->Get({"pod", "-n", "team", StrCat("g-", rank)});
  };
  const auto uid = [&](int rank) -> std::string {
    const json object = pod(rank);
    return object.is_object() ? object["metadata"]["uid"].get<std::string>() : "";
  };
  const auto restarts = [&](int rank) {
    return pod(rank)["status"]["containerStatuses"][0]["restartCount"].get<int>();
  };
  const std::vector<std::string> before = {uid(0), uid(1), uid(2), uid(3)};
  const std::string lost = pod(1)["spec"]["nodeName"];
  const std::string label = "node-not-ready.stage.kwok.x-k8s.io";
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "=true"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    return ConditionOf(Job("g"), "Recovering") == "False" &&
           ConditionOf(Job("g"), "Running") == "True" && uid(1) != before[1];
  })) << Job("g").dump(1);
  for (const int rank : {0, 2, 3}) EXPECT_EQ(uid(rank), before[static_cast<std::size_t>(rank)]);
  EXPECT_EQ(restarts(0), 1) << "of the group that lost a host";
  EXPECT_EQ(restarts(2) + restarts(3), 0);
  EXPECT_EQ(Job("g")["status"]["recovery"]["incidents"][0]["ranks"], json::array({0, 1}));
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "-"}).ok());
  CheckPromises();
}

TEST_F(TrainingJobLifeTest, WhenASegmentIsLostTheWholeJobMovesToTheOther) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("m", 3, R"("priority": 0)")).ok());
  ASSERT_TRUE(Wait("m", "condition=Running"));
  const std::set<std::string> before = HostsOf("m");
  ASSERT_EQ(before.size(), 3U);
  const json node = cluster_->Get({"node", *before.begin()});
  const std::string lost = node["metadata"]["labels"]["yardmaster.dev/segment"];
  const std::string label = "node-not-ready.stage.kwok.x-k8s.io";
  const std::string selector = StrCat("yardmaster.dev/segment=", lost);
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", "-l", selector, label + "=true"}).ok());
  const auto segments = [&] {
    std::set<std::string> out;
    const json gang = Gang("m");
    if (!gang.is_object()) return out;
    for (const json& slot : gang.value("/status/assignments"_json_pointer, json::array())) {
      out.insert(slot["segment"]);
    }
    return out;
  };
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::set<std::string> now = segments();
    return now.size() == 1 && !now.contains(lost) && ConditionOf(Job("m"), "Running") == "True";
  })) << Job("m").dump(1);
  const auto fabric = [] { return cluster_->Get({"fabrics"})["items"][0]; };
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(fabric(), "SegmentsUp") == "False"; }))
      << fabric().dump(1);
  const json incident = Job("m")["status"]["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "SegmentLost") << incident.dump(1);
  CheckPromises();
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", "-l", selector, label + "-"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(fabric(), "SegmentsUp") == "True"; }))
      << fabric().dump(1);
}

TEST_F(TrainingJobLifeTest, AHostThatHoldsItsJobBackIsLeftForAFreeOne) {
  const auto fabric = [] { return cluster_->Get({"fabrics"})["items"][0]; };
  const std::string name = fabric()["metadata"]["name"];
  const auto change = [&](const std::string& patch) {
    const auto done =
        cluster_->plane().Kubectl({"patch", "fabric", name, "--type=merge", "-p", patch});
    EXPECT_TRUE(done.ok()) << done.status();
  };
  change(R"({"spec": {"host": {"nicSpraying": true}}})");
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("slow", 3, R"("priority": 0)")).ok());
  Patch("slow", R"({"recovery": {"onHostLoss": "Replace", "onBandwidthLoss": "Replace"}})");
  ASSERT_TRUE(Wait("slow", "condition=Running"));
  const auto host = [](int rank) -> std::string {
    const json pod = cluster_->Get({"pod", "-n", "team", StrCat("slow-", rank)});
    return pod.is_object() ? pod.value("/spec/nodeName"_json_pointer, "") : "";
  };
  const std::string before[] = {host(0), host(1), host(2)};
  const json links = {{"version", 1}, {"links", json::array({before[1] + ":r3p0"})}};
  change(
      json{{"metadata", {{"annotations", {{"yardmaster.dev/down-links", links.dump()}}}}}}.dump());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::string now = host(1);
    return !now.empty() && now != before[1] && ConditionOf(Job("slow"), "Running") == "True" &&
           ConditionOf(Job("slow"), "Recovering") == "False";
  })) << Job("slow").dump(1);
  const json incident = Job("slow").value("/status/recovery/incidents/0"_json_pointer, json());
  EXPECT_EQ(incident.value("cause", ""), "HostFault") << incident.dump(1);
  EXPECT_NE(incident.value("message", "").find("50 % of its bandwidth"), std::string::npos)
      << incident.dump(1);
  EXPECT_EQ(host(0), before[0]);
  EXPECT_EQ(host(2), before[2]);
  CheckPromises();
  change(R"({"metadata": {"annotations": {"yardmaster.dev/down-links": null}},
             "spec": {"host": {"nicSpraying": false}}})");
}

// The profiles that agents would write.
TEST_F(TrainingJobLifeTest, ASlowHostIsLeftForAFreeOne) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("uneven", 4, R"("priority": 0)")).ok());
  Patch("uneven", R"({"recovery": {"onHostLoss": "Replace", "onSlowHost": "Replace"}})");
  ASSERT_TRUE(Wait("uneven", "condition=Running"));
  const auto host = [](int rank) -> std::string {
    const json now = cluster_->Get({"pod", "-n", "team", StrCat("uneven-", rank)});
    return now.is_object() ? now.value("/spec/nodeName"_json_pointer, "") : "";
  };
  const std::vector<std::string> before = {host(0), host(1), host(2), host(3)};
  std::int64_t reported_s = 1'700'000'000;
  const auto report = [&](int rank, double seconds) {
    const json profile = {{"version", 1},
                          {"samples", 40},
                          {"computeSeconds", 1},
                          {"recentComputeSeconds", seconds},
                          {"time", FormatTime(1000 * ++reported_s)}};
    Report(StrCat("uneven-", rank), api::kProfileAnnotation, profile.dump());
  };
  for (int rank = 0; rank < 4; ++rank) report(rank, rank == 1 ? 1.9 : 1.0);
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("uneven"), "Degraded") == "True"; }))
      << Job("uneven").dump(1);
  EXPECT_EQ(host(1), before[1]) << "no later report has confirmed it";
  std::this_thread::sleep_for(std::chrono::seconds(2));
  report(1, 1.9);
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::string now = host(1);
    return !now.empty() && now != before[1] && ConditionOf(Job("uneven"), "Running") == "True" &&
           ConditionOf(Job("uneven"), "Recovering") == "False";
  })) << Job("uneven").dump(1);
  const json incident = Job("uneven").value("/status/recovery/incidents/0"_json_pointer, json());
  EXPECT_EQ(incident.value("cause", ""), "SlowHost") << incident.dump(1);
  EXPECT_NE(incident.value("message", "").find("1.9 times the compute time"), std::string::npos)
      << incident.dump(1);
  for (const int rank : {0, 2, 3}) EXPECT_EQ(host(rank), before[static_cast<std::size_t>(rank)]);
  // It counts towards its quarantine.
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json node = cluster_->Get({"node", before[1]});
    const auto record = "/metadata/annotations/yardmaster.dev~1host-failures"_json_pointer;
    return node.value(record, "").find(R"("slow":true)") != std::string::npos;
  })) << cluster_->Get({"node", before[1]}).dump(1);
  CheckPromises();
}

// A namespace of the Pod Security Standard Restricted, with a quota that every pod has to ask for
// and defaults for those that do not.
class StrictNamespaceTest : public TrainingJobLifeTest {
 protected:
  static constexpr char kNamespace[] = "strict";

  void SetUp() override {
    ASSERT_TRUE(cluster_->plane().Kubectl({"create", "namespace", kNamespace}).ok());
    ASSERT_TRUE(cluster_->plane()
                    .Kubectl({"label", "namespace", kNamespace,
                              "pod-security.kubernetes.io/enforce=restricted"})
                    .ok());
    const json amounts = {{"cpu", "1"}, {"memory", "1Gi"}};
    ASSERT_TRUE(Apply("LimitRange", {{"limits", json::array({{{"type", "Container"},
                                                              {"default", amounts},
                                                              {"defaultRequest", amounts}}})}})
                    .ok());
    ASSERT_TRUE(Apply("ResourceQuota", {{"hard",
                                         {{"requests.cpu", "500m"},
                                          {"limits.cpu", "500m"},
                                          {"requests.memory", "1Mi"},
                                          {"limits.memory", "1Mi"}}}})
                    .ok());
    ASSERT_TRUE(WaitFor(kPatience, [] {
      const json quota = cluster_->Get({"resourcequota", "-n", kNamespace, "strict"});
      return quota.is_object() && quota.contains("/status/used"_json_pointer);
    }));
  }
  void TearDown() override {
    EXPECT_TRUE(
        cluster_->plane().Kubectl({"delete", "namespace", kNamespace, "--timeout=120s"}).ok());
    TrainingJobLifeTest::TearDown();
  }
  static absl::Status Apply(const std::string& kind, const json& spec) {
    return cluster_->plane().Apply(json{
        {"apiVersion", "v1"},
        {"kind", kind},
        {"metadata", {{"name", "strict"}, {"namespace", kNamespace}}},
        {"spec", spec}}.dump());
  }
};

TEST_F(StrictNamespaceTest, TakesAStandbyAsItIs) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("warm", 2, R"("priority": 0)")).ok());
  Patch("warm", R"({"recovery": {"standby": 1}})");
  const auto pods = [] {
    return cluster_->Get({"pods", "-n", "team", "-l", "yardmaster.dev/standby=warm"})["items"];
  };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return pods().size() == 1; })) << Job("warm").dump(1);
  json spec = pods()[0]["spec"];
  spec.erase("nodeName");
  const absl::Status applied = Apply("Pod", spec);
  ASSERT_TRUE(applied.ok()) << applied;
  const json there = cluster_->Get({"pod", "-n", kNamespace, "strict"})["spec"];
  EXPECT_EQ(there["containers"][0]["resources"], spec["containers"][0]["resources"]);
  EXPECT_EQ(there["containers"].size(), 1u);
  Patch("warm", R"({"recovery": {"standby": 0}})");
  EXPECT_TRUE(WaitFor(kPatience, [&] { return pods().empty(); }));
}

TEST_F(TrainingJobLifeTest, AReplacementGoesToTheHostThatHasTheImagesAlready) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("warm", 3, R"("priority": 0)")).ok());
  Patch("warm", R"({"recovery": {"onHostLoss": "Replace", "standby": 1}})");
  ASSERT_TRUE(Wait("warm", "condition=Running"));
  const auto standby = [] {
    return Job("warm").value("/status/standby/0"_json_pointer, json::object());
  };
  const auto pods = [] {
    return cluster_->Get({"pods", "-n", "team", "-l", "yardmaster.dev/standby=warm"})["items"];
  };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return standby().value("state", "") == "Ready"; }))
      << Job("warm").dump(1) << pods().dump(1);
  const std::string warm = standby()["host"];
  ASSERT_EQ(pods().size(), 1u) << pods().dump(1);
  EXPECT_EQ(pods()[0]["spec"].value("nodeName", ""), warm);
  EXPECT_EQ(pods()[0]["status"].value("qosClass", ""), "BestEffort");
  const auto host_of_1 = [] {
    const json pod = cluster_->Get({"pod", "-n", "team", "warm-1"});
    return pod.is_object() ? pod.value("/spec/nodeName"_json_pointer, "") : "";
  };
  const std::string lost = host_of_1();
  const std::string label = "node-not-ready.stage.kwok.x-k8s.io";
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "=true"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::string now = host_of_1();
    return !now.empty() && now != lost && ConditionOf(Job("warm"), "Running") == "True" &&
           ConditionOf(Job("warm"), "Recovering") == "False";
  })) << Job("warm").dump(1);
  EXPECT_EQ(host_of_1(), warm);
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", lost, label + "-"}).ok());
  EXPECT_TRUE(WaitFor(kPatience,
                      [&] {
                        return standby().value("state", "") == "Ready" &&
                               standby()["host"] != warm && pods().size() == 1;
                      }))
      << Job("warm").dump(1) << pods().dump(1);
  Patch("warm", R"({"recovery": {"standby": 0}})");
  EXPECT_TRUE(WaitFor(kPatience, [&] { return pods().empty() && standby().empty(); }))
      << Job("warm").dump(1);
  CheckPromises();
}

TEST_F(TrainingJobLifeTest, AHostWithAStoppedWorkerIsLeftWhereTheJobWantsToRestart) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("still", 3, R"("priority": 0)")).ok());
  Patch("still", R"({"recovery": {"onStall": "Restart"}})");
  ASSERT_TRUE(Wait("still", "condition=Running"));
  const auto host = [](int rank) -> std::string {
    const json now = cluster_->Get({"pod", "-n", "team", StrCat("still-", rank)});
    return now.is_object() ? now.value("/spec/nodeName"_json_pointer, "") : "";
  };
  const std::vector<std::string> before = {host(0), host(1), host(2)};
  // In the present attempt, whose start the API server keeps in whole seconds.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  api::ProgressReport report;
  report.state = api::ProgressState::kWaiting;
  report.processes = api::ProcessActivity::kStopped;
  report.iteration_seconds = 1;
  report.last_progress_ms = report.time_ms = RealClock().WallMs() / 1000 * 1000;
  Report("still-1", api::kProgressAnnotation, api::EncodeProgressReport(report));
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::string now = host(1);
    return !now.empty() && now != before[1] && ConditionOf(Job("still"), "Running") == "True" &&
           ConditionOf(Job("still"), "Recovering") == "False";
  })) << Job("still").dump(1);
  const json incident = Job("still").value("/status/recovery/incidents/0"_json_pointer, json());
  EXPECT_EQ(incident.value("cause", ""), "Stalled") << incident.dump(1);
  EXPECT_NE(incident.value("message", "").find("a process is stopped"), std::string::npos)
      << incident.dump(1);
  EXPECT_NE(ConditionOf(Job("still"), "Stalled"), "True");
  for (const int rank : {0, 2}) EXPECT_EQ(host(rank), before[static_cast<std::size_t>(rank)]);
  CheckPromises();
}

TEST_F(TrainingJobLifeTest, AnElasticJobIsScaledWithKubectl) {
  ASSERT_TRUE(cluster_->plane()
                  .Apply(TrainingJob(
                      "e", 2, R"("elastic": {"minData": 8, "maxData": 24, "growAfterSeconds": 1})"))
                  .ok());
  ASSERT_TRUE(Wait("e", "condition=Running"));
  const auto scale = [](int workers) {
    return cluster_->plane().Kubectl(
        {"scale", "trainingjob/e", "-n", "team", StrCat("--replicas=", workers)});
  };
  for (const int workers : {1, 3, 2}) {
    const auto scaled = scale(workers);
    ASSERT_TRUE(scaled.ok()) << scaled.status();
    EXPECT_TRUE(WaitFor(kPatience, [&] {
      return HostsOf("e").size() == static_cast<std::size_t>(workers) &&
             Job("e")["status"]["workers"] == workers && ConditionOf(Job("e"), "Running") == "True";
    })) << Job("e").dump(1);
    CheckPromises();
  }
}

TEST_F(TrainingJobLifeTest, AJobEndsByItsDeadlineAndIsDeletedWhenItsTimeIsOver) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("d", 1, R"("activeDeadlineSeconds": 2)")).ok());
  ASSERT_TRUE(Wait("d", "condition=Failed"));
  EXPECT_EQ(Job("d")["status"]["recovery"]["incidents"][0]["cause"], "DeadlineExceeded");
  Patch("d", R"({"ttlSecondsAfterFinished": 0})");
  ASSERT_TRUE(Wait("d", "delete"));
}

TEST_F(TrainingJobLifeTest, JobsThatCannotStartSayWhy) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("q", 10 * kHosts, R"("priority": 0)")).ok());
  ASSERT_TRUE(Wait("q", "condition=Queued"));
  ASSERT_TRUE(cluster_->plane()
                  .Apply(R"({"apiVersion": "v1", "kind": "Pod",
                             "metadata": {"name": "t-0", "namespace": "team"},
                             "spec": {"containers": [{"name": "c", "image": "i"}]}})")
                  .ok());
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("t", 1, R"("priority": 0)")).ok());
  ASSERT_TRUE(Wait("t", "condition=Stalled"));
  ASSERT_TRUE(
      cluster_->plane().Kubectl({"delete", "pod", "t-0", "-n", "team", "--timeout=60s"}).ok());
  ASSERT_TRUE(Wait("t", "condition=Running"));
  EXPECT_EQ(ConditionOf(Job("t"), "Stalled"), "False");
}

}  // namespace
}  // namespace yardmaster::testing
