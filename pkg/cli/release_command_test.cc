#include <sstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;

class ReleaseCommandTest : public ::testing::Test {
 protected:
  ReleaseCommandTest() : client_(clock_) {
    for (const char* job : {"a", "b"}) {
      for (int index = 0; index < 2; ++index) {
        AddPod(StrCat(job, "-", index), job, index, api::kPlacementGate);
      }
    }
    AddPod("other", "c", 0, "example.com/gate");
  }
  void AddPod(const std::string& name, const std::string& job, int index, const char* gate) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", name},
                    {"namespace", "team"},
                    {"uid", "u-" + name},
                    {"labels",
                     {{"batch.kubernetes.io/job-name", job},
                      {"batch.kubernetes.io/controller-uid", job},
                      {"batch.kubernetes.io/job-completion-index", StrCat(index)}}},
                    {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                                      {"kind", "Job"},
                                                      {"name", job},
                                                      {"uid", job},
                                                      {"controller", true}}})}}},
                  {"spec",
                   {{"schedulingGates", json::array({{{"name", gate}}})},
                    {"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}}});
  }
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return RunReleaseCommand(args, LendingConnector(client_, clock_, "team"), out_, err_);
  }
  int Waiting() {
    int waiting = 0;
    for (const json& pod : client_.All(kube::Pods())) {
      waiting += pod["spec"]["schedulingGates"].empty() ? 0 : 1;
    }
    return waiting;
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::ostringstream out_, err_;
};

TEST_F(ReleaseCommandTest, OneJobsPodsAreReleasedAndNoOthers) {
  EXPECT_EQ(Run({"a"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "pod team/a-0 released\npod team/a-1 released\n");
  EXPECT_EQ(Waiting(), 3);
  const json pod = *client_.Find(kube::Pods(), "team", "a-0");
  EXPECT_EQ(pod["metadata"]["annotations"][api::kReleasedAnnotation],
            "released with kubectl yardmaster release");
  EXPECT_EQ(Run({"a"}), 1);
  EXPECT_NE(err_.str().find("no pod of job a in namespace team waits"), std::string::npos);
}

TEST_F(ReleaseCommandTest, AllOpensOurGatesOnly) {
  EXPECT_EQ(Run({"--all", "--dry-run"}), 0);
  EXPECT_EQ(Waiting(), 5);
  EXPECT_NE(out_.str().find("pod team/b-1 would be released"), std::string::npos);
  EXPECT_EQ(Run({"--all", "-o", "json"}), 0) << err_.str();
  EXPECT_EQ(json::parse(out_.str())["released"].size(), 4u);
  EXPECT_EQ(Waiting(), 1) << "a gate of others stays";
  EXPECT_EQ(Run({"--all"}), 0) << "nothing is left to do";
}

TEST_F(ReleaseCommandTest, WhatCannotBeReleasedIsNamed) {
  client_.FailNext(kube::Verb::kPatch, "pods", absl::PermissionDeniedError("forbidden"));
  EXPECT_EQ(Run({"a"}), 1);
  EXPECT_NE(err_.str().find("pod team/a-0: forbidden"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("1 pod could not be released; try again"), std::string::npos);
}

TEST_F(ReleaseCommandTest, UsageIsSaid) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(Run({"a", "--all"}), 2);
}

}  // namespace
}  // namespace yardmaster::cli
