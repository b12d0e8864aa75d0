#include "pkg/app/extender_app.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "pkg/app/announce.h"
#include "pkg/app/kube_access.h"
#include "pkg/app/leadership.h"
#include "pkg/app/round_schedule.h"
#include "pkg/app/run_process.h"
#include "pkg/app/runtime.h"
#include "pkg/app/staleness.h"
#include "pkg/app/tracing.h"
#include "pkg/base/run_once.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/pass_metrics.h"
#include "pkg/extender/observe/observe_metrics.h"
#include "pkg/extender/observe/observer.h"
#include "pkg/extender/webhook/binder.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/kube/events.h"
#include "pkg/metrics/loop.h"
#include "pkg/state/cluster_feed.h"
#include "pkg/trace/placement_tracer.h"

namespace yardmaster::app {

namespace {

extender::ClusterPlanner::Options WithFenceClient(extender::ClusterPlanner::Options options,
                                                  kube::Client& client) {
  options.ledger.fence_client = &client;
  return options;
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
               state::Kind::kTrainingJob, state::Kind::kGang, state::Kind::kDeviceClass},
              LogFailures(runtime), runtime.timing()),
        planner_(
            *client_, cache_, runtime.clock(),
            // A process that only observes makes passes as one that does not lead.
            {[this] { return options_.common.observes ? 0 : leadership_.FencingToken(); },
             [this](std::int64_t token) { leadership_.RequireTokenAbove(token); }},
            [this](std::shared_ptr<const extender::View> view) {
              webhook_.Publish(std::move(view));
            },
            [this](const extender::ObjectNotice& notice) {
              if (!options_.common.observes) RecordEvent(notice);
            },
            WithFenceClient(options.planner, *fence_client_)) {}

  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  // What a pass was made from.
  struct Seen {
    std::uint64_t version = 0;  // of the cache
    std::int64_t token = 0;
    bool operator==(const Seen&) const = default;
  };

  void RecordEvent(const extender::ObjectNotice& notice);
  RunResult RunOnce(RoundSchedule& schedule);
  void PlanLoop(std::stop_token stop);
  void ObserveLoop(std::stop_token stop);
  bool WaitForPass(RoundSchedule& schedule, Seen& seen, std::stop_token stop);
  void LogPass(const extender::PassReport& report);
  void TracePass(const trace::PassTimes& pass);

  const ExtenderOptions& options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> events_client_;
  std::unique_ptr<kube::Client> fence_client_;
  Leadership leadership_;
  kube::EventRecorder events_;
  state::ClusterCache cache_{state::Templates::kDrop};
  extender::Webhook webhook_{{.passes_all = options_.common.observes,
                              .gated_only = options_.planner.ungated == gather::Ungated::kLeave}};
  extender::Binder binder_{*client_};
  state::ClusterFeed feed_;
  extender::ClusterPlanner planner_;
  WebhookServer server_{options_.webhook, webhook_, binder_, runtime_};
  std::set<std::string> logged_;  // problems that the log has, planner thread only
  int failed_passes_ = 0;         // in a row whose writes failed, planner thread only
  extender::PassMetrics pass_metrics_{runtime_.registry()};  // planner thread only
  Tracing tracing_{options_.traces, "yardmaster-extender", runtime_};
  trace::PlacementTracer tracer_;  // planner thread only
  metrics::Loop loop_{"passes", runtime_.registry(), runtime_.log()};
  std::jthread planner_thread_;
  std::jthread observer_thread_;
};

void Extender::RecordEvent(const extender::ObjectNotice& notice) {
  Announce(
      kube::ObjectReference{notice.regarding.api_version, notice.regarding.kind,
                            notice.namespace_name, notice.regarding.name, notice.regarding.uid},
      notice, "Placing", events_, runtime_.log());
}

// Failed writes, and problems of objects that the log does not have yet.
void Extender::LogPass(const extender::PassReport& report) {
  for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
  std::set<std::string> problems(report.problems.begin(), report.problems.end());
  for (const std::string& problem : problems) {
    if (logged_.count(problem) == 0) runtime_.log().Warn("input", {{"problem", problem}});
  }
  logged_ = std::move(problems);
}

// What the last pass has placed, which the cache holds already.
void Extender::TracePass(const trace::PassTimes& pass) {
  if (!tracing_.on()) return;
  const absl::Status traced = Contain([&] {
    if (leadership_.IsLeader() && !options_.common.observes) {
      tracing_.Offer(tracer_.Look(cache_.Take(), pass));
    } else {
      tracer_.Forget();
    }
    return absl::OkStatus();
  });
  if (!traced.ok()) runtime_.log().Warn("trace", {{"error", MessageOf(traced)}});
}

// A pass costs more in a large cluster, where more changes, too: a pause as long as the pass keeps
// the planner to half a core under constant change.
RoundTimes PassTimes(const ExtenderOptions& options) {
  return {.quiet_ms = options.min_pass_ms,
          .max_delay_ms = options.min_pass_ms,
          .resync_ms = options.max_pass_ms,
          .pause_share = 1,
          .max_pause_ms = 500};
}

// After `failures` passes in a row whose writes failed.
std::int64_t RetryMs(const ExtenderOptions& options, int failures) {
  constexpr std::int64_t kLongestRetryMs = 5'000;
  return std::min(kLongestRetryMs, options.min_pass_ms * 10 << std::clamp(failures - 1, 0, 10));
}

// Waits until a pass is due. False when stopped.
bool Extender::WaitForPass(RoundSchedule& schedule, Seen& seen, std::stop_token stop) {
  constexpr std::int64_t kSliceMs = 200;  // the lease does not wake a waiter of the cache
  while (!stop.stop_requested()) {
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    const Seen now{cache_.version(), leadership_.FencingToken()};
    if (now != seen) schedule.Changed(now_ms);
    seen = now;
    const std::int64_t wait_ms = std::min(kSliceMs, schedule.WaitMs(now_ms));
    if (wait_ms == 0) return true;
    if (schedule.has_changes()) {  // more of them do not move the pass
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    } else {
      cache_.WaitForChange(seen.version, wait_ms, stop);
    }
  }
  return false;
}

// One pass, and when the next one is due.
RunResult Extender::RunOnce(RoundSchedule& schedule) {
  const std::int64_t began_ms = runtime_.clock().SteadyMs();
  const std::int64_t began_wall_ms = runtime_.clock().WallMs();
  const extender::PassReport report = planner_.RunOnce();
  const std::int64_t ended_ms = runtime_.clock().SteadyMs();
  schedule.End(ended_ms, report.waited_ms);
  failed_passes_ = report.errors.empty() ? 0 : failed_passes_ + 1;
  if (failed_passes_ > 0 || report.more_to_do) {
    schedule.RequestAt(ended_ms + RetryMs(options_, failed_passes_));
  }
  schedule.RequestAt(ended_ms + std::min(options_.max_pass_ms, report.wake_in_ms));
  if (report.run_again_now) {
    schedule.RequestAt(ended_ms);
    schedule.SkipPause();
  }
  pass_metrics_.Report(report, static_cast<double>(ended_ms - began_ms) / 1000.0);
  LogPass(report);
  TracePass({began_wall_ms, runtime_.clock().WallMs()});
  return {.done = 1};
}

void Extender::PlanLoop(std::stop_token stop) {
  RoundSchedule schedule(PassTimes(options_));
  Seen seen;
  while (WaitForPass(schedule, seen, stop)) {
    schedule.Begin(runtime_.clock().SteadyMs());
    const RunResult result = loop_.RunOnce([&] { return RunOnce(schedule); });
    schedule.Take(result, runtime_.clock().SteadyMs());
  }
}

// Of what the leader sees, so that a sum over the replicas is right.
void Extender::ObserveLoop(std::stop_token stop) {
  constexpr int kComparisons = 8;          // of one look, each as long as a plan
  constexpr std::int64_t kSoonMs = 1'000;  // where gangs are left to compare
  constexpr std::int64_t kSliceMs = 100;
  extender::Observer observer(kComparisons);
  metrics::Loop loop("observe", runtime_.registry(), runtime_.log());
  std::int64_t next_ms = 0;
  std::set<std::string> logged;
  while (!stop.stop_requested()) {
    if (runtime_.clock().SteadyMs() < next_ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kSliceMs));
      continue;
    }
    bool has_more = false;
    loop.RunOnce([&]() -> RunResult {
      extender::Observation seen;  // nothing, of a replica that does not lead
      if (leadership_.IsLeader()) {
        seen = observer.Observe(cache_.Take());
        has_more = observer.has_more();
      }
      extender::ReportObservation(seen, runtime_.registry());
      std::set<std::string> notes(seen.notes.begin(), seen.notes.end());
      for (const std::string& note : notes) {
        if (logged.count(note) == 0) runtime_.log().Info("observe", {{"note", note}});
      }
      logged = std::move(notes);
      return {.done = 1};
    });
    next_ms = runtime_.clock().SteadyMs() + (has_more ? kSoonMs : options_.observe_ms);
  }
}

absl::Status Extender::Start(KubeAccess& access) {
  runtime_.health().AddReadiness("informers", [this] {
    return feed_.HasSynced() ? absl::OkStatus() : absl::UnavailableError("not synced yet");
  });
  runtime_.health().AddReadiness("view", [this] {
    return webhook_.ready() ? absl::OkStatus() : absl::UnavailableError("no pass made yet");
  });
  CountDroppedEvents(events_, runtime_.registry());
  AddStalenessCheck(runtime_, access, feed_, options_.leader.enabled);
  YM_RETURN_IF_ERROR(runtime_.Serve());
  // A replica that is cut off does not know what others promise meanwhile.
  YM_RETURN_IF_ERROR(server_.Start([this, &access] {
    if (!options_.leader.enabled) return absl::OkStatus();
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    return CheckStaleness({access.LastAnswerMs(), now_ms}, StalenessLimits{}, now_ms);
  }));
  YM_RETURN_IF_ERROR(tracing_.Start());
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs, runtime_.stopping()));
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  planner_thread_ = std::jthread([this](std::stop_token stop) { PlanLoop(stop); });
  if (options_.common.observes) {
    observer_thread_ = std::jthread([this](std::stop_token stop) { ObserveLoop(stop); });
  }
  runtime_.log().Info("serving", {{"address", options_.webhook.bind_address},
                                  {"port", server_.port()},
                                  {"gatePort", server_.gate_port()}});
  return absl::OkStatus();
}

// The lease goes first, so that another replica leads while this one still answers calls; a pass
// that is under way writes nothing more. Passes go on, so that the last calls are answered from
// what is true then.
void Extender::Stop() {
  leadership_.Stop();
  const absl::Status drained = server_.Drain(options_.drain_ms);
  if (!drained.ok()) runtime_.log().Warn("drain", {{"error", MessageOf(drained)}});
  planner_thread_.request_stop();
  observer_thread_.request_stop();
  if (planner_thread_.joinable()) planner_thread_.join();
  if (observer_thread_.joinable()) observer_thread_.join();
  tracing_.Stop();
  feed_.Stop();
  server_.Stop();
}

}  // namespace

absl::Status RunExtender(const ExtenderOptions& options) {
  return RunProcess<Extender>("yardmaster-extender", options);
}

}  // namespace yardmaster::app
