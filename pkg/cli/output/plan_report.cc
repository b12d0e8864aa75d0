#include "pkg/cli/output/plan_report.h"

#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/outcome_json.h"
#include "pkg/base/strings.h"
#include "pkg/cli/output/path_loads.h"
#include "pkg/plan/residual_bandwidth.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

ReportName NameOf(const NamespacedName& key, const ReportNames& names) {
  const auto it = names.find(key);
  return it != names.end() ? it->second : ReportName{"Gang", key.name};
}

std::vector<fabric::HostId> HostsOf(const plan::JobState& state, const plan::JobPlan& job) {
  if (!job.gang.host_of_rank.empty()) return job.gang.host_of_rank;
  if (state.assignment) return state.assignment->host_of_rank;
  return {};
}

json Assignments(const plan::Snapshot& snapshot, const plan::JobState& state,
                 const std::vector<fabric::HostId>& hosts) {
  const fabric::Places& places = *snapshot.places;
  std::vector<api::AssignmentEntry> entries;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const fabric::SegmentId segment = places.segment_of(hosts[rank]);
    api::AssignmentEntry entry;
    entry.rank = static_cast<int>(rank);
    entry.host = places.name(hosts[rank]);
    entry.fabric_pod = places.name(places.fabric_pod_of(segment));
    entry.segment = places.name(segment);
    if (places.has_domains()) entry.domain = places.name(places.domain_of(hosts[rank]));
    if (rank < state.groups->stages_of_worker.size()) {
      entry.stages = state.groups->stages_of_worker[rank];
    }
    entries.push_back(std::move(entry));
  }
  return api::EncodeAssignments(entries);
}

json NetworkJson(const netplan::JobNetwork& network) {
  return {{"flopPerIteration", network.flop_per_iteration},
          {"communicationSeconds", network.communication_seconds},
          {"intensity", network.intensity},
          {"priority", network.priority},
          {"level", network.level}};
}

// Who would be stopped for a job that waits, and where it would go then.
json PreemptionJson(const plan::Snapshot& snapshot, const plan::JobState& state,
                    const plan::Preemption& preemption, const ReportNames& names) {
  json victims = json::array();
  for (const plan::JobId id : preemption.victims) {
    const plan::JobState& victim = snapshot.jobs[id.index()];
    const ReportName name = NameOf(victim.job.key, names);
    victims.push_back({{"namespace", victim.job.key.namespace_name},
                       {"name", name.name},
                       {"kind", name.kind},
                       {"priority", victim.job.priority},
                       {"gpus", victim.job.gpus()},
                       {"graceSeconds", victim.grace_seconds}});
  }
  return {{"victims", std::move(victims)},
          {"cheapest", preemption.cheapest},
          {"message", preemption.victims.empty()
                          ? "fits once the gangs that are stopped for others have left"
                          : preemption.why},
          {"assignments", Assignments(snapshot, state, preemption.gang.host_of_rank)},
          {"objective", api::EncodeObjective(preemption.gang.objective)}};
}

// Of a placed gang whose owner wants another number of workers; empty: it has as many as it wants.
std::string ResizeText(const plan::JobState& state) {
  if (state.resize == nullptr) return "";
  const int wanted = state.resize->job.workers;
  if (wanted < state.job.workers) {
    return StrCat("its owner wants only ", wanted, " of its ", Count(state.job.workers, "worker"));
  }
  return StrCat("only ", state.job.workers, " of the ", Count(wanted, "worker"),
                " that its owner wants have a host");
}

json JobJson(const plan::Snapshot& snapshot, const plan::JobPlan& job,
             const netplan::NetworkPlan& network, const ReportNames& names) {
  const plan::JobState& state = snapshot.jobs[job.job.index()];
  const ReportName name = NameOf(state.job.key, names);
  json out = {{"namespace", state.job.key.namespace_name},
              {"name", name.name},
              {"kind", name.kind},
              {"gang", state.job.key.name},
              {"outcome", api::EncodeOutcome(job.gang.outcome)},
              {"isNew", job.is_new},
              {"message", placement::Sentence(job.gang)},
              {"reasons", api::EncodeReasons(job.gang.reasons)},
              {"relaxations", api::EncodeRelaxations(job.gang.relaxations)},
              {"assignments", json::array()}};
  if (job.gang.outcome == placement::Outcome::kPlaced) {
    const std::vector<fabric::HostId> hosts = HostsOf(state, job);
    out["assignments"] = Assignments(snapshot, state, hosts);
    out["objective"] = api::EncodeObjective(job.gang.objective);
    out["optimal"] = job.gang.optimal;
    if (const auto narrow = plan::NarrowestOf(snapshot, hosts)) {
      out["heldBack"] = {{"host", snapshot.places->name(narrow->host)},
                         {"share", narrow->residual.share},
                         {"message", plan::TextOf(snapshot, *narrow)}};
    }
    if (!job.contention_note.empty()) out["contention"] = job.contention_note;
    if (!job.warnings.empty()) out["warnings"] = job.warnings;
    if (!job.gang.optimal) out["bound"] = api::EncodeObjective(job.gang.bound);
    if (!state.lost_ranks.empty()) out["lostRanks"] = state.lost_ranks;
  } else if (state.assignment) {
    // Its lost ranks have no substitute: the old assignment is reported unchanged.
    out["assignments"] = Assignments(snapshot, state, state.assignment->host_of_rank);
    out["lostRanks"] = state.lost_ranks;
  }
  if (job.preemption) {
    out["preemption"] = PreemptionJson(snapshot, state, *job.preemption, names);
  }
  if (const std::string text = ResizeText(state); !text.empty()) {
    const auto message = out["message"].get<std::string>();
    out["message"] = message.empty() ? text : StrCat(text, "; ", message);
    out["wantedWorkers"] = state.resize->job.workers;
  }
  const auto& numbers = network.jobs[job.job.index()];
  if (numbers) out["network"] = NetworkJson(*numbers);
  return out;
}

json PortJson(const fabric::Places& places, const fabric::NicPort& port) {
  return {{"host", places.name(port.host)}, {"rail", port.rail}, {"port", port.port}};
}

json PathsJson(const plan::Snapshot& snapshot, const std::vector<netplan::PathAssignment>& paths,
               const ReportNames& names) {
  json out = json::array();
  for (const netplan::PathAssignment& path : paths) {
    const NamespacedName& key = snapshot.jobs[path.job.index()].job.key;
    json links = json::array();
    // A sprayed flow is on more links than those.
    for (fabric::LinkId link : path.links) {
      if (!path.sprayed) links.push_back(snapshot.network->name(link));
    }
    out.push_back({{"job", StrCat(key.namespace_name, "/", NameOf(key, names).name)},
                   {"fromRank", path.from_rank},
                   {"toRank", path.to_rank},
                   {"from", PortJson(*snapshot.places, path.src)},
                   {"to", PortJson(*snapshot.places, path.dst)},
                   {"sourcePort", path.source_port},
                   {"links", std::move(links)}});
    if (path.sprayed) out.back()["sprayed"] = true;
    if (snapshot.network->spec().switch_names.empty() || path.sprayed) continue;
    for (fabric::LinkId link : path.links) {
      out.back()["linkNames"].push_back(snapshot.network->shown(link));
    }
  }
  return out;
}

std::string SegmentsOf(const json& job) {
  std::set<std::string> segments;
  for (const json& entry : job["assignments"]) {
    if (entry["segment"] == "") continue;  // a host without a place
    segments.insert(
        StrCat(entry["fabricPod"].get<std::string>(), "/", entry["segment"].get<std::string>()));
  }
  if (segments.empty()) return "-";
  if (segments.size() > 3) return StrCat(segments.size(), " segments");
  return Join({segments.begin(), segments.end()}, ",");
}

json UnplannedJob(const std::string& namespace_name, const ReportName& name, const char* outcome,
                  json reasons) {
  std::vector<std::string> messages;
  for (const json& reason : reasons) messages.push_back(reason["message"]);
  return {{"namespace", namespace_name},
          {"name", name.name},
          {"kind", name.kind},
          {"outcome", outcome},
          {"isNew", false},
          {"message", Join(messages, "; ")},
          {"reasons", std::move(reasons)},
          {"relaxations", json::array()},
          {"assignments", json::array()}};
}

}  // namespace

json InvalidJob(const std::string& namespace_name, const ReportName& name,
                const std::vector<std::string>& problems) {
  json reasons = json::array();
  for (const std::string& problem : problems) {
    reasons.push_back(
        {{"code", "Invalid"}, {"level", "fabric"}, {"count", 1}, {"message", problem}});
  }
  return UnplannedJob(namespace_name, name, "Never", std::move(reasons));
}

json IncompleteJob(const gather::IncompleteGang& gang) {
  const ReportName name{gang.owner.kind, gang.owner.name};
  if (gang.cause == gather::Incompleteness::kInvalid) {
    json out = InvalidJob(gang.gang.namespace_name, name, {gang.text});
    out["gang"] = gang.gang.name;
    return out;
  }
  json out = UnplannedJob(gang.gang.namespace_name, name, "NotNow",
                          json::array({{{"code", Name(gang.cause)},
                                        {"level", "fabric"},
                                        {"count", gang.wanted.value_or(gang.there) - gang.there},
                                        {"message", gang.text}}}));
  out["gang"] = gang.gang.name;
  out["pods"] = {{"there", gang.there}, {"wanted", nullptr}};
  if (gang.wanted) out["pods"]["wanted"] = *gang.wanted;
  return out;
}

json JobLeftAlone(const NamespacedName& gang, const ReportName& name,
                  const std::vector<api::AssignmentEntry>& assignments, const std::string& why) {
  json out = UnplannedJob(gang.namespace_name, name, "Placed", json::array());
  out["gang"] = gang.name;
  out["assignments"] = api::EncodeAssignments(assignments);
  out["warnings"] = {why};
  return out;
}

json PlanReport(const plan::Snapshot& snapshot, const plan::Plan& plan,
                const netplan::NetworkPlan& network, const ReportNames& names, bool with_paths) {
  json jobs = json::array();
  std::set<plan::JobId> reported;
  for (const plan::JobPlan& job : plan.jobs) {
    jobs.push_back(JobJson(snapshot, job, network, names));
    reported.insert(job.job);
  }
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& state = snapshot.jobs[id.index()];
    if (reported.count(id) == 0 && !state.problems.empty()) {
      jobs.push_back(
          InvalidJob(state.job.key.namespace_name, NameOf(state.job.key, names), state.problems));
      jobs.back()["gang"] = state.job.key.name;
    }
  }
  json out = {
      {"kind", "PlanReport"}, {"apiVersion", api::kGroupVersion}, {"jobs", std::move(jobs)}};
  if (with_paths) {
    out["paths"] = PathsJson(snapshot, network.paths, names);
    out["answers"] = PathsJson(snapshot, network.ack_paths, names);
    out["uplinks"] = snapshot.network ? UplinksJson(snapshot, network) : json::array();
  }
  return out;
}

namespace {

std::string FirstLineOf(const json& job) {
  if (!job["reasons"].empty()) return job["reasons"][0]["message"];
  return job.contains("warnings") ? StrCat("warning: ", job["warnings"][0].get<std::string>()) : "";
}

}  // namespace

std::vector<std::string> AdviceLines(const json& report) {
  std::vector<std::string> lines;
  for (const json& job : report["jobs"]) {
    std::vector<std::string> advice;
    const bool placed = job["outcome"] == "Placed";
    for (const json& reason : job["reasons"]) {
      if (!placed) advice.push_back(StrCat("  because  ", reason["message"].get<std::string>()));
    }
    for (const json& change : job["relaxations"]) {
      advice.push_back(StrCat("  try      ", change["change"].get<std::string>(), " -> ",
                              change["outcome"].get<std::string>()));
    }
    if (job.contains("elastic")) {
      advice.push_back(StrCat("  elastic  ", job["elastic"]["message"].get<std::string>()));
    }
    if (job.contains("preemption")) {
      advice.push_back(StrCat("  others   ", job["preemption"]["message"].get<std::string>()));
    }
    for (const json& warning : job.value("warnings", json::array())) {
      advice.push_back(StrCat("  warning  ", warning.get<std::string>()));
    }
    if (advice.size() < 2) continue;  // the table has it
    lines.push_back("");
    lines.push_back(StrCat(job["namespace"].get<std::string>(), "/", job["name"].get<std::string>(),
                           ": ", job["outcome"].get<std::string>()));
    lines.insert(lines.end(), advice.begin(), advice.end());
  }
  return lines;
}

std::vector<std::vector<std::string>> ReportTable(const json& report) {
  std::vector<std::vector<std::string>> rows = {
      {"NAMESPACE", "NAME", "OUTCOME", "WORKERS", "SEGMENTS", "LEVEL", "REASON"}};
  for (const json& job : report["jobs"]) {
    const bool placed = job["outcome"] == "Placed";
    rows.push_back({job["namespace"], job["name"], job["outcome"],
                    placed ? StrCat(job["assignments"].size()) : "-",
                    placed ? SegmentsOf(job) : "-",
                    job.contains("network") ? StrCat(job["network"]["level"].get<int>()) : "-",
                    FirstLineOf(job)});
  }
  return rows;
}

}  // namespace yardmaster::cli
