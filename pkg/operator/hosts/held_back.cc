#include "pkg/operator/hosts/held_back.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/operator/hosts/host_health.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kLimitAgainMs = 5'000;

}  // namespace

std::vector<std::string> HostHealth::ObserveHeldBack(HeldBackByJob jobs, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<std::string> changed;
  std::map<std::string, HeldBackSince> next;
  std::set<std::string> hosts;
  for (auto& [job, found] : jobs) {
    const auto before = held_back_.find(job);
    const bool known = before != held_back_.end();
    if (!known || before->second.found != found) changed.push_back(job);
    const bool same = known && !before->second.found.limited &&
                      before->second.found.host == found.host &&
                      before->second.found.slow_rank == found.slow_rank;
    hosts.insert(found.host);
    next[job] = {std::move(found), same ? before->second.since_ms : now_ms};
  }
  for (const auto& [job, before] : held_back_) {
    if (next.count(job) == 0) changed.push_back(job);
  }
  held_back_ = std::move(next);
  std::erase_if(left_, [&](const std::string& host) { return hosts.count(host) == 0; });
  return changed;
}

HostVerdict HostHealth::AssessHeldBack(const std::string& job, const std::string& name,
                                       const WhyStays& why_stays, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  HostVerdict verdict;
  const auto at = held_back_.find(job);
  const auto host = hosts_.find(name);
  if (at == held_back_.end() || at->second.found.host != name || host == hosts_.end()) {
    return verdict;
  }
  const HeldBack& found = at->second.found;
  verdict.holds_back = true;
  verdict.fault = FaultAction::kDegrade;
  verdict.fault_name = found.has;
  verdict.slow_rank = found.slow_rank;
  std::string why = why_stays(found);
  if (why.empty()) why = found.stays;
  if (why.empty()) {
    const std::int64_t grace_ms =
        found.slow_rank >= 0 ? limits_.slow.grace_ms : limits_.bandwidth.grace_ms;
    verdict.again_ms = std::max<std::int64_t>(0, at->second.since_ms + grace_ms - now_ms);
    if (verdict.again_ms > 0) {
      verdict.fault_name += StrCat("; the job leaves it if this holds for ", grace_ms / 1000, " s");
      return verdict;
    }
    if (left_.count(name) == 0) {
      why = LimitReached(host->second, now_ms);
      if (!why.empty()) verdict.again_ms = kLimitAgainMs;
    }
  }
  if (!why.empty()) {
    verdict.fault_name += StrCat("; the job stays there: ", why);
    return verdict;
  }
  if (left_.insert(name).second) granted_ms_.push_back(now_ms);
  verdict.state = HostHealthState::kLost;
  verdict.fault = FaultAction::kDrain;
  return verdict;
}

}  // namespace yardmaster::op
