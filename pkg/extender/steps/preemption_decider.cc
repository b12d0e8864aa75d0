#include "pkg/extender/steps/preemption_decider.h"

#include <algorithm>
#include <set>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/gather/disruption_budgets.h"
#include "pkg/gather/leaving_pods.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

constexpr int kTriesPerPass = 4;           // jobs, each costs several gang plans
constexpr std::int64_t kRetryMs = 1'000;   // for a gang that stopping others did not help
constexpr std::int64_t kPauseMs = 60'000;  // for a gang for whose sake an eviction was refused

// Takes a gang off its hosts.
void RemoveAssignment(plan::Snapshot& snapshot, plan::JobId id) {
  plan::JobState& job = snapshot.jobs[id.index()];
  if (!job.assignment) return;
  placement::ReleaseHosts(snapshot.cluster, job.job, job.assignment->host_of_rank);
  job.assignment.reset();
}

// The cluster once every gang that is being stopped, and those of `victims`, have left.
plan::Snapshot WithoutStopped(const PassFacts& facts, plan::Snapshot snapshot,
                              const std::vector<plan::JobId>& victims) {
  for (const plan::JobId id : snapshot.job_ids()) {
    if (facts.IsStopping(snapshot.jobs[id.index()].job.key)) RemoveAssignment(snapshot, id);
  }
  for (const plan::JobId id : victims) RemoveAssignment(snapshot, id);
  return snapshot;
}

// Which budgets cover the gang's pods. Pods that two of them cover cannot be evicted.
void AddBudgets(const std::vector<api::DisruptionBudget>& budgets,
                const std::vector<gather::PodPtr>& pods, plan::JobState& job) {
  std::vector<int> covered(budgets.size(), 0);
  for (const gather::PodPtr& pod : pods) {
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

}  // namespace

plan::Plan PreemptionDecider::PlanQueue(const PassFacts& facts, const plan::PlanOptions& options,
                                        std::vector<Effect>& effects) {
  for (const plan::JobState& job : facts.snapshot->jobs) {
    const auto end_ms = job.assignment ? plan::ExpectedEndMs(job) : std::nullopt;
    const std::int64_t left_ms = end_ms.value_or(0) - facts.snapshot->now_ms;
    if (left_ms >= 0) effects.push_back(WakeIn{left_ms + 1});  // it may be stopped from then on
  }
  const plan::Plan* known = memo_.Find(*facts.snapshot);
  if (known != nullptr) return *known;
  effects.push_back(Increment{&PassReport::queue_plans});
  memo_.Store(*facts.snapshot, make_plan_(*facts.snapshot, options));
  return *memo_.Last();
}

plan::Plan PreemptionDecider::PlanWithVictims(const PassFacts& facts, plan::PlanOptions options) {
  options.policies.push_back(plan::StopOthers(kTriesPerPass));
  const std::int64_t now_ms = facts.now.steady_ms;
  std::erase_if(last_failed_attempt_ms_,
                [&](const auto& tried) { return now_ms - tried.second >= kRetryMs; });
  plan::Plan plan = make_plan_(WithBudgets(facts), options);
  for (const plan::JobPlan& job : plan.jobs) {
    if (job.sought_victims && !job.preemption) {
      last_failed_attempt_ms_[facts.GangOf(job.job)->metadata.uid] = now_ms;
    }
  }
  return plan;
}

bool PreemptionDecider::MayDecide(const PassFacts& facts, plan::JobId job) const {
  const api::Gang& gang = *facts.GangOf(job);
  if (!gang.job.may_preempt || gang.status.preemption) return false;
  if (facts.IsStopping(KeyOf(gang.metadata))) return false;
  const auto failed = last_failed_attempt_ms_.find(gang.metadata.uid);
  if (failed != last_failed_attempt_ms_.end() && facts.now.steady_ms - failed->second < kRetryMs) {
    return false;
  }
  const api::Condition* last =
      api::FindCondition(gang.status.conditions, api::kPreemptingCondition);
  if (last == nullptr) return true;
  if (last->reason != "EvictionRefused" && last->reason != "VictimsDidNotEnd") return true;
  // Before 0: the clock of the process that wrote it was ahead.
  const std::int64_t since_ms = facts.now.wall_ms - last->transition_ms;
  return since_ms < 0 || since_ms >= kPauseMs;
}

bool PreemptionDecider::MayStopOthers(const PassFacts& facts, const plan::Plan& plan) const {
  if (!options_.enabled) return false;
  const std::vector<plan::JobState>& jobs = facts.snapshot->jobs;
  const std::int64_t now_ms = facts.snapshot->now_ms;
  return std::any_of(plan.jobs.begin(), plan.jobs.end(), [&](const plan::JobPlan& waits) {
    const plan::JobState& job = jobs[waits.job.index()];
    if (job.assignment || waits.gang.outcome != placement::Outcome::kNotNow) return false;
    if (waits.awaited) return false;
    return MayDecide(facts, waits.job) &&
           std::any_of(jobs.begin(), jobs.end(), [&](const plan::JobState& other) {
             return other.assignment &&
                    (other.job.priority < job.job.priority || other.job.preemptible ||
                     plan::ExpectedEndMs(other).value_or(now_ms) < now_ms);
           });
  });
}

// The snapshot in which victims are sought. REQUIRES: facts.budgets.
plan::Snapshot PreemptionDecider::WithBudgets(const PassFacts& facts) const {
  plan::Snapshot snapshot = *facts.snapshot;
  for (const api::DisruptionBudget& budget : *facts.budgets) {
    snapshot.budgets.push_back(
        {StrCat(budget.metadata.namespace_name, "/", budget.metadata.name),
         static_cast<int>(std::max<std::int64_t>(0, budget.disruptions_allowed))});
  }
  for (const plan::JobId id : snapshot.job_ids()) {
    plan::JobState& job = snapshot.jobs[id.index()];
    const NamespacedName& key = job.job.key;
    job.leaving = job.assignment && facts.IsStopping(key);
    job.may_stop_others = !job.assignment && MayDecide(facts, id);
    job.grace_seconds = std::min(job.grace_seconds, static_cast<int>(options_.max_grace_ms / 1000));
    if (gather::EndsTooLate(facts.GatheredOf(key), snapshot.now_ms)) job.may_be_preempted = false;
    if (job.assignment && !job.leaving) {
      AddBudgets(*facts.budgets, gather::Evictable(facts.GatheredOf(key)), job);
    }
  }
  return snapshot;
}

Decision PreemptionDecider::Decide(const PassFacts& facts, const plan::JobPlan& job) {
  const api::Gang& gang = *facts.GangOf(job.job);
  if (gang.status.preemption) {
    if (!IsCleared(facts, gang)) return {};
    return GiveUpPreemption(facts, KeyOf(gang.metadata), "PlaceLost",
                            "the gangs it stopped have left and it still does not fit");
  }
  // Without victims: it fits once those that are being stopped have left.
  if (!job.preemption || job.preemption->victims.empty()) return {};
  return Record(facts, job.job, *job.preemption);
}

Decision PreemptionDecider::TakeBack(const PassFacts& facts, plan::JobId job,
                                     const std::vector<int>& lost_ranks) {
  Decision first;
  plan::JobPlan waits;
  waits.job = job;
  if (facts.GangOf(job)->status.preemption) first = Decide(facts, waits);
  return AndThen(std::move(first), [this, job, lost_ranks](const PassFacts& now) {
    if (!options_.enabled || !MayDecide(now, job)) return Decision{};
    return AndThen({{ReadBudgets{}}}, [this, job, lost_ranks](const PassFacts& read) {
      if (!read.budgets) return Decision{};
      plan::Snapshot after = WithoutStopped(read, WithBudgets(read), {});
      after.jobs[job.index()].lost_ranks = lost_ranks;
      const auto found = plan::PlanTakeBack(after, job);
      return found && !found->victims.empty() ? Record(read, job, *found) : Decision{};
    });
  });
}

Decision PreemptionDecider::Record(const PassFacts& facts, plan::JobId job,
                                   const plan::Preemption& decision) {
  const GangPtr gang = facts.GangOf(job);
  const NamespacedName key = KeyOf(gang->metadata);
  std::vector<gather::PodPtr> pods;
  api::GangStatus status = gang->status;
  status.preemption.emplace();
  status.preemption->started_ms = facts.now.wall_ms / 1000 * 1000;
  for (const plan::JobId id : decision.victims) {
    const api::ObjectMeta& victim = facts.GangOf(id)->metadata;
    status.preemption->victims.push_back({victim.namespace_name, victim.name, victim.uid});
    const std::vector<gather::PodPtr> theirs = gather::Evictable(facts.GatheredOf(KeyOf(victim)));
    pods.insert(pods.end(), theirs.begin(), theirs.end());
  }
  // Each may go alone, but perhaps not all of them under one budget.
  if (!facts.budgets || !gather::WhyNotEvictable(*facts.budgets, pods).empty()) {
    last_failed_attempt_ms_[gang->metadata.uid] = facts.now.steady_ms;
    return {};
  }
  const auto& before = facts.Job(job).assignment;
  std::set<fabric::HostId> hosts;
  for (std::size_t rank = 0; rank < decision.gang.host_of_rank.size(); ++rank) {
    const fabric::HostId host = decision.gang.host_of_rank[rank];
    if (!before || before->host_of_rank[rank] != host) hosts.insert(host);
  }
  for (fabric::HostId host : hosts) {
    status.preemption->hosts.push_back(facts.snapshot->places->name(host));
  }
  const absl::Status sound =
      plan::VerifyPlacement(WithoutStopped(facts, *facts.snapshot, decision.victims), job,
                            decision.gang.host_of_rank, /*may_use_backup=*/before.has_value());
  if (!sound.ok()) {
    return {{ReportError{
        StrCat("Gang ", key.text(),
               ": a preemption did not pass the verifier and was dropped: ", MessageOf(sound))}}};
  }
  SetCondition(status, *gang, api::kPreemptingCondition, true, "StoppingGangs", decision.why,
               facts.now.wall_ms);
  return {{CommitGangStatus{key, gang, std::move(status)}, Increment{&PassReport::preemptions},
           Event{gang->owner, key.namespace_name, false, "Preempting", decision.why}}};
}

}  // namespace yardmaster::extender
