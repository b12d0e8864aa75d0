#include "pkg/operator/host_health.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHeldAgainMs = 5'000;
// Nodes that are gone this long no longer count as hosts, so that a cluster may shrink.
constexpr std::int64_t kGoneMs = 3'600'000;

int Limit(int hosts, double share, int all) {
  return std::max(hosts, static_cast<int>(share * all));
}

}  // namespace

bool HostHealth::Observe(const std::string& host, const std::string& segment, Report report,
                         std::int64_t now_ms, bool rented) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(host);
  Host& known = it->second;
  const bool was_bad = !fresh && IsBad(known);
  const bool changed = fresh || known.report != report;
  known.report = report;
  if (!segment.empty()) known.segment = segment;
  if (report != Report::kGone) known.rented = rented;
  if (!IsBad(known)) {
    known.lost = false;
  } else if (!was_bad) {
    known.since_ms = now_ms;
  }
  return changed;
}

void HostHealth::Restart(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  granted_ms_.clear();
  for (auto& [name, host] : hosts_) {
    host.since_ms = now_ms;
    host.lost = false;
    host.drained = false;
    for (auto& [fault, state] : host.faults) state.since_ms = now_ms;
  }
}

bool HostHealth::IsFaulty(const Host& host) {
  return std::any_of(host.faults.begin(), host.faults.end(),
                     [](const auto& fault) { return fault.second.action >= FaultAction::kDrain; });
}

std::string HostHealth::ReclaimOf(const Host& host) {
  for (const auto& [name, fault] : host.faults) {
    if (fault.action >= FaultAction::kDrain && fault.after_ms == 0 && name.starts_with("taint ")) {
      return name;
    }
  }
  return "";
}

bool HostHealth::ObserveFaults(const std::string& name, const std::vector<NodeFault>& faults,
                               std::int64_t now_ms) {
  MutexLock lock(mutex_);
  const auto known = hosts_.find(name);
  if (known == hosts_.end() && faults.empty()) return false;
  Host& host = known == hosts_.end() ? hosts_[name] : known->second;
  std::map<std::string, Fault> next;
  bool changed = host.faults.size() != faults.size();
  for (const NodeFault& fault : faults) {
    const auto before = host.faults.find(fault.name);
    changed |= before == host.faults.end();
    next[fault.name] = {fault.action, fault.after_ms,
                        before == host.faults.end() ? now_ms : before->second.since_ms};
  }
  host.faults = std::move(next);
  if (!IsFaulty(host)) host.drained = false;
  return changed;
}

HostVerdict HostHealth::JudgeFaults(Host& host, std::int64_t now_ms) {
  HostVerdict verdict;
  for (const auto& [name, fault] : host.faults) {
    const std::int64_t left_ms = fault.since_ms + fault.after_ms - now_ms;
    if (left_ms > 0) {
      verdict.again_ms = verdict.again_ms == 0 ? left_ms : std::min(verdict.again_ms, left_ms);
    } else if (fault.action > verdict.fault) {
      verdict.fault = fault.action;
      verdict.fault_name = name;
    }
  }
  if (verdict.fault < FaultAction::kDrain) return verdict;
  if (!host.drained) {
    std::string reason = LimitReached(host.segment, now_ms);
    if (!reason.empty()) {
      return {HostState::kHeld, kHeldAgainMs, std::move(reason)};
    }
    host.drained = true;
    granted_ms_.push_back(now_ms);
  }
  verdict.state = HostState::kLost;
  return verdict;
}

std::string HostHealth::LimitReached(const std::string& segment, std::int64_t now_ms) {
  int all = 0, bad = 0, lost = 0, all_here = 0, lost_here = 0;
  for (const auto& [name, host] : hosts_) {
    if (host.report == Report::kGone && (host.rented || now_ms - host.since_ms > kGoneMs)) continue;
    ++all;
    bad += IsBad(host) || IsFaulty(host) ? 1 : 0;
    lost += host.lost || host.drained ? 1 : 0;
    if (host.segment != segment) continue;
    ++all_here;
    lost_here += host.lost || host.drained ? 1 : 0;
  }
  if ((bad >= limits_.disruption_hosts && bad > limits_.disruption_share * all) ||
      (bad == all && all > 1)) {
    return StrCat("full disruption: ", bad, " of ", all,
                  " Nodes are not Ready or have a fault, so their reports are not trusted");
  }
  if (lost_here >= Limit(limits_.segment_hosts, limits_.segment_share, all_here)) {
    return StrCat(lost_here, " hosts of the segment are being replaced, which is the limit");
  }
  if (lost >= Limit(limits_.fabric_hosts, limits_.fabric_share, all)) {
    return StrCat(lost, " hosts are being replaced, which is the limit");
  }
  while (!granted_ms_.empty() && granted_ms_.front() <= now_ms - kMinuteMs) {
    granted_ms_.pop_front();
  }
  const int per_minute = Limit(limits_.per_minute, limits_.per_minute_share, all);
  if (static_cast<int>(granted_ms_.size()) >= per_minute) {
    return StrCat(per_minute, " hosts were replaced within a minute, which is the limit");
  }
  return "";
}

HostVerdict HostHealth::Judge(const std::string& name, std::int64_t grace_ms, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(name);
  Host& host = it->second;
  if (fresh) {
    host.report = Report::kGone;
    host.since_ms = now_ms;
  }
  HostVerdict verdict = JudgeHost(host, grace_ms, now_ms);
  verdict.reclaim = ReclaimOf(host);
  return verdict;
}

HostVerdict HostHealth::JudgeHost(Host& host, std::int64_t grace_ms, std::int64_t now_ms) {
  if (!IsBad(host)) return JudgeFaults(host, now_ms);
  const auto verdict = [](HostState state, std::int64_t again_ms, std::string reason) {
    return HostVerdict{state, again_ms, std::move(reason)};
  };
  if (host.lost) return verdict(HostState::kLost, 0, "");
  const std::int64_t elapsed_ms = now_ms - host.since_ms;
  if (elapsed_ms < grace_ms) return verdict(HostState::kNotReady, grace_ms - elapsed_ms, "");
  std::string reason = LimitReached(host.segment, now_ms);
  if (!reason.empty()) return verdict(HostState::kHeld, kHeldAgainMs, std::move(reason));
  host.lost = true;
  granted_ms_.push_back(now_ms);
  return verdict(HostState::kLost, 0, "");
}

}  // namespace yardmaster::op
