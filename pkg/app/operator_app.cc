#include "pkg/app/operator_app.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/app/announce.h"
#include "pkg/app/host_loop.h"
#include "pkg/app/job_loop.h"
#include "pkg/app/kube_access.h"
#include "pkg/app/leader_loop.h"
#include "pkg/app/network_loop.h"
#include "pkg/app/page_publisher.h"
#include "pkg/app/report_intake.h"
#include "pkg/app/run_process.h"
#include "pkg/app/tracing.h"
#include "pkg/app/wait_loop.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/kube/events.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/capacity/capacity_metrics.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/jobs/incident.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/jobs_by_host.h"
#include "pkg/operator/jobs/move_proposals.h"
#include "pkg/operator/jobs/place_request.h"
#include "pkg/operator/jobs/work_loss.h"
#include "pkg/operator/network/network_controller.h"
#include "pkg/operator/network/plan_waiters.h"
#include "pkg/operator/queue/queue_controller.h"
#include "pkg/operator/queue/workload_feed.h"
#include "pkg/operator/standby/standby_controller.h"
#include "pkg/operator/waiting/wait_controller.h"
#include "pkg/operator/waiting/wait_feed.h"
#include "pkg/page/load_metrics.h"
#include "pkg/page/moves_block.h"
#include "pkg/page/network_picture.h"
#include "pkg/state/cluster_feed.h"
#include "pkg/trace/start_tracer.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kStandbysEveryMs = 5'000;
constexpr std::int64_t kTracesEveryMs = 2'000;

class Operator {
 public:
  Operator(const OperatorOptions& options, Runtime& runtime, Clients clients)
      : options_(options),
        runtime_(runtime),
        client_(std::move(clients.main)),
        events_client_(std::move(clients.events)),
        leadership_(options.leader, runtime),
        events_(*events_client_, {"yardmaster.dev/operator", runtime.identity()}, runtime.timing()),
        hosts_(options.host_loss),
        marker_(*client_, cache_, options.hosts,
                [this](const op::HostNotice& n) { RecordHostEvent(n); }),
        jobs_(
            *client_, cache_, hosts_, marker_, runtime.clock(),
            [this](const op::JobNotice& n) { RecordJobEvent(n); },
            [this] { return leadership_.IsLeader(); }, op::kPlacedWriteThreads,
            {options.place_first, &planned_ranks_, options.network_wait_ms,
             options.moves.least_run_ms}),
        capacity_(
            *client_, cache_, hosts_, runtime.clock(),
            [this](const op::JobNotice& n) { RecordJobEvent(n); },
            [this] { return leadership_.IsLeader(); }, options.rent_hosts),
        queue_(
            *client_, cache_, workloads_, runtime.clock(),
            [this](const op::JobNotice& n) { RecordJobEvent(n); },
            [this] { return leadership_.IsLeader(); }),
        job_loop_(cache_, runtime.clock(), runtime.registry(), runtime.log(), TurnHandlers()),
        waiting_(*client_, cache_, runtime.clock(),
                 [this](const op::WaitNotice& n) { RecordWaitEvent(n); },
                 {options.wait_suspended, [this] { return leadership_.IsLeader(); }}),
        wait_loop_(waiting_, runtime.clock(), runtime.registry(), runtime.log(),
                   [this] { return leadership_.IsLeader(); }),
        page_(cache_, runtime, options.common.observes),
        reports_(options.reports, options.reports_account, leadership_, runtime),
        certificates_(options.certificates, leadership_, events_, runtime),
        network_(*client_, cache_, runtime.clock(), WithSources(options.network),
                 {.on_notice = [this](const op::NetworkNotice& n) { RecordNetworkEvent(n); },
                  .on_plan = PlanObserver(),
                  .wake_job = [this](const api::Gang& gang) { WakeJob(gang); }}),
        network_loop_({options.plan_min_delay_ms, options.plan_max_delay_ms}, network_, cache_,
                      waiters_, reports_, leadership_, page_, runtime),
        host_loop_(marker_, capacity_, cache_, leadership_, runtime),
        proposals_(runtime.registry(), *client_, cache_, options.moves,
                   [this](const plan::Rebalancing& proposed, const plan::Snapshot& snapshot) {
                     page_.SetMoves(page::EncodeMoves(proposed, snapshot));
                   }),
        // Apart from the others, because a search may take seconds on a large cluster.
        moves_loop_(
            "moves", options.moves_every_ms, leadership_, runtime,
            [this](const std::stop_token& stop) { return LookForMoves(stop); },
            [this] { proposals_.Clear(); }),
        standbys_(
            *client_, cache_, runtime.clock(),
            [this](const op::JobNotice& n) { RecordJobEvent(n); },
            [this] { return leadership_.IsLeader(); }),
        standby_loop_(
            "standbys", kStandbysEveryMs, leadership_, runtime,
            [this](const std::stop_token&) { return standbys_.RunOnce(); },
            [this] { standbys_.Forget(); }),
        tracing_(options.traces, "yardmaster-operator", runtime),
        trace_loop_(
            "traces", kTracesEveryMs, leadership_, runtime,
            [this](const std::stop_token&) { return OfferTraces(); }, [this] { tracer_.Forget(); }),
        feed_(
            *client_, cache_,
            {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod, state::Kind::kTrainingJob,
             state::Kind::kGang, state::Kind::kCapacityPool, state::Kind::kDeviceClass},
            LogFailures(runtime), runtime.timing()),
        workload_feed_(*client_, workloads_, WorkloadHandlers(), runtime.timing()),
        wait_feed_(*client_,
                   {[this](const std::string& key) { wait_loop_.Add(key); },
                    [this](const absl::Status& status) {
                      runtime_.log().Warn("watch", {{"resource", "jobs that wait suspended"},
                                                    {"error", MessageOf(status)}});
                    }},
                   runtime.timing()) {
    workloads_.Listen([this](const std::string& job) { job_loop_.Add(job); });
    cache_.Listen([this](state::Kind kind, const api::ObjectMeta& metadata, bool) {
      Enqueue(kind, metadata);
    });
  }

  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  op::PlanHandler PlanObserver();
  op::NetworkController::Options WithSources(op::NetworkController::Options options) {
    options.live_links = &reports_.links();
    options.agents_have_streams = !options_.reports.address.empty();
    options.hosts = &hosts_;
    options.writes.leads = [this] { return leadership_.IsLeader(); };
    options.planned_ranks = &planned_ranks_;
    return options;
  }
  void Enqueue(state::Kind kind, const api::ObjectMeta& metadata);
  bool NotePod(const std::string& key);
  void NoteGang(const api::ObjectMeta& metadata);
  void WakeJob(const api::Gang& gang);
  void RecordJobEvent(const op::JobNotice& notice);
  void RecordNetworkEvent(const op::NetworkNotice& notice);
  void RecordHostEvent(const op::HostNotice& notice);
  void RecordWaitEvent(const op::WaitNotice& notice);
  RunResult LookForMoves(const std::stop_token& stop);
  RunResult OfferTraces();
  JobLoop::Handlers TurnHandlers();
  op::WorkloadFeed::Handlers WorkloadHandlers();

  const OperatorOptions& options_;
  Runtime& runtime_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> events_client_;
  Leadership leadership_;
  kube::EventRecorder events_;
  state::ClusterCache cache_;
  op::HostHealth hosts_;
  op::JobsByHost jobs_by_host_;
  op::HostMarker marker_;
  op::PlannedRanks planned_ranks_;
  op::JobController jobs_;
  op::CapacityController capacity_;
  op::WorkloadCache workloads_;
  op::QueueController queue_;
  JobLoop job_loop_;
  op::WaitController waiting_;
  WaitLoop wait_loop_;
  PagePublisher page_;
  ReportIntake reports_;
  CertificateRenewal certificates_;
  op::NetworkController network_;
  op::PlanWaiters waiters_;
  NetworkLoop network_loop_;
  HostLoop host_loop_;
  op::MoveProposals proposals_;
  LeaderLoop moves_loop_;
  op::StandbyController standbys_;
  LeaderLoop standby_loop_;
  Tracing tracing_;
  trace::StartTracer tracer_{op::NameOf};
  LeaderLoop trace_loop_;
  state::ClusterFeed feed_;
  op::WorkloadFeed workload_feed_;
  op::WaitFeed wait_feed_;
  std::vector<std::jthread> workers_;
  std::jthread network_thread_;
  std::jthread host_thread_;
  std::jthread moves_thread_;
  std::jthread standby_thread_;
  std::jthread trace_thread_;
  std::jthread wait_thread_;
};

RunResult Operator::LookForMoves(const std::stop_token& stop) {
  RunResult result;
  const absl::Status looked =
      Contain([&] { return proposals_.Look(cache_.Take(), runtime_.clock().WallMs(), stop); });
  if (!looked.ok()) proposals_.Clear();
  result.Fail("proposals", looked);
  return result;
}

RunResult Operator::OfferTraces() {
  RunResult result{.done = 1};
  const absl::Status looked =
      Contain([&] { tracing_.Offer(tracer_.Look(cache_.Take(), runtime_.clock().WallMs())); });
  // A look that was not finished has lost changes: the next one is a first one.
  if (!looked.ok()) tracer_.Forget();
  result.Fail("", looked);
  return result;
}

JobLoop::Handlers Operator::TurnHandlers() {
  return {
      .queue = [this](const std::string& key) { return queue_.Reconcile(key); },
      .rent = [this](const std::string& key) { return capacity_.Reconcile(key); },
      .run = [this](const std::string& key, op::JobTurn turn) { return jobs_.RunOnce(key, turn); },
      .notify = [this](const op::JobNotice& notice) { RecordJobEvent(notice); },
      .leads = [this] { return leadership_.IsLeader(); },
      .on_follower = [this] { hosts_.Restart(runtime_.clock().SteadyMs()); }};
}

op::WorkloadFeed::Handlers Operator::WorkloadHandlers() {
  return {.known =
              [this] {
                for (const auto& job : cache_.Take().jobs) {
                  if (job->status.queue.holds_job() || !op::QueueNameOf(*job).empty()) {
                    job_loop_.Add(kube::MakeKey(job->metadata.namespace_name, job->metadata.name));
                  }
                }
              },
          .failed =
              [this](const absl::Status& status) {
                runtime_.log().Warn("watch", {{"resource", op::KueueWorkloads("").GroupResource()},
                                              {"error", MessageOf(status)}});
              }};
}

op::PlanHandler Operator::PlanObserver() {
  return [this](const netplan::NetworkPlan& plan, const plan::Snapshot& snapshot) {
    auto picture = std::make_shared<const page::NetworkPicture>(page::PictureOf(plan, snapshot));
    page::ExportLoads(*picture, runtime_.registry());
    if (!options_.page_address.empty()) page_.SetPicture(std::move(picture));
  };
}

// Whether the pod counts for a quota.
bool Operator::NotePod(const std::string& key) {
  const auto pod = cache_.FindPod(key);
  jobs_by_host_.Update(key, pod.get());
  if (pod == nullptr) return false;
  waiters_.NotePod(*pod, [this](const std::string& gang) { return cache_.FindGang(gang); });
  return !pod->finished();
}

void Operator::NoteGang(const api::ObjectMeta& metadata) {
  const std::string key = kube::MakeKey(metadata.namespace_name, metadata.name);
  const auto gang = cache_.FindGang(key);
  waiters_.NoteGang(key, gang.get());
  if (const auto waits = op::WaitKeyOf(metadata, gang.get())) wait_loop_.Add(*waits);
  const bool has_hosts = gang != nullptr && gather::PodsAreToCome(*gang);
  for (const api::OwnerReference& owner : metadata.owners) {
    if (owner.kind != api::kTrainingJobKind) continue;
    const std::string job = kube::MakeKey(metadata.namespace_name, owner.name);
    has_hosts ? job_loop_.AddFirst(job) : job_loop_.Add(job);
  }
}

// Its pods are made with the plan that is there now.
void Operator::WakeJob(const api::Gang& gang) {
  if (gang.owner.kind != api::kTrainingJobKind) return;
  job_loop_.AddFirst(kube::MakeKey(gang.metadata.namespace_name, gang.owner.name));
}

void Operator::Enqueue(state::Kind kind, const api::ObjectMeta& metadata) {
  const std::string& ns = metadata.namespace_name;
  switch (kind) {
    case state::Kind::kTrainingJob:
      return job_loop_.Add(kube::MakeKey(ns, metadata.name));
    case state::Kind::kPod: {
      const auto label = api::Find(metadata.labels, api::kJobLabel);
      const std::string job = label ? kube::MakeKey(ns, *label) : std::string();
      if (!NotePod(kube::MakeKey(ns, metadata.name))) job_loop_.RoomMayHaveCome(ns, job);
      if (label) job_loop_.Add(job);
      return;
    }
    case state::Kind::kGang:
      return NoteGang(metadata);
    case state::Kind::kNode:
      if (op::ObserveNode(cache_, options_.hosts.faults, metadata.name, runtime_.clock().SteadyMs(),
                          hosts_)) {
        for (const std::string& job : jobs_by_host_.On(metadata.name)) job_loop_.Add(job);
      }
      return;
    case state::Kind::kCapacityPool:
      for (const std::string& job : capacity_.Keys()) job_loop_.Add(job);
      return;
    case state::Kind::kResourceSlice:
    case state::Kind::kDeviceClass:
    case state::Kind::kResourceClaim:
    case state::Kind::kResourceClaimTemplate:
      return;  // read when pods are made and plans are
    case state::Kind::kFabric:
      // A segment or domain may be lost, or back; hosts that are well do not change with it.
      for (const std::string& host : hosts_.HostsOfLostPlaces()) {
        for (const std::string& job : jobs_by_host_.On(host)) job_loop_.Add(job);
      }
      return;
  }
}

void Operator::RecordJobEvent(const op::JobNotice& notice) {
  Announce(kube::ObjectReference{api::kGroupVersion, api::kTrainingJobKind, notice.namespace_name,
                                 notice.job, notice.uid},
           notice, "Reconciling", events_, runtime_.log());
}

void Operator::RecordNetworkEvent(const op::NetworkNotice& notice) {
  Announce(kube::ObjectReference{api::kGroupVersion, notice.kind, notice.namespace_name,
                                 notice.name, notice.uid},
           notice, "PlanningNetwork", events_, runtime_.log());
  if (notice.kind != api::kFabricKind || options_.page_address.empty()) return;
  page_.Note({runtime_.clock().WallMs(), notice.warning, StrCat("fabric/", notice.name),
              StrCat(notice.reason, ": ", notice.note)});
}

void Operator::RecordHostEvent(const op::HostNotice& notice) {
  Announce(kube::ObjectReference{"v1", "Node", "", notice.host, notice.uid}, notice, "MarkingHost",
           events_, runtime_.log());
}

void Operator::RecordWaitEvent(const op::WaitNotice& notice) {
  Announce(kube::ObjectReference{notice.resource.ApiVersion(), notice.resource.kind,
                                 notice.namespace_name, notice.name, notice.uid},
           notice, "Waiting", events_, runtime_.log());
}

absl::Status Operator::Start(KubeAccess& access) {
  runtime_.health().AddReadiness("informers", [this] {
    return feed_.HasSynced() ? absl::OkStatus() : absl::UnavailableError("not synced yet");
  });
  runtime_.registry().AddGaugeSource("workqueue_depth", "keys that wait", [this] {
    return std::vector<metrics::Sample>{
        {{{"name", "trainingjobs"}}, static_cast<double>(job_loop_.Depth())}};
  });
  runtime_.registry().AddCounterSource(
      "yardmaster_operator_lost_gpu_seconds_total",
      "GPU seconds of repeated work and of waiting that incidents have cost",
      [this] { return metrics::SamplesBy("cause", jobs_.lost_gpu_seconds()); });
  runtime_.registry().AddGaugeSource(
      "yardmaster_operator_started_job_gpus",
      "GPUs of the workers of TrainingJobs that have run and are neither suspended nor over",
      [this] { return op::StartedGpus(cache_.Take().jobs); });
  op::AddCapacityMetrics(capacity_, runtime_.registry());
  CountDroppedEvents(events_, runtime_.registry());
  AddStalenessCheck(runtime_, access, feed_, options_.leader.enabled);
  YM_RETURN_IF_ERROR(runtime_.Serve());
  YM_RETURN_IF_ERROR(tracing_.Start());
  feed_.Start();
  YM_RETURN_IF_ERROR(feed_.WaitForSync(kSyncTimeoutMs, runtime_.stopping()));
  const bool acts = !options_.common.observes;
  if (acts && options_.follow_kueue) workload_feed_.Start();
  if (acts && options_.wait_suspended) wait_feed_.Start();
  YM_RETURN_IF_ERROR(leadership_.Start(access));
  if (!options_.page_address.empty()) YM_RETURN_IF_ERROR(page_.Start(options_.page_address));
  YM_RETURN_IF_ERROR(certificates_.Start(access));
  if (!acts) {
    runtime_.log().Info("observing");
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(reports_.Start(access));
  for (int i = 0; i < options_.job_workers; ++i) workers_.emplace_back([this] { job_loop_.Run(); });
  network_thread_ = std::jthread([this](const std::stop_token& stop) { network_loop_.Run(stop); });
  host_thread_ = std::jthread([this](const std::stop_token& stop) { host_loop_.Run(stop); });
  moves_thread_ = std::jthread([this](const std::stop_token& stop) { moves_loop_.Run(stop); });
  standby_thread_ = std::jthread([this](const std::stop_token& stop) { standby_loop_.Run(stop); });
  if (tracing_.on()) {
    trace_thread_ = std::jthread([this](const std::stop_token& stop) { trace_loop_.Run(stop); });
  }
  wait_thread_ = std::jthread([this] { wait_loop_.Run(); });
  runtime_.log().Info("running");
  return absl::OkStatus();
}

// The lease goes first, so that another replica need not wait for what ends here.
void Operator::Stop() {
  leadership_.Stop();
  certificates_.Stop();
  reports_.Stop();
  feed_.Stop();
  workload_feed_.Stop();
  wait_feed_.Stop();
  job_loop_.ShutDown();
  wait_loop_.ShutDown();
  if (wait_thread_.joinable()) wait_thread_.join();
  workers_.clear();
  network_thread_.request_stop();
  host_thread_.request_stop();
  moves_thread_.request_stop();
  standby_thread_.request_stop();
  trace_thread_.request_stop();
  if (network_thread_.joinable()) network_thread_.join();
  if (host_thread_.joinable()) host_thread_.join();
  if (moves_thread_.joinable()) moves_thread_.join();
  if (standby_thread_.joinable()) standby_thread_.join();
  if (trace_thread_.joinable()) trace_thread_.join();
  tracing_.Stop();
  page_.Stop();
}

}  // namespace

absl::Status RunOperator(const OperatorOptions& options) {
  return RunProcess<Operator>("yardmaster-operator", options);
}

}  // namespace yardmaster::app
