#include "pkg/app/runtime.h"

#include <csignal>
#include <functional>
#include <iostream>
#include <unistd.h>
#include <utility>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/version.h"
#include "pkg/metrics/endpoints.h"
#include "pkg/metrics/loop.h"

namespace yardmaster::app {

namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

metrics::Logger MakeLog(const CommonOptions& options, const Clock& clock) {
  metrics::Logger::Options log;
  log.format = metrics::ParseLogFormat(options.log_format).value_or(metrics::LogFormat::kJson);
  log.level = options.verbosity >= 2 ? metrics::LogLevel::kInfo : metrics::LogLevel::kWarn;
  return metrics::Logger(log, clock);
}

std::string HostName() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

int ExitCodeOf(std::string_view name, const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << name << ": " << status.message() << "\n";
  return 1;
}

absl::StatusOr<http::ServerOptions> ParseBindAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  auto port = colon == std::string_view::npos ? std::nullopt
                                              : ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port) {
    return absl::InvalidArgumentError(
        StrCat("\"", text, "\" is not an address to bind; use host:port, :port or [::1]:port"));
  }
  http::ServerOptions options;
  options.port = *port;
  std::string_view host = text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  options.bind_address = std::string(host);
  return options;
}

Runtime::Runtime(const CommonOptions& options, std::string name)
    : options_(options),
      log_(MakeLog(options, clock_).With({{"process", name}})),
      identity_(StrCat(HostName(), "_", getpid())),
      seed_(std::hash<std::string>{}(identity_) ^ static_cast<std::uint64_t>(clock_.WallMs())) {
  // Threads inherit the mask, so the signal goes to the one that waits for it.
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  registry_
      .GetGauge("yardmaster_build_info", "1, with the version as a label",
                {{"process", name}, {"version", std::string(Version())}})
      .Set(1);
  registry_.AddGaugeSource("yardmaster_metrics_history_bytes",
                           "memory of the metrics of the last hour",
                           [this] { return history_.bytes(); });
  registry_.AddGaugeSource("yardmaster_metrics_history_left_out_series",
                           "series that had no room in it",
                           [this] { return history_.left_out_series(); });
  health_.AddReadiness("running", [this] {
    return stopping_.stop_requested() ? absl::UnavailableError("stopping") : absl::OkStatus();
  });
  signal_thread_ = std::thread([this] { AwaitSignal(); });
}

Runtime::~Runtime() {
  Stop();
  if (!signal_thread_.joinable()) return;
  destroyed_ = true;
  pthread_kill(signal_thread_.native_handle(), SIGTERM);  // ends its wait
  signal_thread_.join();
}

absl::Status Runtime::StartServer(const std::string& address,
                                  std::shared_ptr<const http::Router> router,
                                  std::unique_ptr<http::Server>& server) {
  YM_ASSIGN_OR_RETURN(http::ServerOptions options, ParseBindAddress(address));
  options.io_threads = 1;
  // A body would let any client of these ports choose how much memory the process holds.
  options.limits.methods = {"GET", "HEAD"};
  options.limits.body_bytes = options.limits.total_body_bytes = 1024;
  server = std::make_unique<http::Server>(std::move(options), http::HandlerOf(std::move(router)));
  return Annotate(server->Start(), StrCat("listening on ", address));
}

// A client that may reach the health port only, such as a kubelet, reads no metrics.
absl::Status Runtime::Serve() {
  auto metrics_routes = std::make_shared<http::Router>();
  metrics::AddHealthEndpoints(*metrics_routes, health_);
  metrics::AddMetricsEndpoint(*metrics_routes, registry_);
  metrics::AddHistoryEndpoint(*metrics_routes, history_, clock_);
  YM_RETURN_IF_ERROR(
      StartServer(options_.metrics_address, std::move(metrics_routes), metrics_server_));
  sampler_ = std::jthread([this](const std::stop_token& stop) { Sample(stop); });
  if (options_.health_address == options_.metrics_address) return absl::OkStatus();
  auto health_routes = std::make_shared<http::Router>();
  metrics::AddHealthEndpoints(*health_routes, health_);
  return StartServer(options_.health_address, std::move(health_routes), health_server_);
}

void Runtime::Sample(const std::stop_token& stop) {
  metrics::Loop loop("history", registry_, log_);
  do {
    loop.RunOnce([this] {
      history_.Add(registry_.Text(), clock_.WallMs());
      return RunResult{.done = 1};
    });
  } while (sleeper_.Sleep(metrics::kHistoryIntervalMs, stop));
}

void Runtime::AwaitSignal() {
  const sigset_t set = StopSignals();
  int signal = 0;
  sigwait(&set, &signal);
  if (destroyed_) return;
  log_.Info("stopping", {{"signal", signal}});
  stopping_.request_stop();
}

void Runtime::WaitForSignal() {
  if (signal_thread_.joinable()) signal_thread_.join();
}

void Runtime::Stop() {
  sampler_.request_stop();
  if (sampler_.joinable()) sampler_.join();
  if (metrics_server_) metrics_server_->Stop();
  if (health_server_) health_server_->Stop();
}

}  // namespace yardmaster::app
