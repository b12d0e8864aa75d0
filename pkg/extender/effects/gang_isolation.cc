#include "pkg/extender/effects/gang_isolation.h"

#include "pkg/base/backoff.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_notices.h"

namespace yardmaster::extender {

namespace {
constexpr BackoffLimits kTryAgain{60'000, 3'600'000};
}  // namespace

void GangIsolation::Begin(PassFacts& facts, PassReport& report) {
  // A gang that has not failed again for as long as it waited starts again.
  std::erase_if(entries_, [now_ms = clock_.SteadyMs()](const auto& entry) {
    return now_ms - entry.second.until_ms >= entry.second.wait_ms;
  });
  for (const auto& [key, entry] : entries_) {
    if (entry.until_ms > clock_.SteadyMs()) facts.isolated[key] = entry.reason;
  }
  for (const auto& [key, gang] : facts.gangs) {
    if (gang->problems.empty()) continue;
    facts.isolated.try_emplace(
        key, StrCat("its Gang object cannot be read: ", Join(gang->problems, "; "),
                    "; restore or delete the Gang"));
  }
  std::erase_if(reported_, [&](const auto& entry) {
    const auto at = facts.isolated.find(entry.first);
    return at == facts.isolated.end() || at->second != entry.second;
  });
  for (const auto& [key, reason] : facts.isolated) Report(key, reason, facts, report);
}

std::string GangIsolation::Add(const NamespacedName& gang, const std::string& what,
                               const std::string& error, const PassFacts& facts,
                               PassReport& report) {
  Entry& entry = entries_[gang];
  entry.wait_ms = NextDelayMs(entry.wait_ms, kTryAgain);
  entry.until_ms = clock_.SteadyMs() + entry.wait_ms;
  entry.reason = StrCat(what, " failed: ", error);
  Report(gang, entry.reason, facts, report);
  return entry.reason;
}

void GangIsolation::Report(const NamespacedName& key, const std::string& reason,
                           const PassFacts& facts, PassReport& report) {
  const std::string text = StrCat(
      "Gang ", key.text(), " is in quarantine, it is neither planned nor released: ", reason);
  report.problems.push_back(text);
  if (!reported_.emplace(key, reason).second) return;
  const GangPtr gang = facts.FindGang(key);
  const api::OwnerReference owner = gang == nullptr ? api::OwnerReference() : gang->owner;
  const ObjectNotice notice{owner, key.namespace_name, true, "Quarantined", text};
  for (const ObjectNotice& one : OnOwnerAndPod(notice, facts.GatheredOf(key))) {
    if (!one.regarding.name.empty()) notify_(one);
  }
}

}  // namespace yardmaster::extender
