#include "pkg/app/operator_app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
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
#include "pkg/app/load_metrics.h"
#include "pkg/app/page_publisher.h"
#include "pkg/app/round_schedule.h"
#include "pkg/app/run_process.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/work_queue.h"
#include "pkg/kube/events.h"
#include "pkg/operator/capacity_controller.h"
#include "pkg/operator/host_marker.h"
#include "pkg/operator/job_controller.h"
#include "pkg/operator/jobs_by_host.h"
#include "pkg/operator/live_links.h"
#include "pkg/operator/network_controller.h"
#include "pkg/operator/network_metrics.h"
#include "pkg/operator/node_token.h"
#include "pkg/page/network_picture.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kSyncTimeoutMs = 120'000;
constexpr std::int64_t kFollowerRetryMs = 2'000;
constexpr std::int64_t kErrorPauseMs = 1'000;
constexpr std::int64_t kLeaderPollMs = 200;
// What agents say over their streams does not wake whoever waits for the cache.
constexpr std::int64_t kLiveLinksPollMs = 50;
// Levels and ports are looked at this often even when nothing changed (path plans grow old).
constexpr std::int64_t kNetworkResyncMs = 60'000;
// Network annotations that the write limit defers go out this often.
constexpr std::int64_t kDeferredWritesMs = 250;
// Marks of hosts follow a change after this time, and are looked at this often without one.
constexpr std::int64_t kHostMinDelayMs = 1'000;
constexpr std::int64_t kHostResyncMs = 60'000;
constexpr char kReportsAudience[] = "yardmaster.dev/reports";
// Agents that connect all at once, after a change of the leader, are looked up at this rate.
constexpr ClientLimits kReviewLimits{.qps = 500, .burst = 1'000};
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
        jobs_(*client_, cache_, hosts_, marker_, runtime.clock(),
              [this](const op::JobNotice& n) { Tell(n); }),
        capacity_(*client_, cache_, hosts_, options.hosts.faults, runtime.clock(),
                  [this](const op::JobNotice& n) { Tell(n); }),
        page_(cache_, runtime),
        network_(*client_, cache_, runtime.clock(), WithLiveLinks(options.network),
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
  op::NetworkController::Options WithLiveLinks(op::NetworkController::Options options) const {
    options.live_links = &live_links_;
    return options;
  }
  absl::Status StartReports(KubeAccess& access);
  void ServeReports(const std::stop_token& stop);
  void Enqueue(state::Kind kind, const api::ObjectMeta& metadata);
  void Tell(const op::JobNotice& notice);
  void TellNetwork(const op::NetworkNotice& notice);
  void TellHost(const op::HostNotice& notice);
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);
  void AddCapacityMetrics();
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
  op::LiveLinks live_links_;
  op::NetworkController network_;
  state::ClusterFeed feed_;
  std::set<std::string> told_problems_;  // the network thread's
  std::vector<std::jthread> workers_;
  std::jthread network_thread_;
  std::jthread host_thread_;
  std::unique_ptr<kube::Client> review_client_;
  std::unique_ptr<op::NodeToken> node_tokens_;
  std::unique_ptr<rpc::ReportServer> reports_;
  std::jthread reports_thread_;
};

void AddReportMetrics(metrics::Registry& registry, const rpc::ReportServer& server) {
  const auto one = [](std::int64_t value) {
    return std::vector<metrics::Sample>{{{}, static_cast<double>(value)}};
  };
  registry.AddGaugeSource("yardmaster_operator_agent_streams", "agents that report over a stream",
                          [&server, one] { return one(server.stats().streams); });
  registry.AddCounterSource("yardmaster_operator_agent_reports_total", "reports over streams",
                            [&server, one] { return one(server.stats().reports); });
  registry.AddCounterSource("yardmaster_operator_agent_streams_refused_total",
                            "streams ended for who their agent is or what it sent",
                            [&server, one] { return one(server.stats().refused); });
}

state::ClusterFeed::Handlers Operator::FeedHandlers() {
  state::ClusterFeed::Handlers handlers;
  LogFailures(runtime_, handlers);
  return handlers;
}

op::PlanHandler Operator::PlanObserver() {
  return [this](const plan::Plan& plan, const plan::Snapshot& snapshot) {
    auto picture = std::make_shared<const page::NetworkPicture>(page::PictureOf(plan, snapshot));
    ExportLoads(*picture, runtime_.registry());
    if (!options_.page_address.empty()) page_.SetPicture(std::move(picture));
  };
}

void Operator::Enqueue(state::Kind kind, const api::ObjectMeta& metadata) {
  const std::string& ns = metadata.namespace_name;
  switch (kind) {
    case state::Kind::kTrainingJob:
      return queue_.Add(kube::MakeKey(ns, metadata.name));
    case state::Kind::kPod:
      jobs_by_host_.Update(kube::MakeKey(ns, metadata.name),
                           cache_.FindPod(kube::MakeKey(ns, metadata.name)).get());
      if (const auto job = api::Find(metadata.labels, api::kJobLabel)) {
        queue_.Add(kube::MakeKey(ns, *job));
      }
      return;
    case state::Kind::kGang:
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
absl::StatusOr<std::optional<std::int64_t>> Operator::Reconcile(const std::string& key) {
  const auto capacity = capacity_.Reconcile(key);
  auto job = jobs_.Reconcile(key);
  // Pods are looked after whatever keeps hosts from being rented.
  if (!job.ok() || !capacity.ok()) return job.ok() ? capacity : job;
  if (*capacity && (!*job || **capacity < **job)) return capacity;
  return job;
}

void Operator::JobLoop() {
  while (auto key = queue_.Get()) {
    if (!leadership_.IsLeader()) {
      hosts_.Restart(runtime_.clock().SteadyMs());
      queue_.AddAfter(*key, kFollowerRetryMs);
      queue_.Done(*key);
      continue;
    }
    const auto again = Reconcile(*key);
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

// Each input problem is told when it begins, not with every round.
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

void Operator::AddCapacityMetrics() {
  const auto of_pools = [this](auto value) {
    return [this, value] {
      std::vector<metrics::Sample> out;
      for (const op::PoolUse& use : capacity_.Uses()) {
        out.push_back({{{"pool", use.pool}, {"type", use.type}, {"currency", use.currency}},
                       static_cast<double>(value(use))});
      }
      return out;
    };
  };
  metrics::Registry& registry = runtime_.registry();
  registry.AddGaugeSource("yardmaster_operator_rented_hosts",
                          "rented hosts that exist, by pool and contract",
                          of_pools([](const op::PoolUse& use) { return use.provided; }));
  registry.AddGaugeSource("yardmaster_operator_requested_hosts",
                          "hosts that are rented or asked for, by pool and contract",
                          of_pools([](const op::PoolUse& use) { return use.chosen; }));
  registry.AddGaugeSource("yardmaster_operator_rented_cost_per_hour",
                          "what the rented hosts that exist cost per hour, by pool and contract",
                          of_pools([](const op::PoolUse& use) { return use.cost_per_hour; }));
  registry.AddCounterSource("yardmaster_operator_rentals_ended_total",
                            "rentals that were left, by reason", [this] {
                              std::vector<metrics::Sample> out;
                              for (const auto& [reason, count] : capacity_.ends()) {
                                out.push_back({{{"reason", reason}}, count});
                              }
                              return out;
                            });
}

void Operator::HostLoop(std::stop_token stop) {
  const metrics::Gauge quarantined = runtime_.registry().GetGauge(
      "yardmaster_operator_quarantined_hosts", "hosts that are quarantined for worker failures");
  const metrics::Gauge fenced = runtime_.registry().GetGauge(
      "yardmaster_operator_fenced_hosts", "lost hosts with the operator's out-of-service taint");
  RoundSchedule schedule(kHostMinDelayMs, kHostMinDelayMs, kHostResyncMs);
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
  RoundSchedule schedule(options_.plan_min_delay_ms, options_.plan_max_delay_ms, kNetworkResyncMs);
  std::uint64_t seen = 0, seen_links = 0;
  std::int64_t write_at_ms = 0;  // of deferred writes
  while (!stop.stop_requested()) {
    std::int64_t wait_ms = schedule.WaitMs(runtime_.clock().SteadyMs());
    if (reports_ != nullptr) wait_ms = std::min(wait_ms, kLiveLinksPollMs);
    if (network_.HasDeferred()) {
      wait_ms = std::min(wait_ms, write_at_ms - runtime_.clock().SteadyMs());
    }
    const std::uint64_t now_seen =
        cache_.WaitForChange(seen, std::max<std::int64_t>(1, wait_ms), stop);
    const std::uint64_t links_seen = live_links_.version();
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    if (now_seen != seen || links_seen != seen_links) schedule.Changed(now_ms);
    if (links_seen != seen_links) schedule.Hurry();
    seen = now_seen;
    seen_links = links_seen;
    if (stop.stop_requested()) continue;
    if (schedule.WaitMs(now_ms) > 0) {
      if (now_ms < write_at_ms) continue;
      write_at_ms = now_ms + kDeferredWritesMs;
      WriteDeferred(schedule);
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
    schedule.End(end_ms);
    write_at_ms = end_ms + kDeferredWritesMs;
    if (!report.errors.empty()) schedule.Again(end_ms + kErrorPauseMs);
    if (report.again_in_ms >= 0) schedule.Again(end_ms + report.again_in_ms);
    op::ReportRound(report, static_cast<double>(end_ms - now_ms) / 1000.0, runtime_.registry());
    for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
    TellProblems(report.problems);
  }
}

// Agents come to whoever leads. The streams are dropped with the lease, so that they end up at the next leader.
void Operator::ServeReports(const std::stop_token& stop) {
  do {
    reports_->SetServing(leadership_.IsLeader());
  } while (runtime_.timing().sleeper.Sleep(kLeaderPollMs, stop));
}

absl::Status Operator::StartReports(KubeAccess& access) {
  if (options_.reports.address.empty()) return absl::OkStatus();
  if (options_.reports_account.find(':') == std::string::npos) {
    return FieldError("--reports-service-account", "names nobody whose reports count",
                      "give namespace:name of the agents' ServiceAccount");
  }
  YM_ASSIGN_OR_RETURN(review_client_, access.NewClient(kReviewLimits));
  node_tokens_ =
      std::make_unique<op::NodeToken>(*review_client_, options_.reports_account, kReportsAudience);
  YM_ASSIGN_OR_RETURN(
      reports_, rpc::ReportServer::Start(
                    options_.reports, runtime_.clock(),
                    [this](const std::string& token) { return node_tokens_->NodeOf(token); },
                    {[this](const std::string& node, const std::vector<api::NicPortKey>& down) {
                       live_links_.Put(node, down);
                     },
                     [this](const std::string& node) { live_links_.Drop(node); }}));
  AddReportMetrics(runtime_.registry(), *reports_);
  reports_thread_ = std::jthread([this](const std::stop_token& stop) { ServeReports(stop); });
  return absl::OkStatus();
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
  AddCapacityMetrics();
  AddStalenessCheck(runtime_, access, feed_, options_.leader.enabled);
  YM_RETURN_IF_ERROR(runtime_.Serve());
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs));
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  if (!options_.page_address.empty()) YM_RETURN_IF_ERROR(page_.Start(options_.page_address));
  YM_RETURN_IF_ERROR(StartReports(access));
  for (int i = 0; i < options_.job_workers; ++i) workers_.emplace_back([this] { JobLoop(); });
  network_thread_ = std::jthread([this](std::stop_token stop) { NetworkLoop(stop); });
  host_thread_ = std::jthread([this](std::stop_token stop) { HostLoop(stop); });
  runtime_.log().Info("running");
  return absl::OkStatus();
}

// The lease goes first, so that another replica need not wait for what ends here.
void Operator::Stop() {
  leadership_.Stop();
  reports_thread_.request_stop();
  if (reports_thread_.joinable()) reports_thread_.join();
  if (reports_ != nullptr) reports_->Stop();
  feed_.Stop();
  queue_.ShutDown();
  workers_.clear();
  network_thread_.request_stop();
  host_thread_.request_stop();
  if (network_thread_.joinable()) network_thread_.join();
  if (host_thread_.joinable()) host_thread_.join();
  page_.Stop();
}

void AddNetworkFlags(CLI::App& app, op::NetworkController::Options& options) {
  app.add_option("--network-writes-per-second", options.writes.writes_per_second,
                 "pods whose network annotations are written per second")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--network-write-burst", options.writes.burst, "Maximum write burst")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--reconverge-ms", options.reconverge_ms,
                 "how long switches need to stop using a lost link")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--link-hold-ms", options.damping.hold_ms,
                 "how long a link that came back is not used; doubles with every loss")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--link-max-hold-ms", options.damping.max_hold_ms, "Upper bound of the hold time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--crux-budget,--judge-events", options.crux_budget,
                 "simulated events that a round may spend on the search for a better network plan; "
                 "0: no search")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void AddHostLossFlags(CLI::App& app, op::HostLossLimits& limits) {
  const CLI::Range share(0.0, 1.0);
  const CLI::Range hosts(0, 1'000'000);
  app.add_option("--disruption-share", limits.disruption_share,
                 "No host counts as lost while a larger share of all Nodes is not Ready")
      ->check(share)
      ->capture_default_str();
  app.add_option("--disruption-hosts", limits.disruption_hosts,
                 "and at least this many Nodes are not Ready")
      ->check(hosts)
      ->capture_default_str();
  app.add_option("--replace-segment-share", limits.segment_share,
                 "Largest share of a segment's hosts that is replaced at a time")
      ->check(share)
      ->capture_default_str();
  app.add_option("--replace-segment-hosts", limits.segment_hosts,
                 "Hosts of a segment that may be replaced at a time, whatever the share")
      ->check(hosts)
      ->capture_default_str();
  app.add_option("--replace-share", limits.fabric_share,
                 "Largest share of all hosts that is replaced at a time")
      ->check(share)
      ->capture_default_str();
  app.add_option("--replace-hosts", limits.fabric_hosts,
                 "Hosts that may be replaced at a time, whatever the share")
      ->check(hosts)
      ->capture_default_str();
  app.add_option("--replace-share-per-minute", limits.per_minute_share,
                 "Largest share of all hosts that is replaced within a minute")
      ->check(share)
      ->capture_default_str();
  app.add_option("--replace-hosts-per-minute", limits.per_minute,
                 "Hosts that may be replaced within a minute, whatever the share")
      ->check(hosts)
      ->capture_default_str();
}

void AddHostMarkFlags(CLI::App& app, op::HostMarker::Options& options, std::string& faults_file) {
  app.add_option(
      "--node-faults-file", faults_file,
      "Table of what taints and conditions of Nodes mean, in place of the one that ships");
  const std::map<std::string, op::FencePolicy> policies = {
      {"None", op::FencePolicy::kNone},
      {"OutOfService", op::FencePolicy::kOutOfService},
      {"Await", op::FencePolicy::kAwait}};
  app.add_option("--fence", options.fence,
                 "What precedes removing pods of a lost host by force: None; OutOfService sets the "
                 "taint node.kubernetes.io/out-of-service; Await waits until it is set by others")
      ->transform(CLI::CheckedTransformer(policies))
      ->default_str("None");
  app.add_option("--quarantine-failures", options.quarantine.failures,
                 "Worker failures after which a host is quarantined; 0: never")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  app.add_option("--quarantine-window-ms", options.quarantine.window_ms,
                 "Age at which a worker failure is forgotten")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--quarantine-ms", options.quarantine.first_ms,
                 "Length of a host's first quarantine; doubles with every one in a row")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--quarantine-max-ms", options.quarantine.max_ms, "Longest quarantine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void AddReportFlags(CLI::App& app, OperatorOptions& options) {
  app.add_option("--reports-bind-address", options.reports.address,
                 "address of the agents' streams, for example 0.0.0.0:9443; none when left out");
  app.add_option("--reports-tls-cert-file", options.reports.tls.certificate,
                 "certificate for the agents");
  app.add_option("--reports-tls-key-file", options.reports.tls.key, "its key");
  app.add_option("--reports-client-ca-file", options.reports.tls.authority,
                 "who signs the agents'");
  app.add_option("--reports-service-account", options.reports_account,
                 "namespace:name of the agents' ServiceAccount, whose tokens count");
}

absl::StatusOr<std::vector<op::FaultRule>> ReadFaultRules(const std::string& file) {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(StrCat("--node-faults-file: ", file, " cannot be read"));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return op::ParseFaultRules(text, file);
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
  app.add_option("--page-bind-address", options.page_address,
                 "address of the read-only web page, for example :8082; none when left out");
  AddNetworkFlags(app, options.network);
  AddReportFlags(app, options);
  AddHostLossFlags(app, options.host_loss);
  std::string faults_file;
  AddHostMarkFlags(app, options.hosts, faults_file);
  CLI11_PARSE(app, argc, argv);
  if (!faults_file.empty()) {
    auto rules = ReadFaultRules(faults_file);
    if (!rules.ok()) {
      std::cerr << "yardmaster-operator: " << rules.status().message() << "\n";
      return 1;
    }
    options.hosts.faults = *std::move(rules);
  }
  const absl::Status status = RunOperator(options);
  if (status.ok()) return 0;
  std::cerr << "yardmaster-operator: " << status.message() << "\n";
  return 1;
}

}  // namespace yardmaster::app
