// A control plane that serves the CRDs, one for all tests of a program. TESTONLY. Thread safety:
// one test at a time.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {

inline constexpr char kCrds[] = YARDMASTER_SOURCE_DIR "/crds/";

class CrdsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::Start({});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
    for (const char* crd : {"fabrics", "trainingjobs", "gangs", "capacitypools"}) {
      const std::string name = std::string(crd) + ".yardmaster.dev";
      auto applied = plane_->Kubectl({"apply", "--server-side", "-f", kCrds + name + ".yaml"});
      ASSERT_TRUE(applied.ok()) << applied.status();
      auto ready = plane_->Kubectl({"wait", "--for=condition=Established", "crd/" + name});
      ASSERT_TRUE(ready.ok()) << ready.status();
    }
  }
  static void TearDownTestSuite() {
    delete plane_;
    plane_ = nullptr;
  }

  static absl::Status Apply(const nlohmann::json& object, bool dry_run = false) {
    std::vector<std::string> args = {
        "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"};
    if (dry_run) args.push_back("--dry-run=server");
    return plane_->Kubectl(args, object.dump()).status();
  }
  static absl::Status PatchStatus(const std::string& what, const nlohmann::json& patch) {
    return plane_
        ->Kubectl({"patch", what, "--subresource=status", "--type=merge", "-p", patch.dump()})
        .status();
  }
  static nlohmann::json Get(const std::string& what) {
    auto text = plane_->Kubectl({"get", what, "-o", "json"});
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json();
  }

  inline static ControlPlane* plane_ = nullptr;
};

}  // namespace yardmaster::testing
