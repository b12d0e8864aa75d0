// The story of the demo on a smaller fabric, with what it claims asserted: segments, levels, source
// ports, the agent's files, the replacement inside the segment; and that a killed extender leaves
// no partial gang.
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

TEST_F(StoryTest, JobsArePlacedAnnotatedAndMovedToTheBackupHostOfTheirSegment) {
  const std::string two_stages = R"("parallelism": {"tensor": 8, "data": 8, "pipeline": 2})";
  ASSERT_TRUE(
      cluster_->plane().Apply(TrainingJob("small", 3, R"("parallelism": {"tensor": 8})")).ok());
  ASSERT_TRUE(Has("small", "Planned"));
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("wide", 16, two_stages)).ok());
  ASSERT_TRUE(cluster_->plane()
                  .Apply(TrainingJob("never", 13, R"("parallelism": {"tensor": 8},
                      "placement": {"data": {"within": "Segment", "mode": "Required"}})"))
                  .ok());
  ASSERT_TRUE(Has("small", "Running"));
  ASSERT_TRUE(Has("wide", "Running"));
  CheckPromises();

  // One segment for the small one; each stage of the wide one in one segment, two in all.
  std::set<std::string> segments;
  const json small = Gang("small");
  for (const json& slot : small["status"]["assignments"]) segments.insert(slot["segment"]);
  EXPECT_EQ(segments.size(), 1u);
  std::map<int, std::set<std::string>> segments_of_stage;
  const json wide = Gang("wide");
  for (const json& slot : wide["status"]["assignments"]) {
    segments_of_stage[slot["stages"][0]].insert(slot["segment"]);
  }
  ASSERT_EQ(segments_of_stage.size(), 2u);
  for (const auto& [stage, in] : segments_of_stage) EXPECT_EQ(in.size(), 1u) << "stage " << stage;

  // The impossible one gets an event with the reason and holds no host.
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json gang = Gang("never");
    return gang.is_object() && gang.value("/status/outcome"_json_pointer, "") == "Never";
  }));
  EXPECT_FALSE(Gang("never")["status"]["reasons"].empty());
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("never"), "Planned") == "False"; }));

  // Levels and source ports on every released pod; the agent's file says the same. The generation
  // is written behind the gate only, together with them: they were there before it opened.
  for (const json& pod : Pods()) {
    if (Gated(pod)) continue;
    const json& notes = pod["metadata"]["annotations"];
    ASSERT_EQ(notes.value(api::kNetworkGenerationAnnotation, ""), "1") << pod["metadata"]["name"];
    ASSERT_TRUE(notes.contains(api::kPriorityAnnotation)) << pod["metadata"]["name"];
    ASSERT_TRUE(notes.contains(api::kPathPlanAnnotation)) << pod["metadata"]["name"];
    ASSERT_TRUE(notes.contains(api::kNcclConfAnnotation)) << pod["metadata"]["name"];
    const auto slot = api::DecodeSlot(notes[api::kSlotAnnotation].get<std::string>());
    ASSERT_TRUE(slot.ok()) << slot.status();
    const int level = std::stoi(notes[api::kPriorityAnnotation].get<std::string>());
    EXPECT_TRUE(level >= 0 && level < 8) << level;
    const auto paths = api::DecodePathPlan(notes[api::kPathPlanAnnotation].get<std::string>());
    ASSERT_TRUE(paths.ok()) << paths.status();
    EXPECT_EQ(paths->rails.size(), 8u);
    const std::string file = StrCat(pod["metadata"]["uid"].get<std::string>(), ".json");
    EXPECT_TRUE(WaitFor(kPatience,
                        [&] {
                          for (const auto& entry :
                               std::filesystem::recursive_directory_iterator(cluster_->plans())) {
                            if (entry.path().filename() == file) return true;
                          }
                          return false;
                        }))
        << "no plan file for " << pod["metadata"]["name"];
  }

  // A host dies: its rank goes to a backup host of the same segment, no other rank moves.
  const json before = Gang("wide")["status"]["assignments"];
  const std::string lost = before[5]["host"];
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"label", "node", lost, "node-not-ready.stage.kwok.x-k8s.io=true"})
                  .ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json pod = cluster_->Get({"pod", "-n", "team", "wide-5"});
    return pod.is_object() && pod["spec"].value("nodeName", lost) != lost;
  }));
  const json after = Gang("wide")["status"]["assignments"];
  EXPECT_NE(after[5]["host"], before[5]["host"]);
  EXPECT_EQ(after[5]["segment"], before[5]["segment"]);
  const json node = cluster_->Get({"node", after[5]["host"].get<std::string>()});
  EXPECT_EQ(node["metadata"]["labels"][api::kBackupKey], "true");
  for (std::size_t rank = 0; rank < before.size(); ++rank) {
    if (rank != 5) {
      EXPECT_EQ(after[rank], before[rank]);
    }
  }
  ASSERT_TRUE(Has("wide", "Running"));
  CheckPromises();
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"label", "node", lost, "node-not-ready.stage.kwok.x-k8s.io-"})
                  .ok());

  auto overview = cluster_->Yardmaster({"get"});
  ASSERT_TRUE(overview.ok()) << overview.status();
  EXPECT_NE(overview->find("never"), std::string::npos) << *overview;
  auto explained = cluster_->Yardmaster({"explain", "never", "-n", "team"});
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_NE(explained->find("Never"), std::string::npos) << *explained;
}

TEST_F(StoryTest, APlanSaysWhatWouldHappenAndChangesNothing) {
  ASSERT_TRUE(
      cluster_->plane().Apply(TrainingJob("small", 3, R"("parallelism": {"tensor": 8})")).ok());
  ASSERT_TRUE(Has("small", "Running"));
  const std::string job = TrainingJob("next", 4, R"("parallelism": {"tensor": 8},
      "model": {"layers": 32, "hiddenSize": 4096, "attentionHeads": 32})");
  auto text = cluster_->Yardmaster({"plan", "-f", "-", "--diff", "-o", "json"}, job);
  ASSERT_TRUE(text.ok()) << text.status();
  const json report = json::parse(*text);
  std::map<std::string, json> jobs;
  for (const json& entry : report["jobs"]) jobs[entry["name"]] = entry;
  EXPECT_EQ(jobs["next"]["outcome"], "Placed");
  EXPECT_EQ(jobs["next"]["isNew"], true);
  EXPECT_EQ(jobs["next"]["assignments"].size(), 4u);
  EXPECT_GT(jobs["next"]["network"]["flopPerIteration"].get<double>(), 0);
  EXPECT_EQ(jobs["small"]["isNew"], false);
  EXPECT_EQ(jobs["small"]["assignments"], Gang("small")["status"]["assignments"]);
  EXPECT_EQ(report["changes"]["moved"].size(), 4u);
  EXPECT_TRUE(Job("next").is_null());
  EXPECT_TRUE(Gang("next").is_null());
  // Applied, it goes where the plan said.
  ASSERT_TRUE(cluster_->plane().Apply(job).ok());
  ASSERT_TRUE(Has("next", "Planned"));
  EXPECT_EQ(Gang("next")["status"]["assignments"], jobs["next"]["assignments"]);
}

TEST_F(StoryTest, AnIndexedJobOfKubernetesIsPlacedAsAGangByItsAnnotation) {
  ASSERT_EQ(cluster_->plane().Apply(R"yaml(
apiVersion: batch/v1
kind: Job
metadata: {name: plain, namespace: team}
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  template:
    metadata: {annotations: {yardmaster.dev/parallelism: "tp=8,dp=3"}}
    spec:
      restartPolicy: Never
      schedulingGates: [{name: yardmaster.dev/placement}]
      containers: [{name: t, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]
)yaml"),
            absl::OkStatus());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json job = cluster_->Get({"job", "-n", "team", "plain"});
    return job.is_object() && job.value("/status/ready"_json_pointer, 0) == 3;
  }));
  const json gang = cluster_->Get({"gang", "-n", "team", "job-plain"});
  ASSERT_TRUE(gang.is_object());
  const json slots = gang["status"]["assignments"];
  ASSERT_EQ(slots.size(), 3u);
  for (const json& pod : Pods()) {
    const std::string index =
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
    EXPECT_EQ(pod["spec"]["nodeName"], slots[std::stoul(index)]["host"]);
  }
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"delete", "job", "plain", "-n", "team", "--cascade=foreground",
                            "--timeout=60s"})
                  .ok());
}

TEST_F(StoryTest, KilledBetweenPlanAndCommitNothingIsHeldAndTheNextProcessPlaces) {
  // The API server refuses the commit of our extender, which has planned by then.
  SetPolicy("no-commit", true);
  // The policy works once an update that it must refuse is refused.
  ASSERT_TRUE(cluster_->plane()
                  .Apply(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Gang",
    "metadata": {"name": "probe", "namespace": "team"}, "spec": {"workers": 1, "gpusPerWorker": 8,
    "owner": {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}}})")
                  .ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    return !cluster_->plane()
                .Kubectl({"patch", "gang", "probe", "-n", "team", "--subresource=status",
                          "--type=merge", "-p",
                          R"({"status": {"assignments": [{"rank": 0, "host": "h"}]}})"})
                .ok();
  }));
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "gang", "probe", "-n", "team"}).ok());

  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("a", 4, R"("parallelism": {"tensor": 8})")).ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] { return Gang("a").is_object(); }))
      << "asked for, then refused";
  cluster_->KillExtender();
  CheckPromises();
  EXPECT_TRUE(Pods().empty());
  SetPolicy("no-commit", false);
  ASSERT_TRUE(cluster_->StartExtender().ok());
  EXPECT_TRUE(Has("a", "Running"));
  CheckPromises();
}

TEST_F(StoryTest, KilledBetweenCommitAndUngatingTheNextProcessReleasesTheRest) {
  cluster_->KillExtender();
  SetPolicy("no-release", true);
  // With a limit for the wait behind the gate its pods come first.
  json job = json::parse(TrainingJob("b", 5, R"("parallelism": {"tensor": 8})"));
  job["spec"]["template"]["metadata"]["annotations"][api::kGateTimeoutAnnotation] = "3600";
  ASSERT_TRUE(cluster_->plane().Apply(job.dump()).ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] { return Pods().size() == 5; }));
  // The policy works once it refuses the extender's user.
  int probe = 0;
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    return !cluster_->plane()
                .Kubectl({"label", "pod", "b-4", "-n", "team", "--overwrite",
                          StrCat("probe=x", ++probe),
                          "--as=system:serviceaccount:yardmaster-system:yardmaster-extender"})
                .ok();
  }));
  ASSERT_TRUE(cluster_->StartExtender().ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    const json gang = Gang("b");
    return gang.is_object() && gang.contains("/status/assignments"_json_pointer);
  }));
  cluster_->KillExtender();
  CheckPromises();
  const json committed = Gang("b")["status"]["assignments"];
  SetPolicy("no-release", false);
  ASSERT_TRUE(cluster_->StartExtender().ok());
  EXPECT_TRUE(Has("b", "Running"));
  EXPECT_EQ(Gang("b")["status"]["assignments"], committed)
      << "the next process finished the same plan";
  CheckPromises();
}

TEST_F(StoryTest, TheOperatorThatAskedForAPlaceIsKilledAndTheNextOneMakesThePods) {
  cluster_->KillExtender();
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("c", 5, R"("parallelism": {"tensor": 8})")).ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] { return Gang("c").is_object(); }));
  EXPECT_TRUE(Pods().empty());
  ASSERT_TRUE(cluster_->SignalLeader("operator", SIGKILL).ok());
  ASSERT_TRUE(cluster_->StartOperator().ok());
  ASSERT_TRUE(cluster_->StartExtender().ok());
  EXPECT_TRUE(Has("c", "Running"));
  EXPECT_EQ(HostsOf("c").size(), 5u);
  for (const json& pod : Pods()) EXPECT_FALSE(Gated(pod));
  CheckPromises();
}

}  // namespace
}  // namespace yardmaster::testing
