// A control plane with the chart installed. TESTONLY. Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {

inline constexpr char kChart[] = YARDMASTER_SOURCE_DIR "/helm/yardmaster";
inline constexpr char kNamespace[] = "yardmaster-system";
class HelmTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::Start({.mutating_policies = true});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
    ASSERT_TRUE(plane_->Kubectl({"create", "namespace", kNamespace}).ok());
    const auto installed = Install("install");
    ASSERT_TRUE(installed.ok()) << installed.status();
    // kubectl reads an object before it patches it, which our processes may not.
    ASSERT_TRUE(plane_
                    ->Kubectl({"create", "clusterrole", "kubectl-reads", "--verb=get",
                               "--resource=nodes,pods"})
                    .ok());
    ASSERT_TRUE(plane_
                    ->Kubectl({"create", "clusterrolebinding", "kubectl-reads",
                               "--clusterrole=kubectl-reads",
                               StrCat("--group=system:serviceaccounts:", kNamespace)})
                    .ok());
  }
  static void TearDownTestSuite() {
    delete plane_;
    plane_ = nullptr;
  }

  static absl::StatusOr<std::string> Helm(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), plane_->bin() + "/helm");
    return RunProgram(arguments, "",
                      {{"KUBECONFIG", plane_->kubeconfig()}, {"HOME", plane_->folder()}});
  }
  static absl::StatusOr<std::string> Install(const std::string& verb,
                                             const std::string& more = "") {
    return Helm({verb, "yardmaster", kChart, "--namespace", kNamespace, "--set",
                 StrCat("fabric.preset=hpn-small,scheduler.enabled=true", more)});
  }
  // For this cluster, as a tool that renders without asking it is told.
  static absl::StatusOr<std::string> Render(const std::vector<std::string>& sets) {
    std::vector<std::string> arguments = {
        "template",       "yardmaster",
        kChart,           "--namespace",
        kNamespace,
        "--skip-tests",  // its pod needs a ServiceAccount
        "--kube-version", StrCat("1.", plane_->kubernetes_minor(), ".0")};
    if (plane_->kubernetes_minor() < 36) {
      arguments.insert(
          arguments.end(),
          {"--api-versions", "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy"});
    }
    for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
    return Helm(arguments);
  }
  static absl::StatusOr<nlohmann::json> Get(std::vector<std::string> what) {
    what.insert(what.begin(), "get");
    what.insert(what.end(), {"-o", "json"});
    auto text = plane_->Kubectl(what);
    if (!text.ok()) return text.status();
    return nlohmann::json::parse(*text);
  }
  // Policies take some seconds until they are in force.
  static bool Eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return true;
  }
  // The policy's own words: any other failure (a call that timed out, a namespace that is not known
  // yet) says nothing of the policy.
  static bool IsRefused(const absl::Status& status, const char* words) {
    return !status.ok() && MessageOf(status).find(words) != std::string::npos;
  }
  static std::vector<std::string> GatesOf(const std::string& pod) {
    std::vector<std::string> names;
    const auto object = Get({"pod", pod});
    EXPECT_TRUE(object.ok()) << object.status();
    for (const auto& gate : (*object)["spec"].value("schedulingGates", nlohmann::json::array())) {
      names.push_back(gate["name"]);
    }
    return names;
  }

  inline static ControlPlane* plane_ = nullptr;
};

}  // namespace yardmaster::testing
