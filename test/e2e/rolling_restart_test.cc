// What a rolling update of the extender costs its clients, as the chart runs it: two replicas, a
// third one first, then preStop and SIGTERM for an old one, and the same for the other.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

#include "pkg/base/clock.h"
#include "pkg/base/testing/free_port.h"
#include "pkg/http/testing/tls_stream.h"
#include "test/e2e/balancer.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kClients = 16;
// Of the chart, which the test below looks at.
constexpr int kPreStopSeconds = 5;
constexpr int kGraceSeconds = 45;

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

double SecondsSince(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

// Calls as kube-scheduler's HTTP client does: on a connection that is kept until an answer says
// that it closes or it has been seen to close; a call that fails is not made again.
class Caller {
 public:
  Caller(int port, const tls::KeyPair& client, int number)
      : thread_([this, port, client, number](const std::stop_token& stop) {
          Run(port, client, number, stop);
        }) {}
  std::vector<std::string> Stop() {
    thread_.request_stop();
    thread_.join();
    return failures_;
  }
  std::int64_t calls() const { return calls_; }
  std::int64_t connections() const { return connections_; }
  double longest_s() const { return longest_s_; }

 private:
  void Run(int port, const tls::KeyPair& client, int number, const std::stop_token& stop) {
    const std::string body =
        R"({"Pod": {"metadata": {"name": "x", "namespace": "team", "uid": "u"}, "spec": {"containers": [{"name": "c",)"
        R"("image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}, "Nodes": null,)"
        R"("NodeNames": ["p00s00h000", "p00s01h001"]})";
    http::TlsStream* stream = nullptr;
    std::unique_ptr<http::RawClient> http;
    for (int i = 0; !stop.stop_requested(); ++i) {
      if (http == nullptr || stream->GoneByNow()) {
        auto opened =
            std::make_unique<http::TlsStream>(port, http::TlsStreamOptions{.client = client});
        stream = opened.get();
        http = std::make_unique<http::RawClient>(std::move(opened));
        ++connections_;
      }
      const char* verb = i % 2 == 0 ? "/filter" : "/prioritize";
      const auto began = steady_clock::now();
      const auto answer = http->Call("POST", verb, body);
      longest_s_ = std::max(longest_s_, SecondsSince(began));
      ++calls_;
      if (!answer || answer->status != 200 ||
          (verb[1] == 'f' && answer->body.find(R"("Error":"")") == std::string::npos)) {
        failures_.push_back(StrCat(verb, ": ", answer ? answer->head + answer->body : "no answer"));
      }
      if (!answer || answer->Header("Connection") == "close") http.reset();
      // Some are busy and some pause, up to 1.5 s.
      std::this_thread::sleep_for(milliseconds(i % 40 == 39 ? 100 * number : 2 * (number % 6 + 1)));
    }
  }

  std::vector<std::string> failures_;  // of the thread, until it is joined
  double longest_s_ = 0;
  std::atomic<std::int64_t> calls_{0};
  std::atomic<std::int64_t> connections_{0};
  std::jthread thread_;
};

class RollingRestartTest : public StoryTest {
 protected:
  struct Replica {
    int port = 0;
    int health_port = 0;
    std::unique_ptr<Process> process;
  };

  static void SetUpTestSuite() {
    auto cluster = Cluster::Start(kHosts);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = cluster->release();
    ASSERT_TRUE(cluster_->plane().Kubectl({"create", "namespace", "team"}).ok());
    ASSERT_TRUE(cluster_->StartOperator().ok());
    ASSERT_TRUE(cluster_->StartAgent().ok());
  }

  void SetUp() override {
    balancer_ = std::make_unique<Balancer>(Balancer::Options{.port = cluster_->extender_port()});
    ASSERT_NE(balancer_->port(), 0);
    for (Replica& replica : replicas_) ASSERT_NO_FATAL_FAILURE(Start(replica));
  }

  // Until the Service uses it.
  void Start(Replica& replica) {
    replica.port = FreePort();
    replica.health_port = FreePort();
    auto process = cluster_->RunExtender(replica.port, replica.health_port);
    ASSERT_TRUE(process.ok()) << process.status();
    replica.process = *std::move(process);
    balancer_->Add(replica.port, replica.health_port);
    ASSERT_TRUE(WaitFor(kPatience, [&] { return balancer_->Uses(replica.port); }));
  }

  bool Leads(const Replica& replica) const {
    return cluster_->LeaderOf("extender").ends_with(StrCat("_", replica.process->pid()));
  }

  // As the Deployment's controller and the kubelet do it.
  void Replace(Replica& replica) {
    Replica fresh;
    ASSERT_NO_FATAL_FAILURE(Start(fresh));
    balancer_->Terminate(replica.port);
    std::this_thread::sleep_for(std::chrono::seconds(kPreStopSeconds));
    EXPECT_FALSE(balancer_->Uses(replica.port));
    const bool led = Leads(replica);
    const auto signalled = steady_clock::now();
    const std::int64_t signalled_ms = RealClock().WallMs();
    replica.process->Signal(SIGTERM);
    if (led) {
      EXPECT_TRUE(WaitFor(kPatience, [&] {
        const std::string leader = cluster_->LeaderOf("extender");
        return !leader.empty() && !leader.ends_with(StrCat("_", replica.process->pid()));
      }));
      const std::int64_t led_ms = cluster_->LedSinceMs("extender") - signalled_ms;
      EXPECT_GE(led_ms, 0);
      EXPECT_LT(led_ms, 2'000);
      std::printf("another replica leads %ld ms after SIGTERM\n", static_cast<long>(led_ms));
      ++handed_over_;
    }
    EXPECT_EQ(replica.process->Wait(), 0);
    std::printf("ended %.2f s after SIGTERM; %ld connections were its own\n",
                SecondsSince(signalled), static_cast<long>(balancer_->connections(replica.port)));
    EXPECT_LT(SecondsSince(signalled), kGraceSeconds - kPreStopSeconds);
    EXPECT_GT(balancer_->connections(replica.port), 0);
    replica = std::move(fresh);
  }

  std::unique_ptr<Balancer> balancer_;
  std::array<Replica, 2> replicas_;
  int handed_over_ = 0;
};

TEST_F(RollingRestartTest, CostsKubeSchedulerNoCall) {
  const std::string chart =
      FileText(StrCat(YARDMASTER_SOURCE_DIR, "/helm/yardmaster/templates/extender.yaml"));
  ASSERT_THAT(chart, HasSubstr(StrCat("preStop: {sleep: {seconds: ", kPreStopSeconds, "}}")));
  ASSERT_THAT(chart, HasSubstr(StrCat("terminationGracePeriodSeconds: ", kGraceSeconds)));

  const tls::KeyPair client = cluster_->SchedulerCertificate();
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < kClients; ++i) {
    callers.push_back(std::make_unique<Caller>(balancer_->port(), client, i));
  }
  int job = 0;
  for (Replica& replica : replicas_) {
    ASSERT_NO_FATAL_FAILURE(Replace(replica));
    const std::string name = StrCat("after-", ++job);
    const std::string spec = R"("parallelism": {"tensor": 8})";
    ASSERT_TRUE(cluster_->plane().Apply(TrainingJob(name, 3, spec)).ok());
    EXPECT_TRUE(Has(name, "Running"));
  }
  CheckPromises();
  std::int64_t calls = 0;
  std::int64_t connections = 0;
  double longest_s = 0;
  for (auto& caller : callers) {
    EXPECT_THAT(caller->Stop(), ElementsAre());
    EXPECT_GT(caller->calls(), 10);
    calls += caller->calls();
    connections += caller->connections();
    longest_s = std::max(longest_s, caller->longest_s());
  }
  std::printf("%ld calls on %ld connections, the longest took %.3f s\n", static_cast<long>(calls),
              static_cast<long>(connections), longest_s);
  EXPECT_GT(handed_over_, 0) << "the leader is one of the two";
  EXPECT_EQ(balancer_->refused(), 0);
  // kube-scheduler itself, whose calls went the same way.
  const std::string log = FileText(cluster_->plane().folder() + "/logs/kube-scheduler.log");
  EXPECT_FALSE(log.empty());
  EXPECT_THAT(log, Not(HasSubstr(StrCat("https://127.0.0.1:", balancer_->port(), "/"))));
}

}  // namespace
}  // namespace yardmaster::testing
