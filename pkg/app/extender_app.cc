#include "pkg/app/extender_app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "pkg/app/announce.h"
#include "pkg/app/kube_access.h"
#include "pkg/app/leadership.h"
#include "pkg/app/run_process.h"
#include "pkg/app/runtime.h"
#include "pkg/app/staleness.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/binder.h"
#include "pkg/extender/gang_planner.h"
#include "pkg/extender/webhook.h"
#include "pkg/http/event_loop.h"
#include "pkg/http/router.h"
#include "pkg/http/server.h"
#include "pkg/kube/events.h"
#include "pkg/metrics/endpoints.h"
#include "pkg/state/cluster_feed.h"
#include "pkg/tls/allowed_names.h"
#include "pkg/tls/certificate_watcher.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kSyncTimeoutMs = 120'000;
constexpr std::int64_t kCertificatePollMs = 10'000;
constexpr int kBindThreads = 8;

// `fresh`: whether there is anything to answer from. kube-scheduler tries again after an error.
http::Handler Answer(metrics::Histogram seconds, std::function<absl::Status()> fresh,
                     std::function<absl::StatusOr<std::string>(std::string_view)> call) {
  return [seconds, fresh = std::move(fresh), call = std::move(call)](const http::Request& request,
                                                                     const http::Done& done) {
    if (const absl::Status status = fresh(); !status.ok()) {
      return done(http::ErrorResponse(503, MessageOf(status)));
    }
    const auto began = std::chrono::steady_clock::now();
    auto body = call(request.body);
    seconds.Observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    if (body.ok()) return done(http::JsonResponse(200, *std::move(body)));
    done(http::ErrorResponse(400, MessageOf(body.status())));
  };
}

extender::GangPlanner::Options PlannerOptions(const ExtenderOptions& options,
                                              kube::Client& fence_client) {
  extender::GangPlanner::Options planner;
  planner.ledger.fence_client = &fence_client;
  planner.preemption.enabled = options.preemption;
  planner.taints.enabled = options.taint_promised_hosts;
  planner.plan.contention = options.avoid_contention;
  planner.gates.gate_timeout_ms = options.gate_timeout_seconds * 1000;
  planner.gates.gate_action = options.gate_timeout_action == "Fail"
                                  ? extender::GateTimeoutAction::kFail
                                  : extender::GateTimeoutAction::kRelease;
  planner.gates.ready_timeout_ms = options.ready_timeout_seconds * 1000;
  return planner;
}

// Declared in the order in which things depend on each other, so that destruction is right.
class Extender {
 public:
  Extender(const ExtenderOptions& options, Runtime& runtime, Clients clients)
      : options_(options),
        runtime_(runtime),
        client_(std::move(clients.main)),
        events_client_(std::move(clients.events)),
        fence_client_(std::move(clients.fence)),
        leadership_(options.leader, runtime),
        events_(*events_client_, {"yardmaster.dev/extender", runtime.identity()}, runtime.timing()),
        feed_(*client_, cache_,
              {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod,
               state::Kind::kTrainingJob, state::Kind::kGang},
              FeedHandlers(), runtime.timing()),
        planner_(
            *client_, cache_, runtime.clock(),
            {[this] { return leadership_.FencingToken(); },
             [this](std::int64_t token) { leadership_.RequireTokenAbove(token); }},
            [this](std::shared_ptr<const extender::View> view) {
              webhook_.Publish(std::move(view));
            },
            [this](const extender::Notice& notice) { Tell(notice); },
            PlannerOptions(options, *fence_client_)) {}

  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  state::ClusterFeed::Handlers FeedHandlers();
  void Tell(const extender::Notice& notice);
  void PlanLoop(std::stop_token stop);
  void WaitForWork(std::uint64_t seen, std::int64_t token, std::int64_t max_ms,
                   std::stop_token stop);
  void Report(const extender::PassReport& report, double seconds);
  absl::Status StartWebhook(const KubeAccess& access);

  const ExtenderOptions& options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> events_client_;
  std::unique_ptr<kube::Client> fence_client_;
  Leadership leadership_;
  kube::EventRecorder events_;
  state::ClusterCache cache_;
  extender::Webhook webhook_;
  extender::Binder binder_{*client_};
  std::unique_ptr<http::EventLoop> bind_workers_;  // a binding waits for the API server
  state::ClusterFeed feed_;
  extender::GangPlanner planner_;
  std::shared_ptr<http::Router> router_ = std::make_shared<http::Router>();
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<tls::CertificateWatcher> certificates_;
  std::set<std::string> told_;  // problems that the log has, planner thread only
  std::jthread planner_thread_;
};

state::ClusterFeed::Handlers Extender::FeedHandlers() {
  state::ClusterFeed::Handlers handlers;
  LogFailures(runtime_, handlers);
  return handlers;
}

void Extender::Tell(const extender::Notice& notice) {
  Announce({.regarding = {notice.regarding.api_version, notice.regarding.kind,
                          notice.namespace_name, notice.regarding.name, notice.regarding.uid},
            .type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
            .reason = notice.reason,
            .action = "Placing",
            .note = notice.note},
           events_, runtime_.log());
}

// Bounds in seconds for what a queue makes people wait: from one second to a week.
std::vector<double> QueueBuckets() {
  return {1, 2, 5, 10, 30, 60, 300, 900, 3'600, 14'400, 43'200, 86'400, 259'200, 604'800};
}

void Extender::Report(const extender::PassReport& report, double seconds) {
  metrics::Registry& registry = runtime_.registry();
  const auto count = [&](const char* name, const char* help, int by) {
    registry.GetCounter(name, help).Increment(by);
  };
  registry
      .GetHistogram("yardmaster_extender_pass_seconds", "length of a planning pass",
                    metrics::LatencyBuckets())
      .Observe(seconds);
  count("yardmaster_extender_commits_total", "plans committed", report.committed);
  count("yardmaster_extender_replaced_ranks_total", "ranks moved off lost hosts",
        report.replaced_ranks);
  count("yardmaster_extender_released_pods_total", "pods pinned and ungated", report.released_pods);
  count("yardmaster_extender_adopted_gangs_total", "plans rebuilt from running pods",
        report.adopted);
  count("yardmaster_extender_preemptions_total", "decisions to stop gangs for another",
        report.preemptions);
  count("yardmaster_extender_preemptions_given_up_total", "such decisions that were given up",
        report.preemptions_given_up);
  count("yardmaster_extender_evicted_pods_total", "pods of stopped gangs evicted",
        report.evicted_pods);
  count("yardmaster_extender_fenced_gangs_total", "gangs given the token of a new hold",
        report.fenced);
  count("yardmaster_extender_revoked_gangs_total", "gangs that lost hosts that were promised twice",
        report.revoked);
  count("yardmaster_extender_refused_hosts_total",
        "released pods replaced because kube-scheduler refused their host", report.refused_hosts);
  count("yardmaster_extender_recalled_pods_total",
        "pods replaced because they were released under a plan that no longer holds",
        report.recalled_pods);
  count("yardmaster_extender_gate_timeouts_total", "gangs that waited for longer than their limit",
        report.gate_timeouts);
  count("yardmaster_extender_given_back_total", "gangs whose hosts were given back",
        report.given_back);
  count("yardmaster_extender_node_patches_total", "taints of promised hosts written or removed",
        report.taint_changes);
  count("yardmaster_extender_write_errors_total", "writes to be made again",
        static_cast<int>(report.errors.size()));
  registry.GetGauge("yardmaster_extender_waiting_gangs", "gangs without a place")
      .Set(report.waiting);
  registry
      .GetGauge("yardmaster_extender_oldest_gated_pod_seconds",
                "age of the pod that has been behind the gate for longest")
      .Set(report.oldest_gated_seconds);
  for (const extender::Decision& decision : report.decisions) {
    registry
        .GetHistogram(
            "yardmaster_extender_decision_seconds",
            "time from joining the queue to a place, or to the first answer that there is none",
            QueueBuckets(), {{"outcome", std::string(placement::Name(decision.outcome))}})
        .Observe(decision.seconds);
  }
  registry.GetGauge("yardmaster_extender_quarantined_gangs", "gangs left alone as they are broken")
      .Set(report.quarantined);
  registry.GetGauge("yardmaster_extender_degraded_gangs", "placed gangs with lost hosts")
      .Set(report.degraded);
  registry.GetGauge("yardmaster_extender_tainted_hosts", "hosts with all GPUs promised to gangs")
      .Set(report.tainted_hosts);
  registry.GetGauge("yardmaster_extender_input_problems", "objects that cannot be used")
      .Set(static_cast<double>(report.problems.size()));
  for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
  std::set<std::string> problems(report.problems.begin(), report.problems.end());
  for (const std::string& problem : problems) {
    if (told_.count(problem) == 0) runtime_.log().Warn("input", {{"problem", problem}});
  }
  told_ = std::move(problems);
}

// Returns when the cache or the hold of the lease has changed, after `max_ms`, or when stopped.
void Extender::WaitForWork(std::uint64_t seen, std::int64_t token, std::int64_t max_ms,
                           std::stop_token stop) {
  constexpr std::int64_t kSliceMs = 200;  // the lease does not wake a waiter of the cache
  for (std::int64_t left_ms = max_ms; left_ms > 0; left_ms -= kSliceMs) {
    if (stop.stop_requested() || leadership_.FencingToken() != token) return;
    if (cache_.WaitForChange(seen, std::min(left_ms, kSliceMs), stop) != seen) return;
  }
}

void Extender::PlanLoop(std::stop_token stop) {
  // A pass costs more in a large cluster, where more changes, too: pauses as long as the last one
  // keep the planner to half a core under constant change.
  constexpr std::int64_t kLongestPauseMs = 500;
  constexpr std::int64_t kLongestRetryMs = 5'000;
  std::uint64_t seen = 0;
  std::int64_t token = 0;
  bool retry = false;
  int failures = 0;  // passes in a row
  bool releases_left = false;
  std::int64_t wake_in_ms = options_.max_pass_ms;
  std::int64_t pause_ms = options_.min_pass_ms;
  while (!stop.stop_requested()) {
    const std::int64_t retry_ms =
        std::min(kLongestRetryMs, options_.min_pass_ms * 10 << std::clamp(failures - 1, 0, 10));
    const std::int64_t wait_ms = retry ? std::min(retry_ms, wake_in_ms) : wake_in_ms;
    if (!releases_left) WaitForWork(seen, token, wait_ms, stop);
    // Changes arrive in bursts; a short pause plans them together.
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    seen = cache_.version();
    token = leadership_.FencingToken();
    if (stop.stop_requested()) return;
    const std::int64_t began_ms = runtime_.clock().SteadyMs();
    const extender::PassReport report = planner_.Pass();
    failures = report.errors.empty() ? 0 : failures + 1;
    retry = failures > 0 || report.more_to_do;
    releases_left = report.releases_left;
    wake_in_ms = std::min(options_.max_pass_ms, report.wake_in_ms);
    const std::int64_t took_ms = runtime_.clock().SteadyMs() - began_ms;
    pause_ms =
        releases_left ? 0 : std::max(options_.min_pass_ms, std::min(took_ms, kLongestPauseMs));
    Report(report, static_cast<double>(took_ms) / 1000.0);
  }
}

absl::Status Extender::StartWebhook(const KubeAccess& access) {
  // A replica that is cut off does not know what others promise meanwhile.
  const auto fresh = [this, &access] {
    if (!options_.leader.enabled) return absl::OkStatus();
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    return CheckStaleness({access.LastAnswerMs(), now_ms}, StalenessLimits{}, now_ms);
  };
  const auto seconds = [&](const char* verb) {
    return runtime_.registry().GetHistogram("yardmaster_extender_webhook_seconds",
                                            "time in the handler", metrics::LatencyBuckets(),
                                            {{"verb", verb}});
  };
  router_->Add("POST", "/filter", Answer(seconds("filter"), fresh, [this](std::string_view body) {
                 return webhook_.Filter(body);
               }));
  router_->Add("POST", "/prioritize",
               Answer(seconds("prioritize"), fresh,
                      [this](std::string_view body) { return webhook_.Prioritize(body); }));
  router_->Add("POST", "/preempt", Answer(seconds("preempt"), fresh, [this](std::string_view body) {
                 return webhook_.Preempt(body);
               }));
  bind_workers_ = std::make_unique<http::EventLoop>([this] {
    runtime_.log().Error("bind", {{"error", "a binding threw an exception"}});
  });
  bind_workers_->Start(kBindThreads);
  router_->Add("POST", "/bind", [this](http::Request request, http::Done done) {
    bind_workers_->Post([this, request = std::move(request), done = std::move(done)] {
      extender::ArgsReader reader;
      const auto args = reader.ReadBind(request.body);
      if (!args.ok()) return done(http::ErrorResponse(400, MessageOf(args.status())));
      const absl::Status bound = binder_.Bind(webhook_.view().get(), *args);
      done(http::JsonResponse(200, extender::EncodeBindResult(MessageOf(bound))));
    });
  });
  YM_ASSIGN_OR_RETURN(const BindAddress bind, ParseBindAddress(options_.bind_address));
  http::ServerOptions http;
  http.bind_address = bind.host;
  http.port = bind.port;
  if (!options_.client_ca_file.empty()) {
    http.trusts = [names = options_.client_names](const tls::CertificateNames& client) {
      return tls::HasAllowedName(client, names);
    };
  }
  server_ = std::make_unique<http::Server>(
      http, [router = router_](http::Request request, http::Done done) {
        router->Handle(std::move(request), std::move(done));
      });
  certificates_ = std::make_unique<tls::CertificateWatcher>(
      tls::CertificatePaths{options_.tls_cert_file, options_.tls_key_file, options_.client_ca_file},
      tls::CertificateWatcher::Callbacks{
          [this](const tls::CertificateFiles& files) {
            return server_->SetTls({files.certificate_pem, files.key_pem, files.client_ca_pem,
                                    files.client_ca_pem.empty()
                                        ? http::ClientCertificates::kNone
                                        : http::ClientCertificates::kRequired});
          },
          [this](const absl::Status& status) {
            if (status.ok()) return runtime_.log().Info("certificates in use");
            runtime_.log().Error("certificates", {{"error", MessageOf(status)}});
          }});
  YM_RETURN_IF_ERROR(
      Annotate(certificates_->Poll(), "--tls-cert-file, --tls-key-file, --client-ca-file"));
  YM_RETURN_IF_ERROR(Annotate(server_->Start(), StrCat("--bind-address ", options_.bind_address)));
  certificates_->Start(kCertificatePollMs);
  metrics::ExportServers(runtime_.registry(), {{"webhook", server_.get()}});
  return absl::OkStatus();
}

absl::Status Extender::Start(KubeAccess& access) {
  runtime_.health().AddReadiness("informers", [this] {
    return feed_.HasSynced() ? absl::OkStatus() : absl::UnavailableError("not synced yet");
  });
  runtime_.health().AddReadiness("view", [this] {
    return webhook_.ready() ? absl::OkStatus() : absl::UnavailableError("no pass made yet");
  });
  AddStalenessCheck(runtime_, access, feed_, options_.leader.enabled);
  YM_RETURN_IF_ERROR(runtime_.Serve());
  YM_RETURN_IF_ERROR(StartWebhook(access));
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs));
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  planner_thread_ = std::jthread([this](std::stop_token stop) { PlanLoop(stop); });
  runtime_.log().Info("serving", {{"address", options_.bind_address}, {"port", server_->port()}});
  return absl::OkStatus();
}

// The lease goes first, so that another replica leads while this one still answers calls; a pass
// that is under way writes nothing more.
void Extender::Stop() {
  planner_thread_.request_stop();
  leadership_.Stop();
  if (server_) {
    const absl::Status drained = server_->Drain(options_.drain_ms);
    if (!drained.ok()) runtime_.log().Warn("drain", {{"error", MessageOf(drained)}});
  }
  if (planner_thread_.joinable()) planner_thread_.join();
  feed_.Stop();
  if (certificates_) certificates_->Stop();
  if (server_) server_->Stop();
  if (bind_workers_) bind_workers_->StopNow();
}

}  // namespace

absl::Status RunExtender(const ExtenderOptions& options) {
  return RunProcess<Extender>("yardmaster-extender", options);
}

int ExtenderMain(int argc, char** argv) {
  ExtenderOptions options;
  options.leader.resource_name = "yardmaster-extender";
  CLI::App app("Places gangs and answers kube-scheduler.", "yardmaster-extender");
  AddCommonFlags(app, options.common);
  AddLeaderFlags(app, options.leader);
  app.set_version_flag("--version", YARDMASTER_VERSION);
  app.add_option("--bind-address", options.bind_address, "host:port of the webhook (TLS)")
      ->capture_default_str();
  app.add_option("--tls-cert-file", options.tls_cert_file, "certificate of the webhook, PEM")
      ->required();
  app.add_option("--tls-key-file", options.tls_key_file, "its key, PEM")->required();
  app.add_option("--client-ca-file", options.client_ca_file,
                 "authority of client certificates; empty: none are asked for");
  app.add_option("--client-names", options.client_names,
                 "common or DNS names of client certificates that may call, separated by commas; "
                 "*: every one that the authority vouches for")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--preemption,!--no-preemption", options.preemption,
               "stop gangs of lower priority for those that wait")
      ->capture_default_str();
  app.add_flag("--taint-promised-hosts,!--no-taint-promised-hosts", options.taint_promised_hosts,
               "keep the taint yardmaster.dev/promised on hosts promised to gangs")
      ->capture_default_str();
  app.add_flag("--avoid-contention,!--no-avoid-contention", options.avoid_contention,
               "among places that are equal otherwise, take the one at which jobs are predicted to "
               "wait least for each other's traffic")
      ->capture_default_str();
  app.add_option("--gate-timeout", options.gate_timeout_seconds,
                 "seconds that a gang may wait for a place; 0: for ever")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  app.add_option("--gate-timeout-action", options.gate_timeout_action,
                 "what becomes of its pods then: Release to the scheduler, or Fail")
      ->check(CLI::IsMember({"Release", "Fail"}))
      ->capture_default_str();
  app.add_option("--ready-timeout", options.ready_timeout_seconds,
                 "seconds in which a placed gang has to run in full; 0: for ever")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return ExitCodeOf("yardmaster-extender", RunExtender(options));
}

}  // namespace yardmaster::app
