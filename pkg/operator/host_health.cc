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
                         std::int64_t now_ms) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(host);
  Host& known = it->second;
  const bool was_bad = !fresh && IsBad(known);
  const bool changed = fresh || known.report != report;
  known.report = report;
  if (!segment.empty()) known.segment = segment;
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
  }
}

std::string HostHealth::LimitReached(const std::string& segment, std::int64_t now_ms) {
  int all = 0, bad = 0, lost = 0, all_here = 0, lost_here = 0;
  for (const auto& [name, host] : hosts_) {
    if (host.report == Report::kGone && now_ms - host.since_ms > kGoneMs) continue;
    ++all;
    bad += IsBad(host) ? 1 : 0;
    lost += host.lost ? 1 : 0;
    if (host.segment != segment) continue;
    ++all_here;
    lost_here += host.lost ? 1 : 0;
  }
  if ((bad >= limits_.disruption_hosts && bad > limits_.disruption_share * all) ||
      (bad == all && all > 1)) {
    return StrCat("full disruption: ", bad, " of ", all,
                  " Nodes are not Ready, so their reports are not trusted");
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
  if (!IsBad(host)) return {};
  if (host.lost) return {HostState::kLost, 0, ""};
  const std::int64_t elapsed_ms = now_ms - host.since_ms;
  if (elapsed_ms < grace_ms) return {HostState::kNotReady, grace_ms - elapsed_ms, ""};
  std::string reason = LimitReached(host.segment, now_ms);
  if (!reason.empty()) return {HostState::kHeld, kHeldAgainMs, std::move(reason)};
  host.lost = true;
  granted_ms_.push_back(now_ms);
  return {HostState::kLost, 0, ""};
}

}  // namespace yardmaster::op
