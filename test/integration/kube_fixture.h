// A suite's shared control plane and real clients of it. Thread safety: as the parts.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/config/kubeconfig.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/resource.h"
#include "pkg/kube/rest_client.h"
#include "pkg/kube/timing.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {

inline const kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const kube::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};

class KubeFixture : public ::testing::Test {
 protected:
  static void StartPlane(const ControlPlane::Options& options) {
    kube::PrepareProcessForHttp();
    auto plane = ControlPlane::Start(options);
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
  }
  static void StopPlane() {
    delete plane_;
    plane_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(plane_, nullptr);
    client_ = Connect(AdminConfig());
    ns_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : ns_) c = static_cast<char>(std::tolower(c));
    ns_.resize(std::min<std::size_t>(ns_.size(), 60));
    ASSERT_TRUE(client_->Create({kNamespaces}, {{"metadata", {{"name", ns_}}}}, {}).ok());
  }

  static kube::ClientConfig AdminConfig() {
    auto config = config::LoadClientConfig({.kubeconfig = plane_->kubeconfig()});
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : kube::ClientConfig();
  }
  std::unique_ptr<kube::RestClient> Connect(const kube::ClientConfig& config) {
    auto client = kube::MakeRestClient(config, timing());
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }
  kube::Timing timing() { return {clock_, sleeper_, 1}; }

  // ConfigMaps are the simplest objects there are.
  kube::Target Map(const std::string& name = "") const { return {kConfigMaps, ns_, name}; }
  nlohmann::json MustCreateMap(const std::string& name, const std::string& value = "0") {
    auto created =
        client_->Create(Map(), {{"metadata", {{"name", name}}}, {"data", {{"value", value}}}}, {});
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *created : nlohmann::json();
  }

  inline static ControlPlane* plane_ = nullptr;
  RealClock clock_;
  kube::RealSleeper sleeper_;
  std::string ns_;
  std::unique_ptr<kube::RestClient> client_;
};

}  // namespace yardmaster::testing
