#include "pkg/extender/steps/taint_step.h"

#include "nlohmann/json.hpp"

#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/extender/ledger/gang_status.h"

namespace yardmaster::extender {

namespace {
constexpr std::size_t kChangesPerPass = 200;
}  // namespace

std::vector<char> TaintStep::OpenHosts(PassState& pass, const HostTaints::Gangs& unread) const {
  const plan::Snapshot& snapshot = *pass.snapshot;
  std::vector<char> open(snapshot.cluster.hosts.size(), 0);
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[id.index()];
    if (!job.assignment) continue;
    const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
    std::vector<char> bound(hosts.size(), 0);
    const GatheredGang* gathered = pass.GatheredOf(job.job.key);
    for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
      const GangMember& member = gathered->members[m];
      if (!member.rank || static_cast<std::size_t>(*member.rank) >= hosts.size()) continue;
      const auto rank = static_cast<std::size_t>(*member.rank);
      bound[rank] =
          hosts[rank].valid() && member.pod->node_name == snapshot.places->name(hosts[rank]);
    }
    // The snapshot does not know when a gang was placed in this pass.
    const std::int64_t due_ms = pass.GangOf(id).status.committed_ms + options_.unbound_after_ms;
    bool waits = false;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (!hosts[rank].valid() || bound[rank] != 0) continue;
      waits = true;
      if (due_ms <= snapshot.now_ms) open[hosts[rank].index()] = 1;
    }
    if (waits && due_ms > snapshot.now_ms) pass.WakeIn(due_ms - snapshot.now_ms);
  }
  for (const auto& gang : unread) {
    for (const api::AssignmentEntry& slot : gang->status.assignments) {
      const fabric::HostId host = snapshot.places->FindHost(slot.host);
      if (host.valid()) open[host.index()] = 1;
    }
  }
  return open;
}

void TaintStep::Run(PassState& pass) {
  HostTaints::Gangs unread;
  for (const auto& [key, reason] : pass.quarantined) {
    const auto gang = pass.gangs.find(key);
    if (gang != pass.gangs.end() && HoldsHosts(gang->second->status))
      unread.push_back(gang->second);
  }
  std::vector<char> open;
  if (options_.unbound_after_ms > 0) open = OpenHosts(pass, unread);
  TaintChanges taints = taints_.Changes(*pass.snapshot, pass.cluster, options_.enabled,
                                        options_.unbound_after_ms > 0 ? &open : nullptr, unread);
  pass.report.tainted_hosts = taints.promised;
  if (taints.changes.size() > kChangesPerPass) {
    taints.changes.resize(kChangesPerPass);
    pass.report.more_to_do = true;
  }
  Mutex mutex;
  ParallelFor(taints.changes.size(), options_.threads, [&](std::size_t i) {
    if (!ledger_.may_write()) return;
    const TaintChange& change = taints.changes[i];
    auto node = client_.Patch({kube::Nodes(), "", change.node, ""}, kube::JsonPatch(change.patch),
                              {kFieldManager});
    if (node.ok()) cache_.Assume(state::Kind::kNode, *node);
    MutexLock lock(mutex);
    if (node.ok()) {
      ++pass.report.taint_changes;
    } else if (absl::IsFailedPrecondition(node.status()) || absl::IsAborted(node.status())) {
      pass.report.more_to_do = true;  // the Node is newer than what we have seen of it
    } else if (!absl::IsNotFound(node.status())) {
      pass.report.errors.push_back(MessageOf(node.status()));
    }
  });
}

}  // namespace yardmaster::extender
