#include "pkg/app/operator_app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/app/debounce.h"
#include "pkg/app/kube_access.h"
#include "pkg/app/run_process.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/work_queue.h"
#include "pkg/kube/events.h"
#include "pkg/operator/job_controller.h"
#include "pkg/operator/network_controller.h"
#include "pkg/state/world_feed.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kSyncTimeoutMs = 120'000;
constexpr std::int64_t kFollowerRetryMs = 2'000;
constexpr std::int64_t kErrorPauseMs = 1'000;
// Levels and ports are looked at this often even when nothing changed (path plans grow old).
constexpr std::int64_t kNetworkResyncMs = 60'000;

class Operator {
 public:
  Operator(const OperatorOptions& options, Runtime& runtime, Clients clients)
      : options_(options),
        runtime_(runtime),
        client_(std::move(clients.main)),
        events_client_(std::move(clients.events)),
        leadership_(options.leader, runtime),
        events_(*events_client_, {"yardmaster.dev/operator", runtime.identity()}, runtime.timing()),
        queue_(runtime.clock()),
        jobs_(*client_, cache_, runtime.clock(), [this](const op::JobNotice& n) { Tell(n); }),
        network_(*client_, cache_, runtime.clock(), {}),
        feed_(*client_, cache_,
              {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod,
               state::Kind::kTrainingJob, state::Kind::kGang},
              FeedHandlers(), runtime.timing()) {}

  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  state::WorldFeed::Handlers FeedHandlers();
  void Enqueue(state::Kind kind, const nlohmann::json& object);
  void EnqueueJobsOn(const std::string& node);
  void Tell(const op::JobNotice& notice);
  void JobLoop();
  void NetworkLoop(std::stop_token stop);
  void Report(const op::RoundReport& report, double seconds);

  const OperatorOptions& options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> events_client_;
  Leadership leadership_;
  kube::EventRecorder events_;
  state::WorldCache cache_;
  WorkQueue queue_;
  op::JobController jobs_;
  op::NetworkController network_;
  state::WorldFeed feed_;
  std::vector<std::jthread> workers_;
  std::jthread network_thread_;
};

state::WorldFeed::Handlers Operator::FeedHandlers() {
  state::WorldFeed::Handlers handlers;
  handlers.changed = [this](state::Kind kind, const nlohmann::json& object, bool) {
    Enqueue(kind, object);
  };
  LogFailures(runtime_, handlers);
  return handlers;
}

void Operator::Enqueue(state::Kind kind, const nlohmann::json& object) {
  const std::string ns = kube::NamespaceOf(object);
  if (kind == state::Kind::kTrainingJob) {
    queue_.Add(kube::KeyOf(object));
  } else if (kind == state::Kind::kPod) {
    const std::string job = kube::StringAt(object, {"metadata", "labels", api::kJobLabel});
    if (!job.empty()) queue_.Add(kube::MakeKey(ns, job));
  } else if (kind == state::Kind::kGang) {
    if (kube::StringAt(object, {"spec", "owner", "kind"}) == api::kTrainingJobKind) {
      queue_.Add(kube::MakeKey(ns, kube::StringAt(object, {"spec", "owner", "name"})));
    }
  } else if (kind == state::Kind::kNode) {
    const auto node = cache_.FindNode(kube::NameOf(object));
    if (node == nullptr || !node->ready.value_or(false)) EnqueueJobsOn(kube::NameOf(object));
  }
}

void Operator::EnqueueJobsOn(const std::string& node) {
  for (const auto& pod : cache_.Take().pods) {
    if (pod->node_name != node) continue;
    if (auto job = api::Find(pod->metadata.labels, api::kJobLabel)) {
      queue_.Add(kube::MakeKey(pod->metadata.namespace_name, *job));
    }
  }
}

void Operator::Tell(const op::JobNotice& notice) {
  kube::EventRecord event;
  event.regarding = {api::kGroupVersion, api::kTrainingJobKind, notice.namespace_name, notice.job,
                     notice.uid};
  event.type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal;
  event.reason = notice.reason;
  event.action = "Reconciling";
  event.note = notice.note;
  events_.Record(std::move(event));
  runtime_.log().Info(
      notice.reason,
      {{"namespace", notice.namespace_name}, {"job", notice.job}, {"note", notice.note}});
}

void Operator::JobLoop() {
  while (auto key = queue_.Get()) {
    if (!leadership_.IsLeader()) {
      queue_.AddAfter(*key, kFollowerRetryMs);
      queue_.Done(*key);
      continue;
    }
    const auto again = jobs_.Reconcile(*key);
    if (!again.ok()) {
      runtime_.log().Warn("reconcile", {{"job", *key}, {"error", MessageOf(again.status())}});
      queue_.AddRateLimited(*key);
    } else {
      queue_.Forget(*key);
      if (*again) queue_.AddAfter(*key, **again);
    }
    queue_.Done(*key);
  }
}

void Operator::Report(const op::RoundReport& report, double seconds) {
  metrics::Registry& registry = runtime_.registry();
  registry
      .GetHistogram("yardmaster_operator_network_plan_seconds",
                    "length of a network planning round", metrics::LatencyBuckets())
      .Observe(seconds);
  registry.GetGauge("yardmaster_operator_placed_gangs", "gangs with a network plan")
      .Set(report.gangs);
  registry
      .GetCounter("yardmaster_operator_annotated_pods_total", "pods whose annotations were written")
      .Increment(report.pods);
  registry.GetCounter("yardmaster_operator_write_errors_total", "writes to be made again")
      .Increment(static_cast<double>(report.errors.size()));
  for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
}

void Operator::NetworkLoop(std::stop_token stop) {
  Debounce debounce(options_.plan_min_delay_ms, options_.plan_max_delay_ms);
  std::uint64_t seen = 0;
  std::int64_t last_ms = 0;
  while (!stop.stop_requested()) {
    const std::int64_t wait_ms =
        debounce.Delay(runtime_.clock().SteadyMs()).value_or(kNetworkResyncMs);
    const std::uint64_t now_seen =
        cache_.WaitForChange(seen, std::max<std::int64_t>(1, wait_ms), stop);
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    if (now_seen != seen) debounce.Changed(now_ms);
    seen = now_seen;
    if (now_ms - last_ms >= kNetworkResyncMs) debounce.Changed(now_ms);
    if (debounce.Delay(now_ms).value_or(1) > 0 || stop.stop_requested()) continue;
    debounce.Acted();
    if (!leadership_.IsLeader()) {
      debounce.Changed(now_ms);  // to be looked at again once this process leads
      continue;
    }
    last_ms = now_ms;
    const op::RoundReport report = network_.Round();
    if (!report.errors.empty()) {
      debounce.Changed(runtime_.clock().SteadyMs() + kErrorPauseMs);
    }
    Report(report, static_cast<double>(runtime_.clock().SteadyMs() - now_ms) / 1000.0);
  }
}

absl::Status Operator::Start(KubeAccess& access) {
  runtime_.health().AddReadiness("informers", [this] {
    return feed_.HasSynced() ? absl::OkStatus() : absl::UnavailableError("not synced yet");
  });
  runtime_.registry().AddGaugeSource("workqueue_depth", "keys that wait", [this] {
    return std::vector<metrics::Sample>{
        {{{"name", "trainingjobs"}}, static_cast<double>(queue_.Depth())}};
  });
  YM_RETURN_IF_ERROR(runtime_.Serve());
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs));
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  for (int i = 0; i < options_.job_workers; ++i) workers_.emplace_back([this] { JobLoop(); });
  network_thread_ = std::jthread([this](std::stop_token stop) { NetworkLoop(stop); });
  runtime_.log().Info("running");
  return absl::OkStatus();
}

void Operator::Stop() {
  feed_.Stop();
  queue_.ShutDown();
  workers_.clear();
  network_thread_.request_stop();
  if (network_thread_.joinable()) network_thread_.join();
  leadership_.Stop();
}

}  // namespace

absl::Status RunOperator(const OperatorOptions& options) {
  return RunProcess<Operator>("yardmaster-operator", options);
}

int OperatorMain(int argc, char** argv) {
  OperatorOptions options;
  options.leader.resource_name = "yardmaster-operator";
  CLI::App app("Runs TrainingJobs and plans their network.", "yardmaster-operator");
  AddCommonFlags(app, options.common);
  AddLeaderFlags(app, options.leader);
  app.set_version_flag("--version", YARDMASTER_VERSION);
  app.add_option("--job-workers", options.job_workers, "TrainingJobs worked on at once")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--plan-min-delay-ms", options.plan_min_delay_ms,
                 "quiet time before the network is planned")
      ->capture_default_str();
  app.add_option("--plan-max-delay-ms", options.plan_max_delay_ms,
                 "longest wait under constant change")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = RunOperator(options);
  if (status.ok()) return 0;
  std::cerr << "yardmaster-operator: " << status.message() << "\n";
  return 1;
}

}  // namespace yardmaster::app
