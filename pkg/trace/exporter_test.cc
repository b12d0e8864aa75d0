// The exporter with scripted answers, and over real sockets with endpoints that behave badly.
#include "pkg/trace/exporter.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_sleeper.h"
#include "pkg/kube/testing/fake_transport.h"
#include "pkg/kube/testing/http_transport_fixture.h"

namespace yardmaster::trace {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<Span> Spans(std::size_t count) {
  std::vector<Span> spans(count);
  for (std::size_t i = 0; i < count; ++i) {
    spans[i].trace_id = TraceIdOf(StrCat("uid-", i));
    spans[i].id = i + 1;
    spans[i].name = "queued";
  }
  return spans;
}

std::size_t SpansIn(const std::string& body) {
  return json::parse(body)["resourceSpans"][0]["scopeSpans"][0]["spans"].size();
}

class ExporterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { kube::PrepareProcessForHttp(); }

  double Dropped(const std::string& reason) {
    return registry_.GetCounter("yardmaster_trace_spans_dropped_total", "", {{"reason", reason}})
        .value();
  }
  double Sent() { return registry_.GetCounter("yardmaster_trace_spans_sent_total", "").value(); }

  FakeClock clock_;
  kube::FakeSleeper sleeper_{clock_, kube::FakeSleeper::Mode::kManual};
  std::ostringstream lines_;
  metrics::Logger log_{{.out = &lines_}, clock_};
  metrics::Registry registry_;
  const SpanSource source_{"yardmaster-operator", "0.1.0", "node_7"};
};

class ScriptedExporterTest : public ExporterTest {
 protected:
  ScriptedExporterTest() {
    auto transport = std::make_unique<kube::FakeTransport>();
    transport_ = transport.get();
    exporter_ = std::make_unique<SpanExporter>(std::move(transport), source_,
                                               kube::Timing{clock_, sleeper_, 1}, registry_, log_);
  }
  void Tick() {
    exporter_->SendQueued({});
    clock_.Advance(120'000);  // longer than any wait before another try
  }

  kube::FakeTransport* transport_;
  std::unique_ptr<SpanExporter> exporter_;
};

TEST_F(ScriptedExporterTest, SpansGoInBatchesToThePathOfTheProtocol) {
  for (int i = 0; i < 2; ++i) transport_->Answer(200, "{}");
  exporter_->Offer(Spans(SpanExporter::kBatchSpans + 1));
  Tick();
  const auto requests = transport_->requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/v1/traces");
  EXPECT_EQ(SpansIn(requests[0].body), SpanExporter::kBatchSpans);
  EXPECT_EQ(SpansIn(requests[1].body), 1U);
  EXPECT_EQ(Sent(), SpanExporter::kBatchSpans + 1);
  Tick();
  EXPECT_EQ(transport_->requests().size(), 2U);
}

TEST_F(ScriptedExporterTest, ABatchIsTriedAgainLaterAndOthersWaitForIt) {
  transport_->Answer(503, "", {{"retry-after", "7"}});
  transport_->Answer(absl::UnavailableError("no connection"));
  transport_->Answer(200, "{}");
  transport_->Answer(200, "{}");
  exporter_->Offer(Spans(3));
  exporter_->SendQueued({});
  exporter_->Offer(Spans(2));
  clock_.Advance(6'000);
  exporter_->SendQueued({});
  EXPECT_EQ(transport_->requests().size(), 1U);
  clock_.Advance(1'000);
  Tick();
  Tick();
  const auto requests = transport_->requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].body, requests[2].body);
  EXPECT_EQ(SpansIn(requests[3].body), 2U);
  EXPECT_EQ(Sent(), 5);
  // One line when it fails first, one when it is well.
  EXPECT_THAT(lines_.str(), HasSubstr("traces not sent"));
  EXPECT_THAT(lines_.str(), HasSubstr("traces are sent again"));
  const std::string lines = lines_.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST_F(ScriptedExporterTest, WhatIsNotTakenInSomeTriesIsDroppedAndCounted) {
  for (int i = 0; i < SpanExporter::kTries; ++i) {
    transport_->Answer(absl::UnavailableError("no connection"));
  }
  transport_->Answer(200, "{}");
  exporter_->Offer(Spans(4));
  for (int i = 0; i < SpanExporter::kTries; ++i) Tick();
  EXPECT_EQ(Dropped("unreachable"), 4);
  exporter_->Offer(Spans(1));
  Tick();
  EXPECT_EQ(Sent(), 1);
}

TEST_F(ScriptedExporterTest, WhatTheCollectorRefusesIsDroppedAndCounted) {
  transport_->Answer(400, "not what it takes");
  transport_->Answer(200, R"({"partialSuccess": {"rejectedSpans": "2"}})");
  transport_->Answer(307, "", {{"location", "http://elsewhere/"}});
  for (int i = 0; i < 3; ++i) {
    exporter_->Offer(Spans(3));
    Tick();
  }
  EXPECT_EQ(transport_->requests().size(), 3U);
  EXPECT_EQ(Dropped("refused"), 3 + 2 + 3);
  EXPECT_EQ(Sent(), 1);
}

TEST_F(ScriptedExporterTest, AFullQueueDropsWhatComesLast) {
  exporter_->Offer(Spans(SpanExporter::kQueuedSpans - 1));
  exporter_->Offer(Spans(5));
  EXPECT_EQ(Dropped("queue-full"), 4);
  exporter_->Offer(Spans(1));
  EXPECT_EQ(Dropped("queue-full"), 5);
}

TEST_F(ScriptedExporterTest, StoppingSendsWhatIsQueuedOnceMore) {
  transport_->Answer(200, "{}");
  exporter_->Start();
  exporter_->Offer(Spans(2));
  exporter_->Stop();
  EXPECT_EQ(Sent(), 2);
}

TEST_F(ScriptedExporterTest, StoppingSendsBatchesUntilOneFailsAndCountsTheRest) {
  transport_->Answer(200, "{}");
  transport_->Answer(200, "{}");
  transport_->Answer(503, "");
  exporter_->Start();
  exporter_->Offer(Spans(4 * SpanExporter::kBatchSpans + 1));
  exporter_->Stop();
  EXPECT_EQ(Sent(), 2 * SpanExporter::kBatchSpans);
  EXPECT_EQ(Dropped("stopped"), 2 * SpanExporter::kBatchSpans + 1);
  EXPECT_EQ(transport_->requests().size(), 3U);
  exporter_->Offer(Spans(2));
  EXPECT_EQ(Dropped("stopped"), 2 * SpanExporter::kBatchSpans + 3) << "no thread sends them";
  exporter_->Stop();
  EXPECT_EQ(Dropped("stopped"), 2 * SpanExporter::kBatchSpans + 3);
}

TEST_F(ScriptedExporterTest, OneThatNeverStartedCountsWhatWasOffered) {
  exporter_->Offer(Spans(3));
  exporter_->Stop();
  EXPECT_EQ(Dropped("stopped"), 3);
}

// Answers a request after it has taken `ms`, or throws.
class SlowTransport final : public kube::Transport {
 public:
  SlowTransport(FakeClock& clock, std::int64_t ms) : clock_(clock), ms_(ms) {}
  absl::StatusOr<kube::HttpResponse> Unary(const kube::HttpRequest&, std::int64_t deadline_ms,
                                           std::stop_token) override {
    deadlines.push_back(deadline_ms);
    clock_.Advance(ms_);
    if (throws) throw std::runtime_error("no memory");
    return kube::HttpResponse{200, {}, "{}"};
  }
  absl::StatusOr<kube::HttpResponse> Stream(const kube::HttpRequest&, const kube::StreamDeadlines&,
                                            std::stop_token, const OnLine&) override {
    return absl::UnimplementedError("");
  }
  void DropConnections() override {}

  std::vector<std::int64_t> deadlines;
  bool throws = false;

 private:
  FakeClock& clock_;
  const std::int64_t ms_;
};

TEST_F(ExporterTest, AllThatIsSentAtTheEndHasOneSecond) {
  auto transport = std::make_unique<SlowTransport>(clock_, 400);
  const SlowTransport& sent = *transport;
  SpanExporter exporter(std::move(transport), source_, {clock_, sleeper_, 1}, registry_, log_);
  exporter.Start();
  exporter.Offer(Spans(5 * SpanExporter::kBatchSpans));
  exporter.Stop();
  EXPECT_THAT(sent.deadlines, testing::ElementsAre(1'000, 600, 200));
  EXPECT_EQ(Sent(), 3 * SpanExporter::kBatchSpans);
  EXPECT_EQ(Dropped("stopped"), 2 * SpanExporter::kBatchSpans);
}

TEST_F(ExporterTest, WhatASendThrowsCostsItsBatchAndNotTheProcess) {
  auto transport = std::make_unique<SlowTransport>(clock_, 0);
  SlowTransport& sent = *transport;
  sent.throws = true;
  SpanExporter exporter(std::move(transport), source_, {clock_, sleeper_, 1}, registry_, log_);
  exporter.Offer(Spans(SpanExporter::kBatchSpans + 1));
  exporter.Start();
  sleeper_.WaitForSleepers(1);
  sleeper_.Advance(1'000);
  sleeper_.WaitForSleepers(1);
  EXPECT_EQ(Dropped("defect"), SpanExporter::kBatchSpans);
  EXPECT_THAT(lines_.str(), HasSubstr("this program failed: no memory"));
  sent.throws = false;
  exporter.Stop();
  EXPECT_EQ(Sent(), 1);
}

TEST_F(ScriptedExporterTest, AnEndpointThatHangsDoesNotHoldUpOffersOrTheEnd) {
  transport_->Hang();
  exporter_->Start();
  exporter_->Offer(Spans(1));
  sleeper_.WaitForSleepers(1);
  sleeper_.Advance(1'000);
  transport_->WaitForRequests(1);
  exporter_->Offer(Spans(10));
  transport_->Answer(503, "");  // to the last try
  exporter_->Stop();
  EXPECT_EQ(Sent(), 0);
  EXPECT_EQ(Dropped("stopped"), 11);
}

class SocketExporterTest : public ExporterTest {
 protected:
  std::unique_ptr<SpanExporter> ConnectTo(const kube::RawServer& server) {
    auto exporter = SpanExporter::Connect({StrCat("http://127.0.0.1:", server.port()), ""}, source_,
                                          kube::Timing{clock_, sleeper_, 1}, registry_, log_);
    EXPECT_TRUE(exporter.ok()) << exporter.status();
    return *std::move(exporter);
  }
};

TEST_F(SocketExporterTest, ACollectorGetsTheSpans) {
  Mutex mutex;
  std::string request;
  kube::RawServer server([&](kube::RawConnection& connection) {
    std::string got = connection.ReadRequest();
    {
      MutexLock lock(mutex);
      request = std::move(got);
    }
    connection.Write(kube::Answer(200, R"({"partialSuccess":{}})"));
  });
  auto exporter = ConnectTo(server);
  exporter->Offer(Spans(3));
  exporter->SendQueued({});
  EXPECT_EQ(Sent(), 3);
  MutexLock lock(mutex);
  EXPECT_THAT(request, testing::StartsWith("POST /v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("application/json"));
  EXPECT_EQ(SpansIn(request.substr(request.find("\r\n\r\n") + 4)), 3U);
}

TEST_F(SocketExporterTest, AHugeAnswerIsNotTaken) {
  kube::RawServer server([&](kube::RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kube::Answer(200, std::string(1 << 20, '[')));
  });
  auto exporter = ConnectTo(server);
  exporter->Offer(Spans(1));
  exporter->SendQueued({});
  EXPECT_EQ(Sent(), 0);
  EXPECT_THAT(lines_.str(), HasSubstr("traces not sent"));
}

TEST_F(SocketExporterTest, OneThatSaysNothingCostsATry) {
  kube::RawServer server([](kube::RawConnection& connection) {
    connection.ReadRequest();
    connection.Read();
  });
  auto exporter = ConnectTo(server);
  exporter->Offer(Spans(1));
  const auto began = std::chrono::steady_clock::now();
  exporter->SendQueued({});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_EQ(Sent(), 0);
}

TEST_F(SocketExporterTest, OneThatRefusesConnectionsIsTriedAgainLater) {
  auto server = std::make_unique<kube::RawServer>([](kube::RawConnection&) {});
  auto exporter = ConnectTo(*server);
  server.reset();
  exporter->Offer(Spans(1));
  exporter->SendQueued({});
  EXPECT_EQ(Sent(), 0);
  EXPECT_EQ(Dropped("unreachable"), 0);
}

TEST_F(SocketExporterTest, AnEndpointThatCannotBeUsedIsAnErrorWithItsFlag) {
  const auto error_of = [&](const TraceEndpoint& endpoint) {
    return SpanExporter::Connect(endpoint, source_, kube::Timing{clock_, sleeper_, 1}, registry_,
                                 log_)
        .status();
  };
  for (const char* url : {"collector:4318", "grpc://collector:4317", "http://", "http://a:b"}) {
    EXPECT_THAT(error_of({url, ""}).ToString(), HasSubstr("--otlp-endpoint")) << url;
  }
  EXPECT_THAT(error_of({"https://collector:4318", ""}).ToString(), HasSubstr("--otlp-ca-file"));
  EXPECT_TRUE(error_of({"https://collector:4318", "/etc/otlp/ca.crt"}).ok());
}

}  // namespace
}  // namespace yardmaster::trace
