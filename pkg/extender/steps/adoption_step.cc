#include "pkg/extender/steps/adoption_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

namespace {

std::vector<std::string> HostsOf(const api::Gang& gang) {
  std::vector<std::string> hosts;
  for (const api::AssignmentEntry& slot : gang.status.assignments) hosts.push_back(slot.host);
  return hosts;
}

}  // namespace

void AdoptionStep::Run(PassState& pass) {
  std::vector<NamespacedName> running;
  std::vector<NamespacedName> chosen;
  for (const auto& [key, gang] : pass.gangs) {
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (gathered == nullptr || pass.quarantined.count(key) != 0) continue;
    if (IsFinished(gang->status)) continue;
    if (gathered->unbound > 0 && gathered->held_by_others == 0 && NamesHosts(*gathered)) {
      chosen.push_back(key);
    } else if (!gang->status.committed() && AnyBound(*gathered)) {
      running.push_back(key);
    }
  }
  try_times_.Begin();
  std::erase_if(problems_, [&](const auto& entry) { return pass.gangs.count(entry.first) == 0; });
  for (const NamespacedName& key : running) {
    pass.handling = key;
    TakeRunning(pass, key);
  }
  const HostnameIndex nodes(pass.cluster.nodes);
  for (const NamespacedName& key : chosen) {
    pass.handling = key;
    Observe(pass, key, nodes);
  }
  pass.handling.reset();
  try_times_.End();
}

void AdoptionStep::TakeRunning(PassState& pass, const NamespacedName& key) {
  const auto hosts = HostsOfRunningPods(*pass.GatheredOf(key), pass.gangs.at(key)->job.workers);
  if (hosts.ok()) return Consider(pass, key, *hosts, Source::kRunningPods);
  if (pass.gangs.at(key)->status.plan_generation > 0) return;  // see stale_release_step.h
  pass.report.problems.push_back(
      StrCat("Gang ", key.text(), ": pods of it run although it has no plan, ",
             "and they do not say where each rank belongs: ", MessageOf(hosts.status()),
             "; delete the pods to have the gang placed"));
}

void AdoptionStep::Observe(PassState& pass, const NamespacedName& key, const HostnameIndex& nodes) {
  const api::Gang& gang = *pass.gangs.at(key);
  const GatheredGang& gathered = *pass.GatheredOf(key);
  const std::vector<std::string> before = HostsOf(gang);
  if (before.empty() && !IsComplete(gathered, gang.job.workers)) return;
  const auto hosts = HostsChosenByOthers(gathered, gang.job.workers, before, nodes);
  if (hosts && *hosts != before) Consider(pass, key, *hosts, Source::kOtherController);
}

void AdoptionStep::Consider(PassState& pass, const NamespacedName& key,
                            const std::vector<std::string>& hosts, Source source) {
  if (try_times_.IsDue(pass, key)) {
    std::string problem = Adopt(pass, key, hosts, source);
    std::string& told = problems_[key];
    if (std::exchange(told, problem) != problem && !problem.empty()) {
      ReportRefused(pass, key, problem, source);
    }
  }
  const std::string& problem = problems_[key];
  if (!problem.empty()) pass.report.problems.push_back(problem);
}

void AdoptionStep::ReportRefused(PassState& pass, const NamespacedName& key, const std::string& why,
                                 Source source) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const char* reason = source == Source::kRunningPods ? "NotAdopted" : "HostsRefused";
  if (!gang->status.committed()) {
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    status.outcome = placement::Outcome::kNotNow;
    SetCondition(status, *gang, api::kPlannedCondition, false, reason, why, clock_.WallMs());
    if (status != gang->status) ledger_.Write(pass, *gang, status);
  }
  ObjectNotice notice{gang->owner, key.namespace_name, true, reason, why};
  notify_(notice);
  // Also where people look first: at a pod that stays pending. One stands for all.
  const api::ObjectMeta& pod = pass.GatheredOf(key)->members.front().pod->metadata;
  notice.regarding = {"v1", "Pod", pod.name, pod.uid, false};
  notify_(notice);
}

// Held by gangs in quarantine, by writes in doubt, or for gangs for which others are stopped.
std::string AdoptionStep::HostHeldBesides(const PassState& pass, const NamespacedName& key,
                                          const std::vector<std::string>& hosts) const {
  std::set<std::string> held = ledger_.HostsInDoubt();
  for (const auto& [other, gang] : pass.gangs) {
    if (other == key) continue;
    const api::GangStatus& status = gang->status;
    if (status.preemption)
      held.insert(status.preemption->hosts.begin(), status.preemption->hosts.end());
    if (pass.quarantined.count(other) == 0) continue;
    for (const api::AssignmentEntry& slot : status.assignments) held.insert(slot.host);
  }
  const auto at = std::find_if(hosts.begin(), hosts.end(),
                               [&](const std::string& host) { return held.count(host) != 0; });
  return at == hosts.end() ? "" : *at;
}

// At the cost of what differs from the last one.
plan::Snapshot AdoptionStep::SnapshotWith(const PassState& pass, const api::Gang& placed) {
  state::ClusterState input = pass.cluster;
  input.jobs.clear();
  input.gangs.clear();
  for (const auto& [key, known] : pass.gangs) {
    const bool other = key != KeyOf(placed.metadata) && pass.quarantined.count(key) == 0;
    if (other && HoldsHosts(known->status)) input.gangs.Put(known);
  }
  input.gangs.Put(std::make_shared<const api::Gang>(placed));
  try {
    return builder_.Build(input);
  } catch (...) {
    builder_ = state::SnapshotBuilder();
    throw;
  }
}

// A plan of ours has to pass what every plan has to pass; what another controller decided is used
// as it is.
std::string AdoptionStep::Adopt(PassState& pass, const NamespacedName& key,
                                const std::vector<std::string>& hosts, Source source) {
  const api::Gang gang = *pass.gangs.at(key);
  const std::string held = HostHeldBesides(pass, key, hosts);
  if (!held.empty()) {
    return StrCat("Gang ", key.text(),
                  ": the hosts that its pods name or run on are not taken for its plan: host ",
                  held, " is kept for another gang");
  }
  api::Gang placed = gang;
  placed.status.plan_generation = 1;
  placed.status.assignments.clear();
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    placed.status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
  }
  const plan::Snapshot snapshot = SnapshotWith(pass, placed);
  const bool ours = source == Source::kRunningPods;
  const std::string problem = AdoptionProblem(snapshot, gang, ours);
  if (!problem.empty()) {
    return ours ? StrCat("Gang ", key.text(),
                         ": its running pods cannot be taken for its plan: ", problem,
                         "; delete them to have the gang placed")
                : StrCat("Gang ", key.text(), ": the hosts that its pods name cannot ",
                         "be used: ", problem, "; let their controller choose others");
  }
  const plan::JobId id = IdOfJob(snapshot, key);
  const plan::JobState& job = snapshot.jobs[id.index()];
  placement::GangPlan plan;
  plan.host_of_rank = job.assignment->host_of_rank;
  plan.objective = placement::Evaluate(*snapshot.places, *job.groups, plan.host_of_rank);
  api::GangStatus status = Committed(gang, plan, job, snapshot, clock_.WallMs());
  const std::string text =
      ours ? "the Gang was missing; its plan was rebuilt from its running pods"
           : "another controller chose the hosts: nodeSelector kubernetes.io/hostname of its pods";
  const char* reason = ours ? "Adopted" : "Observed";
  SetCondition(status, gang, api::kPlannedCondition, true, reason, text, clock_.WallMs());
  if (!ledger_.Write(pass, gang, status)) return "";
  ++pass.report.adopted;
  notify_({gang.owner, gang.metadata.namespace_name, ours, reason, text});
  return "";
}

}  // namespace yardmaster::extender
