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

void HostHealth::Leave(Place*& place, const Host& host) {
  if (place == nullptr) return;
  place->hosts.erase(&host);
  place->bad -= IsSick(host) ? 1 : 0;
  place = nullptr;
}

void HostHealth::Enter(std::map<std::string, Place>& places, const std::string& name,
                       bool is_domain, Place* Host::*place, Host& host) {
  Place* const next = &places[name];
  if (host.*place == next) return;
  next->name = name;
  next->is_domain = is_domain;
  Leave(host.*place, host);
  host.*place = next;
  next->hosts.insert(&host);
  next->bad += IsSick(host) ? 1 : 0;
}

void HostHealth::CountSick(const Host& host, bool was_sick) {
  const int more = int{IsSick(host)} - int{was_sick};
  if (host.segment != nullptr) host.segment->bad += more;
  if (host.domain != nullptr) host.domain->bad += more;
}

void HostHealth::ForgetGone(const Host& kept, std::int64_t now_ms) {
  std::erase_if(hosts_, [&](const auto& entry) {
    const Host& gone = entry.second;
    if (&gone == &kept || gone.report != Report::kGone) return false;
    if (now_ms - gone.since_ms <= kGoneMs) return false;
    for (Place* place : {gone.segment, gone.domain}) Leave(place, gone);
    return true;
  });
  std::erase_if(domains_, [](const auto& entry) { return entry.second.hosts.empty(); });
}

bool HostHealth::Observe(const std::string& host, const std::string& segment, Report report,
                         std::int64_t now_ms, bool rented, const std::string& domain) {
  MutexLock lock(mutex_);
  const auto [it, fresh] = hosts_.try_emplace(host);
  Host& known = it->second;
  known.had_node = true;
  const bool was_bad = !fresh && IsBad(known);
  const bool was_sick = IsSick(known);
  const bool changed = fresh || known.report != report;
  known.report = report;
  CountSick(known, was_sick);
  if (!segment.empty()) {
    Enter(segments_, segment, /*is_domain=*/false, &Host::segment, known);
    if (domain.empty()) {
      Leave(known.domain, known);
    } else {
      Enter(domains_, domain, /*is_domain=*/true, &Host::domain, known);
    }
  }
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
  for (auto& [name, domain] : domains_) domain.lost = false;
  for (auto& [name, host] : hosts_) {
    host.since_ms = now_ms;
    host.lost = false;
    host.drained = false;
    for (auto& [fault, state] : host.faults) state.since_ms = now_ms;
  }
  for (auto& [job, held] : held_back_) held.since_ms = now_ms;
  left_.clear();
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
    if (host.had_node != assessed.had_node || !Counts(host, now_ms) || InLostPlace(host)) continue;
    const bool acted_on = host.lost || host.drained || left_.count(name) != 0;
    ++all;
    bad += IsSick(host) ? 1 : 0;
    lost += acted_on ? 1 : 0;
    if (host.segment != assessed.segment) continue;
    ++all_here;
    lost_here += acted_on ? 1 : 0;
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
std::string HostHealth::PlaceLimitReached(const Place& place, std::int64_t now_ms) {
  int all = 0, bad = 0, lost = 0;
  for (const auto& [name, host] : hosts_) {
    if (host.segment == &place || host.domain == &place || !host.had_node ||
        !Counts(host, now_ms) || InLostPlace(host)) {
      continue;
    }
    ++all;
    bad += IsSick(host) ? 1 : 0;
  }
  const std::map<std::string, Place>& alike = place.is_domain ? domains_ : segments_;
  for (const auto& [name, other] : alike) lost += other.lost ? 1 : 0;
  const std::string kind = place.is_domain ? "domain" : "segment";
  if ((bad >= limits_.disruption_hosts && bad > limits_.disruption_share * all) || bad == all) {
    return StrCat("full disruption: too many Nodes of other ", kind,
                  "s are not Ready or have a fault, so that the reports are not trusted");
  }
  int most = limits_.loss.segments;
  if (place.is_domain && limits_.loss.domains == 0) {
    most = 0;
  } else if (place.is_domain) {
    most = Limit(limits_.loss.domains, limits_.loss.domain_share, static_cast<int>(alike.size()));
  }
  if (lost < most) return "";
  return StrCat("no more than ", Count(most, "lost " + kind), " may be left at a time");
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

SegmentVerdict HostHealth::AssessPlace(Place& place, bool lose, std::int64_t now_ms) {
  SegmentVerdict verdict;
  verdict.name = place.name;
  if (!fabric_exists_) return verdict;
  if (!place.lost && place.bad < limits_.loss.hosts) return verdict;
  int all = 0;
  std::vector<std::int64_t> onsets_ms;
  for (const Host* host : place.hosts) {
    if (!Counts(*host, now_ms)) continue;
    ++all;
    if (IsSick(*host)) onsets_ms.push_back(OnsetMs(*host));
  }
  if (place.lost && !IsUpAgain(static_cast<int>(onsets_ms.size()), all, limits_.loss)) {
    verdict.state = SegmentState::kLost;
    verdict.since_ms = place.since_ms;
    return verdict;
  }
  place.lost = false;
  const auto began_ms = LossBegan(std::move(onsets_ms), all, limits_.loss);
  if (!began_ms) return verdict;
  verdict.since_ms = *began_ms;
  verdict.again_ms = *began_ms + limits_.loss.grace_ms - now_ms;
  if (verdict.again_ms > 0) {
    verdict.state = SegmentState::kSuspected;
    return verdict;
  }
  verdict.reason = PlaceLimitReached(place, now_ms);
  if (!verdict.reason.empty()) {
    verdict.state = SegmentState::kHeld;
    verdict.again_ms = kHeldAgainMs;
    return verdict;
  }
  verdict.state = lose ? SegmentState::kLost : SegmentState::kSuspected;
  verdict.again_ms = lose ? 0 : kNotInStatusAgainMs;
  if (!lose) return verdict;
  place.lost = true;
  place.lost_in_status = false;
  place.since_ms = *began_ms;
  return verdict;
}

std::vector<SegmentVerdict> HostHealth::AssessSegments(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<SegmentVerdict> verdicts;
  for (auto& [name, segment] : segments_) {
    SegmentVerdict verdict = AssessPlace(segment, /*lose=*/true, now_ms);
    if (verdict.state != SegmentState::kUp) verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool HostHealth::SegmentIsDown(const Place& domain, std::int64_t now_ms) {
  std::set<Place*> segments;
  for (const Host* host : domain.hosts) segments.insert(host->segment);
  for (Place* segment : segments) {
    if (segment == nullptr) continue;
    if (AssessPlace(*segment, /*lose=*/false, now_ms).state != SegmentState::kUp) return true;
  }
  return false;
}

std::vector<SegmentVerdict> HostHealth::AssessDomains(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<SegmentVerdict> verdicts;
  for (auto& [name, domain] : domains_) {
    if (!domain.lost && domain.bad < limits_.loss.hosts) continue;
    if (!domain.lost && SegmentIsDown(domain, now_ms)) continue;
    SegmentVerdict verdict = AssessPlace(domain, /*lose=*/true, now_ms);
    if (verdict.state != SegmentState::kUp) verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

void HostHealth::SetLostInStatus(const std::set<std::string>& segments,
                                 const std::set<std::string>& domains) {
  MutexLock lock(mutex_);
  for (auto& [name, segment] : segments_) segment.lost_in_status = segments.count(name) != 0;
  for (auto& [name, domain] : domains_) domain.lost_in_status = domains.count(name) != 0;
}

void HostHealth::SetFabricExists(bool exists) {
  MutexLock lock(mutex_);
  fabric_exists_ = exists;
}

std::vector<std::string> HostHealth::HostsOfLostPlaces() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (InLostPlace(host)) names.push_back(name);
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

std::optional<HostVerdict> HostHealth::AssessWith(Place& place, const Host& host,
                                                  std::int64_t grace_ms, std::int64_t now_ms) {
  SegmentVerdict loss = AssessPlace(place, /*lose=*/false, now_ms);
  HostVerdict verdict = IsBad(host) ? HostVerdict{} : FaultOf(host, now_ms);
  const std::string kind = place.is_domain ? "domain" : "segment";
  if (loss.state == SegmentState::kLost && !place.lost_in_status) {
    if (!IsSick(host)) {
      verdict.again_ms = kNotInStatusAgainMs;
      return verdict;
    }
    loss.state = SegmentState::kSuspected;
    loss.again_ms = kNotInStatusAgainMs;
  }
  if (loss.state == SegmentState::kLost) {
    // The same for each of its hosts, so that a job leaves it once.
    verdict.again_ms = std::max<std::int64_t>(0, loss.since_ms + grace_ms - now_ms);
    if (verdict.again_ms > 0) {
      if (IsBad(host)) verdict.state = HostHealthState::kNotReady;
      return verdict;
    }
    verdict.state = HostHealthState::kLost;
    (place.is_domain ? verdict.domain : verdict.segment) = loss.name;
    // Its kubelet ends the pods there itself.
    if (!IsBad(host) && verdict.fault < FaultAction::kDrain) {
      verdict.fault = FaultAction::kDrain;
      verdict.fault_name = "the loss of its " + kind;
    }
    return verdict;
  }
  if (loss.state == SegmentState::kUp || !IsSick(host) || host.lost || host.drained) {
    return std::nullopt;
  }
  if (IsBad(host) && now_ms - host.since_ms < grace_ms) return std::nullopt;
  if (!IsBad(host) && verdict.fault < FaultAction::kDrain) return verdict;
  if (loss.state == SegmentState::kSuspected) {
    return HostVerdict{HostHealthState::kNotReady, loss.again_ms, ""};
  }
  verdict = {HostHealthState::kHeld, kHeldAgainMs,
             StrCat(kind, " ", loss.name, " looks lost: ", loss.reason)};
  (place.is_domain ? verdict.domain : verdict.segment) = std::move(loss.name);
  return verdict;
}

HostVerdict HostHealth::AssessHost(Host& host, std::int64_t grace_ms, std::int64_t now_ms) {
  const auto verdict = [](HostHealthState state, std::int64_t again_ms, std::string reason) {
    return HostVerdict{state, again_ms, std::move(reason)};
  };
  for (Place* place : {host.segment, host.domain}) {
    if (place == nullptr) continue;
    auto with_place = AssessWith(*place, host, grace_ms, now_ms);
    if (with_place) return *std::move(with_place);
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
