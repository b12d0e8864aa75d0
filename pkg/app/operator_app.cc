#include "pkg/app/operator_app.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/app/announce.h"
#include "pkg/app/kube_access.h"
#include "pkg/app/leadership.h"
#include "pkg/app/page_publisher.h"
#include "pkg/app/report_intake.h"
#include "pkg/app/round_schedule.h"
#include "pkg/app/run_process.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/work_queue.h"
#include "pkg/kube/events.h"
#include "pkg/operator/capacity_controller.h"
#include "pkg/operator/capacity_metrics.h"
#include "pkg/operator/host_marker.h"
#include "pkg/operator/job_controller.h"
#include "pkg/operator/jobs_by_host.h"
#include "pkg/operator/network_controller.h"
#include "pkg/operator/network_metrics.h"
#include "pkg/operator/node_observer.h"
#include "pkg/operator/plan_waiters.h"
#include "pkg/page/load_metrics.h"
#include "pkg/page/network_picture.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kFollowerRetryMs = 2'000;
constexpr std::int64_t kErrorPauseMs = 1'000;
// Reports over the agents' streams do not wake the thread that waits for the cache: it looks this often.
constexpr std::int64_t kLiveLinksPollMs = 50;
// Levels and ports are looked at this often even when nothing changed (path plans grow old).
constexpr std::int64_t kNetworkResyncMs = 60'000;
// Network annotations that the write limit defers go out this often.
constexpr std::int64_t kDeferredWritesMs = 250;
// Pods that wait for their first plan get it after this time although other objects go on changing.
constexpr std::int64_t kWaitingPodsMs = 100;
// Marks of hosts follow a change after this time, and are looked at this often without one.
constexpr std::int64_t kHostMinDelayMs = 1'000;
constexpr std::int64_t kHostResyncMs = 60'000;
// NodeClaims of jobs that are gone are looked for this often.
constexpr std::int64_t kSweepMs = 60'000;

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
        hosts_(options.host_loss),
        marker_(*client_, cache_, options.hosts, [this](const op::HostNotice& n) { TellHost(n); }),
        jobs_(
            *client_, cache_, hosts_, marker_, runtime.clock(),
            [this](const op::JobNotice& n) { Tell(n); }, [this] { return leadership_.IsLeader(); }),
        capacity_(
            *client_, cache_, hosts_, runtime.clock(), [this](const op::JobNotice& n) { Tell(n); },
            [this] { return leadership_.IsLeader(); }),
        page_(cache_, runtime),
        reports_(options.reports, options.reports_account, leadership_, runtime),
        certificates_(options.certificates, leadership_, events_, runtime),
        network_(*client_, cache_, runtime.clock(), WithSources(options.network),
                 {.on_notice = [this](const op::NetworkNotice& n) { TellNetwork(n); },
                  .on_plan = PlanObserver()}),
        feed_(*client_, cache_,
              {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod,
               state::Kind::kTrainingJob, state::Kind::kGang, state::Kind::kCapacityPool},
              FeedHandlers(), runtime.timing()) {
    cache_.Listen([this](state::Kind kind, const api::ObjectMeta& metadata, bool) {
      Enqueue(kind, metadata);
    });
  }

  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  state::ClusterFeed::Handlers FeedHandlers();
  op::PlanHandler PlanObserver();
  op::NetworkController::Options WithSources(op::NetworkController::Options options) {
    options.live_links = &reports_.links();
    options.hosts = &hosts_;
    return options;
  }
  void Enqueue(state::Kind kind, const api::ObjectMeta& metadata);
  void NotePod(const std::string& key);
  void NoteGang(const std::string& key);
  void Tell(const op::JobNotice& notice);
  void TellNetwork(const op::NetworkNotice& notice);
  void TellHost(const op::HostNotice& notice);
  absl::Status Reconcile(const std::string& key, op::JobTurn turn);
  void SweepCapacity(std::int64_t now_ms);
  void JobLoop();
  void HostLoop(std::stop_token stop);
  void NetworkLoop(std::stop_token stop);
  void WriteDeferred(RoundSchedule& schedule);
  void TellProblems(const std::vector<std::string>& problems);

  const OperatorOptions& options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> events_client_;
  Leadership leadership_;
  kube::EventRecorder events_;
  state::ClusterCache cache_;
  WorkQueue queue_;
  op::HostHealth hosts_;
  op::JobsByHost jobs_by_host_;
  op::HostMarker marker_;
  op::JobController jobs_;
  op::CapacityController capacity_;
  std::int64_t next_sweep_ms_ = 0;  // the host thread's
  PagePublisher page_;
  ReportIntake reports_;
  CertificateRenewal certificates_;
  op::NetworkController network_;
  op::PlanWaiters waiters_;
  state::ClusterFeed feed_;
  std::set<std::string> told_problems_;  // the network thread's
  std::vector<std::jthread> workers_;
  std::jthread network_thread_;
  std::jthread host_thread_;
};

state::ClusterFeed::Handlers Operator::FeedHandlers() {
  state::ClusterFeed::Handlers handlers;
  LogFailures(runtime_, handlers);
  return handlers;
}

op::PlanHandler Operator::PlanObserver() {
  return [this](const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot) {
    auto picture = std::make_shared<const page::NetworkPicture>(page::PictureOf(plan, snapshot));
    page::ExportLoads(*picture, runtime_.registry());
    if (!options_.page_address.empty()) page_.SetPicture(std::move(picture));
  };
}

void Operator::NotePod(const std::string& key) {
  const auto pod = cache_.FindPod(key);
  jobs_by_host_.Update(key, pod.get());
  if (pod == nullptr) return;
  waiters_.NotePod(*pod, [this](const std::string& gang) { return cache_.FindGang(gang); });
}

void Operator::NoteGang(const std::string& key) {
  const auto gang = cache_.FindGang(key);
  waiters_.NoteGang(key, gang.get());
}

void Operator::Enqueue(state::Kind kind, const api::ObjectMeta& metadata) {
  const std::string& ns = metadata.namespace_name;
  switch (kind) {
    case state::Kind::kTrainingJob:
      return queue_.Add(kube::MakeKey(ns, metadata.name));
    case state::Kind::kPod:
      NotePod(kube::MakeKey(ns, metadata.name));
      if (const auto job = api::Find(metadata.labels, api::kJobLabel)) {
        queue_.Add(kube::MakeKey(ns, *job));
      }
      return;
    case state::Kind::kGang:
      NoteGang(kube::MakeKey(ns, metadata.name));
      for (const api::OwnerReference& owner : metadata.owners) {
        if (owner.kind == api::kTrainingJobKind) queue_.Add(kube::MakeKey(ns, owner.name));
      }
      return;
    case state::Kind::kNode:
      if (op::ObserveNode(cache_, options_.hosts.faults, metadata.name, runtime_.clock().SteadyMs(),
                          hosts_)) {
        for (const std::string& job : jobs_by_host_.On(metadata.name)) queue_.Add(job);
      }
      return;
    case state::Kind::kCapacityPool:
      for (const std::string& job : capacity_.Keys()) queue_.Add(job);
      return;
    case state::Kind::kFabric:
      // A segment may be lost, or back; hosts that are well do not change with it.
      for (const std::string& host : hosts_.HostsOfLostSegments()) {
        for (const std::string& job : jobs_by_host_.On(host)) queue_.Add(job);
      }
      return;
  }
}

void Operator::Tell(const op::JobNotice& notice) {
  Announce({.regarding = {api::kGroupVersion, api::kTrainingJobKind, notice.namespace_name,
                          notice.job, notice.uid},
            .type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
            .reason = notice.reason,
            .action = "Reconciling",
            .note = notice.note},
           events_, runtime_.log());
}

void Operator::TellNetwork(const op::NetworkNotice& notice) {
  Announce({.regarding = {api::kGroupVersion, notice.kind, notice.namespace_name, notice.name,
                          notice.uid},
            .type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
            .reason = notice.reason,
            .action = "PlanningNetwork",
            .note = notice.note},
           events_, runtime_.log());
  if (notice.kind != api::kFabricKind || options_.page_address.empty()) return;
  page_.Note({runtime_.clock().WallMs(), notice.warning, StrCat("fabric/", notice.name),
              StrCat(notice.reason, ": ", notice.note)});
}

void Operator::TellHost(const op::HostNotice& notice) {
  Announce({.regarding = {"v1", "Node", "", notice.host, notice.uid},
            .type = notice.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
            .reason = notice.reason,
            .action = "MarkingHost",
            .note = notice.note},
           events_, runtime_.log());
}

// What is rented is decided first: it says whether the job may have pods.
absl::Status Operator::Reconcile(const std::string& key, op::JobTurn turn) {
  const auto capacity = capacity_.Reconcile(key);
  const auto job = jobs_.Run(key, turn);
  YM_RETURN_IF_ERROR(job.status());
  // Pods are made even where hosts cannot be rented.
  if (job->pods_left > 0) queue_.AddBackground(key, op::BackgroundDueMs(job->pods_left));
  YM_RETURN_IF_ERROR(capacity.status());
  // A job whose pods are refused is tried less and less often.
  if (job->pods_left == 0) queue_.Forget(key);
  if (*capacity) queue_.AddAfter(key, **capacity);
  if (job->look_again_ms) queue_.AddAfter(key, *job->look_again_ms);
  return absl::OkStatus();
}

void Operator::JobLoop() {
  bool background = false;
  while (auto key = queue_.Get(&background)) {
    if (!leadership_.IsLeader()) {
      hosts_.Restart(runtime_.clock().SteadyMs());
      queue_.AddAfter(*key, kFollowerRetryMs);
      queue_.Done(*key);
      continue;
    }
    const absl::Status done =
        Reconcile(*key, background ? op::JobTurn::kBackground : op::JobTurn::kPrompt);
    if (!done.ok()) {
      runtime_.log().Warn("reconcile", {{"job", *key}, {"error", MessageOf(done)}});
      queue_.AddRateLimited(*key);
    }
    queue_.Done(*key);
  }
}

// Each input problem is logged when it begins, not with every round.
void Operator::TellProblems(const std::vector<std::string>& problems) {
  std::set<std::string> now(problems.begin(), problems.end());
  for (const std::string& problem : now) {
    if (told_problems_.count(problem) == 0) runtime_.log().Warn("input", {{"problem", problem}});
  }
  told_problems_ = std::move(now);
}

void Operator::SweepCapacity(std::int64_t now_ms) {
  if (now_ms < next_sweep_ms_) return;
  next_sweep_ms_ = now_ms + kSweepMs;
  const absl::Status swept = capacity_.Sweep();
  if (!swept.ok()) runtime_.log().Warn("sweep", {{"error", MessageOf(swept)}});
}

void Operator::HostLoop(std::stop_token stop) {
  const metrics::Gauge quarantined = runtime_.registry().GetGauge(
      "yardmaster_operator_quarantined_hosts", "hosts that are quarantined for worker failures");
  const metrics::Gauge fenced = runtime_.registry().GetGauge(
      "yardmaster_operator_fenced_hosts", "lost hosts with the operator's out-of-service taint");
  RoundSchedule schedule(
      {.quiet_ms = kHostMinDelayMs, .max_delay_ms = kHostMinDelayMs, .resync_ms = kHostResyncMs});
  std::uint64_t seen = 0;
  while (!stop.stop_requested()) {
    const std::int64_t wait_ms = schedule.WaitMs(runtime_.clock().SteadyMs());
    const std::uint64_t now_seen =
        cache_.WaitForChange(seen, std::max<std::int64_t>(1, wait_ms), stop);
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    if (now_seen != seen) schedule.Changed(now_ms);
    seen = now_seen;
    if (schedule.WaitMs(now_ms) > 0 || stop.stop_requested()) continue;
    schedule.Begin(now_ms);
    if (!leadership_.IsLeader()) {
      schedule.Again(now_ms + kFollowerRetryMs);
      continue;
    }
    SweepCapacity(now_ms);
    const op::HostMarker::Report report = marker_.Round(runtime_.clock().WallMs());
    quarantined.Set(report.quarantined);
    fenced.Set(report.fenced);
    if (!report.errors.empty()) schedule.Again(now_ms + kErrorPauseMs);
    if (report.again_ms >= 0) schedule.Again(now_ms + report.again_ms);
    for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
  }
}

void Operator::WriteDeferred(RoundSchedule& schedule) {
  if (!network_.HasDeferred()) return;
  if (!leadership_.IsLeader()) return network_.Forget();
  const op::WriteResult written = network_.WriteDeferred();
  op::ReportWrites(written, runtime_.registry());
  if (written.errors.empty()) return;
  schedule.Again(runtime_.clock().SteadyMs() + kErrorPauseMs);
  for (const std::string& error : written.errors) runtime_.log().Warn("write", {{"error", error}});
}

void Operator::NetworkLoop(std::stop_token stop) {
  RoundSchedule schedule({.quiet_ms = options_.plan_min_delay_ms,
                          .max_delay_ms = options_.plan_max_delay_ms,
                          .resync_ms = kNetworkResyncMs});
  std::uint64_t seen = 0, seen_links = 0;
  op::PlanWaiters::Counts seen_waiting;
  std::int64_t write_at_ms = 0;  // of deferred writes
  const auto write_later = [&] {
    const std::int64_t pause_ms = network_.HasWaiting() ? 0 : kDeferredWritesMs;
    write_at_ms = runtime_.clock().SteadyMs() + pause_ms;
  };
  while (!stop.stop_requested()) {
    std::int64_t wait_ms = schedule.WaitMs(runtime_.clock().SteadyMs());
    if (reports_.serves()) wait_ms = std::min(wait_ms, kLiveLinksPollMs);
    if (network_.HasDeferred()) {
      wait_ms = std::min(wait_ms, write_at_ms - runtime_.clock().SteadyMs());
    }
    const std::uint64_t now_seen =
        cache_.WaitForChange(seen, std::max<std::int64_t>(1, wait_ms), stop);
    const std::uint64_t links_seen = reports_.links().version();
    const op::PlanWaiters::Counts waiting_seen = waiters_.counts();
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    if (now_seen != seen) schedule.Changed(now_ms);
    // Traffic stands still.
    if (links_seen != seen_links || waiting_seen.standing_still != seen_waiting.standing_still) {
      schedule.Urgent(now_ms);
    }
    if (waiting_seen != seen_waiting) schedule.Again(now_ms + kWaitingPodsMs);
    seen = now_seen;
    seen_links = links_seen;
    seen_waiting = waiting_seen;
    if (stop.stop_requested()) continue;
    if (schedule.WaitMs(now_ms) > 0) {
      if (now_ms < write_at_ms) continue;
      WriteDeferred(schedule);
      write_later();
      continue;
    }
    schedule.Begin(now_ms);
    if (!leadership_.IsLeader()) {
      network_.Forget();  // another process writes meanwhile
      page_.SetPicture(nullptr);
      schedule.Again(now_ms + kFollowerRetryMs);  // this process may lead by then
      continue;
    }
    const op::RoundReport report = network_.Round();
    const std::int64_t end_ms = runtime_.clock().SteadyMs();
    schedule.End(end_ms, report.waited_ms);
    write_later();
    if (!report.errors.empty()) schedule.Again(end_ms + kErrorPauseMs);
    if (report.again_in_ms >= 0) schedule.Again(end_ms + report.again_in_ms);
    op::ReportRound(report, static_cast<double>(end_ms - now_ms) / 1000.0, runtime_.registry());
    for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
    TellProblems(report.problems);
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
  runtime_.registry().AddCounterSource(
      "yardmaster_operator_lost_gpu_seconds_total",
      "GPU seconds of repeated work and of waiting that incidents have cost", [this] {
        std::vector<metrics::Sample> out;
        for (const auto& [cause, seconds] : jobs_.lost_gpu_seconds()) {
          out.push_back({{{"cause", cause}}, seconds});
        }
        return out;
      });
  op::AddCapacityMetrics(capacity_, runtime_.registry());
  CountDroppedEvents(events_, runtime_.registry());
  AddStalenessCheck(runtime_, access, feed_, options_.leader.enabled);
  YM_RETURN_IF_ERROR(runtime_.Serve());
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs));
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  if (!options_.page_address.empty()) YM_RETURN_IF_ERROR(page_.Start(options_.page_address));
  YM_RETURN_IF_ERROR(certificates_.Start(access));
  YM_RETURN_IF_ERROR(reports_.Start(access));
  for (int i = 0; i < options_.job_workers; ++i) workers_.emplace_back([this] { JobLoop(); });
  network_thread_ = std::jthread([this](std::stop_token stop) { NetworkLoop(stop); });
  host_thread_ = std::jthread([this](std::stop_token stop) { HostLoop(stop); });
  runtime_.log().Info("running");
  return absl::OkStatus();
}

// The lease goes first, so that another replica need not wait for what ends here.
void Operator::Stop() {
  leadership_.Stop();
  certificates_.Stop();
  reports_.Stop();
  feed_.Stop();
  queue_.ShutDown();
  workers_.clear();
  network_thread_.request_stop();
  host_thread_.request_stop();
  if (network_thread_.joinable()) network_thread_.join();
  if (host_thread_.joinable()) host_thread_.join();
  page_.Stop();
}

}  // namespace

absl::Status RunOperator(const OperatorOptions& options) {
  return RunProcess<Operator>("yardmaster-operator", options);
}

}  // namespace yardmaster::app
