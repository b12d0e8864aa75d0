#include "pkg/extender/steps/adoption_step.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_notices.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::extender {

namespace {

constexpr std::size_t kSlotThreads = 8;

std::vector<std::string> HostsOf(const api::Gang& gang) {
  std::vector<std::string> hosts;
  for (const api::AssignmentEntry& slot : gang.status.assignments) hosts.push_back(slot.host);
  return hosts;
}

// Of `hosts`, one that is held for another gang although no promise shows it; empty: none.
std::string HostHeldBesides(const PassFacts& facts, const NamespacedName& key,
                            const std::vector<std::string>& hosts) {
  for (const Hold& hold : HoldsOf(facts)) {
    if (hold.holder == key && hold.reason != HoldReason::kIndeterminateWrite) continue;
    if (std::find(hosts.begin(), hosts.end(), hold.host) != hosts.end()) return hold.host;
  }
  return "";
}

// The garbage collector takes the Gang with the owner, and may take it before the pods.
bool OwnerIsGone(const api::Gang& gang, const EffectOutcome& read) {
  if (!read.done()) return read.answered();
  return gather::OwnerStateOf(gang, read.object).phase == gather::OwnerPhase::kGone;
}

}  // namespace

const char* AdoptionStep::TextOf(Source source) {
  static constexpr const char* kTexts[] = {
      "the Gang was missing; its plan was rebuilt from its running pods",
      "another controller chose the hosts: nodeSelector kubernetes.io/hostname of its pods",
      "kube-scheduler chose the hosts: its pods name a core PodGroup and had no gate"};
  return kTexts[static_cast<std::size_t>(source)];
}

std::vector<Work> AdoptionStep::Plan(const PassFacts& facts) {
  std::erase_if(problems_, [&](const auto& entry) { return facts.gangs.count(entry.first) == 0; });
  std::vector<Work> running;
  std::vector<Work> chosen;
  const auto nodes = std::make_shared<const HostnameIndex>(facts.cluster.nodes);
  for (const auto& [key, gang] : facts.gangs) {
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    if (gathered == nullptr || facts.isolated.count(key) != 0) continue;
    if (IsFinished(gang->status)) continue;
    if (!gathered->members.empty() && gather::IsLeftToCore(*gathered)) {
      if (gathered->unbound == 0) {
        running.push_back(
            {key, [this, key = key](const PassFacts& now) { return ObserveCore(now, key); }});
      }
      continue;
    }
    if (gathered->unbound > 0 && gathered->held_by_others == 0 && gather::NamesHosts(*gathered)) {
      chosen.push_back({key, [this, key = key, nodes](const PassFacts& now) {
                          return Observe(now, key, *nodes);
                        }});
    } else if (!gang->status.committed() && gather::AnyBound(*gathered)) {
      running.push_back(
          {key, [this, key = key](const PassFacts& now) { return AdoptRunning(now, key); }});
    }
  }
  std::move(chosen.begin(), chosen.end(), std::back_inserter(running));
  return running;
}

Decision AdoptionStep::AdoptRunning(const PassFacts& facts, const NamespacedName& key) {
  const GangPtr gang = facts.gangs.at(key);
  const auto hosts = HostsOfRunningPods(*facts.GatheredOf(key), gang->job.workers);
  if (hosts.ok()) return Consider(facts, key, *hosts, Source::kRunningPods);
  if (gang->status.plan_generation > 0) return {};  // see stale_release_step.h
  return {{ReportProblem{
      StrCat("Gang ", key.text(), ": pods of it run although it has no plan, ",
             "and they do not say where each rank belongs: ", MessageOf(hosts.status()),
             "; delete the pods to have the gang placed")}}};
}

Decision AdoptionStep::Observe(const PassFacts& facts, const NamespacedName& key,
                               const HostnameIndex& nodes) {
  const api::Gang& gang = *facts.gangs.at(key);
  const gather::GatheredGang& gathered = *facts.GatheredOf(key);
  const std::vector<std::string> before = HostsOf(gang);
  if (before.empty() && !gather::IsComplete(gathered, gang.job.workers)) return {};
  const auto hosts = HostsChosenByOthers(gathered, gang.job.workers, before, nodes);
  if (!hosts || *hosts == before) return {};
  return Consider(facts, key, *hosts, Source::kOtherController);
}

Decision AdoptionStep::ObserveCore(const PassFacts& facts, const NamespacedName& key) {
  const api::Gang& gang = *facts.gangs.at(key);
  const std::vector<std::string> before = HostsOf(gang);
  const auto hosts = HostsChosenByCore(*facts.GatheredOf(key), gang.job.workers, before);
  if (!hosts || *hosts == before) return {};
  return Consider(facts, key, *hosts, Source::kKubeScheduler);
}

std::vector<Work> AdoptionStep::MarkSlots(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    if (gathered == nullptr || !HoldsHosts(gang->status) || facts.IsLeftAlone(key)) continue;
    Decision decision;
    decision.threads = kSlotThreads;
    const auto& slots = gang->status.assignments;
    for (const gather::GangMember& member : gathered->members) {
      const api::Pod& pod = *member.pod;
      if (pod.node_name.empty() || !gather::IsLeftToCore(pod)) continue;
      if (!member.rank || static_cast<std::size_t>(*member.rank) >= slots.size()) continue;
      if (api::Find(pod.metadata.annotations, api::kSlotAnnotation)) continue;
      const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(*member.rank)];
      if (slot.host != pod.node_name) continue;
      decision.effects.push_back(
          MarkSlot{key, member.pod,
                   api::EncodeSlot({gang->metadata.name, slot.rank, slot.fabric_pod, slot.segment,
                                    slot.stages})});
    }
    if (decision.effects.empty()) continue;
    works.push_back({key, [decision](const PassFacts&) { return decision; }});
  }
  return works;
}

Decision AdoptionStep::Consider(const PassFacts& facts, const NamespacedName& key,
                                std::vector<std::string> hosts, Source source) {
  const GangPtr gang = facts.gangs.at(key);
  Decision turn{{AwaitTurn{key, Question::kAdoption}}};
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (source == Source::kRunningPods && resource) {
    turn.effects.push_back(ReadObject{{*resource, key.namespace_name, gang->owner.name, ""}});
  }
  turn.then = [this, key, gang, hosts = std::move(hosts), source](const PassFacts& now,
                                                                  const EffectOutcomes& outcomes) {
    if (outcomes.size() > 1 && OwnerIsGone(*gang, outcomes.back())) return Decision{};
    Decision decision;
    if (outcomes.front().done()) {
      auto adopted = Adopt(now, key, hosts, source);
      std::string problem = adopted.ok() ? "" : MessageOf(adopted.status());
      const bool is_news = std::exchange(problems_[key], problem) != problem;
      if (adopted.ok()) {
        decision = *std::move(adopted);
      } else if (is_news) {
        decision = ReportRefused(now, key, problem, source);
      }
    }
    const std::string& problem = problems_[key];
    if (!problem.empty()) decision.effects.insert(decision.effects.begin(), ReportProblem{problem});
    return decision;
  };
  return turn;
}

Decision AdoptionStep::ReportRefused(const PassFacts& facts, const NamespacedName& key,
                                     const std::string& why, Source source) {
  const GangPtr gang = facts.gangs.at(key);
  const char* reason = source == Source::kRunningPods ? "NotAdopted" : "HostsRefused";
  Decision decision;
  for (Event& one :
       OnOwnerAndPod({gang->owner, key.namespace_name, true, reason, why}, facts.GatheredOf(key))) {
    decision.effects.push_back(std::move(one));
  }
  if (gang->status.committed()) return decision;
  api::GangStatus status = gang->status;
  status.observed_generation = gang->metadata.generation;
  status.outcome = placement::Outcome::kNotNow;
  SetCondition(status, *gang, api::kPlannedCondition, false, reason, why, facts.now.wall_ms);
  if (status != gang->status) {
    decision.effects.push_back(CommitGangStatus{key, gang, std::move(status)});
  }
  return decision;
}

// At the cost of what differs from the last one.
plan::Snapshot AdoptionStep::SnapshotWith(const PassFacts& facts, const api::Gang& placed) {
  state::ClusterState input = facts.cluster;
  input.jobs.clear();
  input.gangs.clear();
  for (const auto& [key, known] : facts.gangs) {
    const bool other = key != KeyOf(placed.metadata) && facts.isolated.count(key) == 0;
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
absl::StatusOr<Decision> AdoptionStep::Adopt(const PassFacts& facts, const NamespacedName& key,
                                             const std::vector<std::string>& hosts, Source source) {
  const GangPtr gang = facts.gangs.at(key);
  const std::string held = HostHeldBesides(facts, key, hosts);
  if (!held.empty()) {
    return absl::FailedPreconditionError(
        StrCat("Gang ", key.text(),
               ": the hosts that its pods name or run on are not taken for its plan: host ", held,
               " is kept for another gang"));
  }
  api::Gang placed = *gang;
  placed.status.plan_generation = 1;
  placed.status.assignments.clear();
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    placed.status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
  }
  const plan::Snapshot snapshot = SnapshotWith(facts, placed);
  const bool ours = source == Source::kRunningPods;
  const std::string problem = AdoptionProblem(snapshot, *gang, ours);
  if (!problem.empty()) {
    return absl::FailedPreconditionError(
        ours ? StrCat("Gang ", key.text(), ": its running pods cannot be taken for its plan: ",
                      problem, "; delete them to have the gang placed")
             : StrCat("Gang ", key.text(), ": the hosts that its pods name cannot ",
                      "be used: ", problem, "; let their controller choose others"));
  }
  const plan::JobId id = IdOfJob(snapshot, key);
  const plan::JobState& job = snapshot.jobs[id.index()];
  placement::GangPlan plan;
  plan.host_of_rank = job.assignment->host_of_rank;
  plan.objective = placement::Evaluate(*snapshot.places, *job.groups, plan.host_of_rank);
  api::GangStatus status = Committed(*gang, plan, job, snapshot, facts.now.wall_ms);
  const std::string text = TextOf(source);
  const char* reason = ours ? "Adopted" : kObservedReason;
  SetCondition(status, *gang, api::kPlannedCondition, true, reason, text, facts.now.wall_ms);
  return Decision{{CommitGangStatus{key, gang, std::move(status)}, Increment{&PassReport::adopted},
                   Event{gang->owner, key.namespace_name, ours, reason, text}}};
}

}  // namespace yardmaster::extender
