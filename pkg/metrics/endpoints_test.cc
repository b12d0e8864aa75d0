#include "pkg/metrics/endpoints.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/http/testing/raw_client.h"

namespace yardmaster::metrics {
namespace {

using testing::HasSubstr;

http::Response Get(const http::Router& router, const std::string& path) {
  http::Request request;
  request.method = "GET";
  request.target = path;
  http::Response answer;
  router.Handle(std::move(request), [&](http::Response response) { answer = std::move(response); });
  return answer;
}

TEST(Endpoints, ReadinessNamesTheChecksThatFail) {
  Health health;
  http::Router router;
  absl::Status lease = absl::OkStatus();
  health.AddLiveness("planner", [] { return absl::OkStatus(); });
  health.AddReadiness("lease", [&] { return lease; });
  AddHealthEndpoints(router, health);

  EXPECT_EQ(Get(router, "/readyz").status, 200);
  lease = absl::UnavailableError("held by another");
  const http::Response response = Get(router, "/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "[+]planner ok\n[-]lease failed: held by another\nfailed\n");
  EXPECT_EQ(Get(router, "/healthz").status, 200) << "a process that is not ready is not restarted";
}

TEST(Endpoints, AFailedLivenessCheckAlsoTakesReadinessAway) {
  Health health;
  http::Router router;
  health.AddLiveness("planner", [] { return absl::InternalError("stuck"); });
  AddHealthEndpoints(router, health);
  EXPECT_EQ(Get(router, "/healthz").status, 503);
  EXPECT_EQ(Get(router, "/readyz").status, 503);
}

TEST(Endpoints, AServerShowsItsOwnFiguresOverHttp) {
  Registry registry;
  http::Router router;
  AddMetricsEndpoint(router, registry);
  http::ServerOptions options;
  options.bind_address = "127.0.0.1";
  http::Server server(options, [&](http::Request request, http::Done done) {
    router.Handle(std::move(request), std::move(done));
  });
  ExportServers(registry, {{"probes", &server}});
  ASSERT_TRUE(server.Start().ok());

  { http::RawClient(server.port()).Call("TRACE", "/"); }
  http::RawClient client(server.port());
  const auto response = client.Call("GET", "/metrics");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response->body, HasSubstr("yardmaster_http_requests_total{server=\"probes\"} 1\n"));
  EXPECT_THAT(
      response->body,
      HasSubstr("yardmaster_http_rejections_total{reason=\"method\",server=\"probes\"} 1\n"));
}

TEST(Endpoints, TheHistoryIsOpenMetricsAndComesOnceASecond) {
  FakeClock clock;
  SampleHistory history;
  history.Add("a 1\n", 1'700'000'000'000);
  http::Router router;
  AddHistoryEndpoint(router, history, clock);

  const http::Response first = Get(router, "/metrics/history");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(first.body, "a 1 1700000000.000\n# EOF\n");
  clock.Advance(900);
  const http::Response second = Get(router, "/metrics/history");
  EXPECT_EQ(second.status, 429) << "many large answers at once would exhaust the memory";
  EXPECT_EQ(second.headers.Find("Retry-After"), "1");
  clock.Advance(100);
  EXPECT_EQ(Get(router, "/metrics/history").status, 200);
}

}  // namespace
}  // namespace yardmaster::metrics
