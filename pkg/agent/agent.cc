#include "pkg/agent/agent.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/agent/agent_metrics.h"
#include "pkg/agent/link_reporter.h"
#include "pkg/agent/plans/coverage_writer.h"
#include "pkg/agent/plans/default_class.h"
#include "pkg/agent/plans/fabric_choice.h"
#include "pkg/agent/plans/file_sink.h"
#include "pkg/agent/plans/plan_loop.h"
#include "pkg/agent/plans/pod_claims.h"
#include "pkg/agent/plans/pod_feed.h"
#include "pkg/agent/profiles/checkpoint_marks.h"
#include "pkg/agent/profiles/cpu_throttle.h"
#include "pkg/agent/profiles/host_job_observer.h"
#include "pkg/agent/profiles/profile_collector.h"
#include "pkg/agent/profiles/progress_observer.h"
#include "pkg/agent/profiles/progress_writer.h"
#include "pkg/agent/profiles/report_relay.h"
#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/base/run_once.h"
#include "pkg/base/strings.h"
#include "pkg/kube/informer.h"
#include "pkg/kube/object.h"
#include "pkg/metrics/loop.h"

namespace yardmaster::agent {

namespace {

// The loop sleeps 30 s at most; longer silence means that the file system holds it.
constexpr std::int64_t kLoopSilenceMs = 180'000;
constexpr std::int64_t kGrpcDrainMs = 2'000;
constexpr std::int64_t kLinkErrorEveryMs = 60'000;

FolderPerNode Folders(const AgentOptions& options) {
  return options.one_node() ? FolderPerNode::kNo : FolderPerNode::kYes;
}

// Of the host; empty: it is not read.
std::string CgroupRoot(const AgentOptions& options) {
  if (options.sysfs_root.empty() || !options.one_node()) return "";
  return StrCat(options.sysfs_root, "/fs/cgroup");
}

}  // namespace

class Agent::Impl {
 public:
  Impl(AgentOptions options, AgentDeps deps)
      : options_(std::move(options)),
        deps_(std::move(deps)),
        report_loop_("reports", deps_.registry, deps_.log),
        observer_loop_("observer", deps_.registry, deps_.log),
        sink_(options_.plan_dir, options_.nodes.empty() ? "" : options_.nodes.front(),
              Folders(options_)),
        loop_(deps_.timing.clock, sink_, [this](const PodNotice& notice) { ReportNotice(notice); }),
        feed_(loop_),
        profiles_(deps_.client, {}),
        claims_(deps_.timing.clock, options_.kubelet_socket),
        coverage_(deps_.client),
        checkpoints_(deps_.client, CheckpointOptions{options_.checkpoint_marks_dir}),
        throttle_(CgroupRoot(options_)),
        processes_(options_.proc_root),
        progress_(deps_.timing.clock, {[this](std::int64_t steady_ms, const std::string& uid) {
                                         return processes_.Sample(steady_ms, uid);
                                       },
                                       [this](const std::string& uid) {
                                         return programs_.GpusCompute(feed_.Find(uid));
                                       }}),
        progress_writer_(deps_.client, {}),
        default_class_(options_.configfs_root,
                       StrCat(options_.plan_dir, "/../default-classes.json")),
        programs_(options_.programs),
        relay_(deps_.client,
               {options_.reports_dir, Folders(options_), options_.nic_load_balancing,
                RelayOptions().interval_ms, [this] { return programs_.Neighbours(); }}) {
    AddHealthChecks();
    AddAgentMetrics(
        deps_.registry, [this] { return loop_.report(); }, [this] { return links_.load(); });
    AddReportMetrics(deps_.registry, profiles_, relay_);
    AddObserverMetrics(deps_.registry, [this] { return observer_view_.load(); });
  }
  ~Impl() { Stop(); }

  absl::Status Start() {
    YM_RETURN_IF_ERROR(CheckOptions(options_));
    YM_ASSIGN_OR_RETURN(std::vector<LocalNicPort> ports, ReadNicPortsFile(options_.nic_ports_file));
    YM_RETURN_IF_ERROR(sink_.Prepare());
    SetDefaultClass(ports);
    StartObserving(ports);
    YM_RETURN_IF_ERROR(StartPrograms(ports));
    link_reporter_ = std::make_unique<LinkReporter>(
        deps_.client, LinkOptions{options_.sysfs_root, Folders(options_), std::move(ports),
                                  options_.debounce, options_.loss});
    links_ = link_reporter_.get();
    StartStream();
    if (!options_.grpc_addresses.empty()) {
      YM_ASSIGN_OR_RETURN(
          server_,
          rpc::AgentServer::Start(
              {options_.grpc_addresses, options_.grpc_tls}, [this] { return Status(); },
              [this](const rpc::IterationReport& report) { return AcceptReport(report); }));
    }
    for (const std::string& node : options_.nodes) feed_.AddNode(node);
    loop_.Start();
    StartWatching();
    link_thread_ = std::jthread([this](std::stop_token stop) { Poll(stop); });
    return absl::OkStatus();
  }

  void Stop() {
    if (server_ != nullptr) server_->SetServing(false);
    if (stream_ != nullptr) stream_->Stop();
    if (link_thread_.joinable()) {
      link_thread_.request_stop();
      link_thread_.join();
    }
    if (observer_thread_.joinable()) {
      observer_thread_.request_stop();
      observer_thread_.join();
    }
    programs_.Stop();
    for (auto& informer : informers_) informer->Stop();
    loop_.Stop();
    if (!options_.configfs_root.empty()) {
      const absl::Status restored = default_class_.Restore();
      if (!restored.ok()) {
        deps_.log.Warn("default traffic class not restored", {{"error", MessageOf(restored)}});
      }
    }
    if (server_ != nullptr) server_->Stop(kGrpcDrainMs);
  }

  rpc::AgentStatus Status() const {
    rpc::AgentStatus status;
    status.nodes = feed_.nodes();
    status.pods = loop_.report()->pods;
    if (const LinkReporter* links = links_.load()) status.links = links->links();
    return status;
  }

 private:
  void AddHealthChecks() {
    deps_.health.AddReadiness("caches", [this] {
      if (loop_.report()->begun) return absl::OkStatus();
      const MutexLock lock(error_mutex_);
      return absl::UnavailableError(
          watch_error_.empty() ? "not filled yet" : StrCat("not filled yet: ", watch_error_));
    });
    deps_.health.AddLiveness("plan-loop", [this] {
      const std::int64_t last = loop_.report()->stepped_at_ms;
      const std::int64_t silent = deps_.timing.clock.SteadyMs() - last;
      if (last < 0 || silent < kLoopSilenceMs) return absl::OkStatus();
      return absl::UnavailableError(StrCat("silent for ", silent / 1000, " s"));
    });
  }

  void StartStream() {
    if (options_.operator_stream.target.empty() || !options_.one_node()) return;
    rpc::ReportStreamOptions options = options_.operator_stream;
    options.node = options_.nodes.front();
    options.seed = SeedOf(deps_.timing.seed, options.node);
    stream_ = std::make_unique<rpc::ReportStream>(std::move(options), deps_.timing.clock);
    AddStreamMetrics(deps_.registry, *stream_);
    link_reporter_->OnDown(
        [this](const std::string&, const std::vector<PortKey>& down) { stream_->Report(down); });
  }

  // A class that was set by a process that died is put back where none is wanted now.
  void SetDefaultClass(std::vector<LocalNicPort> ports) {
    if (options_.configfs_root.empty()) return;
    if (ports.empty()) ports = DiscoverNicPorts(options_.sysfs_root);
    const absl::Status status = options_.default_traffic_class >= 0
                                    ? default_class_.Apply(ports, options_.default_traffic_class)
                                    : default_class_.Restore();
    if (!status.ok()) {
      deps_.log.Warn("default traffic class not set", {{"error", MessageOf(status)}});
    }
  }

  void StartObserving(const std::vector<LocalNicPort>& ports) {
    ObserverOptions options;
    if (options_.measure_traffic && options_.one_node()) options.sysfs_root = options_.sysfs_root;
    options.ports = ports;
    options.kubelet_pods_folder = options_.kubelet_pods_dir;
    if (!options_.one_node() && options.kubelet_pods_folder.empty()) return;
    observer_ = std::make_unique<HostJobObserver>(
        std::move(options),
        HostJobObserver::Sources{
            [this] { return loop_.report()->pods; }, [this] { return ChosenFabric(); },
            [this](const rpc::IterationReport& report) { return AcceptMeasurement(report); },
            [this](const std::vector<LocalNicPort>& host) { return Nics(host); }},
        options_.one_node() ? &progress_ : nullptr);
    observer_view_ = observer_.get();
    observer_thread_ = std::jthread([this](const std::stop_token& stop) {
      RunResult result;
      do {
        result = observer_loop_.RunOnce([this] {
          return RunResult{.again_ms = observer_->Step(deps_.timing.clock.SteadyMs())};
        });
      } while (deps_.timing.sleeper.Sleep(*result.again_ms, stop));
    });
  }

  absl::Status StartPrograms(std::vector<LocalNicPort> table) {
    if (!options_.one_node()) return absl::OkStatus();
    return programs_.Start(
        options_.nodes.front(), options_.sysfs_root,
        [this, table = std::move(table)] {
          const std::optional<FabricView> fabric = ChosenFabric();
          return HostNicPorts(options_.sysfs_root, table,
                              fabric ? fabric->rails * fabric->nic_ports : -1);
        },
        deps_.timing, deps_.registry, deps_.log);
  }

  std::vector<std::string> PodUids() const {
    std::vector<std::string> uids;
    for (const rpc::PodPlanStatus& pod : loop_.report()->pods) uids.push_back(pod.pod_uid);
    return uids;
  }

  std::vector<PodNics> Nics(const std::vector<LocalNicPort>& host) {
    return NicsOfPods(
        options_.sysfs_root,
        claims_.Claims(PodUids(), [this](const std::string& uid) { return feed_.Find(uid); }),
        host);
  }

  void StartWatching() {
    kube::InformerOptions pods;
    if (options_.one_node()) pods.field_selector = StrCat("spec.nodeName=", options_.nodes.front());
    Watch(
        kube::Pods(), std::move(pods), [this](JsonView pod) { feed_.PutPod(pod); },
        [this](const kube::ObjectIdentity& pod) { feed_.DropPod(pod.uid); });
    Watch(
        kube::Fabrics(), {}, [this](JsonView fabric) { PutFabric(fabric); },
        [this](const kube::ObjectIdentity& fabric) { RemoveFabric(fabric.name); });
    if (!options_.nodes_matching.empty()) {
      kube::InformerOptions nodes;
      nodes.label_selector = options_.nodes_matching;
      Watch(
          kube::Nodes(), std::move(nodes),
          [this](JsonView node) { feed_.AddNode(kube::NameOf(node)); },
          [this](const kube::ObjectIdentity& node) { feed_.RemoveNode(node.name); });
    }
    unsynced_ = static_cast<int>(informers_.size());
    for (auto& informer : informers_) informer->Start();
  }

  void Watch(const kube::Resource& resource, kube::InformerOptions options,
             kube::CallbackSink::OnPut take, kube::CallbackSink::OnDeleted drop) {
    kube::InformerHandlers handlers;
    handlers.synced = [this] {
      if (--unsynced_ > 0) return;
      loop_.Begin();
      if (server_ != nullptr) server_->SetServing(true);
      deps_.log.Info("caches filled");
    };
    handlers.failed = [this](const absl::Status& status) {
      deps_.log.Warn("watch failed", {{"error", MessageOf(status)}});
      const MutexLock lock(error_mutex_);
      watch_error_ = MessageOf(status);
    };
    kube::Timing timing = deps_.timing;
    timing.seed += informers_.size();
    sinks_.push_back(std::make_unique<kube::CallbackSink>(std::move(take), std::move(drop)));
    informers_.push_back(std::make_unique<kube::Informer>(
        deps_.client, resource, std::move(options), *sinks_.back(), std::move(handlers), timing));
  }

  void PutFabric(JsonView object) {
    const MutexLock lock(fabric_mutex_);
    const absl::Status status = fabrics_.Put(object);
    if (!status.ok()) deps_.log.Warn("fabric unreadable", {{"error", MessageOf(status)}});
    loop_.SetFabric(fabrics_.Chosen(options_.fabric));
  }

  void RemoveFabric(const std::string& name) {
    const MutexLock lock(fabric_mutex_);
    fabrics_.Remove(name);
    loop_.SetFabric(fabrics_.Chosen(options_.fabric));
  }

  absl::Status AcceptReport(const rpc::IterationReport& report) {
    if (!feed_.Find(report.pod_uid)) {
      return absl::NotFoundError(StrCat("pod with uid \"", report.pod_uid,
                                        "\" has no network plan on a node of this agent"));
    }
    if (observer_ != nullptr) observer_->StopMeasuring(report.pod_uid);
    const absl::Status taken = AcceptMeasurement(report);
    if (taken.ok() && options_.one_node()) progress_.Report(report.pod_uid);
    return taken;
  }

  absl::Status AcceptMeasurement(rpc::IterationReport report) {
    programs_.Fill(feed_.Find(report.pod_uid), report.means);
    const Clock& clock = deps_.timing.clock;
    report.means.cpu_throttled = throttle_.Fraction(clock.SteadyMs(), report.pod_uid);
    return profiles_.Take(report, clock.SteadyMs(), clock.WallMs());
  }

  void Poll(const std::stop_token& stop) {
    std::int64_t wait_ms = options_.link_poll_ms;
    while (deps_.timing.sleeper.Sleep(wait_ms, stop)) {
      const RunResult result = report_loop_.RunOnce([this] { return ReportOnce(); });
      wait_ms = std::max(options_.link_poll_ms, result.again_ms.value_or(0));
    }
  }

  // Everything that is written to the API server, but for events. What cannot be read or written is
  // logged once a minute, since every run meets it again.
  RunResult ReportOnce() {
    const std::int64_t now = deps_.timing.clock.SteadyMs();
    for (const std::string& node : feed_.TakeRemovedNodes()) {
      link_reporter_->Forget(node);
      relay_.Forget(node);
    }
    const std::vector<std::string> nodes = feed_.nodes();
    RunResult result;
    std::vector<absl::Status> unreported;
    std::vector<absl::Status> unrelayed;
    result.Fail("links", Contain([&] { unreported = ReportLinks(now, nodes); }));
    result.Fail("reports", Contain([&] { unrelayed = RelayReports(now, nodes); }));
    if ((unreported.empty() && unrelayed.empty()) || now < quiet_until_ms_) return result;
    quiet_until_ms_ = now + kLinkErrorEveryMs;
    if (!unreported.empty()) {
      deps_.log.Warn("link states not reported",
                     {{"error", MessageOf(unreported.front())}, {"nodes", unreported.size()}});
    }
    if (!unrelayed.empty()) {
      deps_.log.Warn("reports not relayed",
                     {{"error", MessageOf(unrelayed.front())}, {"count", unrelayed.size()}});
    }
    return result;
  }

  // What could not be read or written.
  std::vector<absl::Status> ReportLinks(std::int64_t now, const std::vector<std::string>& nodes) {
    std::vector<absl::Status> errors;
    if (!options_.sysfs_root.empty()) errors = link_reporter_->Poll(now, nodes, ChosenFabric());
    if (stream_ != nullptr) stream_->Step();
    if (absl::Status problem = claims_.problem(); !problem.ok()) {
      errors.push_back(std::move(problem));
    }
    return errors;
  }

  std::vector<absl::Status> RelayReports(std::int64_t now, const std::vector<std::string>& nodes) {
    const auto find_pod = [this](const std::string& uid) { return feed_.Find(uid); };
    std::vector<absl::Status> errors = relay_.Poll(now, nodes);
    const auto add = [&](std::vector<absl::Status> more) {
      for (absl::Status& status : more) errors.push_back(std::move(status));
    };
    add(programs_.problems());
    add(profiles_.Flush(now, find_pod));
    if (const HostJobObserver* observer = observer_view_.load()) {
      add(coverage_.Flush(now, observer->shims_by_pod(), find_pod));
    }
    if (options_.one_node()) {
      add(progress_writer_.Flush(now, progress_.reports(), feed_.UidsWithProgress(), find_pod));
    }
    if (!options_.checkpoint_marks_dir.empty()) add(checkpoints_.Poll(now, PodUids(), find_pod));
    if (stream_ != nullptr) {
      const rpc::ReportStream::Stats stream = stream_->stats();
      if (!stream.connected && !stream.last_error.empty()) {
        add({absl::UnavailableError(StrCat("no stream to the operator: ", stream.last_error))});
      }
    }
    return errors;
  }

  std::optional<FabricView> ChosenFabric() const {
    const MutexLock lock(fabric_mutex_);
    return fabrics_.Chosen(options_.fabric);
  }

  void ReportNotice(const PodNotice& notice) {
    CountNotice(deps_.registry, notice.kind);
    deps_.log.Warn(notice.kind == NoticeKind::kSynced ? "network plan in force again"
                                                      : "network plan not in force",
                   {{"pod", StrCat(notice.pod.ns, "/", notice.pod.name)},
                    {"node", notice.pod.node},
                    {"why", notice.message}});
    if (deps_.on_notice) deps_.on_notice(notice);
  }

  const AgentOptions options_;
  const AgentDeps deps_;
  metrics::Loop report_loop_;
  metrics::Loop observer_loop_;
  std::int64_t quiet_until_ms_ = 0;  // the reporting thread's
  FileSink sink_;
  PlanLoop loop_;
  PodFeed feed_;
  ProfileCollector profiles_;
  PodClaims claims_;
  CoverageWriter coverage_;
  CheckpointMarks checkpoints_;
  CpuThrottle throttle_;
  PodProcesses processes_;  // the observer's thread's
  ProgressObserver progress_;
  ProgressWriter progress_writer_;
  DefaultClass default_class_;
  HostPrograms programs_;
  ReportRelay relay_;
  mutable Mutex fabric_mutex_;
  FabricChoice fabrics_ ABSL_GUARDED_BY(fabric_mutex_);
  Mutex error_mutex_;
  std::string watch_error_ ABSL_GUARDED_BY(error_mutex_);
  std::atomic<int> unsynced_ = 0;
  std::unique_ptr<LinkReporter> link_reporter_;
  std::atomic<const LinkReporter*> links_ = nullptr;
  std::unique_ptr<rpc::ReportStream> stream_;
  std::unique_ptr<rpc::AgentServer> server_;
  std::vector<std::unique_ptr<kube::CallbackSink>> sinks_;
  std::vector<std::unique_ptr<kube::Informer>> informers_;
  std::jthread link_thread_;
  std::unique_ptr<HostJobObserver> observer_;
  std::atomic<const HostJobObserver*> observer_view_ = nullptr;
  std::jthread observer_thread_;
};

Agent::Agent(AgentOptions options, AgentDeps deps)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(deps))) {}
Agent::~Agent() = default;
absl::Status Agent::Start() { return impl_->Start(); }
void Agent::Stop() { impl_->Stop(); }
rpc::AgentStatus Agent::Status() const { return impl_->Status(); }

}  // namespace yardmaster::agent
