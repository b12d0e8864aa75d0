#include "pkg/state/release_rule.h"

#include <algorithm>
#include <cstddef>

#include "pkg/api/refusals.h"
#include "pkg/state/job_index.h"

namespace yardmaster::state {

bool IsFinished(const api::GangStatus& status) {
  return api::IsTrue(status.conditions, kFinishedCondition);
}

bool HoldsHosts(const api::GangStatus& status) { return status.committed() && !IsFinished(status); }

bool SpansHosts(const api::GangStatus& status) {
  return std::any_of(status.assignments.begin(), status.assignments.end(), [&](const auto& slot) {
    return slot.host != status.assignments.front().host;
  });
}

const placement::HostState* ReleaseHost(const api::GangStatus& status, int rank,
                                        const plan::Snapshot& snapshot) {
  const auto& slots = status.assignments;
  if (rank < 0 || static_cast<std::size_t>(rank) >= slots.size()) return nullptr;
  const std::string& name = slots[static_cast<std::size_t>(rank)].host;
  const fabric::HostId host = snapshot.places->FindHost(name);
  if (!host.valid()) return nullptr;
  const placement::HostState& state = snapshot.cluster.hosts[host.index()];
  if (state.unavailable != placement::Unavailability::kNo) return nullptr;
  return api::IsRefused(status, rank, name, snapshot.now_ms) ? nullptr : &state;
}

}  // namespace yardmaster::state
