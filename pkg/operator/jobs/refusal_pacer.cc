#include "pkg/operator/jobs/refusal_pacer.h"

#include <algorithm>

#include "pkg/base/backoff.h"

namespace yardmaster::op {

namespace {

constexpr BackoffLimits kDelays{1'000, 60'000};
constexpr std::int64_t kTriesApartMs = 500;  // between tries of a namespace
constexpr std::int64_t kTurnMs = 200;        // until a job asks again whether it is its turn
constexpr std::int64_t kDueMs = 2'000;       // how long a job that is due keeps later ones waiting

std::string_view NamespaceOf(std::string_view key) { return key.substr(0, key.find('/')); }

}  // namespace

std::int64_t RefusalPacer::Refused(const JobInLine& refused) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  Namespace& ns = namespaces_[std::string(NamespaceOf(refused.key))];
  if (ns.trying == refused.key) ns.trying.clear();
  Job& job = ns.jobs[refused.key];
  ns.waiting.erase({job.refused_ms, refused.key});
  if (job.generation != refused.generation) job = {};
  job.generation = refused.generation;
  job.order = OrderOf(refused);
  job.cost_ms = refused.runs ? 0 : std::max(kTriesApartMs, refused.pods * kPodMs);
  job.delay_ms = NextDelayMs(job.delay_ms, kDelays);
  job.refused_ms = now_ms;
  job.not_before_ms = now_ms + refused.pods * kPodMs;
  job.due_ms = std::max(now_ms + job.delay_ms, job.not_before_ms);
  const bool is_first = std::none_of(ns.jobs.begin(), ns.jobs.end(), [&](const auto& other) {
    return other.second.order < job.order;
  });
  if (!refused.runs) {
    // One that is tried again gives up the turn that it had: each job has one ahead at most.
    std::int64_t last_ms = now_ms;
    for (const auto& [key, other] : ns.jobs) last_ms += other.cost_ms;
    ns.next_try_ms = std::min(std::max(ns.next_try_ms, now_ms) + job.cost_ms, last_ms);
    if (!is_first) job.due_ms = std::max(job.due_ms, ns.next_try_ms);
  }
  ns.waiting.emplace(now_ms, refused.key);
  return job.due_ms - now_ms;
}

std::int64_t RefusalPacer::WaitMs(const JobInLine& job, bool begins) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  const auto at = namespaces_.find(NamespaceOf(job.key));
  if (at == namespaces_.end()) return 0;
  Namespace& ns = at->second;
  const auto known = ns.jobs.find(job.key);
  if (known == ns.jobs.end() && !begins) return 0;
  if (known != ns.jobs.end() && known->second.generation == job.generation &&
      known->second.due_ms > now_ms) {
    return known->second.due_ms - now_ms;
  }
  // One that tries already goes on.
  if (known != ns.jobs.end() && ns.trying != job.key && ns.quiet_until_ms > now_ms) {
    return ns.quiet_until_ms - now_ms;
  }
  const bool other_tries =
      !ns.trying.empty() && ns.trying != job.key && now_ms < ns.trying_until_ms;
  const bool other_is_first =
      std::any_of(ns.jobs.begin(), ns.jobs.end(), [&, order = OrderOf(job)](const auto& other) {
        const std::int64_t due_for_ms = now_ms - std::max(other.second.due_ms, ns.quiet_until_ms);
        return other.second.order < order && due_for_ms >= 0 && due_for_ms < kDueMs;
      });
  if (other_tries || (other_is_first && ns.trying != job.key)) return kTurnMs;
  ns.trying = job.key;
  ns.trying_until_ms = now_ms + kTryMs;
  return 0;
}

void RefusalPacer::TookBack(const std::string& key) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  const auto ns = namespaces_.find(NamespaceOf(key));
  if (ns == namespaces_.end()) return;
  ns->second.quiet_until_ms = now_ms + kRecountMs;
  const auto job = ns->second.jobs.find(key);
  if (job == ns->second.jobs.end()) return;
  job->second.not_before_ms = std::max(job->second.not_before_ms, now_ms + 2 * kRecountMs);
  job->second.due_ms = std::max(job->second.due_ms, job->second.not_before_ms);
}

void RefusalPacer::Pause(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto ns = namespaces_.find(NamespaceOf(key));
  if (ns != namespaces_.end() && ns->second.trying == key) ns->second.trying.clear();
}

bool RefusalPacer::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto ns = namespaces_.find(NamespaceOf(key));
  if (ns == namespaces_.end()) return false;
  if (ns->second.trying == key) ns->second.trying.clear();
  const auto job = ns->second.jobs.find(key);
  if (job == ns->second.jobs.end()) return false;
  ns->second.waiting.erase({job->second.refused_ms, key});
  ns->second.jobs.erase(job);
  if (ns->second.jobs.empty()) namespaces_.erase(ns);
  return true;
}

JobsToTry RefusalPacer::TakeNext(std::string_view namespace_name, const std::string& freed_by) {
  const std::int64_t now_ms = clock_.SteadyMs();
  JobsToTry next;
  const MutexLock lock(mutex_);
  const auto at = namespaces_.find(namespace_name);
  if (at == namespaces_.end() || at->second.waiting.empty()) return next;
  Namespace& ns = at->second;
  if (ns.jobs.count(freed_by) != 0) return next;
  // Those that are due later come after this room, too.
  if (ns.woken_ms > now_ms) return next;
  if (ns.woken_ms >= 0) next.in_ms = std::max<std::int64_t>(0, ns.woken_ms + kWakeEveryMs - now_ms);
  ns.woken_ms = now_ms + next.in_ms;
  const auto wake = [&](auto job) {
    Job& woken = ns.jobs.at(job->second);
    woken.due_ms = std::max(ns.woken_ms, woken.not_before_ms);
    // A quota counts what has ended a moment later.
    woken.delay_ms = 0;
    next.keys.push_back(job->second);
    ns.waiting.erase(job);
  };
  wake(std::min_element(ns.waiting.begin(), ns.waiting.end(), [&](const auto& a, const auto& b) {
    return ns.jobs.at(a.second).order < ns.jobs.at(b.second).order;
  }));
  if (!ns.waiting.empty()) wake(ns.waiting.begin());
  return next;
}

}  // namespace yardmaster::op
