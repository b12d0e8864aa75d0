#include "pkg/extender/steps/taint_step.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/adoption.h"

namespace yardmaster::extender {

namespace {

constexpr std::size_t kChangesPerPass = 200;

// Pods may ask for the host's devices by claims alone, and kube-scheduler asks no extender for
// them.
bool HasClaimableDevices(const state::ObjectTable<api::Node>& nodes, const std::string& host) {
  const auto node = nodes.Find({"", host});
  return node != nullptr && std::any_of(node->allocatable.begin(), node->allocatable.end(),
                                        [](const workload::ResourceAmount& entry) {
                                          return entry.name.starts_with(api::kDeviceClassPrefix);
                                        });
}

// Another controller chose its hosts. It chooses those of all pods or of none.
bool IsObserved(const gather::GatheredGang* gathered, const api::GangStatus& status) {
  if (gathered != nullptr && !gathered->members.empty()) {
    const api::Pod& first = *gathered->members.front().pod;
    return !first.selected_host().empty() || gather::IsLeftToCore(first);
  }
  const api::Condition* planned = api::FindCondition(status.conditions, api::kPlannedCondition);
  return planned != nullptr && planned->reason == kObservedReason;
}

}  // namespace

TaintNeeds TaintStep::NeedsOf(const PassFacts& facts, const HostTaints::Gangs& unread,
                              std::vector<Effect>& effects) const {
  const bool waits = options_.unbound_after_ms > 0;
  TaintNeeds needs(facts.snapshot->cluster.hosts.size(),
                   waits ? TaintNeed::kBackup : TaintNeed::kBoth);
  if (waits || !facts.cluster.devices.slices.empty()) AddOpenHosts(facts, unread, effects, needs);
  for (const auto& [key, gang] : facts.gangs) {
    if (!HoldsHosts(gang->status) || !IsObserved(facts.GatheredOf(key), gang->status)) continue;
    for (const api::AssignmentEntry& slot : gang->status.assignments) {
      const fabric::HostId host = facts.snapshot->places->FindHost(slot.host);
      if (host.valid()) needs[host.index()] = TaintNeed::kNone;
    }
  }
  return needs;
}

void TaintStep::AddOpenHosts(const PassFacts& facts, const HostTaints::Gangs& unread,
                             std::vector<Effect>& effects, TaintNeeds& needs) const {
  const plan::Snapshot& snapshot = *facts.snapshot;
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[id.index()];
    if (!job.assignment) continue;
    const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
    std::vector<char> bound(hosts.size(), 0);
    const gather::GatheredGang* gathered = facts.GatheredOf(job.job.key);
    for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
      const gather::GangMember& member = gathered->members[m];
      if (!member.rank || static_cast<std::size_t>(*member.rank) >= hosts.size()) continue;
      const auto rank = static_cast<std::size_t>(*member.rank);
      bound[rank] =
          hosts[rank].valid() && member.pod->node_name == snapshot.places->name(hosts[rank]);
    }
    // The snapshot does not know when a gang was placed in this pass.
    const std::int64_t due_ms = facts.GangOf(id)->status.committed_ms + options_.unbound_after_ms;
    bool waits = false;
    const bool due = due_ms <= snapshot.now_ms;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (!hosts[rank].valid() || bound[rank] != 0) continue;
      TaintNeed& need = needs[hosts[rank].index()];
      if (HasClaimableDevices(facts.cluster.nodes, snapshot.places->name(hosts[rank]))) {
        need = TaintNeed::kOpen;
      } else if (due && need == TaintNeed::kBackup) {
        need = TaintNeed::kBoth;
      }
      waits |= !due;
    }
    if (waits) effects.push_back(WakeIn{due_ms - snapshot.now_ms});
  }
  for (const auto& gang : unread) {
    for (const api::AssignmentEntry& slot : gang->status.assignments) {
      const fabric::HostId host = snapshot.places->FindHost(slot.host);
      if (host.valid()) needs[host.index()] = TaintNeed::kOpen;
    }
  }
}

Decision TaintStep::Decide(const PassFacts& facts) {
  Decision decision;
  decision.threads = std::max<std::size_t>(1, options_.threads);
  decision.max_failures =
      static_cast<int>(kChangesPerPass);  // a Node that is refused says nothing of others
  HostTaints::Gangs unread;
  for (const auto& [key, reason] : facts.isolated) {
    const auto gang = facts.gangs.find(key);
    if (gang != facts.gangs.end() && HoldsHosts(gang->second->status)) {
      unread.push_back(gang->second);
    }
  }
  const TaintNeeds needs = NeedsOf(facts, unread, decision.effects);
  TaintChanges taints =
      taints_.Changes(*facts.snapshot, facts.cluster, options_.enabled, &needs, unread);
  decision.effects.push_back(Increment{&PassReport::tainted_hosts, taints.promised});
  if (taints.changes.size() > kChangesPerPass) {
    taints.changes.resize(kChangesPerPass);
    decision.effects.push_back(RunSoon{});
  }
  for (TaintChange& change : taints.changes) {
    decision.effects.push_back(PatchNode{{}, std::move(change.node), std::move(change.patch)});
  }
  return decision;
}

}  // namespace yardmaster::extender
