// /metrics, /metrics/history, /healthz and /readyz as routes, and a server's own figures as
// metrics. Thread safety: call before the server starts. Lifetime: what is passed by reference, and
// the servers of ExportServers, must outlive the router or the registry that they are added to.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/http/router.h"
#include "pkg/http/server.h"
#include "pkg/metrics/health.h"
#include "pkg/metrics/registry.h"
#include "pkg/metrics/sample_history.h"

namespace yardmaster::metrics {

// GET /healthz and /readyz: 200 or 503, one line per check, and a last line "ok" or "failed".
void AddHealthEndpoints(http::Router& router, const Health& health);
// GET /metrics: the exposition.
void AddMetricsEndpoint(http::Router& router, const Registry& registry);
// GET /metrics/history: the last hour. An answer can be some MiB, so at most one per second is
// given; other requests get 429 with Retry-After.
void AddHistoryEndpoint(http::Router& router, const SampleHistory& history, const Clock& clock);

// A server, and the value of the label "server" of its figures.
struct NamedServer {
  std::string name = {};
  const http::Server* server = nullptr;
};

// yardmaster_http_* of every server, told apart by the label "server". Call once, with all servers:
// a second call would add the metric families a second time.
void ExportServers(Registry& registry, const std::vector<NamedServer>& servers);

}  // namespace yardmaster::metrics
