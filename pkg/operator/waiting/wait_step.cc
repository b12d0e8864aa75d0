#include "pkg/operator/waiting/wait_step.h"

#include "pkg/api/suspended_wait.h"
#include "pkg/base/strings.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/state/release_rule.h"

namespace yardmaster::op {

namespace {

// Until the garbage collector has taken the Gang of an earlier job of this name.
constexpr std::int64_t kOldGangAgainMs = 1'000;
// Pods that are all there are being released; their gang is looked at again.
constexpr std::int64_t kLateAgainMs = 30'000;

bool Asks(const WaitFacts& facts) {
  return facts.gang != nullptr && facts.gang->pods != api::GangPods::kFirst;
}

bool IsReleased(const api::Gang& gang) {
  return api::IsTrue(gang.status.conditions, api::kReleasedCondition);
}

bool IsStopping(const api::Gang& gang) {
  return api::IsTrue(gang.status.conditions, api::kPreemptedCondition);
}

WaitStep Do(WaitAction action) { return {action}; }

// The job has no claim to a place without pods, or not any more.
WaitStep Withdraw(const WaitFacts& facts) {
  if (!Asks(facts)) return {};
  const api::Gang& gang = *facts.gang;
  if (!state::HoldsHosts(gang.status) || IsReleased(gang)) return Do(WaitAction::kPodsFirst);
  // Its pods are about to come.
  const bool runs = facts.job != nullptr && !facts.job->gone && !facts.job->suspended;
  if (runs && facts.enabled) return {};
  return gang.pods == api::GangPods::kRefused ? WaitStep{} : Do(WaitAction::kGiveBack);
}

WaitStep NextOfSuspended(const WaitFacts& facts) {
  const WaitingJob& job = *facts.job;
  if (facts.gang != nullptr && facts.gang->status.committed()) {
    const api::Gang& gang = *facts.gang;
    // The extender gives the hosts back once the pods of a job that ran have ended.
    if (!Asks(facts) || IsReleased(gang) || IsStopping(gang)) return {};
    if (gang.pods == api::GangPods::kRefused) return {};
    if (job.resumed == gang.metadata.uid) {
      return {WaitAction::kGiveBack,
              0,
              "SuspendedByOthers",
              "spec.suspend was set since Yardmaster resumed the job: its hosts are given back, "
              "and it waits for others; to keep it suspended, remove the label yardmaster.dev/wait",
              /*warning=*/true,
              /*failed=*/true};
    }
    if (!facts.gang_is_current) {
      return {WaitAction::kGiveBack, 0, "JobChanged",
              "the job has changed since it got its hosts: they are given back, and it asks for "
              "others"};
    }
    return {WaitAction::kResume, 0, "Resumed", "its gang has its hosts: spec.suspend is false now"};
  }
  if (!job.resumed.empty()) return Do(WaitAction::kForget);
  if (facts.asks_from_ms > facts.now_ms) {
    return {WaitAction::kNone, facts.asks_from_ms - facts.now_ms};
  }
  return Do(WaitAction::kAsk);
}

WaitStep SuspendAgain() {
  return {WaitAction::kSuspend,
          0,
          "SuspendedAgain",
          "its gang has given its hosts back before all pods were there; the job is suspended and "
          "waits for others",
          /*warning=*/true,
          /*failed=*/true};
}

WaitStep NextOfResumed(const WaitFacts& facts) {
  const WaitingJob& job = *facts.job;
  if (!Asks(facts)) {
    if (facts.gang != nullptr || !job.resumed.empty()) return {};
    return {WaitAction::kNone, 0, "NotSuspended",
            StrCat("the label ", api::kWaitLabel, ": ", api::kWaitSuspended,
                   " has no effect while spec.suspend is false; create the job with "
                   "spec.suspend: true to let it wait without pods"),
            /*warning=*/true};
  }
  const api::Gang& gang = *facts.gang;
  if (IsReleased(gang)) return Do(WaitAction::kPodsFirst);
  const bool by_us = job.resumed == gang.metadata.uid;
  const bool has_hosts = gang.status.committed();
  if (!by_us) return has_hosts ? WaitStep{} : Do(WaitAction::kPodsFirst);
  if (!has_hosts || gang.pods == api::GangPods::kRefused) return SuspendAgain();
  // The extender ends it.
  if (IsStopping(gang)) return {};
  const std::int64_t left_ms = gang.status.committed_ms + gather::kPodsComeMs - facts.now_ms;
  if (left_ms > 0) return {WaitAction::kNone, left_ms};
  if (facts.pods_are_there) return {WaitAction::kNone, kLateAgainMs};
  return {WaitAction::kGiveBack, 0, "PodsMissing",
          StrCat("not all of its pods were made in the ", gather::kPodsComeMs / 1000,
                 " s since its gang was placed; kubectl describe says why; its hosts are given "
                 "back"),
          /*warning=*/true};
}

}  // namespace

bool IsGangOf(const api::Gang& gang, const WaitingJob& job) {
  return gang.owner.uid == job.uid && gang.owner.kind == job.resource.kind;
}

bool PodsAreLate(const api::Gang& gang, std::int64_t now_ms) {
  return gang.status.committed() && gang.status.committed_ms + gather::kPodsComeMs <= now_ms;
}

WaitStep NextWaitStep(const WaitFacts& facts) {
  const WaitingJob* job = facts.job;
  if (facts.gang != nullptr && facts.gang->metadata.deleted_ms) {
    return {WaitAction::kNone, kOldGangAgainMs};
  }
  if (job == nullptr || job->gone || !facts.enabled) return Withdraw(facts);
  if (facts.gang != nullptr && !IsGangOf(*facts.gang, *job)) {
    return {WaitAction::kNone, kOldGangAgainMs};
  }
  WaitStep step;
  if (job->wait.empty()) return Withdraw(facts);
  if (job->wait != api::kWaitSuspended) {
    step = Withdraw(facts);
    step.reason = "WaitRefused";
    step.note = StrCat("metadata.labels[\"", api::kWaitLabel, "\"]: is ", job->wait,
                       "; the only value is ", api::kWaitSuspended);
    step.warning = true;
    return step;
  }
  if (!job->left_to.empty()) {
    step = Withdraw(facts);
    step.reason = "WaitRefused";
    step.note = StrCat("the label ", api::kWaitLabel, " has no effect on a job of ", job->left_to);
    step.warning = true;
    return step;
  }
  return job->suspended ? NextOfSuspended(facts) : NextOfResumed(facts);
}

}  // namespace yardmaster::op
