#include "pkg/operator/network/network_controller.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/crux/decide.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/operator/network/backup_condition.h"
#include "pkg/operator/network/held_back_jobs.h"
#include "pkg/operator/telemetry/connection_coverage.h"
#include "pkg/operator/telemetry/stragglers.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::op {

namespace {

// Agents have streams again so long after another operator has begun to lead.
constexpr std::int64_t kAgentsComeMs = 60'000;

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

// Adds to the report how long the API server took for `write`.
template <typename Write>
void WaitFor(const Clock& clock, RoundReport& report, const Write& write) {
  const std::int64_t begin_ms = clock.SteadyMs();
  write();
  report.waited_ms += clock.SteadyMs() - begin_ms;
}

}  // namespace

NetworkController::NetworkController(kube::Client& client, state::ClusterCache& cache,
                                     const Clock& clock, Options options, NetworkHandlers handlers)
    : cache_(cache),
      clock_(clock),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      faults_(options_.damping, options_.reconverge_ms),
      starvation_(options_.starvation),
      slow_workers_(options_.hosts == nullptr ? SlowHostLimits() : options_.hosts->slow_limits()),
      statuses_(client, cache, clock, handlers_.on_notice),
      writer_(client, cache, options_.writes) {}

void NetworkController::Reset() {
  Forget();
  builder_ = state::SnapshotBuilder();
}

void NetworkController::Forget() {
  knows_previous_ = false;
  previous_.clear();
  memory_.Clear();
  writer_.DropLeft();
  lifted_.clear();
  starvation_.Forget();
  slow_workers_.Clear();
  places_ = nullptr;
  forwarding_.clear();
  awaits_agents_since_ms_ = -1;
}

const api::Fabric* NetworkController::FabricOf(const state::ClusterState& cluster) {
  return state::UsedFabric(cluster.fabrics).get();
}

// Ids of another network mean something else: what holds is read again then.
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
                                   NetworkFacts& facts) {
  const fabric::Network& network = *snapshot.network;
  NetworkHealth& health = facts.health;
  std::vector<std::uint8_t> reported = snapshot.cable_down;
  if (options_.live_links != nullptr) {
    ApplyLiveLinks(options_.live_links->Take(), network, reported);
  }
  health.distrusted = DropFabricWideLoss(network, reported);
  network.MarkAbsent(reported);  // also where the agents are not believed
  health.links_problem = MarkDownLinks(fabric, network, reported);
  facts.cables = faults_.Observe(reported, clock_.SteadyMs());
  for (fabric::CableId cable : facts.cables.reported) {
    if (network.exists(cable)) health.down.push_back(network.shown(cable));
  }
  health.held = facts.cables.held;
  snapshot.cable_down = facts.cables.down;
}

void NetworkController::ReadProfiles(plan::Snapshot& snapshot, NetworkFacts& facts,
                                     RoundReport& report) {
  transfers_.KeepOnly(snapshot);
  for (plan::JobState& job : snapshot.jobs) {
    const auto members = facts.pods.find(job.job.key.text());
    MeasuredJob measured;
    if (job.job.profile.measured) measured.source = api::NetworkSource::kMeasured;
    if (members != facts.pods.end()) {
      const auto previous = previous_.find(job.job.key);
      measured = ApplyProfile(members->second, *snapshot.network, snapshot.cluster,
                              previous == previous_.end() ? std::nullopt : previous->second.share,
                              transfers_, job);
    }
    for (const std::string& problem : measured.problems) report.problems.push_back(problem);
    facts.measured.push_back(std::move(measured));
  }
}

NetworkController::Objects NetworkController::ReadObjects() {
  Objects objects;
  objects.cluster = cache_.Take();
  for (const auto& job : objects.cluster.jobs) {
    for (const api::AvoidedHost& avoided : job->status.recovery.avoided) {
      if (avoided.until_ms <= clock_.WallMs()) continue;
      objects.avoided_hosts[StrCat(job->metadata.namespace_name, "/", job->metadata.name)].insert(
          avoided.host);
    }
  }
  objects.cluster.jobs.clear();
  objects.stopped = StoppedGangs(objects.cluster.gangs);
  for (const auto& gang : objects.cluster.gangs) {
    objects.gangs_wait |= !gang->status.committed() && gang->problems.empty();
  }
  objects.cluster.gangs.EraseIf(
      [](const auto& gang) { return !gang->status.committed() || !gang->problems.empty(); });
  objects.snapshot = builder_.Build(objects.cluster);
  return objects;
}

// REQUIRES: the snapshot has a network.
void NetworkController::ReadFacts(Objects& objects, NetworkFacts& facts, RoundReport& report) {
  const api::Fabric& fabric = *FabricOf(objects.cluster);
  plan::Snapshot& snapshot = objects.snapshot;
  snapshot.now_ms = clock_.WallMs();
  NoteNetwork(fabric, snapshot);
  ReadFaults(fabric, snapshot, facts);
  facts.health.lossy =
      ReadLossyCables(fabric, objects.cluster.nodes, *snapshot.network, facts.cables.reported);
  facts.health.evidence =
      evidence_.Read(fabric, objects.cluster.nodes, *snapshot.network, epoch_, facts.cables.down);
  ReadProfiles(snapshot, facts, report);
  if (!knows_previous_) {
    previous_ = PreviousFromObjects(snapshot, objects.cluster.gangs, facts.pods);
  }
  knows_previous_ = true;
}

std::vector<GangNetwork> NetworkController::Plan(const Objects& objects, NetworkFacts& facts,
                                                 RoundReport& report) {
  const plan::Snapshot& snapshot = objects.snapshot;
  netplan::NetworkInput input = PlanInputOf(facts);
  input.previous = &previous_;
  input.memory = &memory_;
  input.held_levels = lifted_;
  input.policy.seed = options_.seed;
  input.policy.search.event_budget = options_.crux_budget;
  const std::int64_t begin_ms = clock_.SteadyMs();
  const netplan::NetworkPlan plan =
      netplan::PlanNetwork(snapshot, netplan::PlacedJobs(snapshot), input);
  report.plan_seconds = static_cast<double>(clock_.SteadyMs() - begin_ms) / 1000;
  report.plan = plan.report;
  if (handlers_.on_plan) handlers_.on_plan(plan, snapshot);
  AddPlanHealth(plan, facts.health);
  for (std::string& problem : ProblemsOf(plan.report, FabricOf(objects.cluster)->metadata.name)) {
    report.problems.push_back(std::move(problem));
  }
  if (!plan.report.problem.empty()) return {};
  previous_ = netplan::PreviousNetworkAfter(plan, snapshot, previous_);
  NetworkOptions options{network_generation_, clock_.WallMs(), options_.path_plan_life_ms};
  options.fabric_uid = fabric_uid_;
  std::vector<GangNetwork> networks =
      GangNetworksOf(plan, snapshot, facts, input.mistrusted, options, report.problems);
  report.measured_gangs = MeasuredGangs(networks);
  GuardAgainstStarvation(objects, networks, report);
  return networks;
}

void NetworkController::GuardAgainstStarvation(const Objects& objects,
                                               std::vector<GangNetwork>& networks,
                                               RoundReport& report) {
  const plan::Snapshot& snapshot = objects.snapshot;
  const fabric::NetworkLevels& levels = snapshot.network->spec().levels;
  const std::int64_t now_ms = clock_.SteadyMs();
  const StarvationVerdict verdict =
      starvation_.Look(StarvationViewsOf(networks, snapshot),
                       crux::UsableLevels(levels.count, levels.reserved, networks.size()), now_ms);
  ApplyLifts(verdict, snapshot, networks);
  lifted_ = verdict.lifted;
  report.starving = verdict.starving;
  report.lifted = static_cast<int>(verdict.lifted.size());
  if (verdict.next_change_ms >= 0) {
    report.Again(std::max<std::int64_t>(1, verdict.next_change_ms - now_ms));
  }
  if (!handlers_.on_notice) return;
  for (const NetworkNotice& notice :
       LiftNotices(verdict, objects.cluster.gangs, options_.starvation)) {
    handlers_.on_notice(notice);
  }
}

void NetworkController::AssessLosses(const api::Fabric& fabric, const fabric::Places& places,
                                     api::FabricStatus& status, RoundReport& report) {
  const std::int64_t steady_ms = clock_.SteadyMs();
  const std::vector<SegmentVerdict> segments = options_.hosts->AssessSegments(steady_ms);
  const std::vector<SegmentVerdict> domains = options_.hosts->AssessDomains(steady_ms);
  for (const auto* verdicts : {&segments, &domains}) {
    for (const SegmentVerdict& verdict : *verdicts) {
      if (verdict.state != SegmentState::kSuspected) continue;
      report.Again(std::max<std::int64_t>(1, verdict.again_ms));
    }
  }
  const std::int64_t generation = fabric.metadata.generation;
  AddLostSegments(segments, generation, steady_ms, clock_.WallMs(), status);
  report.lost_segments = static_cast<int>(status.lost_segments.size());
  const bool had_domains = api::FindCondition(status.conditions, kDomainsUpCondition) != nullptr;
  if (!places.has_domains() && !had_domains) return;
  AddLostDomains(domains, generation, steady_ms, clock_.WallMs(), status);
  report.lost_domains = static_cast<int>(status.lost_domains.size());
}

void NetworkController::AssessAgents(const api::Fabric& fabric, api::FabricStatus& status,
                                     RoundReport& report) {
  const bool any = !options_.live_links->Take().empty();
  const std::int64_t steady_ms = clock_.SteadyMs();
  if (awaits_agents_since_ms_ < 0) awaits_agents_since_ms_ = steady_ms;
  const std::int64_t left_ms = awaits_agents_since_ms_ + kAgentsComeMs - steady_ms;
  if (any || left_ms <= 0) {
    AddAgentsCondition(any, fabric.spec.segment_label, fabric.metadata.generation, clock_.WallMs(),
                       status);
  } else {
    report.Again(left_ms);
  }
}

void NetworkController::WriteFabrics(const Objects& objects, const NetworkHealth& health,
                                     RoundReport& report) {
  const api::Fabric* in_use = FabricOf(objects.cluster);
  for (const auto& fabric : objects.cluster.fabrics) {
    const bool used = fabric.get() == in_use;
    api::FabricStatus status = StatusOf(*fabric, objects.snapshot, used, clock_.WallMs());
    if (used && options_.hosts != nullptr) {
      AssessLosses(*fabric, *objects.snapshot.places, status, report);
    }
    if (used && objects.snapshot.network != nullptr) {
      const int gpus_per_host = std::max(1, fabric->spec.gpus_per_host);
      AddBackupCondition(
          *fabric, objects.snapshot,
          state::SeenHostFailures(cache_.Take().jobs, gpus_per_host, clock_.WallMs()),
          clock_.WallMs(), status);
    }
    const bool streams = options_.agents_have_streams && options_.live_links != nullptr;
    if (used && streams && status.hosts > 0) AssessAgents(*fabric, status, report);
    if (used && objects.snapshot.network != nullptr) {
      AddNetworkConditions(fabric->spec, health, fabric->metadata.generation, clock_.WallMs(),
                           status);
      status.network_generation = network_generation_;
    }
    report.Fail(StrCat("Fabric ", fabric->metadata.name),
                Contain([&] { statuses_.WriteFabric(*fabric, status, report); }));
  }
  if (options_.hosts == nullptr) return;
  // Also what a write that failed has not changed.
  const state::ClusterState now = cache_.Take();
  std::set<std::string> segments, domains;
  if (FabricOf(now) != nullptr) {
    for (const api::LostSegment& lost : FabricOf(now)->status.lost_segments) {
      segments.insert(LostPlaceName(lost));
    }
    for (const api::LostDomain& lost : FabricOf(now)->status.lost_domains) {
      domains.insert(LostPlaceName(lost));
    }
  }
  options_.hosts->SetLostInStatus(segments, domains);
}

void NetworkController::CollectPods(const GangNetwork& network, const api::Gang& gang,
                                    const std::map<int, std::shared_ptr<const api::Pod>>& members,
                                    const Objects& objects, const NetworkOptions& options,
                                    std::vector<PodWrite>& writes, RoundReport& report) {
  const std::size_t first = writes.size();
  std::map<int, PlannedRelease> releases =
      ReleasesOf(gang, members, objects.stopped, objects.snapshot);
  int waiting = 0;
  bool all_planned = true;
  for (const auto& [rank, pod] : members) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= network.paths_of_rank.size()) continue;
    auto change = AnnotationsToWrite(network, rank, pod->metadata.annotations, options);
    if (!change.ok()) {
      report.Fail(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name),
                  change.status());
      all_planned = false;
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
    AddGenerationAnnotation(*pod, gang.status.plan_generation, *change);
    if (change->annotations.empty()) continue;
    const int rise = network.status.level - LevelOf(*pod).value_or(network.status.level);
    writes.push_back({pod, std::move(change->annotations), rise, change->renewal, 0});
    if (const auto release = releases.find(rank); release != releases.end()) {
      writes.back().release = std::move(release->second);
    }
    waiting += pod->gated() ? 1 : 0;
  }
  for (std::size_t i = first; i < writes.size(); ++i) {
    if (writes[i].pod->gated()) writes[i].waiting = waiting;
    if (!all_planned) writes[i].release.reset();
  }
}

void NetworkController::KeepPlansOf(const GangNetwork& network, const api::Gang& gang,
                                    const RankPods& members, const NetworkOptions& options) {
  struct Kept {
    GangNetwork network;  // with the paths of ranks that lack a pod
    NetworkOptions options;
    std::string generation;
  };
  auto kept = std::make_shared<Kept>(Kept{{network.job, network.share, network.status, {}},
                                          options,
                                          StrCat(gang.status.plan_generation)});
  auto& paths = kept->network.paths_of_rank;
  paths.resize(network.paths_of_rank.size());
  std::set<int> ranks;
  for (int rank = 0; rank < std::min(gang.placed_workers(), static_cast<int>(paths.size()));
       ++rank) {
    if (members.count(rank) != 0) continue;
    ranks.insert(rank);
    const auto at = static_cast<std::size_t>(rank);
    paths[at] = network.paths_of_rank[at];
  }
  const auto annotations_of = [kept](int rank) -> std::optional<Annotations> {
    auto change = AnnotationsToWrite(kept->network, rank, {}, kept->options);
    if (!change.ok()) return std::nullopt;
    change->annotations[api::kNetworkGenerationAnnotation] = kept->generation;
    return std::move(change->annotations);
  };
  const bool fresh = options_.planned_ranks->Set(gang, std::move(ranks), annotations_of);
  if (fresh && handlers_.wake_job) handlers_.wake_job(gang);
}

void NetworkController::KeepPlans(const Objects& objects, const NetworkFacts& facts,
                                  const std::vector<GangNetwork>& networks,
                                  const NetworkOptions& options, RoundReport& report) {
  if (options_.planned_ranks == nullptr) return;
  static const RankPods kNone;
  std::set<NamespacedName> lacking;
  for (const GangNetwork& network : networks) {
    const NamespacedName& key = objects.snapshot.jobs[network.job.index()].job.key;
    const auto gang = objects.cluster.gangs.Find(key);
    if (gang == nullptr) continue;
    const auto found = facts.pods.find(key.text());
    const RankPods& members = found == facts.pods.end() ? kNone : found->second;
    if (static_cast<int>(members.size()) >= gang->placed_workers()) continue;
    lacking.insert(key);
    report.Fail(StrCat("Gang ", key.text()),
                Contain([&] { KeepPlansOf(network, *gang, members, options); }));
  }
  options_.planned_ranks->KeepOnly(lacking);
}

void NetworkController::WriteGang(const GangNetwork& network, const Objects& objects,
                                  const NetworkFacts& facts, const NetworkOptions& options,
                                  std::vector<PodWrite>& writes, RoundReport& report) {
  const plan::JobState& job = objects.snapshot.jobs[network.job.index()];
  const auto gang = objects.cluster.gangs.Find(job.job.key);
  if (gang == nullptr) return;
  ++report.gangs;
  const auto members = facts.pods.find(job.job.key.text());
  std::vector<api::Condition> others;
  const std::int64_t generation = gang->metadata.generation;
  if (members != facts.pods.end()) {
    if (auto steered = ConnectionsSteered(members->second, generation)) others.push_back(*steered);
  }
  const auto fresh = slow_workers_.Fresh(job.job.key, facts.measured[network.job.index()].compared,
                                         clock_.SteadyMs());
  if (auto slow =
          Straggling(fresh, slow_workers_.limits().share, generation, gang->status.conditions)) {
    others.push_back(*slow);
  }
  WaitFor(clock_, report, [&] { statuses_.WriteGang(*gang, network.status, others, report); });
  if (members == facts.pods.end()) return;
  CollectPods(network, *gang, members->second, objects, options, writes, report);
}

void NetworkController::AssessHeldBack(const Objects& objects, const NetworkFacts& facts) {
  SlowHosts slow_hosts;
  slow_workers_.KeepOnly(objects.snapshot);
  for (std::size_t job = 0; job < facts.measured.size(); ++job) {
    const NamespacedName& gang = objects.snapshot.jobs[job].job.key;
    auto slow = slow_workers_.Observe(gang, facts.measured[job].compared, clock_.SteadyMs());
    if (slow) slow_hosts[gang] = *std::move(slow);
  }
  if (options_.hosts == nullptr) return;
  const HeldBackFacts held = {objects.gangs_wait, options_.hosts->bandwidth_limits().share,
                              std::move(slow_hosts), objects.avoided_hosts};
  const std::vector<std::string> changed = options_.hosts->ObserveHeldBack(
      HeldBackJobs(objects.snapshot, objects.cluster.gangs, held), clock_.SteadyMs());
  if (changed.empty() || !handlers_.wake_job) return;
  for (const auto& gang : objects.cluster.gangs) {
    const std::string job = StrCat(gang->metadata.namespace_name, "/", gang->owner.name);
    if (std::find(changed.begin(), changed.end(), job) != changed.end()) handlers_.wake_job(*gang);
  }
}

void NetworkController::WritePods(std::vector<PodWrite> writes, RoundReport& report) {
  WriteResult written;
  WaitFor(clock_, report, [&] { written = writer_.Write(std::move(writes), clock_.SteadyMs()); });
  report.pods = static_cast<int>(written.done);
  report.released = written.released;
  report.deferred = written.deferred;
  if (written.again_ms) report.Again(*written.again_ms);
  report.failures.insert(report.failures.end(), written.failures.begin(), written.failures.end());
}

void NetworkController::AddFindings(const NetworkFacts& facts, RoundReport& report) {
  const Evidence& evidence = facts.health.evidence;
  report.problems.insert(report.problems.end(), evidence.problems.begin(), evidence.problems.end());
  if (!facts.health.links_problem.empty()) report.problems.push_back(facts.health.links_problem);
  report.cables_down = static_cast<int>(facts.health.down.size());
  report.cables_held = facts.cables.held;
  report.cables_lossy = static_cast<int>(facts.health.lossy.cables.size());
  report.miswired_ports = static_cast<int>(evidence.wiring.faults.size());
  report.balancing_hosts = static_cast<int>(evidence.balancing.size());
  report.roles = evidence.roles;
}

RoundReport NetworkController::RunOnce() {
  RoundReport report;
  Objects objects = ReadObjects();
  NetworkFacts facts;
  facts.pods = IndexPods(objects.cluster.pods, objects.cluster.gangs);
  std::vector<GangNetwork> networks;
  NetworkOptions options{network_generation_, clock_.WallMs(), options_.path_plan_life_ms};
  if (objects.snapshot.network != nullptr && FabricOf(objects.cluster) != nullptr) {
    ReadFacts(objects, facts, report);
    networks = Plan(objects, facts, report);
    options.levels = objects.snapshot.network->spec().levels;
    options.fabric_generation = network_generation_;
  } else {
    Forget();
  }
  KeepPlans(objects, facts, networks, options, report);
  AssessHeldBack(objects, facts);
  WaitFor(clock_, report, [&] { WriteFabrics(objects, facts.health, report); });
  std::vector<PodWrite> writes;
  for (const GangNetwork& network : networks) {
    report.Fail(StrCat("Gang ", objects.snapshot.jobs[network.job.index()].job.key.text()),
                Contain([&] { WriteGang(network, objects, facts, options, writes, report); }));
  }
  WritePods(std::move(writes), report);
  if (facts.cables.next_change_ms >= 0) {
    report.Again(std::max<std::int64_t>(1, facts.cables.next_change_ms - clock_.SteadyMs()));
  }
  AddFindings(facts, report);
  report.done = report.statuses + report.pods;
  return report;
}

}  // namespace yardmaster::op
