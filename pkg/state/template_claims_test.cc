#include "pkg/state/template_claims.h"

#include <gtest/gtest.h>

#include "pkg/api/compute_domain.h"
#include "pkg/state/testing/device_manifests.h"

namespace yardmaster::state {
namespace {

class TemplateClaimsTest : public testing::Test {
 protected:
  TemplateClaimsTest() {
    Put(tables_.classes,
        ClassOf("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'", "nvidia.com/gpu"));
    Put(tables_.classes, ClassOf("rdma", "device.driver == 'dra.net'"));
    Put(tables_.classes, ClassOf(api::kChannelClass, "device.driver == 'gpu.nvidia.com'"));
    Put(tables_.templates, TemplateOf("eight", RequestOf("gpu.nvidia.com", 8)));
    Put(tables_.templates, TemplateOf("nic", RequestOf("rdma", 1)));
    Put(tables_.templates, TemplateOf("channel", RequestOf(api::kChannelClass, 1)));
  }

  DeviceTables tables_;
};

TEST_F(TemplateClaimsTest, TheyAskForGpusUnlessItIsKnownThatTheyDoNot) {
  const auto ask = [this](const char* claim_template) {
    return AskForGpus({{"g", "", claim_template}}, "team", tables_, "nvidia.com/gpu");
  };
  EXPECT_TRUE(ask("eight"));
  EXPECT_FALSE(ask("nic"));
  EXPECT_FALSE(ask("channel"));
  EXPECT_TRUE(ask("absent"));
  EXPECT_FALSE(AskForGpus({}, "team", tables_, "nvidia.com/gpu"));
  EXPECT_FALSE(AskForGpus({{"g", "", "eight"}}, "team", {}, "nvidia.com/gpu"));
}

TEST_F(TemplateClaimsTest, TheyAskForAChannelOnlyWhereThatIsKnown) {
  const auto ask = [this](const char* claim_template) {
    return AskForChannel({{"g", "", claim_template}}, "team", tables_);
  };
  EXPECT_TRUE(ask("channel"));
  EXPECT_FALSE(ask("eight"));
  EXPECT_FALSE(ask("absent"));
  EXPECT_FALSE(AskForChannel({}, "team", tables_));
}

}  // namespace
}  // namespace yardmaster::state
