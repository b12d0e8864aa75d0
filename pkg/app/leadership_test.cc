#include "pkg/app/leadership.h"

#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/app/runtime.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::app {
namespace {

class FakeAccess final : public KubeAccess {
 public:
  absl::StatusOr<std::unique_ptr<kube::Client>> NewClient(const ClientLimits& limits) override {
    limits_ = limits;
    return std::unique_ptr<kube::Client>(std::make_unique<kube::FakeClient>(clock_));
  }
  void End() override {}
  std::int64_t LastAnswerMs() const override { return -1; }
  const ClientLimits& limits() const { return limits_; }

 private:
  FakeClock clock_;
  ClientLimits limits_;
};

LeaderOptions Elected() { return {.enabled = true, .resource_name = "extender"}; }

bool Shows(Runtime& runtime, int value) {
  const std::string line =
      "leader_election_master_status{name=\"extender\"} " + std::to_string(value) + "\n";
  return runtime.registry().Text().find(line) != std::string::npos;
}

TEST(LeadershipTest, TheMetricIsTheHoldAtThatInstant) {
  Runtime runtime({}, "test");
  FakeAccess access;
  Leadership leadership(Elected(), runtime);
  EXPECT_FALSE(leadership.IsLeader());
  ASSERT_TRUE(leadership.Start(access).ok());
  while (!leadership.IsLeader()) std::this_thread::yield();
  EXPECT_EQ(leadership.FencingToken(), 1);
  EXPECT_TRUE(Shows(runtime, 1)) << runtime.registry().Text();
  leadership.Stop();
  EXPECT_EQ(leadership.FencingToken(), 0);
  EXPECT_TRUE(Shows(runtime, 0)) << runtime.registry().Text();
}

TEST(LeadershipTest, ACallOfTheLeaseEndsWithinHalfOfTheRenewDeadline) {
  Runtime runtime({}, "test");
  FakeAccess access;
  Leadership leadership(Elected(), runtime);
  ASSERT_TRUE(leadership.Start(access).ok());
  EXPECT_LT(access.limits().call_deadline_ms, kube::LeaseOptions().renew_deadline_ms / 2);
  EXPECT_LT(access.limits().attempt_deadline_ms, access.limits().call_deadline_ms);
}

TEST(LeadershipTest, WithoutElectionTheTokenStepsOverThatOfTheLedger) {
  Runtime runtime({}, "test");
  FakeAccess access;
  Leadership leadership({}, runtime);
  ASSERT_TRUE(leadership.Start(access).ok());
  EXPECT_EQ(leadership.FencingToken(), 1);
  leadership.RequireTokenAbove(41);
  EXPECT_EQ(leadership.FencingToken(), 42);
  leadership.RequireTokenAbove(7);
  EXPECT_EQ(leadership.FencingToken(), 42);
  leadership.Stop();
  EXPECT_FALSE(leadership.IsLeader());
}

}  // namespace
}  // namespace yardmaster::app
