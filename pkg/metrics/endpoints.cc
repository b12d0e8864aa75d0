#include "pkg/metrics/endpoints.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/token_bucket.h"

namespace yardmaster::metrics {
namespace {

http::Response ToResponse(HealthReport report) {
  return http::TextResponse(report.ok ? 200 : 503, report.text + (report.ok ? "ok\n" : "failed\n"));
}

// A source that reads one figure of every server.
template <typename Read>
Source PerServer(const std::vector<NamedServer>& servers, Read read) {
  return [servers, read] {
    std::vector<Sample> samples;
    for (const NamedServer& named : servers) {
      samples.push_back(
          {{{"server", named.name}}, static_cast<double>(read(named.server->stats()))});
    }
    return samples;
  };
}

Source Rejections(const std::vector<NamedServer>& servers) {
  return [servers] {
    std::vector<Sample> samples;
    for (const NamedServer& named : servers) {
      const http::ServerStats stats = named.server->stats();
      for (std::size_t i = 0; i < http::kRejections; ++i) {
        const auto reason = static_cast<http::Rejection>(i);
        samples.push_back({{{"reason", std::string(http::NameOf(reason))}, {"server", named.name}},
                           static_cast<double>(stats.rejections(reason))});
      }
    }
    return samples;
  };
}

// One a second, for all threads of a server.
class SharedBucket {
 public:
  bool Take(std::int64_t now_ms) {
    const MutexLock lock(mutex_);
    return bucket_.Take(1, now_ms) == 1;
  }

 private:
  Mutex mutex_;
  TokenBucket bucket_ ABSL_GUARDED_BY(mutex_) = TokenBucket(1, 1);
};

}  // namespace

void AddHealthEndpoints(http::Router& router, const Health& health) {
  router.Add("GET", "/healthz", [&health](const http::Request&, const http::Done& done) {
    done(ToResponse(health.Liveness()));
  });
  router.Add("GET", "/readyz", [&health](const http::Request&, const http::Done& done) {
    done(ToResponse(health.Readiness()));
  });
}

void AddMetricsEndpoint(http::Router& router, const Registry& registry) {
  router.Add("GET", "/metrics", [&registry](const http::Request&, const http::Done& done) {
    http::Response response = http::TextResponse(200, registry.Text());
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    done(std::move(response));
  });
}

void AddHistoryEndpoint(http::Router& router, const SampleHistory& history, const Clock& clock) {
  auto once_a_second = std::make_shared<SharedBucket>();
  router.Add("GET", "/metrics/history",
             [&history, &clock, once_a_second](const http::Request&, const http::Done& done) {
               if (!once_a_second->Take(clock.SteadyMs())) {
                 http::Response busy = http::ErrorResponse(429, "one history a second; try again");
                 busy.headers.Add("Retry-After", "1");
                 return done(std::move(busy));
               }
               http::Response response = http::TextResponse(200, history.Text());
               response.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
               done(std::move(response));
             });
}

void ExportServers(Registry& registry, const std::vector<NamedServer>& servers) {
  using http::ServerStats;
  registry.AddGaugeSource(
      "yardmaster_http_open_connections", "Connections open now.",
      PerServer(servers, [](const ServerStats& stats) { return stats.open_connections; }));
  registry.AddCounterSource(
      "yardmaster_http_accepted_connections_total", "Connections accepted.",
      PerServer(servers, [](const ServerStats& stats) { return stats.accepted_connections; }));
  registry.AddCounterSource(
      "yardmaster_http_requests_total", "Requests that reached a handler.",
      PerServer(servers, [](const ServerStats& stats) { return stats.requests; }));
  registry.AddCounterSource("yardmaster_http_rejections_total",
                            "Connections and requests turned away, by reason.",
                            Rejections(servers));
}

}  // namespace yardmaster::metrics
