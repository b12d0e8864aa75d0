#include "pkg/extender/ledger/quarantine.h"

#include "pkg/base/backoff.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {
constexpr BackoffLimits kTryAgain{60'000, 3'600'000};
}  // namespace

void Quarantine::Begin(PassState& pass) {
  std::map<NamespacedName, std::string> before;
  before.swap(reported_);
  const auto keep = [&](const NamespacedName& key, const std::string& reason) {
    const auto at = before.find(key);
    if (at != before.end() && at->second == reason) reported_.insert(*at);
    Mark(pass, key, reason);
  };
  // A gang that has not failed again for as long as it waited starts anew.
  std::erase_if(entries_, [now_ms = clock_.SteadyMs()](const auto& entry) {
    return now_ms - entry.second.until_ms >= entry.second.wait_ms;
  });
  for (const auto& [key, entry] : entries_) {
    if (entry.until_ms > clock_.SteadyMs()) keep(key, entry.reason);
  }
  for (const auto& [key, gang] : pass.gangs) {
    if (gang->problems.empty() || pass.quarantined.count(key) != 0) continue;
    keep(key, StrCat("its Gang object cannot be read: ", Join(gang->problems, "; "),
                     "; restore or delete the Gang"));
  }
}

void Quarantine::Add(PassState& pass, const NamespacedName& gang, const char* what,
                     const std::string& error) {
  Entry& entry = entries_[gang];
  entry.wait_ms = NextDelayMs(entry.wait_ms, kTryAgain);
  entry.until_ms = clock_.SteadyMs() + entry.wait_ms;
  entry.reason = StrCat(what, " failed: ", error);
  Mark(pass, gang, entry.reason);
}

void Quarantine::Mark(PassState& pass, const NamespacedName& key, const std::string& reason) {
  pass.quarantined[key] = reason;
  pass.report.quarantined = static_cast<int>(pass.quarantined.size());
  const std::string text = StrCat(
      "Gang ", key.text(), " is in quarantine, it is neither planned nor released: ", reason);
  pass.report.problems.push_back(text);
  if (!reported_.emplace(key, reason).second) return;
  ObjectNotice notice{{}, key.namespace_name, true, "Quarantined", text};
  if (const auto gang = pass.gangs.find(key); gang != pass.gangs.end()) {
    notice.regarding = gang->second->owner;
    notify_(notice);
  }
  const GatheredGang* gathered = pass.GatheredOf(key);
  if (gathered == nullptr || gathered->members.empty()) return;
  const api::ObjectMeta& pod = gathered->members.front().pod->metadata;
  notice.regarding = {"v1", "Pod", pod.name, pod.uid, false};
  notify_(notice);
}

void Quarantine::OccupyHosts(PassState& pass) {
  plan::Snapshot& snapshot = *pass.snapshot;
  for (const auto& [key, reason] : pass.quarantined) {
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end()) continue;
    const auto occupy = [&](const std::string& name) {
      const fabric::HostId host = snapshot.places->FindHost(name);
      if (host.valid()) snapshot.cluster.hosts[host.index()].free_gpus = 0;
    };
    const api::GangStatus& status = gang->second->status;
    for (const api::AssignmentEntry& slot : status.assignments) occupy(slot.host);
    if (status.preemption) {
      for (const std::string& host : status.preemption->hosts) occupy(host);
    }
  }
}

}  // namespace yardmaster::extender
