#include "pkg/cli/support_bundle.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const json kPod = json::parse(R"({"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "p", "namespace": "team", "managedFields": [{}],
               "annotations": {"yardmaster.dev/slot": "s", "vault.example/token": "hunter2"},
               "labels": {"batch.kubernetes.io/job-name": "j", "owner": "hunter2"}},
  "spec": {"nodeName": "n", "serviceAccountName": "hunter2", "volumes": [{"secret": {"secretName": "hunter2"}}],
           "imagePullSecrets": [{"name": "hunter2"}],
           "containers": [{"name": "c", "image": "x/hunter2", "command": ["hunter2"], "args": ["hunter2"],
                           "env": [{"name": "KEY", "value": "hunter2"}],
                           "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}})");

TEST(WithoutSecretsTest, PodsKeepWhatSchedulingLooksAtAndNothingElse) {
  const json pod = WithoutSecrets(kPod);
  EXPECT_THAT(pod.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(pod["spec"]["nodeName"], "n");
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(pod["metadata"]["annotations"]["yardmaster.dev/slot"], "s");
  EXPECT_FALSE(pod["metadata"].contains("managedFields"));
}

TEST(WithoutSecretsTest, TemplatesToo) {
  json job = {{"kind", "TrainingJob"}, {"metadata", {{"name", "j"}}}, {"spec", {{"workers", 2}}}};
  job["spec"]["template"]["spec"] = kPod["spec"];
  const json out = WithoutSecrets(job);
  EXPECT_THAT(out.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(out["spec"]["workers"], 2);
}

TEST(WithoutSecretsTest, TemplatesOfRolesToo) {
  json job = {{"kind", "TrainingJob"}, {"metadata", {{"name", "j"}}}};
  job["spec"]["roles"] = json::array({{{"name", "reader"}, {"workers", 3}}});
  job["spec"]["roles"][0]["template"]["spec"] = kPod["spec"];
  const json out = WithoutSecrets(job);
  EXPECT_THAT(out.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(out["spec"]["roles"][0]["workers"], 3);
}

TEST(WithoutSecretsTest, AStatusKeepsHowContainersRunAndNotWhatTheySayOrWhatTheyRun) {
  json pod = kPod;
  pod["status"] = json::parse(R"({"phase": "Running", "message": "hunter2",
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/5 nodes are available"}],
    "containerStatuses": [{"name": "c", "image": "x/hunter2", "imageID": "x/hunter2@sha256:1", "restartCount": 4,
      "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image x/hunter2"}},
      "lastState": {"terminated": {"exitCode": 137, "message": "token=hunter2"}}}]})");
  const json out = WithoutSecrets(pod);
  EXPECT_THAT(out.dump(), Not(HasSubstr("hunter2")));
  EXPECT_THAT(out["status"].dump(), HasSubstr("0/5 nodes are available"));
  const json& container = out["status"]["containerStatuses"][0];
  EXPECT_EQ(container["restartCount"], 4);
  EXPECT_EQ(container["state"]["waiting"]["reason"], "ImagePullBackOff");
  EXPECT_EQ(container["lastState"]["terminated"]["exitCode"], 137);
}

TEST(WithoutSecretsTest, NodesKeepNoImagesAndNoVolumes) {
  const json node = WithoutSecrets(json::parse(R"({"kind": "Node", "metadata": {"name": "n"},
    "status": {"images": [{"names": ["x/hunter2"]}], "volumesInUse": ["hunter2"],
               "volumesAttached": [{"name": "hunter2"}], "allocatable": {"nvidia.com/gpu": "8"}}})"));
  EXPECT_THAT(node.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(node["status"]["allocatable"]["nvidia.com/gpu"], "8");
}

TEST(WithoutSecretsTest, OfEventsTheNotesOfOursAndOfSchedulersStay) {
  const auto note_of = [](const char* reason, const char* controller) {
    return WithoutSecrets({{"kind", "Event"},
                           {"metadata", {{"name", "e"}}},
                           {"reason", reason},
                           {"reportingController", controller},
                           {"note", "text"}})["note"];
  };
  EXPECT_EQ(note_of("Placed", "yardmaster.dev/extender"), "text");
  EXPECT_EQ(note_of("FailedScheduling", "default-scheduler"), "text");
  EXPECT_EQ(note_of("Pulling", "kubelet"), "(left out)");
}

TEST(WithoutSecretsTest, AJobKeepsNoCheckpointCommand) {
  const json job = WithoutSecrets(json::parse(R"({"kind": "TrainingJob", "metadata": {"name": "j"},
    "spec": {"checkpoint": {"request": "Command", "command": ["save", "hunter2"]}}})"));
  EXPECT_THAT(job.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(job["spec"]["checkpoint"]["request"], "Command");
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::filesystem::path NewFolder(const char* name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / StrCat(getpid(), "-", name);
  std::filesystem::remove_all(folder);
  return folder;
}

json OurPod() {
  return json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "operator-1", "namespace": "ym", "labels": {"app.kubernetes.io/part-of": "yardmaster"}}})");
}

// A `kubectl` of its own, first in PATH until the end of the object.
class FakeKubectl {
 public:
  explicit FakeKubectl(const std::string& script) {
    std::filesystem::create_directories(folder_);
    const std::filesystem::path program = folder_ / "kubectl";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", StrCat(folder_.string(), ":", path_).c_str(), 1);
  }
  ~FakeKubectl() {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

 private:
  const std::string path_ = getenv("PATH");
  const std::filesystem::path folder_ = NewFolder("kubectl");
};

TEST(SupportBundleTest, AsksEveryPodOfOursForTheLogAndTheMetricsOfTheLastHour) {
  const FakeKubectl kubectl("echo \"$@\"");
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::Pods(), OurPod());
  const std::filesystem::path folder = NewFolder("support-processes");
  std::ostringstream out, err;
  ASSERT_EQ(RunSupportBundleCommand({"--to", folder.string(), "-n", "ym"},
                                    LendingConnector(client, clock), out, err),
            0)
      << err.str();
  EXPECT_EQ(TextOf(folder / "operator-1.log"), "logs -n ym operator-1 --since=1h --tail=20000\n");
  EXPECT_EQ(TextOf(folder / "operator-1.metrics"),
            "get --raw /api/v1/namespaces/ym/pods/operator-1:8080/proxy/metrics\n");
  EXPECT_EQ(TextOf(folder / "operator-1.openmetrics"),
            "get --raw /api/v1/namespaces/ym/pods/operator-1:8080/proxy/metrics/history\n");
  std::filesystem::remove_all(folder);
}

TEST(SupportBundleTest, AHistoryOfSeveralMegabytesIsKeptWhole) {
  const FakeKubectl kubectl("head -c 3000000 /dev/zero");
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::Pods(), OurPod());
  const std::filesystem::path folder = NewFolder("support-large");
  std::ostringstream out, err;
  ASSERT_EQ(RunSupportBundleCommand({"--to", folder.string(), "-n", "ym"},
                                    LendingConnector(client, clock), out, err),
            0)
      << err.str();
  EXPECT_EQ(std::filesystem::file_size(folder / "operator-1.openmetrics"), 3'000'000u);
  EXPECT_EQ(TextOf(folder / "missing.txt"), "");
  std::filesystem::remove_all(folder);
}

TEST(SupportBundleTest, WithoutAConnectionNoFolderIsMade) {
  const std::filesystem::path folder = NewFolder("support-unconnected");
  const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    return absl::UnavailableError("no kubeconfig");
  };
  std::ostringstream out, err;
  EXPECT_EQ(RunSupportBundleCommand({"--to", folder.string()}, none, out, err), 1);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(SupportBundleTest, ACollectionOfNothingFails) {
  FakeClock clock;
  kube::FakeClient client(clock);
  client.FailNext(kube::Verb::kList, "*", absl::UnavailableError("no answer"), /*times=*/8);
  const std::filesystem::path folder = NewFolder("support-nothing");
  std::ostringstream out, err;
  EXPECT_EQ(
      RunSupportBundleCommand({"--to", folder.string()}, LendingConnector(client, clock), out, err),
      1);
  EXPECT_THAT(TextOf(folder / "missing.txt"), HasSubstr("leases: no answer"));
  std::filesystem::remove_all(folder);
}

TEST(SupportBundleTest, WritesAFolderAndNeverOverOne) {
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::Pods(), kPod);
  const std::filesystem::path folder = NewFolder("support-bundle");
  std::ostringstream out, err;
  EXPECT_EQ(
      RunSupportBundleCommand({"--to", folder.string()}, LendingConnector(client, clock), out, err),
      0)
      << err.str();
  const std::string text = TextOf(folder / "pods.json");
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu"));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_TRUE(std::filesystem::exists(folder / "missing.txt"));
  EXPECT_EQ(
      RunSupportBundleCommand({"--to", folder.string()}, LendingConnector(client, clock), out, err),
      1);
  EXPECT_THAT(err.str(), HasSubstr("is there already"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yardmaster::cli
