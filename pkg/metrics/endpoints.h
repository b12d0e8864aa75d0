// /metrics, /metrics/history, /healthz and /readyz as routes, and a server's own figures as metrics.
// Thread safety: call before the server starts. Lifetime: what is passed by reference must outlive
// the router or the registry it is added to.
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

// GET /healthz and /readyz: 200 or 503 with one line a check.
void AddHealthEndpoints(http::Router& router, const Health& health);
// GET /metrics: the exposition.
void AddMetricsEndpoint(http::Router& router, const Registry& registry);
// GET /metrics/history: the last hour. An answer can be some MiB, so there is one a second; 429 in between.
void AddHistoryEndpoint(http::Router& router, const SampleHistory& history, const Clock& clock);

// A server and what its figures are called.
struct NamedServer {
  std::string name = {};
  const http::Server* server = nullptr;
};

// yardmaster_http_* of every server, told apart by the label "server". All of them in one call.
void ExportServers(Registry& registry, const std::vector<NamedServer>& servers);

}  // namespace yardmaster::metrics
