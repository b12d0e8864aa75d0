#include "pkg/operator/jobs/refusal_pacer.h"

#include <algorithm>

#include "pkg/base/backoff.h"

namespace yardmaster::op {

namespace {

constexpr BackoffLimits kDelays{1'000, 60'000};
constexpr std::int64_t kApartMs = 500;  // between tries of a namespace
constexpr std::size_t kWoken = 2;       // jobs for which room that came is tried
constexpr std::int64_t kWakeEveryMs = 100;

std::string_view NamespaceOf(std::string_view key) { return key.substr(0, key.find('/')); }

}  // namespace

std::int64_t RefusalPacer::Refused(const std::string& key, std::int64_t generation) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  Namespace& ns = namespaces_[std::string(NamespaceOf(key))];
  Job& job = ns.jobs[key];
  ns.waiting.erase({job.refused_ms, key});
  if (job.generation != generation) job = {generation, 0, 0, 0};
  job.delay_ms = NextDelayMs(job.delay_ms, kDelays);
  job.refused_ms = now_ms;
  ns.next_try_ms = std::max(ns.next_try_ms, now_ms) + kApartMs;
  job.due_ms = std::max(now_ms + job.delay_ms, ns.next_try_ms);
  ns.waiting.emplace(now_ms, key);
  return job.due_ms - now_ms;
}

std::int64_t RefusalPacer::WaitMs(const std::string& key, std::int64_t generation) const {
  const MutexLock lock(mutex_);
  const auto ns = namespaces_.find(NamespaceOf(key));
  if (ns == namespaces_.end()) return 0;
  const auto job = ns->second.jobs.find(key);
  if (job == ns->second.jobs.end() || job->second.generation != generation) return 0;
  return std::max<std::int64_t>(0, job->second.due_ms - clock_.SteadyMs());
}

bool RefusalPacer::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto ns = namespaces_.find(NamespaceOf(key));
  if (ns == namespaces_.end()) return false;
  const auto job = ns->second.jobs.find(key);
  if (job == ns->second.jobs.end()) return false;
  ns->second.waiting.erase({job->second.refused_ms, key});
  ns->second.jobs.erase(job);
  if (ns->second.jobs.empty()) namespaces_.erase(ns);
  return true;
}

std::vector<std::string> RefusalPacer::TakeNext(std::string_view namespace_name) {
  const std::int64_t now_ms = clock_.SteadyMs();
  std::vector<std::string> next;
  const MutexLock lock(mutex_);
  const auto at = namespaces_.find(namespace_name);
  if (at == namespaces_.end()) return next;
  Namespace& ns = at->second;
  if (ns.woken_ms >= 0 && now_ms < ns.woken_ms + kWakeEveryMs) return next;
  while (next.size() < kWoken && !ns.waiting.empty()) {
    std::string key = ns.waiting.begin()->second;
    ns.waiting.erase(ns.waiting.begin());
    ns.jobs.at(key).due_ms = now_ms;
    next.push_back(std::move(key));
  }
  if (!next.empty()) ns.woken_ms = now_ms;
  return next;
}

}  // namespace yardmaster::op
