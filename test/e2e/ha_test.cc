// What a change of the leader costs on a real control plane.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "gmock/gmock.h"

#include "pkg/base/clock.h"
#include "pkg/base/testing/free_port.h"
#include "pkg/http/testing/tls_stream.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// For as long as it lives.
class Stopped {
 public:
  explicit Stopped(pid_t pid) : pid_(pid) { kill(pid_, SIGSTOP); }
  ~Stopped() { kill(pid_, SIGCONT); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  const pid_t pid_;
};

class HighAvailabilityTest : public StoryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_->StartExtender().ok());
    ASSERT_TRUE(cluster_->StartOperator().ok());
    for (const char* component : {"extender", "operator"}) {
      ASSERT_TRUE(WaitFor(kPatience, [&] { return !cluster_->LeaderOf(component).empty(); }));
    }
  }
  // Seconds until another replica leads, by the time that it wrote itself, and until a new job is
  // seen to run, after a signal to the leader; negative: it did not come to that.
  struct TakeOver {
    double led = -1;
    double ran = -1;
  };
  TakeOver SignalAndMeasure(const std::string& component, int signal, const std::string& job) {
    const std::string before = cluster_->LeaderOf(component);
    const std::int64_t began_ms = RealClock().WallMs();
    const auto seconds_until = [&](std::int64_t wall_ms) {
      return static_cast<double>(wall_ms - began_ms) / 1000.0;
    };
    TakeOver result;
    EXPECT_TRUE(cluster_->SignalLeader(component, signal).ok());
    if (WaitFor(kPatience, [&] {
          const std::string now = cluster_->LeaderOf(component);
          return !now.empty() && now != before;
        })) {
      result.led = seconds_until(cluster_->LedSinceMs(component));
    }
    EXPECT_TRUE(
        cluster_->plane().Apply(TrainingJob(job, 3, R"("parallelism": {"tensor": 8})")).ok());
    if (Has(job, "Running")) result.ran = seconds_until(RealClock().WallMs());
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

// Answers that are older than the limit would be given for ever otherwise.
TEST_F(HighAvailabilityTest, AReplicaThatIsCutOffIsNotReadySaysWhyAndAnswersNoCall) {
  const int port = FreePort();
  const int health_port = FreePort();
  auto replica = cluster_->RunExtender(port, health_port);
  ASSERT_TRUE(replica.ok()) << replica.status();
  const auto health = [&] {
    const auto answer = http::RawClient(health_port).Call("GET", "/readyz");
    return answer ? StrCat(answer->status, "\n", answer->body) : "no answer";
  };
  const auto filter = [&] {
    http::TlsStreamOptions options;
    options.client = cluster_->SchedulerCertificate();
    http::RawClient client(std::make_unique<http::TlsStream>(port, options));
    const auto answer = client.Call(
        "POST", "/filter",
        R"({"Pod": {"metadata": {"name": "x", "namespace": "team"}, "spec": {}}, "NodeNames": []})");
    return answer ? StrCat(answer->status, "\n", answer->body) : "no answer";
  };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return health().starts_with("200"); })) << health();
  EXPECT_THAT(filter(), StartsWith("200"));
  {
    const Stopped api_server(cluster_->plane().component_pids().at("kube-apiserver"));
    EXPECT_TRUE(WaitFor(30, [&] { return !health().starts_with("200"); }));
    EXPECT_THAT(health(), HasSubstr("[-]contact failed: no answer from the API server for 2"));
    EXPECT_THAT(filter(), AllOf(StartsWith("503"), HasSubstr("no answer from the API server")));
  }
  EXPECT_TRUE(WaitFor(kPatience, [&] { return health().starts_with("200"); })) << health();
  EXPECT_THAT(filter(), StartsWith("200"));
}

}  // namespace
}  // namespace yardmaster::testing
