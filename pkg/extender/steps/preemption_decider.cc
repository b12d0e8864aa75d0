#include "pkg/extender/steps/preemption_decider.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/eviction.h"
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

// The cluster once every stopped gang has left.
plan::Snapshot WithoutLeaving(const plan::Snapshot& snapshot) {
  plan::Snapshot after = snapshot;
  for (const plan::JobId id : after.job_ids()) {
    if (after.jobs[id.index()].leaving) RemoveAssignment(after, id);
  }
  return after;
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

}  // namespace

plan::Plan PreemptionDecider::PlanQueue(PassState& pass, plan::PlanOptions options) {
  options.preemptions = 0;
  const plan::Plan* known = memo_.Find(*pass.snapshot);
  if (known == nullptr) {
    ++pass.report.queue_plans;
    memo_.Keep(*pass.snapshot, plan::MakePlan(*pass.snapshot, options));
    known = memo_.Last();
  }
  plan::Plan plan = *known;
  WakeAtEnds(pass);
  if (!AnyMayStopOthers(pass, plan) || !Prepare(pass, *pass.snapshot)) return plan;
  options.preemptions = kTriesPerPass;
  plan = plan::MakePlan(*pass.snapshot, options);
  for (const plan::JobPlan& job : plan.jobs) {
    if (job.sought_victims && !job.preemption) {
      in_vain_[pass.GangOf(job.job).metadata.uid] = clock_.SteadyMs();
    }
  }
  return plan;
}

// A job that has run for as long as it said may be stopped from then on.
void PreemptionDecider::WakeAtEnds(PassState& pass) const {
  for (const plan::JobState& job : pass.snapshot->jobs) {
    const auto end_ms = job.assignment ? plan::ExpectedEndMs(job) : std::nullopt;
    const std::int64_t left_ms = end_ms.value_or(0) - pass.snapshot->now_ms;
    if (left_ms >= 0) pass.WakeIn(left_ms + 1);
  }
}

bool PreemptionDecider::MayDecide(const PassState& pass, plan::JobId job) const {
  const api::Gang& gang = pass.GangOf(job);
  if (!gang.job.may_preempt || gang.status.preemption) return false;
  if (pass.stopping.count(KeyOf(gang.metadata)) != 0) return false;
  const auto vain = in_vain_.find(gang.metadata.uid);
  if (vain != in_vain_.end() && clock_.SteadyMs() - vain->second < kRetryMs) return false;
  const api::Condition* last =
      api::FindCondition(gang.status.conditions, api::kPreemptingCondition);
  if (last == nullptr) return true;
  if (last->reason != "EvictionRefused" && last->reason != "VictimsDidNotEnd") return true;
  // Before 0: the clock of the process that wrote it was ahead.
  const std::int64_t since_ms = clock_.WallMs() - last->transition_ms;
  return since_ms < 0 || since_ms >= kPauseMs;
}

bool PreemptionDecider::AnyMayStopOthers(const PassState& pass, const plan::Plan& plan) const {
  if (!options_.enabled) return false;
  const std::vector<plan::JobState>& jobs = pass.snapshot->jobs;
  const std::int64_t now_ms = pass.snapshot->now_ms;
  return std::any_of(plan.jobs.begin(), plan.jobs.end(), [&](const plan::JobPlan& waits) {
    const plan::JobState& job = jobs[waits.job.index()];
    if (job.assignment || waits.gang.outcome != placement::Outcome::kNotNow) return false;
    return MayDecide(pass, waits.job) &&
           std::any_of(jobs.begin(), jobs.end(), [&](const plan::JobState& other) {
             return other.assignment &&
                    (other.job.priority < job.job.priority || other.job.preemptible ||
                     plan::ExpectedEndMs(other).value_or(now_ms) < now_ms);
           });
  });
}

// False when budgets cannot be read: then no gang is stopped.
bool PreemptionDecider::Prepare(PassState& pass, plan::Snapshot& snapshot) {
  const auto* budgets = budgets_.Read(pass.report);
  if (budgets == nullptr) return false;
  std::erase_if(in_vain_,
                [this](const auto& tried) { return clock_.SteadyMs() - tried.second >= kRetryMs; });
  snapshot.budgets.clear();
  for (const api::DisruptionBudget& budget : *budgets) {
    snapshot.budgets.push_back(
        {StrCat(budget.metadata.namespace_name, "/", budget.metadata.name),
         static_cast<int>(std::max<std::int64_t>(0, budget.disruptions_allowed))});
  }
  for (const plan::JobId id : snapshot.job_ids()) {
    plan::JobState& job = snapshot.jobs[id.index()];
    const NamespacedName& key = job.job.key;
    job.leaving = job.assignment && pass.stopping.count(key) != 0;
    job.may_stop_others = !job.assignment && MayDecide(pass, id);
    job.budgets.clear();
    job.grace_seconds = std::min(job.grace_seconds, static_cast<int>(options_.max_grace_ms / 1000));
    if (EndsTooLate(pass.GatheredOf(key), pass.snapshot->now_ms)) job.may_be_preempted = false;
    if (job.assignment && !job.leaving) {
      ReadBudgets(*budgets, Evictable(pass.GatheredOf(key)), job);
    }
  }
  return true;
}

bool PreemptionDecider::Decide(PassState& pass, const plan::JobPlan& job) {
  GiveUpIfInVain(pass, job.job);
  // Without victims: it fits once those that are being stopped have left.
  if (!job.preemption || job.preemption->victims.empty()) return true;
  return Record(pass, job.job, *job.preemption);
}

void PreemptionDecider::DecideTakeBack(PassState& pass, plan::JobId job) {
  GiveUpIfInVain(pass, job);
  if (!options_.enabled || !MayDecide(pass, job)) return;
  plan::Snapshot after = *pass.snapshot;
  if (!Prepare(pass, after)) return;
  after = WithoutLeaving(after);
  const auto decision = plan::PlanTakeBack(after, job);
  if (decision && !decision->victims.empty()) Record(pass, job, *decision);
}

void PreemptionDecider::GiveUpIfInVain(PassState& pass, plan::JobId job) {
  const api::Gang& gang = pass.GangOf(job);
  if (!gang.status.preemption || pass.cleared.count(KeyOf(gang.metadata)) == 0) return;
  step_.GiveUp(pass, KeyOf(gang.metadata), "PlaceLost",
               "the gangs it stopped have left and it still does not fit");
}

bool PreemptionDecider::Record(PassState& pass, plan::JobId job, const plan::Preemption& decision) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(KeyOf(pass.GangOf(job).metadata));
  std::vector<PodPtr> pods;
  api::GangStatus status = gang->status;
  status.preemption.emplace();
  status.preemption->started_ms = clock_.WallMs() / 1000 * 1000;
  plan::Snapshot after = *pass.snapshot;
  for (const plan::JobId id : decision.victims) {
    const api::Gang& victim = pass.GangOf(id);
    status.preemption->victims.push_back(
        {victim.metadata.namespace_name, victim.metadata.name, victim.metadata.uid});
    const std::vector<PodPtr> theirs = Evictable(pass.GatheredOf(KeyOf(victim.metadata)));
    pods.insert(pods.end(), theirs.begin(), theirs.end());
    after.jobs[id.index()].leaving = true;
  }
  // Each may go alone, but perhaps not all of them under one budget.
  const auto* budgets = budgets_.Read(pass.report);
  if (budgets == nullptr || !WhyNotEvictable(*budgets, pods).empty()) {
    in_vain_[gang->metadata.uid] = clock_.SteadyMs();
    return false;
  }
  const auto& before = after.jobs[job.index()].assignment;
  std::set<fabric::HostId> hosts;
  for (std::size_t rank = 0; rank < decision.gang.host_of_rank.size(); ++rank) {
    const fabric::HostId host = decision.gang.host_of_rank[rank];
    if (!before || before->host_of_rank[rank] != host) hosts.insert(host);
  }
  for (fabric::HostId host : hosts) status.preemption->hosts.push_back(after.places->name(host));
  const absl::Status sound =
      plan::VerifyPlacement(WithoutLeaving(after), job, decision.gang.host_of_rank,
                            /*may_use_backup=*/before.has_value());
  if (!sound.ok()) {
    pass.report.errors.push_back(
        StrCat("Gang ", gang->metadata.name,
               ": a preemption did not pass the verifier and was dropped: ", MessageOf(sound)));
    return false;
  }
  SetCondition(status, *gang, api::kPreemptingCondition, true, "StoppingGangs", decision.why,
               clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return false;
  ++pass.report.preemptions;
  for (const plan::JobId id : decision.victims) {
    pass.stopping.insert(KeyOf(pass.GangOf(id).metadata));
    pass.snapshot->jobs[id.index()].leaving = true;
  }
  for (fabric::HostId host : hosts) {
    pass.snapshot->cluster.hosts[host.index()].reserved_for = job.value;
  }
  notify_({gang->owner, gang->metadata.namespace_name, false, "Preempting", decision.why});
  return true;
}

}  // namespace yardmaster::extender
