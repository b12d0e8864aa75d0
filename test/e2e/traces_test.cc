// Traces on a real control plane: what extender and operator send of a job is one trace, and a new
// leader adds nothing to it.
#include <csignal>

#include "pkg/base/mutex.h"
#include "pkg/kube/testing/raw_server.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

// A collector that takes everything and keeps the spans.
class SpanCollector {
 public:
  struct Received {
    std::string service;
    json span;
  };

  int port() const { return server_.port(); }
  // Of a trace, by name, in the order in which they came.
  std::map<std::string, std::vector<Received>> Of(const std::string& trace_id) const {
    MutexLock lock(mutex_);
    std::map<std::string, std::vector<Received>> out;
    for (const Received& received : received_) {
      if (received.span["traceId"] == trace_id) out[received.span["name"]].push_back(received);
    }
    return out;
  }

 private:
  void Take(const std::string& request) {
    const json body = json::parse(request.substr(request.find("\r\n\r\n") + 4));
    MutexLock lock(mutex_);
    for (const json& resource : body["resourceSpans"]) {
      for (const json& span : resource["scopeSpans"][0]["spans"]) {
        received_.push_back({resource["resource"]["attributes"][0]["value"]["stringValue"], span});
      }
    }
  }

  mutable Mutex mutex_;
  std::vector<Received> received_ ABSL_GUARDED_BY(mutex_);
  kube::RawServer server_{[this](kube::RawConnection& connection) {
    for (std::string request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      Take(request);
      connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    }
  }};
};

std::string TraceIdOf(const json& job) {
  std::string uid = job["metadata"]["uid"];
  std::erase(uid, '-');
  return uid;
}

std::int64_t NanosAt(const json& span, const char* field) {
  return std::stoll(span[field].get<std::string>());
}

TEST(TracesTest, AJobIsOneTraceFromApplyToRunningAndANewLeaderAddsNothing) {
  SpanCollector collector;
  auto started = Cluster::Start(kHosts);
  ASSERT_TRUE(started.ok()) << started.status();
  Cluster& cluster = **started;
  cluster.SendTracesTo(collector.port());
  ASSERT_TRUE(cluster.plane().Kubectl({"create", "namespace", "team"}).ok());
  ASSERT_TRUE(cluster.StartExtender().ok());
  ASSERT_TRUE(cluster.StartOperator().ok());
  // What a process finds when it begins to lead is of no pass that it made.
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    return !cluster.LeaderOf("extender").empty() && !cluster.LeaderOf("operator").empty();
  }));
  ASSERT_TRUE(
      cluster.plane().Apply(TrainingJob("traced", 4, R"("parallelism": {"tensor": 8})")).ok());
  std::string trace_id;
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json job = cluster.Get({"trainingjob", "-n", "team", "traced"});
    if (!job.is_object()) return false;
    trace_id = TraceIdOf(job);
    const auto spans = collector.Of(trace_id);
    return spans.count("start") != 0 && spans.count("committed") != 0;
  }));

  const auto spans = collector.Of(trace_id);
  for (const char* name :
       {"queued", "committed", "network planned", "pods created", "bound", "running", "start"}) {
    ASSERT_EQ(spans.count(name), 1U) << name;
    EXPECT_EQ(spans.at(name).size(), 1U) << name;
  }
  EXPECT_EQ(spans.at("queued")[0].service, "yardmaster-extender");
  EXPECT_EQ(spans.at("start")[0].service, "yardmaster-operator");
  const json& start = spans.at("start")[0].span;
  EXPECT_FALSE(start.contains("parentSpanId"));
  for (const auto& [name, of_name] : spans) {
    const json& span = of_name[0].span;
    EXPECT_LE(NanosAt(span, "startTimeUnixNano"), NanosAt(span, "endTimeUnixNano")) << span;
    EXPECT_GE(NanosAt(span, "startTimeUnixNano"), NanosAt(start, "startTimeUnixNano")) << span;
    if (name == "start") continue;
    EXPECT_EQ(span["parentSpanId"], start["spanId"]) << span;
  }

  ASSERT_TRUE(cluster.SignalLeader("operator", SIGTERM).ok());
  ASSERT_TRUE(cluster.StartOperator().ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] { return collector.Of(trace_id)["start"].size() == 2; }));
  for (const auto& [name, of_name] : collector.Of(trace_id)) {
    for (const auto& received : of_name) {
      EXPECT_EQ(received.span["spanId"], of_name[0].span["spanId"]) << received.span;
    }
  }
}

}  // namespace
}  // namespace yardmaster::testing
