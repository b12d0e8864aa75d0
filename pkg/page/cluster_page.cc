#include "pkg/page/cluster_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/condition.h"
#include "pkg/base/strings.h"
#include "pkg/gather/incomplete_gang.h"
#include "pkg/plan/planner.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/subject.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::page {

namespace {

using fabric::HostId;
using fabric::Places;
using fabric::SegmentId;
using nlohmann::json;
using placement::Unavailability;

constexpr std::size_t kMaxLines = 100;  // of warnings, of cables

// Three significant digits: figures for people, and texts that do not change with the last bit.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

json FabricBlock(const state::ClusterState& cluster, const Places& places, bool has_network) {
  json pods = json::array();
  for (fabric::FabricPodId pod : places.fabric_pods()) {
    json segments = json::array();
    for (SegmentId segment : places.segments_of(pod)) {
      json hosts = json::array();
      for (HostId host : places.hosts_of(segment)) hosts.push_back(places.name(host));
      segments.push_back({{"name", places.name(segment)}, {"hosts", std::move(hosts)}});
      if (!places.has_domains()) continue;
      json domains = json::array();
      for (fabric::DomainId domain : places.domains_of(segment)) {
        domains.push_back({places.name(domain), places.hosts_of(domain).size()});
      }
      segments.back()["domains"] = std::move(domains);
    }
    pods.push_back({{"name", places.name(pod)}, {"segments", std::move(segments)}});
  }
  json out = {{"name", nullptr}, {"problem", nullptr}, {"pods", std::move(pods)}};
  if (cluster.fabrics.empty()) {
    out["problem"] = "there is no Fabric";
  } else {
    out["name"] = state::UsedFabric(cluster.fabrics)->metadata.name;
    if (!has_network) out["problem"] = "the Fabric cannot be used; see its conditions";
  }
  return out;
}

std::vector<HostUse> UsesOf(const state::ClusterState& cluster, const Places& places) {
  std::vector<HostUse> uses(static_cast<std::size_t>(places.num_hosts()));
  for (const auto& gang : cluster.gangs) {
    if (api::IsTrue(gang->status.conditions, state::kFinishedCondition)) continue;
    for (const api::AssignmentEntry& entry : gang->status.assignments) {
      const HostId host = places.FindHost(entry.host);
      if (host.valid()) uses[host.index()].has_gang = true;
    }
  }
  for (const auto& pod : cluster.pods) {
    if (pod->node_name.empty() || pod->finished() || pod->gpus() == 0) continue;
    const HostId host = places.FindHost(pod->node_name);
    if (host.valid()) uses[host.index()].has_pods = true;
  }
  return uses;
}

void AddHosts(const plan::Snapshot& snapshot, const std::vector<HostUse>& uses, Blocks& out) {
  const Places& places = *snapshot.places;
  std::map<std::string, int> count;
  std::int64_t all_gpus = 0, free_gpus = 0;
  for (SegmentId segment : places.segments()) {
    std::string states;
    json degraded = json::array();
    for (HostId host : places.hosts_of(segment)) {
      const placement::HostState& state = snapshot.cluster.hosts[host.index()];
      if (state.degraded) degraded.push_back(states.size());
      states += HostLetter(state, uses[host.index()]);
      ++count[std::string(1, states.back())];
      all_gpus += state.gpus;
      if (state.unavailable == Unavailability::kNo) free_gpus += state.free_gpus;
    }
    out[StrCat("hosts/", segment.value)] =
        TextOf({{"states", states}, {"degraded", std::move(degraded)}});
  }
  out["totals"] = TextOf({{"hosts", count}, {"gpus", {{"all", all_gpus}, {"free", free_gpus}}}});
}

json ConditionsOf(const std::vector<api::Condition>& conditions) {
  json out = json::array();
  for (const api::Condition& condition : conditions) {
    out.push_back(
        {{"type", condition.type},
         {"status", api::kConditionStatusNames[static_cast<std::size_t>(condition.status)]},
         {"message", condition.message},
         {"timeMs", condition.transition_ms}});
  }
  return out;
}

// What a job that may rent hosts pays for them; null for other jobs.
json CostOf(const api::TrainingJob& job) {
  const api::CapacityStatus& status = job.status.capacity;
  if (!job.capacity.has_cap() && status.generation == 0) return nullptr;
  const std::string currency = status.currency.empty() ? job.capacity.currency() : status.currency;
  const auto cap = [](const std::optional<capacity::Money>& money) {
    return money ? json(capacity::FormatMoney(*money)) : json();
  };
  json hosts = json::array();
  for (const api::RentedHosts& rented : status.hosts) {
    hosts.push_back({{"pool", rented.pool},
                     {"type", api::NameOf(rented.type)},
                     {"hosts", rented.hosts},
                     {"provided", rented.provided}});
  }
  return {{"phase", api::NameOf(status.phase)},
          {"rate", capacity::FormatMoney({status.rate, currency})},
          {"rateCap", cap(job.capacity.max_cost_per_hour)},
          {"spent", capacity::FormatMoney({status.spent, currency})},
          {"spentCap", cap(job.capacity.max_total_cost)},
          {"moves", status.moves},
          {"message", status.message},
          {"hosts", std::move(hosts)}};
}

json WhenSet(std::int64_t time_ms) { return time_ms == 0 ? json() : json(time_ms); }

// What incidents cost a job that ran; null for one that did not.
json WorkOf(const api::TrainingJobStatus& status) {
  if (status.start_ms == 0) return nullptr;
  const std::vector<api::Incident>& incidents = status.recovery.incidents;
  const bool stopped = !incidents.empty() && incidents.back().end_ms == 0;
  return {{"sinceMs", status.start_ms},
          {"untilMs", WhenSet(status.completion_ms)},
          {"stoppedMs", WhenSet(stopped ? incidents.back().start_ms : 0)},
          {"lost", status.lost_gpu_seconds}};
}

// Of a job without a place.
json EmptyJobBlock(const std::string& namespace_name, const std::string& name,
                   const std::string& kind, int workers, std::int64_t gpus, int priority) {
  return {{"namespace", namespace_name},
          {"name", name},
          {"kind", kind},
          {"state", "Pending"},
          {"workers", workers},
          {"ready", nullptr},
          {"gpus", gpus},
          {"priority", priority},
          {"level", nullptr},
          {"reasons", json::array()},
          {"relaxations", json::array()},
          {"hosts", json::array()},
          {"conditions", json::array()},
          {"plan", 0},
          {"restarts", 0},
          {"cost", nullptr},
          {"work", nullptr}};
}

// What its pods lack is the state of a job, and its only reason: it is not planned.
void SetIncomplete(const gather::IncompleteGang& pods, json& job) {
  job["state"] = Name(pods.cause);
  job["reasons"] = json::array({{{"code", Name(pods.cause)}, {"message", pods.text}}});
  job["relaxations"] = json::array();
}

// Sets of pods that are not a whole gang, and their place in the queue: behind those that are.
void AddIncomplete(const state::ClusterState& cluster, std::map<std::string, json>& jobs,
                   json& queue) {
  for (const gather::IncompleteGang& pods : gather::IncompleteGangsOf(cluster)) {
    const std::string key = pods.gang.text();
    const auto [at, is_new] = jobs.try_emplace("job/" + key);
    if (is_new) {
      at->second = EmptyJobBlock(pods.gang.namespace_name, pods.owner.name, pods.owner.kind,
                                 pods.wanted.value_or(pods.there), pods.gpus, pods.priority);
    }
    SetIncomplete(pods, at->second);
    if (std::find(queue.begin(), queue.end(), key) == queue.end()) queue.push_back(key);
  }
}

json JobBlock(const state::Subject& subject, const Places& places) {
  const api::JobSpec& spec = subject.spec();
  json out =
      EmptyJobBlock(subject.namespace_name, subject.name, subject.kind, spec.workers,
                    static_cast<std::int64_t>(spec.workers) * spec.gpus_per_worker, spec.priority);
  out["state"] = state::StateOf(subject);
  json conditions = json::array();
  if (subject.job != nullptr) {
    out["ready"] = subject.job->status.ready_workers;
    out["restarts"] = subject.job->status.restarts;
    out["cost"] = CostOf(*subject.job);
    out["work"] = WorkOf(subject.job->status);
    conditions = ConditionsOf(subject.job->status.conditions);
  }
  if (subject.gang != nullptr) {
    const api::GangStatus& status = subject.gang->status;
    out["plan"] = status.plan_generation;
    if (status.network) {
      out["level"] = status.network->level;
      out["intensity"] = Rounded(status.network->intensity);
      out["communicationSeconds"] = Rounded(status.network->communication_seconds);
    }
    for (const placement::Reason& reason : status.reasons) {
      out["reasons"].push_back(
          {{"code", placement::Name(reason.code)}, {"message", reason.message}});
    }
    for (const placement::Relaxation& relaxation : status.relaxations) {
      out["relaxations"].push_back(
          {{"change", relaxation.change}, {"outcome", placement::Name(relaxation.outcome)}});
    }
    for (const api::AssignmentEntry& entry : status.assignments) {
      out["hosts"].push_back(places.FindHost(entry.host).value);
    }
    for (json& condition : ConditionsOf(status.conditions)) {
      conditions.push_back(std::move(condition));
    }
  }
  out["conditions"] = std::move(conditions);
  return out;
}

bool SameSegments(const Places& a, const Places& b) {
  if (&a == &b) return true;
  if (a.num_segments() != b.num_segments()) return false;
  for (SegmentId s : a.segments()) {
    if (a.name(s) != b.name(s) || a.name(a.fabric_pod_of(s)) != b.name(b.fabric_pod_of(s))) {
      return false;
    }
  }
  return true;
}

json NetworkBlock(const NetworkPicture& picture) {
  json segments = json::array();
  for (std::size_t s = 0; s < picture.segments.size(); ++s) {
    const SegmentLoad& load = picture.segments[s];
    if (load.uplinks == 0) continue;
    segments.push_back(
        {s, load.uplinks, load.shared_uplinks, Rounded(load.gbps), Rounded(load.peak)});
  }
  json planes = json::array();
  for (const PlaneLoad& load : picture.planes) {
    planes.push_back(
        {load.uplinks, load.shared_uplinks, Rounded(load.gbps), Rounded(load.peak), load.down});
  }
  json busiest = json::array();
  for (const LinkPicture& link : picture.busiest) {
    json jobs = json::array();
    for (const JobOnLink& job : link.jobs) {
      jobs.push_back({job.job.text(), job.level, Rounded(job.gbps)});
    }
    busiest.push_back({{"link", link.name},
                       {"gbps", Rounded(link.gbps)},
                       {"capacity", link.capacity_gbps},
                       {"jobs", std::move(jobs)}});
    if (link.shown != link.name) busiest.back()["name"] = link.shown;
  }
  json out = {{"known", true},
              {"problem", nullptr},
              {"segments", std::move(segments)},
              {"planes", std::move(planes)},
              {"busiest", std::move(busiest)}};
  if (!picture.problem.empty()) out["problem"] = picture.problem;
  return out;
}

void AddNetwork(const NetworkPicture* picture, const Places& places, Blocks& out) {
  if (picture == nullptr || picture->places == nullptr || !SameSegments(*picture->places, places)) {
    out["network"] = TextOf({{"known", false},
                             {"problem", "this replica plans no network; its leader does"},
                             {"segments", json::array()},
                             {"planes", json::array()},
                             {"busiest", json::array()}});
    return;
  }
  out["network"] = TextOf(NetworkBlock(*picture));
  for (const auto& [key, paths] : picture->jobs) {
    json between = json::array();
    for (const auto& [pair, gbps] : paths.between) {
      between.push_back({pair.first, pair.second, Rounded(gbps)});
    }
    out["net/" + key.text()] =
        TextOf({{"flows", paths.flows},
                {"unplanned", paths.unplanned},
                {"gbps", Rounded(paths.gbps)},
                {"share", paths.share ? json(Rounded(*paths.share)) : json()},
                {"between", std::move(between)}});
  }
}

void AddLines(const std::string& key, std::vector<std::string> lines, Blocks& out) {
  const std::size_t more = lines.size() > kMaxLines ? lines.size() - kMaxLines : 0;
  lines.resize(lines.size() - more);
  if (more > 0) lines.push_back(StrCat("and ", more, " more"));
  out[key] = TextOf(lines);
}

std::vector<std::string> DownCables(const plan::Snapshot& snapshot) {
  std::vector<std::string> names;
  if (snapshot.network == nullptr) return names;
  for (const fabric::CableId cable : netplan::DownCables(snapshot)) {
    if (snapshot.network->exists(cable)) names.push_back(snapshot.network->shown(cable));
  }
  return names;
}

}  // namespace

char HostLetter(const placement::HostState& host, const HostUse& use) {
  const bool busy = use.has_gang || use.has_pods;
  switch (host.unavailable) {
    case Unavailability::kNotReady:
    case Unavailability::kSegmentLost:
    case Unavailability::kDomainLost:
      return 'x';
    case Unavailability::kTainted:
      return 't';
    case Unavailability::kCordoned:
      return busy ? 'd' : 'c';
    case Unavailability::kNo:
      break;
  }
  if (use.has_gang) return use.has_pods ? 'r' : 'p';
  if (use.has_pods) return 'o';
  return host.backup ? 'b' : 'f';
}

Blocks BlocksOf(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                const NetworkPicture* picture) {
  const Places& places = *snapshot.places;
  Blocks out;
  out["fabric"] = TextOf(FabricBlock(cluster, places, snapshot.network != nullptr));
  AddHosts(snapshot, UsesOf(cluster, places), out);
  std::map<std::string, json> jobs;
  for (const state::Subject& subject : state::SubjectsOf(cluster)) {
    jobs["job/" + subject.key().text()] = JobBlock(subject, places);
  }
  json queue = json::array();
  for (const plan::JobId job : plan::QueueOrder(snapshot)) {
    queue.push_back(snapshot.jobs[job.index()].job.key.text());
  }
  AddIncomplete(cluster, jobs, queue);
  for (const auto& [key, job] : jobs) out[key] = TextOf(job);
  out["queue"] = TextOf(queue);
  AddNetwork(picture, places, out);
  AddLines("down", DownCables(snapshot), out);
  std::vector<std::string> warnings = cluster.problems;
  warnings.insert(warnings.end(), snapshot.warnings.begin(), snapshot.warnings.end());
  AddLines("warnings", std::move(warnings), out);
  return out;
}

std::string EncodePaths(const NetworkPicture& picture, const NamespacedName& job) {
  json out = {{"job", job.text()}, {"flows", 0}, {"unplanned", 0}, {"paths", json::array()}};
  const auto found = picture.jobs.find(job);
  if (found != picture.jobs.end()) {
    out["flows"] = found->second.flows;
    out["unplanned"] = found->second.unplanned;
    for (const SamplePath& path : found->second.sample) {
      out["paths"].push_back({{"from", path.from_rank},
                              {"to", path.to_rank},
                              {"rail", path.rail},
                              {"sourcePort", path.source_port},
                              {"links", path.links},
                              {"reason", path.reason}});
    }
  }
  return *TextOf(out);
}

}  // namespace yardmaster::page
