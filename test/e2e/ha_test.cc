// What a change of the leader costs on a real control plane.
#include <chrono>
#include <csignal>
#include <cstdio>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

class HighAvailabilityTest : public StoryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_->StartExtender().ok());
    ASSERT_TRUE(cluster_->StartOperator().ok());
    for (const char* component : {"extender", "operator"}) {
      ASSERT_TRUE(WaitFor(kPatience, [&] { return !cluster_->LeaderOf(component).empty(); }));
    }
  }
  // Seconds until another replica leads and a new job runs after a signal to the leader; negative:
  // it did not come to that.
  struct TakeOver {
    double led = -1;
    double ran = -1;
  };
  TakeOver SignalAndMeasure(const std::string& component, int signal, const std::string& job) {
    const std::string before = cluster_->LeaderOf(component);
    const auto began = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    TakeOver result;
    EXPECT_TRUE(cluster_->SignalLeader(component, signal).ok());
    if (WaitFor(kPatience, [&] {
          const std::string now = cluster_->LeaderOf(component);
          return !now.empty() && now != before;
        })) {
      result.led = seconds();
    }
    EXPECT_TRUE(
        cluster_->plane().Apply(TrainingJob(job, 3, R"("parallelism": {"tensor": 8})")).ok());
    if (Has(job, "Running")) result.ran = seconds();
    std::printf("%s, signal %d: another leads after %.2f s, a new job runs after %.2f s\n",
                component.c_str(), signal, result.led, result.ran);
    CheckPromises();
    return result;
  }
};

TEST_F(HighAvailabilityTest, AnotherReplicaLeadsWithinTwentySecondsAfterAKill) {
  const TakeOver extender = SignalAndMeasure("extender", SIGKILL, "a");
  EXPECT_GT(extender.led, 0);
  EXPECT_LT(extender.led, 20);
  EXPECT_GT(extender.ran, 0);
  const TakeOver op = SignalAndMeasure("operator", SIGKILL, "b");
  EXPECT_GT(op.led, 0);
  EXPECT_LT(op.led, 20);
  EXPECT_GT(op.ran, 0);
}

TEST_F(HighAvailabilityTest, AnotherReplicaLeadsWithinTwoSecondsAfterAnOrderlyEnd) {
  const TakeOver extender = SignalAndMeasure("extender", SIGTERM, "a");
  EXPECT_GT(extender.led, 0);
  EXPECT_LT(extender.led, 2);
  EXPECT_GT(extender.ran, 0);
  const TakeOver op = SignalAndMeasure("operator", SIGTERM, "b");
  EXPECT_GT(op.led, 0);
  EXPECT_LT(op.led, 2);
  EXPECT_GT(op.ran, 0);
}

}  // namespace
}  // namespace yardmaster::testing
