// Hosts that only some ranks of a gang may use: pods of different roles have their own node
// selectors, affinity, tolerations and volumes.
//
// Complexity: O(runs) for each rank. Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pkg/fabric/places.h"

namespace yardmaster::placement {

using HostSet = std::vector<std::uint8_t>;  // by HostId: 1 if the host is in the set

// The hosts that the ranks from `first_rank` up to the next entry may use.
struct RoleHosts {
  int first_rank = 0;
  std::shared_ptr<const HostSet> hosts;  // null: every host
};
// Compares the sets by content.
bool operator==(const RoleHosts& a, const RoleHosts& b);

// Returns the hosts of a rank; null: every host. `roles` ascend by first rank.
const HostSet* HostsOfRank(const std::vector<RoleHosts>& roles, int rank);
inline bool IsIn(const HostSet* hosts, fabric::HostId host) {
  return hosts == nullptr || (*hosts)[host.index()] != 0;
}
// Returns the hosts that at least one of these ranks may use; null: every host.
std::shared_ptr<const HostSet> HostsOfAny(const std::vector<RoleHosts>& roles);
// Returns the hosts that `ranks` may use, renumbered by their position in `ranks`.
std::vector<RoleHosts> RoleHostsAmong(const std::vector<RoleHosts>& roles,
                                      const std::vector<int>& ranks);

// Maximum number of distinct sets of hosts in one gang.
inline constexpr std::size_t kMaxHostClasses = 32;

// Ranks by the hosts that they may use.
struct HostClasses {
  std::vector<std::uint8_t> of_rank;  // class by rank; empty: every rank may use every host
  std::vector<const HostSet*> hosts;  // by class; null: every host
  bool differ() const { return hosts.size() > 1; }
};
// Returns the classes of the ranks 0 .. workers-1. `roles` may be null, and must outlive the
// result. REQUIRES: at most kMaxHostClasses distinct sets.
HostClasses ClassesOf(const std::vector<RoleHosts>* roles, int workers);

}  // namespace yardmaster::placement
