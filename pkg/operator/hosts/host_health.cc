#include "pkg/operator/hosts/host_health.h"

#include <algorithm>
#include <limits>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHeldAgainMs = 5'000;
constexpr std::int64_t kNotInStatusAgainMs = 1'000;
// Nodes that are gone this long no longer count as hosts, so that a cluster may shrink.
constexpr std::int64_t kGoneMs = 3'600'000;

int Limit(int hosts, double share, int all) {
  return std::max(hosts, static_cast<int>(share * all));
}

}  // namespace

bool HostHealth::IsFaulty(const Host& host) {
  return std::any_of(host.faults.begin(), host.faults.end(),
                     [](const auto& fault) { return fault.second.action >= FaultAction::kDrain; });
}

bool HostHealth::Counts(const Host& host, std::int64_t now_ms) {
  return host.report != Report::kGone || (!host.rented && now_ms - host.since_ms <= kGoneMs);
}

std::string HostHealth::ReclaimOf(const Host& host) {
  for (const auto& [name, fault] : host.faults) {
    if (fault.action >= FaultAction::kDrain && fault.after_ms == 0 && name.starts_with("taint ")) {
      return name;
    }
  }
  return "";
}

void HostHealth::Enter(const std::string& name, Host& host) {
  Segment* const segment = &segments_[name];
  if (host.segment == segment) return;
  segment->name = name;
  if (host.segment != nullptr) {
    host.segment->hosts.erase(&host);
    host.segment->bad -= IsSick(host) ? 1 : 0;
  }
  host.segment = segment;
  segment->hosts.insert(&host);
  segment->bad += IsSick(host) ? 1 : 0;
}

void HostHealth::CountSick(const Host& host, bool was_sick) {
  if (host.segment != nullptr) host.segment->bad += int{IsSick(host)} - int{was_sick};
}

void HostHealth::ForgetGone(const Host& kept, std::int64_t now_ms) {
  std::erase_if(hosts_, [&](const auto& entry) {
    const Host& gone = entry.second;
    if (&gone == &kept || gone.report != Report::kGone) return false;
    if (now_ms - gone.since_ms <= kGoneMs) return false;
    if (gone.segment != nullptr) {
      gone.segment->hosts.erase(&gone);
      --gone.segment->bad;
    }
    return true;
  });
}

bool HostHealth::Observe(const std::string& host, const std::string& segment, Report report,
                         std::int64_t now_ms, bool rented) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(host);
  Host& known = it->second;
  known.had_node = true;
  const bool was_bad = !fresh && IsBad(known);
  const bool was_sick = IsSick(known);
  const bool changed = fresh || known.report != report;
  known.report = report;
  CountSick(known, was_sick);
  if (!segment.empty()) Enter(segment, known);
  if (report != Report::kGone) known.rented = rented;
  if (!IsBad(known)) {
    known.lost = false;
  } else if (!was_bad) {
    known.since_ms = now_ms;
  }
  // Rented hosts come with a new name each time: what is kept follows from the hosts that there
  // are.
  if (changed && report == Report::kGone) ForgetGone(known, now_ms);
  return changed;
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
  const bool was_sick = IsSick(host);
  host.faults = std::move(next);
  CountSick(host, was_sick);
  if (!IsFaulty(host)) host.drained = false;
  return changed;
}

void HostHealth::Restart(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  granted_ms_.clear();
  for (auto& [name, segment] : segments_) segment.lost = false;
  for (auto& [name, host] : hosts_) {
    host.since_ms = now_ms;
    host.lost = false;
    host.drained = false;
    for (auto& [fault, state] : host.faults) state.since_ms = now_ms;
  }
}

HostVerdict HostHealth::FaultOf(const Host& host, std::int64_t now_ms) {
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
  return verdict;
}

HostVerdict HostHealth::AssessFaults(Host& host, std::int64_t now_ms) {
  HostVerdict verdict = FaultOf(host, now_ms);
  if (verdict.fault < FaultAction::kDrain) return verdict;
  if (!host.drained) {
    std::string reason = LimitReached(host, now_ms);
    if (!reason.empty()) {
      return {HostHealthState::kHeld, kHeldAgainMs, std::move(reason)};
    }
    host.drained = true;
    granted_ms_.push_back(now_ms);
  }
  verdict.state = HostHealthState::kLost;
  return verdict;
}

std::string HostHealth::LimitReached(const Host& assessed, std::int64_t now_ms) {
  int all = 0, bad = 0, lost = 0, all_here = 0, lost_here = 0;
  for (const auto& [name, host] : hosts_) {
    if (host.had_node != assessed.had_node || !Counts(host, now_ms) || InLostSegment(host))
      continue;
    ++all;
    bad += IsSick(host) ? 1 : 0;
    lost += host.lost || host.drained ? 1 : 0;
    if (host.segment != assessed.segment) continue;
    ++all_here;
    lost_here += host.lost || host.drained ? 1 : 0;
  }
  const bool disrupted =
      (bad >= limits_.disruption_hosts && bad > limits_.disruption_share * all) ||
      (bad == all && all > 1);
  if (disrupted && assessed.had_node) {
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

// Without numbers, which would change with every Node of a disruption.
std::string HostHealth::SegmentLimitReached(const Segment& segment, std::int64_t now_ms) {
  int all = 0, bad = 0, lost = 0;
  for (const auto& [name, host] : hosts_) {
    if (host.segment == &segment || !host.had_node || !Counts(host, now_ms) ||
        InLostSegment(host)) {
      continue;
    }
    ++all;
    bad += IsSick(host) ? 1 : 0;
  }
  for (const auto& [name, other] : segments_) lost += other.lost ? 1 : 0;
  if ((bad >= limits_.disruption_hosts && bad > limits_.disruption_share * all) || bad == all) {
    return "full disruption: too many Nodes of other segments are not Ready or have a fault, so "
           "that the reports are not trusted";
  }
  if (lost >= limits_.loss.segments) {
    return StrCat("no more than ", Count(limits_.loss.segments, "lost segment"),
                  " may be left at a time");
  }
  return "";
}

std::int64_t HostHealth::OnsetMs(const Host& host) const {
  if (IsBad(host)) return host.since_ms;
  std::int64_t onset_ms = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, fault] : host.faults) {
    if (fault.action < FaultAction::kDrain) continue;
    const std::int64_t more_ms = std::max<std::int64_t>(0, fault.after_ms - limits_.loss.grace_ms);
    onset_ms = std::min(onset_ms, fault.since_ms + more_ms);
  }
  return onset_ms;
}

SegmentVerdict HostHealth::AssessSegment(Segment& segment, bool lose, std::int64_t now_ms) {
  SegmentVerdict verdict;
  verdict.name = segment.name;
  if (!fabric_exists_) return verdict;
  if (!segment.lost && segment.bad < limits_.loss.hosts) return verdict;
  int all = 0;
  std::vector<std::int64_t> onsets_ms;
  for (const Host* host : segment.hosts) {
    if (!Counts(*host, now_ms)) continue;
    ++all;
    if (IsSick(*host)) onsets_ms.push_back(OnsetMs(*host));
  }
  if (segment.lost && !IsUpAgain(static_cast<int>(onsets_ms.size()), all, limits_.loss)) {
    verdict.state = SegmentState::kLost;
    verdict.since_ms = segment.since_ms;
    return verdict;
  }
  segment.lost = false;
  const auto began_ms = LossBegan(std::move(onsets_ms), all, limits_.loss);
  if (!began_ms) return verdict;
  verdict.since_ms = *began_ms;
  verdict.again_ms = *began_ms + limits_.loss.grace_ms - now_ms;
  if (verdict.again_ms > 0) {
    verdict.state = SegmentState::kSuspected;
    return verdict;
  }
  verdict.reason = SegmentLimitReached(segment, now_ms);
  if (!verdict.reason.empty()) {
    verdict.state = SegmentState::kHeld;
    verdict.again_ms = kHeldAgainMs;
    return verdict;
  }
  verdict.state = lose ? SegmentState::kLost : SegmentState::kSuspected;
  verdict.again_ms = lose ? 0 : kNotInStatusAgainMs;
  if (!lose) return verdict;
  segment.lost = true;
  segment.lost_in_status = false;
  segment.since_ms = *began_ms;
  return verdict;
}

std::vector<SegmentVerdict> HostHealth::AssessSegments(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<SegmentVerdict> verdicts;
  for (auto& [name, segment] : segments_) {
    SegmentVerdict verdict = AssessSegment(segment, /*lose=*/true, now_ms);
    if (verdict.state != SegmentState::kUp) verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

void HostHealth::SetSegmentsLostInStatus(const std::set<std::string>& names) {
  MutexLock lock(mutex_);
  for (auto& [name, segment] : segments_) segment.lost_in_status = names.count(name) != 0;
}

void HostHealth::SetFabricExists(bool exists) {
  MutexLock lock(mutex_);
  fabric_exists_ = exists;
}

std::vector<std::string> HostHealth::HostsOfLostSegments() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (InLostSegment(host)) names.push_back(name);
  }
  return names;
}

HostVerdict HostHealth::Assess(const std::string& name, std::int64_t grace_ms,
                               std::int64_t now_ms) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(name);
  Host& host = it->second;
  if (fresh) {
    host.report = Report::kGone;
    host.since_ms = now_ms;
    ForgetGone(host, now_ms);
  }
  HostVerdict verdict = AssessHost(host, grace_ms, now_ms);
  verdict.reclaim = ReclaimOf(host);
  if (IsBad(host)) verdict.not_ready_ms = now_ms - host.since_ms;
  return verdict;
}

std::optional<HostVerdict> HostHealth::AssessWithSegment(const Host& host, std::int64_t grace_ms,
                                                         std::int64_t now_ms) {
  SegmentVerdict segment = AssessSegment(*host.segment, /*lose=*/false, now_ms);
  HostVerdict verdict = IsBad(host) ? HostVerdict{} : FaultOf(host, now_ms);
  if (segment.state == SegmentState::kLost && !host.segment->lost_in_status) {
    if (!IsSick(host)) {
      verdict.again_ms = kNotInStatusAgainMs;
      return verdict;
    }
    segment.state = SegmentState::kSuspected;
    segment.again_ms = kNotInStatusAgainMs;
  }
  if (segment.state == SegmentState::kLost) {
    // The same for each of its hosts, so that a job leaves it once.
    verdict.again_ms = std::max<std::int64_t>(0, segment.since_ms + grace_ms - now_ms);
    if (verdict.again_ms > 0) {
      if (IsBad(host)) verdict.state = HostHealthState::kNotReady;
      return verdict;
    }
    verdict.state = HostHealthState::kLost;
    verdict.segment = segment.name;
    // Its kubelet ends the pods there itself.
    if (!IsBad(host) && verdict.fault < FaultAction::kDrain) {
      verdict.fault = FaultAction::kDrain;
      verdict.fault_name = "the loss of its segment";
    }
    return verdict;
  }
  if (segment.state == SegmentState::kUp || !IsSick(host) || host.lost || host.drained) {
    return std::nullopt;
  }
  if (IsBad(host) && now_ms - host.since_ms < grace_ms) return std::nullopt;
  if (!IsBad(host) && verdict.fault < FaultAction::kDrain) return verdict;
  if (segment.state == SegmentState::kSuspected) {
    return HostVerdict{HostHealthState::kNotReady, segment.again_ms, ""};
  }
  verdict = {HostHealthState::kHeld, kHeldAgainMs,
             StrCat("segment ", segment.name, " looks lost: ", segment.reason)};
  verdict.segment = std::move(segment.name);
  return verdict;
}

HostVerdict HostHealth::AssessHost(Host& host, std::int64_t grace_ms, std::int64_t now_ms) {
  const auto verdict = [](HostHealthState state, std::int64_t again_ms, std::string reason) {
    return HostVerdict{state, again_ms, std::move(reason)};
  };
  if (host.segment != nullptr) {
    auto with_segment = AssessWithSegment(host, grace_ms, now_ms);
    if (with_segment) return *std::move(with_segment);
  }
  if (!IsBad(host)) return AssessFaults(host, now_ms);
  const std::int64_t elapsed_ms = now_ms - host.since_ms;
  if (elapsed_ms < grace_ms) return verdict(HostHealthState::kNotReady, grace_ms - elapsed_ms, "");
  // One that was drained first is counted already.
  if (!host.lost && !host.drained) {
    std::string reason = LimitReached(host, now_ms);
    if (!reason.empty()) return verdict(HostHealthState::kHeld, kHeldAgainMs, std::move(reason));
    if (host.had_node) granted_ms_.push_back(now_ms);
  }
  host.lost = true;
  return verdict(HostHealthState::kLost, 0, "");
}

}  // namespace yardmaster::op
