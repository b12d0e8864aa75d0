#include "pkg/operator/network/network_controller.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "pkg/netplan/remember.h"
#include "pkg/operator/network/socket_ports.h"
#include "pkg/operator/telemetry/connection_coverage.h"
#include "pkg/operator/telemetry/stragglers.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::op {

namespace {

std::optional<int> LevelOf(const api::Pod& pod) {
  const auto text = api::Find(pod.metadata.annotations, api::kPriorityAnnotation);
  return text ? ParseNumber<int>(*text) : std::nullopt;
}

bool SamePlaces(const fabric::Places& a, const fabric::Places& b) {
  if (a.num_hosts() != b.num_hosts() || a.num_segments() != b.num_segments() ||
      a.num_fabric_pods() != b.num_fabric_pods()) {
    return false;
  }
  for (fabric::HostId host : a.hosts()) {
    if (a.name(host) != b.name(host) || a.segment_of(host) != b.segment_of(host)) return false;
  }
  return true;
}

void AtMost(std::int64_t ms, std::int64_t& again_in_ms) {
  if (ms >= 0 && (again_in_ms < 0 || ms < again_in_ms)) again_in_ms = ms;
}

// Adds to the report how long the API server took for `write`.
template <typename Write>
void WaitFor(const Clock& clock, RoundReport& report, const Write& write) {
  const std::int64_t begin_ms = clock.SteadyMs();
  write();
  report.waited_ms += clock.SteadyMs() - begin_ms;
}

}  // namespace

// What a round found out around the plan.
struct NetworkController::Input {
  PodsByGang pods;
  CableStates cables;
  NetworkHealth health;
  // By index into Snapshot::jobs.
  std::vector<MeasuredJob> measured;
  std::vector<GangNetwork> networks;
};

NetworkController::NetworkController(kube::Client& client, state::ClusterCache& cache,
                                     const Clock& clock, Options options, NetworkHandlers handlers)
    : cache_(cache),
      clock_(clock),
      options_(options),
      handlers_(std::move(handlers)),
      faults_(options.damping, options.reconverge_ms),
      starvation_(options.starvation),
      statuses_(client, cache, clock, handlers_.on_notice),
      writer_(client, cache, options.writes) {}

void NetworkController::Forget() {
  builder_ = state::SnapshotBuilder();
  knows_previous_ = false;
  previous_.clear();
  memory_.Clear();
  writer_.DropLeft();
  lifted_.clear();
  starvation_.Forget();
  places_ = nullptr;
  forwarding_.clear();
}

const api::Fabric* NetworkController::FabricOf(const state::ClusterState& cluster) {
  return cluster.fabrics.empty() ? nullptr : cluster.fabrics.front().get();
}

// Ids of another network mean something else: what holds is read anew then.
void NetworkController::NoteNetwork(const api::Fabric& fabric, const plan::Snapshot& snapshot) {
  std::string forwarding = api::ForwardingText(fabric.spec);
  const bool known = fabric.metadata.uid == fabric_uid_ && !forwarding_.empty();
  const bool same = known && forwarding == forwarding_;
  if (same && places_ != nullptr && SamePlaces(*places_, *snapshot.places)) return;
  const api::FabricStatus& status = fabric.status;
  if (!same) {
    // What the leader before has found holds if nothing was edited since.
    const bool noted = !known && status.network_generation > 0 &&
                       status.observed_generation == fabric.metadata.generation;
    network_generation_ = noted ? status.network_generation : fabric.metadata.generation;
  }
  places_ = snapshot.places;
  fabric_uid_ = fabric.metadata.uid;
  forwarding_ = std::move(forwarding);
  ++epoch_;
  knows_previous_ = false;
  previous_.clear();
  memory_.Clear();
  faults_.Reset();
}

void NetworkController::ReadFaults(const api::Fabric& fabric, plan::Snapshot& snapshot,
                                   Input& input) {
  const fabric::Network& network = *snapshot.network;
  std::vector<std::uint8_t> reported = snapshot.cable_down;
  if (options_.live_links != nullptr) {
    ApplyLiveLinks(options_.live_links->Take(), network, reported);
  }
  input.health.distrusted = DropFabricWideLoss(network, reported);
  input.health.links_problem = MarkDownLinks(fabric, network, reported);
  input.cables = faults_.Observe(reported, clock_.SteadyMs());
  for (fabric::CableId cable : input.cables.reported) {
    input.health.down.push_back(network.name(cable));
  }
  input.health.held = input.cables.held;
  snapshot.cable_down = input.cables.down;
}

void NetworkController::ReadProfiles(plan::Snapshot& snapshot, Input& input, RoundReport& report) {
  transfers_.KeepOnly(snapshot);
  for (plan::JobState& job : snapshot.jobs) {
    const auto members = input.pods.find(job.job.key.text());
    MeasuredJob measured;
    if (job.job.profile.measured) measured.source = api::NetworkSource::kMeasured;
    if (members != input.pods.end()) {
      const auto previous = previous_.find(job.job.key);
      measured = ApplyProfile(members->second, snapshot.network->spec(),
                              previous == previous_.end() ? std::nullopt : previous->second.share,
                              transfers_, job);
    }
    for (const std::string& problem : measured.problems) report.problems.push_back(problem);
    input.measured.push_back(std::move(measured));
  }
}

// Plans, remembers, and says in input.networks what gangs should carry.
void NetworkController::Plan(const state::ClusterState& cluster, plan::Snapshot& snapshot,
                             const GangsByKey& gangs, Input& input, RoundReport& report) {
  const api::Fabric& fabric = *FabricOf(cluster);
  snapshot.now_ms = clock_.WallMs();
  NoteNetwork(fabric, snapshot);
  ReadFaults(fabric, snapshot, input);
  input.health.evidence =
      evidence_.Read(fabric, cluster.nodes, *snapshot.network, epoch_, input.cables.down);
  ReadProfiles(snapshot, input, report);
  if (!knows_previous_) previous_ = PreviousFromObjects(snapshot, gangs, input.pods);
  knows_previous_ = true;

  netplan::NetworkInput plan_input;
  plan_input.seed = options_.seed;
  plan_input.previous = &previous_;
  plan_input.memory = &memory_;
  plan_input.avoid = input.cables.avoid;
  const Evidence& evidence = input.health.evidence;
  plan_input.avoid.insert(plan_input.avoid.end(), evidence.avoid.begin(), evidence.avoid.end());
  plan_input.exclude = evidence.exclude;
  plan_input.mistrusted = repac::Mistrusted(evidence.roles);
  plan_input.predict_shares = true;
  plan_input.held_levels = lifted_;
  plan_input.policy.search.event_budget = options_.crux_budget;
  const std::int64_t begin_ms = clock_.SteadyMs();
  const netplan::NetworkPlan plan =
      netplan::PlanNetwork(snapshot, netplan::PlacedJobs(snapshot), plan_input);
  report.plan_seconds = static_cast<double>(clock_.SteadyMs() - begin_ms) / 1000;
  report.plan = plan.report;
  if (handlers_.on_plan) handlers_.on_plan(plan, snapshot);
  input.health.hashes_problem = plan.report.hashes_problem;
  if (!plan.report.hashes_problem.empty()) {
    report.problems.push_back(
        StrCat("Fabric ", fabric.metadata.name, ": ", plan.report.hashes_problem));
  }
  if (!plan.report.problem.empty()) {
    report.problems.push_back(plan.report.problem);
    return;
  }
  previous_ = netplan::Remember(plan, snapshot, previous_);
  input.health.unplanned_flows = plan.report.unplanned_flows;
  for (const netplan::PathAssignment& path : plan.paths) {
    if (path.source_port == 0 && input.health.unplanned_reason.empty()) {
      input.health.unplanned_reason = path.reason;
    }
  }
  NetworkOptions network_options{network_generation_, clock_.WallMs(), options_.path_plan_life_ms};
  network_options.fabric_uid = fabric_uid_;
  input.networks = NetworksOf(plan, snapshot, network_options);
  SocketJobs socket_jobs;
  for (const GangNetwork& network : input.networks) {
    const plan::JobState& job = snapshot.jobs[network.job.index()];
    const auto members = input.pods.find(job.job.key.text());
    if (members == input.pods.end()) continue;
    SocketJob asks = SocketJobOf(members->second, report.problems);
    if (!asks.listen_ports.empty()) socket_jobs[network.job] = std::move(asks);
  }
  for (std::string& problem :
       AddSocketPorts(plan, snapshot, socket_jobs, plan_input.mistrusted, input.networks)) {
    report.problems.push_back(std::move(problem));
  }
  for (GangNetwork& network : input.networks) {
    const MeasuredJob& measured = input.measured[network.job.index()];
    network.status.source = measured.source;
    report.measured_gangs += measured.source != api::NetworkSource::kAnalytic ? 1 : 0;
    if (!measured.iteration_seconds) continue;
    const plan::JobState& job = snapshot.jobs[network.job.index()];
    crux::ContendingJob ideal;
    ideal.compute_seconds = workload::CompleteProfile(job.job).compute_seconds;
    ideal.communication_start = job.job.profile.communication_start;
    network.share =
        std::min(1.0, crux::IterationSeconds(ideal, network.status.communication_seconds) /
                          *measured.iteration_seconds);
  }
  GuardAgainstStarvation(snapshot, gangs, input.networks, report);
}

void NetworkController::GuardAgainstStarvation(const plan::Snapshot& snapshot,
                                               const GangsByKey& gangs,
                                               std::vector<GangNetwork>& networks,
                                               RoundReport& report) {
  std::vector<StarvationView> views;
  for (const GangNetwork& network : networks) {
    views.push_back(
        {snapshot.jobs[network.job.index()].job.key, network.status.level, network.share});
  }
  const fabric::NetworkLevels& levels = snapshot.network->spec().levels;
  const std::int64_t now_ms = clock_.SteadyMs();
  const StarvationVerdict verdict = starvation_.Look(
      views, crux::UsableLevels(levels.count, levels.reserved, views.size()), now_ms);
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const auto lifted = verdict.lifted.find(views[i].job);
    if (lifted != verdict.lifted.end()) networks[i].status.level = lifted->second;
  }
  lifted_ = verdict.lifted;
  report.starving = verdict.starving;
  report.lifted = static_cast<int>(verdict.lifted.size());
  if (verdict.next_change_ms >= 0) {
    AtMost(std::max<std::int64_t>(1, verdict.next_change_ms - now_ms), report.again_in_ms);
  }
  const auto tell = [&](const NamespacedName& job, bool begun) {
    const auto gang = gangs.find(job);
    if (gang == gangs.end() || !handlers_.on_notice) return;
    const auto lifted = verdict.lifted.find(job);
    handlers_.on_notice(
        {api::kGangKind, job.namespace_name, job.name, gang->second->metadata.uid, begun,
         begun ? "NetworkStarved" : "NetworkLiftEnded",
         begun && lifted != verdict.lifted.end()
             ? StrCat("got too little of the network for ", options_.starvation.patience_seconds,
                      " s; at level ", lifted->second, " for ", options_.starvation.lift_seconds,
                      " s")
             : "back at its planned level"});
  };
  for (const NamespacedName& job : verdict.begun) tell(job, true);
  for (const NamespacedName& job : verdict.ended) tell(job, false);
}

void NetworkController::AssessSegments(const api::Fabric& fabric, api::FabricStatus& status,
                                       RoundReport& report) {
  const std::int64_t steady_ms = clock_.SteadyMs();
  const std::vector<SegmentVerdict> segments = options_.hosts->AssessSegments(steady_ms);
  for (const SegmentVerdict& segment : segments) {
    if (segment.state != SegmentState::kSuspected) continue;
    AtMost(std::max<std::int64_t>(1, segment.again_ms), report.again_in_ms);
  }
  AddLostSegments(segments, fabric.metadata.generation, steady_ms, clock_.WallMs(), status);
  report.lost_segments = static_cast<int>(status.lost_segments.size());
}

void NetworkController::WriteFabrics(const state::ClusterState& cluster,
                                     const plan::Snapshot& snapshot, const Input& input,
                                     RoundReport& report) {
  for (const auto& fabric : cluster.fabrics) {
    const bool used = fabric.get() == FabricOf(cluster);
    api::FabricStatus status = StatusOf(*fabric, snapshot, used, clock_.WallMs());
    if (used && options_.hosts != nullptr) AssessSegments(*fabric, status, report);
    if (used && snapshot.network != nullptr) {
      AddNetworkConditions(input.health, fabric->metadata.generation, clock_.WallMs(), status);
      status.network_generation = network_generation_;
    }
    statuses_.WriteFabric(*fabric, status, report);
  }
  if (options_.hosts == nullptr) return;
  // Also what a write that failed has not changed.
  const state::ClusterState now = cache_.Take();
  std::set<std::string> lost_in_status;
  if (FabricOf(now) != nullptr) {
    for (const api::LostSegment& lost : FabricOf(now)->status.lost_segments) {
      lost_in_status.insert(StrCat(lost.fabric_pod, "/", lost.segment));
    }
  }
  options_.hosts->SetSegmentsLostInStatus(lost_in_status);
}

void NetworkController::CollectPods(const GangNetwork& network, std::int64_t plan_generation,
                                    const std::map<int, std::shared_ptr<const api::Pod>>& members,
                                    const NetworkOptions& options, std::vector<PodWrite>& writes,
                                    RoundReport& report) {
  const std::size_t first = writes.size();
  int waiting = 0;
  for (const auto& [rank, pod] : members) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= network.paths_of_rank.size()) continue;
    auto change = AnnotationsToWrite(network, rank, pod->metadata.annotations, options);
    if (!change.ok()) {
      report.errors.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name,
                                     ": ", MessageOf(change.status())));
      continue;
    }
    if (!change->problem.empty()) {
      report.problems.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/",
                                       pod->metadata.name, ": ", change->problem));
    }
    if (change->expires_ms > 0) {
      const std::int64_t age_ms = options.life_ms - (change->expires_ms - options.now_ms);
      report.oldest_plan_seconds =
          std::max(report.oldest_plan_seconds, static_cast<double>(age_ms) / 1000);
    }
    SayGeneration(*pod, plan_generation, *change);
    if (change->annotations.empty()) continue;
    const int rise = network.status.level - LevelOf(*pod).value_or(network.status.level);
    writes.push_back({pod, std::move(change->annotations), rise, change->renewal, 0});
    waiting += pod->gated() ? 1 : 0;
  }
  for (std::size_t i = first; i < writes.size(); ++i) {
    if (writes[i].pod->gated()) writes[i].waiting = waiting;
  }
}

std::vector<PodWrite> NetworkController::WriteGangs(const plan::Snapshot& snapshot,
                                                    const GangsByKey& gangs, const Input& input,
                                                    RoundReport& report) {
  NetworkOptions options{network_generation_, clock_.WallMs(), options_.path_plan_life_ms};
  if (snapshot.network != nullptr) options.levels = snapshot.network->spec().levels;
  std::vector<PodWrite> writes;
  for (const GangNetwork& network : input.networks) {
    const NamespacedName& key = snapshot.jobs[network.job.index()].job.key;
    const auto gang = gangs.find(key);
    if (gang == gangs.end()) continue;
    ++report.gangs;
    const auto members = input.pods.find(key.text());
    std::vector<api::Condition> others;
    if (members != input.pods.end()) {
      const std::int64_t generation = gang->second->metadata.generation;
      const auto& computes = input.measured[network.job.index()].computes;
      if (auto steered = ConnectionsSteered(members->second, generation))
        others.push_back(*steered);
      if (auto slow = Straggling(computes, *snapshot.jobs[network.job.index()].groups, generation))
        others.push_back(*slow);
    }
    WaitFor(clock_, report,
            [&] { statuses_.WriteGang(*gang->second, network.status, others, report); });
    if (members != input.pods.end()) {
      CollectPods(network, gang->second->status.plan_generation, members->second, options, writes,
                  report);
    }
  }
  return writes;
}

void NetworkController::AddFindings(const Input& input, RoundReport& report) {
  const Evidence& evidence = input.health.evidence;
  report.problems.insert(report.problems.end(), evidence.problems.begin(), evidence.problems.end());
  if (!input.health.links_problem.empty()) report.problems.push_back(input.health.links_problem);
  report.cables_down = static_cast<int>(input.cables.reported.size());
  report.cables_held = input.cables.held;
  report.miswired_ports = static_cast<int>(evidence.wiring.faults.size());
  report.balancing_hosts = static_cast<int>(evidence.balancing.size());
  report.roles = evidence.roles;
}

RoundReport NetworkController::Round() {
  RoundReport report;
  state::ClusterState cluster = cache_.Take();
  cluster.jobs.clear();
  GangsByKey gangs;
  cluster.gangs.EraseIf(
      [](const auto& gang) { return !gang->status.committed() || !gang->problems.empty(); });
  for (const auto& gang : cluster.gangs) {
    gangs[{gang->metadata.namespace_name, gang->metadata.name}] = gang;
  }
  plan::Snapshot snapshot = builder_.Build(cluster);
  Input input;
  input.pods = IndexPods(cluster.pods, gangs);
  if (snapshot.network != nullptr && FabricOf(cluster) != nullptr) {
    Plan(cluster, snapshot, gangs, input, report);
  } else {
    Forget();
  }
  WaitFor(clock_, report, [&] { WriteFabrics(cluster, snapshot, input, report); });
  std::vector<PodWrite> writes = WriteGangs(snapshot, gangs, input, report);
  WriteResult written;
  WaitFor(clock_, report, [&] { written = writer_.Write(std::move(writes), clock_.SteadyMs()); });
  report.pods = written.written;
  report.deferred = written.deferred;
  if (written.again_in_ms >= 0) AtMost(written.again_in_ms, report.again_in_ms);
  report.errors.insert(report.errors.end(), written.errors.begin(), written.errors.end());
  if (input.cables.next_change_ms >= 0) {
    AtMost(std::max<std::int64_t>(1, input.cables.next_change_ms - clock_.SteadyMs()),
           report.again_in_ms);
  }
  AddFindings(input, report);
  return report;
}

}  // namespace yardmaster::op
