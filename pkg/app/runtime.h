// Runtime has what every process needs: flags, a log, metrics, health, and an orderly end.
//
//   CommonOptions options;            // filled by AddCommonFlags and the command line
//   Runtime runtime(options, "yardmaster-extender");
//   status = runtime.Serve();         // /metrics, /metrics/history, /healthz, /readyz
//   runtime.WaitForSignal();          // SIGTERM or SIGINT; earlier waits use stopping()
//
// Thread safety: accessors from any thread; Serve, WaitForSignal and Stop from the main thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/http/router.h"
#include "pkg/http/server.h"
#include "pkg/kube/timing.h"
#include "pkg/metrics/health.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"
#include "pkg/metrics/sample_history.h"

namespace CLI {
class App;
}

namespace yardmaster::app {

// How long a process waits at its start until it has read all objects.
inline constexpr std::int64_t kSyncTimeoutMs = 120'000;

struct CommonOptions {
  std::string kubeconfig;  // empty: $KUBECONFIG, then in-cluster, then ~/.kube/config
  std::string context;
  std::string metrics_address = ":8080";
  std::string health_address = ":8081";
  std::string log_format = "json";
  int verbosity = 2;  // 0 and 1: warnings, 2 and more: changes
  double kube_api_qps = 50;
  int kube_api_burst = 100;
  // Whether the process writes only the Lease, and its own Secrets if it renews them.
  bool observes = false;
};

struct LeaderOptions {
  bool enabled = false;
  std::string resource_namespace = "yardmaster-system";
  std::string resource_name;
};

void AddCommonFlags(CLI::App& app, CommonOptions& options);
// Adds --mode, for processes that can observe only.
void AddModeFlag(CLI::App& app, CommonOptions& options);
void AddLeaderFlags(CLI::App& app, LeaderOptions& options);
// Called after the last flag is declared. If a flag is given several times, the last one is used,
// unless it may be repeated: users add flags behind those of the chart. Numbers must not be NaN,
// which passes every limit.
void FinishFlags(CLI::App& app);

// Returns the exit code for `status`, and writes an error of program `name` to standard error.
int ExitCodeOf(std::string_view name, const absl::Status& status);

// Returns the options of a server that listens on "host:port", ":port" or "[::1]:port". Errors:
// InvalidArgument.
absl::StatusOr<http::ServerOptions> ParseBindAddress(std::string_view text);

// The constructor blocks SIGTERM and SIGINT for the calling thread and those that it starts later,
// so it must run before any thread starts.
class Runtime {
 public:
  Runtime(const CommonOptions& options, std::string name);
  ~Runtime();

  const Clock& clock() const { return clock_; }
  kube::Timing timing() { return {clock_, sleeper_, seed_}; }
  metrics::Logger& log() { return log_; }
  metrics::Registry& registry() { return registry_; }
  metrics::Health& health() { return health_; }
  // "host_pid": the holder of leases and the reporter of events.
  const std::string& identity() const { return identity_; }

  absl::Status Serve();
  // Requested at SIGTERM or SIGINT, at any time after the construction. From then on /readyz fails.
  std::stop_token stopping() const { return stopping_.get_token(); }
  // Blocks until SIGTERM or SIGINT.
  void WaitForSignal();
  void Stop();

 private:
  absl::Status StartServer(const std::string& address, std::shared_ptr<const http::Router> router,
                           std::unique_ptr<http::Server>& server);
  void Sample(const std::stop_token& stop);
  void AwaitSignal();

  CommonOptions options_;
  RealClock clock_;
  kube::RealSleeper sleeper_;
  metrics::Logger log_;
  metrics::Registry registry_;
  metrics::SampleHistory history_;
  metrics::Health health_;
  std::string identity_;
  std::uint64_t seed_;
  std::stop_source stopping_;
  std::unique_ptr<http::Server> metrics_server_;
  std::unique_ptr<http::Server> health_server_;
  std::jthread sampler_;  // fills history_
  std::atomic<bool> destroyed_ = false;
  std::thread signal_thread_;  // waits for SIGTERM and SIGINT
};

}  // namespace yardmaster::app
