#include "pkg/cli/support_bundle.h"

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

TEST(SupportBundleTest, WritesAFolderAndNeverOverOne) {
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::Pods(), kPod);
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / StrCat(getpid(), "-support-bundle");
  std::filesystem::remove_all(folder);
  std::ostringstream out, err;
  EXPECT_EQ(
      RunSupportBundleCommand({"--to", folder.string()}, LendingConnector(client, clock), out, err),
      0)
      << err.str();
  std::ifstream file(folder / "pods.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
