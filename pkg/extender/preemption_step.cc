#include "pkg/extender/preemption_step.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/budgets.h"
#include "pkg/extender/gang_status.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// The victim as the ledger has it while it still holds its hosts; null once it is gone or was made
// anew.
const api::Gang* Holding(const PassState& pass, const api::VictimReference& victim) {
  const auto at = pass.gangs.find({victim.namespace_name, victim.name});
  if (at == pass.gangs.end() || at->second->metadata.uid != victim.uid) return nullptr;
  const api::GangStatus& status = at->second->status;
  return status.committed() && !IsFinished(status) ? at->second.get() : nullptr;
}

bool WaitsInFull(const PassState& pass, const api::Gang& gang) {
  const GatheredGang* gathered = pass.GatheredOf(KeyOf(gang.metadata));
  if (gathered == nullptr || IsFinished(gang.status)) return false;
  return gang.status.committed() || IsComplete(*gathered, gang.job.workers);
}

// Pods that run or may start at any moment, without those that are on their way out.
std::vector<PodPtr> ToEvict(const GatheredGang* gathered) {
  std::vector<PodPtr> pods;
  if (gathered == nullptr) return pods;
  for (const GangMember& member : gathered->members) {
    if (!member.pod->gated() && !member.pod->metadata.deleted_ms) pods.push_back(member.pod);
  }
  return pods;
}

bool AllGated(const GatheredGang* gathered) {
  return gathered == nullptr || gathered->gated == static_cast<int>(gathered->members.size());
}

// Takes a gang off its hosts.
void RemoveAssignment(plan::Snapshot& snapshot, int index) {
  plan::JobState& job = snapshot.jobs[static_cast<std::size_t>(index)];
  if (!job.assignment) return;
  for (fabric::HostId id : job.assignment->host_of_rank) {
    if (!id.valid()) continue;
    placement::HostState& host = snapshot.cluster.hosts[id.index()];
    host.free_gpus = static_cast<std::int16_t>(
        std::min<int>(host.gpus, host.free_gpus + job.job.gpus_per_worker));
  }
  job.assignment.reset();
}

// Which budgets cover the gang's pods. Pods that two of them cover cannot be evicted.
void ReadBudgets(const std::vector<api::DisruptionBudget>& budgets, const std::vector<PodPtr>& pods,
                 plan::JobState& job) {
  std::vector<int> covered(budgets.size(), 0);
  for (const PodPtr& pod : pods) {
    int covering = 0;
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      if (!budgets[b].Covers(pod->metadata.namespace_name, pod->metadata.labels)) continue;
      ++covered[b];
      ++covering;
    }
    if (covering > 1) job.may_be_preempted = false;
  }
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    if (covered[b] > 0) job.budgets.push_back({static_cast<int>(b), covered[b]});
  }
}

// The other 429: the API server is busy.
bool IsBudgetsAnswer(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         status.message().find("disruption budget") != absl::string_view::npos;
}

std::string NameOf(const api::Gang& gang) {
  return StrCat(gang.owner.kind, " ", gang.metadata.namespace_name, "/", gang.owner.name);
}

}  // namespace

PreemptionStep::PreemptionStep(kube::Client& client, state::WorldCache& cache, Ledger& ledger,
                               const Clock& clock, Notify notify, Options options)
    : client_(client),
      cache_(cache),
      ledger_(ledger),
      clock_(clock),
      notify_(std::move(notify)),
      options_(options) {}

void PreemptionStep::CarryOn(PassState& pass) {
  budgets_.reset();
  std::vector<NameKey> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (gang->status.preemption) keys.push_back(key);
  }
  for (const NameKey& key : keys) CarryOnOne(pass, key);
  ForgetOldVictims(pass);
}

void PreemptionStep::CarryOnOne(PassState& pass, const NameKey& key) {
  const std::shared_ptr<const api::Gang> winner = pass.gangs.at(key);
  if (!WaitsInFull(pass, *winner)) {
    return GiveUp(pass, key, "NoLongerWaiting", "the gang no longer waits with all its pods");
  }
  std::vector<NameKey> holding;
  std::vector<PodPtr> evict;
  for (const api::VictimReference& victim : winner->status.preemption->victims) {
    if (Holding(pass, victim) == nullptr) continue;
    holding.push_back({victim.namespace_name, victim.name});
    pass.stopping.insert(holding.back());
    const std::vector<PodPtr> pods = ToEvict(pass.GatheredOf(holding.back()));
    evict.insert(evict.end(), pods.begin(), pods.end());
  }
  if (holding.empty()) {
    pass.cleared.insert(key);
    return;
  }
  for (const NameKey& victim : holding) {
    if (!Tell(pass, victim, *winner)) return;
  }
  if (!evict.empty()) {
    // All or none: what a budget forbids now is not begun.
    const auto* budgets = Budgets(pass);
    if (budgets == nullptr) return;
    std::string refused = WhyNotEvictable(*budgets, evict);
    if (refused.empty()) refused = Evict(pass, evict);
    if (refused.empty()) return;
    for (const NameKey& victim : holding) pass.stopping.erase(victim);
    return GiveUp(pass, key, "EvictionRefused", refused);
  }
  bool cleared = true;
  for (const NameKey& victim : holding) {
    cleared &= AllGated(pass.GatheredOf(victim)) && AllGone(pass, victim) &&
               TakeHosts(pass, victim, *winner);
  }
  if (cleared) pass.cleared.insert(key);
}

bool PreemptionStep::Tell(PassState& pass, const NameKey& key, const api::Gang& winner) {
  const std::shared_ptr<const api::Gang> victim = pass.gangs.at(key);
  if (api::IsTrue(victim->status.conditions, api::kPreemptedCondition)) return true;
  const std::string why =
      winner.status.committed()
          ? StrCat("gives lent backup hosts back to ", NameOf(winner))
          : StrCat("makes room for ", NameOf(winner), " of priority ", winner.job.priority);
  const std::string text =
      StrCat(why, "; its ", Count(victim->job.workers, "pod"),
             " are asked to write a checkpoint and to end within their grace period");
  api::GangStatus status = victim->status;
  api::SetCondition(status.conditions,
                    {api::kPreemptedCondition, api::ConditionStatus::kTrue, "Stopping", text,
                     victim->metadata.generation, 0},
                    clock_.WallMs());
  if (!ledger_.Write(pass, *victim, status)) return false;
  notify_({victim->owner, victim->metadata.namespace_name, true, "Preempted", text});
  return true;
}

std::string PreemptionStep::Evict(PassState& pass, const std::vector<PodPtr>& pods) {
  std::mutex mutex;
  std::string refused;
  ParallelFor(pods.size(), options_.eviction_threads, [&](std::size_t i) {
    const api::ObjectMeta& pod = pods[i]->metadata;
    {
      std::lock_guard lock(mutex);
      if (!refused.empty() || !ledger_.may_write()) return;
    }
    const nlohmann::json eviction = {
        {"apiVersion", "policy/v1"},
        {"kind", "Eviction"},
        {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_name}}},
        {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
    const absl::Status evicted =
        client_.Create({kube::Pods(), pod.namespace_name, pod.name, "eviction"}, eviction, {})
            .status();
    std::lock_guard lock(mutex);
    if (evicted.ok()) {
      ++pass.report.evicted_pods;
    } else if (IsBudgetsAnswer(evicted)) {
      refused = MessageOf(evicted);
    } else if (!absl::IsNotFound(evicted) && !absl::IsAborted(evicted)) {
      pass.report.errors.push_back(MessageOf(evicted));
    }
  });
  return refused;
}

// Asks the API server itself: the watch may still show a pod gated that the leader before released.
bool PreemptionStep::AllGone(PassState& pass, const NameKey& key) {
  const auto list = kube::ListAll(client_, {kube::Pods(), key.first, "", ""});
  if (!list.ok()) {
    pass.report.errors.push_back(MessageOf(list.status()));
    return false;
  }
  state::ObjectTable<api::Pod> pods;
  for (const kube::ObjectPtr& object : list->items) {
    auto pod = api::DecodePod(*object);
    if (pod.ok()) pods.Put(std::make_shared<const api::Pod>(*std::move(pod)));
  }
  const Gathered gathered = Gather(pods);
  return std::all_of(gathered.gangs.begin(), gathered.gangs.end(), [&](const GatheredGang& gang) {
    return gang.name != key.second || AllGated(&gang);
  });
}

bool PreemptionStep::TakeHosts(PassState& pass, const NameKey& key, const api::Gang& winner) {
  const std::shared_ptr<const api::Gang> victim = pass.gangs.at(key);
  const api::GangStatus status =
      Stopped(*victim, StrCat("made room for ", NameOf(winner), " and waits for a place again"),
              clock_.WallMs());
  if (!ledger_.Write(pass, *victim, status)) return false;
  pass.stopping.erase(key);
  return true;
}

// Gangs that hold their hosts and are nobody's victim any more.
void PreemptionStep::ForgetOldVictims(PassState& pass) {
  std::vector<NameKey> keys;
  for (const auto& [key, gang] : pass.gangs) {
    const bool marked = api::IsTrue(gang->status.conditions, api::kPreemptedCondition);
    if (marked && gang->status.committed() && pass.stopping.count(key) == 0) keys.push_back(key);
  }
  for (const NameKey& key : keys) {
    const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
    api::GangStatus status = gang->status;
    api::SetCondition(status.conditions,
                      {api::kPreemptedCondition, api::ConditionStatus::kFalse, "KeepsItsPlace",
                       "it is not stopped after all", gang->metadata.generation, 0},
                      clock_.WallMs());
    ledger_.Write(pass, *gang, status);
  }
}

void PreemptionStep::GiveUp(PassState& pass, const NameKey& key, const std::string& reason,
                            const std::string& message) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  if (!gang->status.preemption) return;
  api::GangStatus status = gang->status;
  status.preemption.reset();
  api::SetCondition(status.conditions,
                    {api::kPreemptingCondition, api::ConditionStatus::kFalse, reason, message,
                     gang->metadata.generation, 0},
                    clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return;
  ++pass.report.preemptions_given_up;
  notify_({gang->owner, gang->metadata.namespace_name, true, "PreemptionGivenUp", message});
}

void PreemptionStep::KeepHosts(PassState& pass) {
  plan::Snapshot& snapshot = *pass.snapshot;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const api::Gang& gang = pass.GangOf(static_cast<int>(i));
    if (!gang.status.preemption) continue;
    for (const std::string& name : gang.status.preemption->hosts) {
      const fabric::HostId host = snapshot.places->FindHost(name);
      if (host.valid()) snapshot.cluster.hosts[host.index()].reserved_for = static_cast<int>(i);
    }
  }
}

bool PreemptionStep::MayDecide(const PassState& pass, const api::Gang& gang) const {
  if (!gang.job.may_preempt || gang.status.preemption) return false;
  if (pass.stopping.count(KeyOf(gang.metadata)) != 0) return false;
  const api::Condition* last =
      api::FindCondition(gang.status.conditions, api::kPreemptingCondition);
  return last == nullptr || last->reason != "EvictionRefused" ||
         clock_.WallMs() - last->transition_ms >= options_.pause_ms;
}

// The cluster once every decision so far is carried out, with what budgets say of the others.
plan::Snapshot PreemptionStep::AfterDecisions(PassState& pass) {
  plan::Snapshot after = *pass.snapshot;
  const auto* budgets = Budgets(pass);
  if (budgets != nullptr) {
    for (const api::DisruptionBudget& budget : *budgets) {
      after.budgets.push_back(
          {StrCat(budget.metadata.namespace_name, "/", budget.metadata.name),
           static_cast<int>(std::max<std::int64_t>(0, budget.disruptions_allowed))});
    }
  }
  for (std::size_t i = 0; i < after.jobs.size(); ++i) {
    plan::JobState& job = after.jobs[i];
    if (!job.assignment) continue;
    const NameKey key = KeyOf(pass.GangOf(static_cast<int>(i)).metadata);
    if (pass.stopping.count(key) != 0) {
      RemoveAssignment(after, static_cast<int>(i));
    } else if (budgets == nullptr) {
      job.may_be_preempted = false;
    } else {
      ReadBudgets(*budgets, ToEvict(pass.GatheredOf(key)), job);
    }
  }
  return after;
}

const std::vector<api::DisruptionBudget>* PreemptionStep::Budgets(PassState& pass) {
  if (budgets_) return &*budgets_;
  const auto list = kube::ListAll(client_, {kube::PodDisruptionBudgets(), "", "", ""});
  if (!list.ok()) {
    pass.report.errors.push_back(MessageOf(list.status()));
    return nullptr;
  }
  budgets_.emplace();
  for (const kube::ObjectPtr& object : list->items) {
    auto budget = api::DecodeDisruptionBudget(*object);
    if (budget.ok()) budgets_->push_back(*std::move(budget));
  }
  return &*budgets_;
}

bool PreemptionStep::Record(PassState& pass, plan::Snapshot& after, int job,
                            const plan::Preemption& decision) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(KeyOf(pass.GangOf(job).metadata));
  std::vector<PodPtr> pods;
  api::GangStatus status = gang->status;
  status.preemption.emplace();
  status.preemption->started_ms = clock_.WallMs() / 1000 * 1000;
  for (int index : decision.victims) {
    const api::Gang& victim = pass.GangOf(index);
    status.preemption->victims.push_back(
        {victim.metadata.namespace_name, victim.metadata.name, victim.metadata.uid});
    const std::vector<PodPtr> theirs = ToEvict(pass.GatheredOf(KeyOf(victim.metadata)));
    pods.insert(pods.end(), theirs.begin(), theirs.end());
  }
  // Each may go alone, but perhaps not all of them under one budget.
  const auto* budgets = Budgets(pass);
  if (budgets == nullptr || !WhyNotEvictable(*budgets, pods).empty()) return false;
  const auto& before = after.jobs[static_cast<std::size_t>(job)].assignment;
  std::set<fabric::HostId> hosts;
  for (std::size_t rank = 0; rank < decision.gang.host_of_rank.size(); ++rank) {
    const fabric::HostId host = decision.gang.host_of_rank[rank];
    if (!before || before->host_of_rank[rank] != host) hosts.insert(host);
  }
  for (fabric::HostId host : hosts) status.preemption->hosts.push_back(after.places->name(host));
  for (int victim : decision.victims) RemoveAssignment(after, victim);
  const absl::Status sound = plan::VerifyPlacement(after, job, decision.gang.host_of_rank,
                                                   /*may_use_backup=*/before.has_value());
  if (!sound.ok()) {
    pass.report.errors.push_back(
        StrCat("Gang ", gang->metadata.name,
               ": a preemption did not pass the verifier and was dropped: ", MessageOf(sound)));
    return false;
  }
  const std::string& text = decision.why;
  api::SetCondition(status.conditions,
                    {api::kPreemptingCondition, api::ConditionStatus::kTrue, "StoppingGangs", text,
                     gang->metadata.generation, 0},
                    clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return false;
  ++pass.report.preemptions;
  for (const api::VictimReference& victim : status.preemption->victims) {
    pass.stopping.insert({victim.namespace_name, victim.name});
  }
  for (fabric::HostId host : hosts) {
    after.cluster.hosts[host.index()].reserved_for = job;
    pass.snapshot->cluster.hosts[host.index()].reserved_for = job;
  }
  notify_({gang->owner, gang->metadata.namespace_name, false, "Preempting", text});
  return true;
}

void PreemptionStep::Decide(PassState& pass, const std::vector<int>& waiting) {
  for (int index : waiting) GiveUpIfInVain(pass, index);
  if (!options_.enabled || clock_.SteadyMs() < next_try_ms_) return;
  std::optional<plan::Snapshot> after;
  int tries = 0;
  for (int index : waiting) {
    const plan::JobState& job = pass.snapshot->jobs[static_cast<std::size_t>(index)];
    const api::Gang& gang = pass.GangOf(index);
    if (tries == options_.tries_per_pass || !job.problems.empty() || !MayDecide(pass, gang)) {
      continue;
    }
    const bool anyone = std::any_of(
        pass.snapshot->jobs.begin(), pass.snapshot->jobs.end(), [&](const plan::JobState& other) {
          return other.assignment &&
                 (other.job.priority < job.job.priority || other.job.preemptible);
        });
    if (!anyone) continue;
    if (!after) after = AfterDecisions(pass);
    ++tries;
    const auto decision = plan::PlanPreemption(*after, index);
    // Without victims: it fits once those that are being stopped have left.
    if (!decision || decision->victims.empty()) continue;
    if (!Record(pass, *after, index, *decision)) after.reset();  // it is half changed
  }
  if (tries > 0) next_try_ms_ = clock_.SteadyMs() + options_.retry_ms;
}

void PreemptionStep::GiveUpIfInVain(PassState& pass, int job) {
  const api::Gang& gang = pass.GangOf(job);
  if (!gang.status.preemption || pass.cleared.count(KeyOf(gang.metadata)) == 0) return;
  GiveUp(pass, KeyOf(gang.metadata), "PlaceLost",
         "the gangs it stopped have left and it still does not fit");
}

void PreemptionStep::DecideTakeBack(PassState& pass, int job) {
  GiveUpIfInVain(pass, job);
  if (!options_.enabled || !MayDecide(pass, pass.GangOf(job))) return;
  plan::Snapshot after = AfterDecisions(pass);
  const auto decision = plan::PlanTakeBack(after, job);
  if (decision && !decision->victims.empty()) Record(pass, after, job, *decision);
}

}  // namespace yardmaster::extender
