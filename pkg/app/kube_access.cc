#include "pkg/app/kube_access.h"

#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/config/kubeconfig.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/read_only_client.h"
#include "pkg/kube/rest_client.h"

namespace yardmaster::app {

namespace {

class RestAccess final : public KubeAccess {
 public:
  RestAccess(kube::ClientConfig config, kube::Timing timing, metrics::Registry& registry)
      : config_(std::move(config)), timing_(timing), registry_(registry) {}

  absl::StatusOr<std::unique_ptr<kube::Client>> NewClient(const ClientLimits& limits) override {
    kube::ClientConfig config = config_;
    config.qps = limits.qps;
    config.burst = limits.burst;
    config.call_deadline_ms = limits.call_deadline_ms;
    config.attempt_deadline_ms = limits.attempt_deadline_ms;
    config.watch_idle_ms = limits.watch_idle_ms;
    kube::Timing timing = timing_;
    timing.seed += ++clients_;
    YM_ASSIGN_OR_RETURN(
        auto client, kube::MakeRestClient(
                         config, timing,
                         [this](const kube::RequestObservation& call) {
                           if (call.code != 0) last_answer_ms_ = timing_.clock.SteadyMs();
                           registry_
                               .GetCounter("rest_client_requests_total", "calls to the API server",
                                           {{"method", call.verb}, {"code", StrCat(call.code)}})
                               .Increment();
                           if (call.verb == "WATCH") return;
                           registry_
                               .GetHistogram("rest_client_request_duration_seconds",
                                             "length of a call", metrics::LatencyBuckets(),
                                             {{"method", call.verb}})
                               .Observe(static_cast<double>(call.duration_ms) / 1000.0);
                         },
                         {begun_.get_token(), over_.get_token()}));
    return std::unique_ptr<kube::Client>(std::move(client));
  }

  void End() override {
    begun_.request_stop();
    end_thread_ = std::jthread([this](const std::stop_token& stop) {
      if (timing_.sleeper.Sleep(kube::kLastCallMs, stop)) over_.request_stop();
    });
  }

  std::int64_t LastAnswerMs() const override { return last_answer_ms_; }

 private:
  kube::ClientConfig config_;
  kube::Timing timing_;
  metrics::Registry& registry_;
  std::uint64_t clients_ = 0;
  std::atomic<std::int64_t> last_answer_ms_ = -1;
  std::stop_source begun_;  // kube::Ending
  std::stop_source over_;
  std::jthread end_thread_;
};

// Events are few and may wait.
constexpr ClientLimits kEventsLimits{.qps = 20, .burst = 50};
// One small write for every unfinished gang, once when this process begins to lead. Nothing is
// placed until all are through.
constexpr ClientLimits kFenceLimits{.qps = 1'000, .burst = 2'000};

}  // namespace

absl::StatusOr<Clients> NewClients(KubeAccess& access, const CommonOptions& options) {
  Clients clients;
  YM_ASSIGN_OR_RETURN(clients.main, access.NewClient({.qps = options.kube_api_qps,
                                                      .burst = options.kube_api_burst}));
  YM_ASSIGN_OR_RETURN(clients.events, access.NewClient(kEventsLimits));
  YM_ASSIGN_OR_RETURN(clients.fence, access.NewClient(kFenceLimits));
  if (options.observes) {
    for (auto* client : {&clients.main, &clients.events, &clients.fence}) {
      *client = std::make_unique<kube::ReadOnlyClient>(std::move(*client));
    }
  }
  return clients;
}

absl::StatusOr<std::unique_ptr<KubeAccess>> KubeAccess::Open(const CommonOptions& options,
                                                             const std::string& user_agent,
                                                             Runtime& runtime) {
  kube::PrepareProcessForHttp();
  config::ClientConfigRequest request;
  request.kubeconfig = options.kubeconfig;
  request.context = options.context;
  YM_ASSIGN_OR_RETURN(kube::ClientConfig config, config::LoadClientConfig(request));
  config.user_agent = user_agent;
  return std::unique_ptr<KubeAccess>(
      std::make_unique<RestAccess>(std::move(config), runtime.timing(), runtime.registry()));
}

}  // namespace yardmaster::app
