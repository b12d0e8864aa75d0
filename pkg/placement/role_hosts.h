// Hosts that only some ranks of a gang may use: pods of different roles have node selectors,
// affinity and tolerations of their own, and volumes that only some hosts reach.
//
// Complexity: O(runs) for each rank. Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pkg/fabric/places.h"

namespace yardmaster::placement {

using HostSet = std::vector<std::uint8_t>;  // by HostId: 1 where the host is in it

// What the ranks from `first_rank` on, up to the next entry's, may use.
struct RoleHosts {
  int first_rank = 0;
  std::shared_ptr<const HostSet> hosts;  // null: every host
};
// Compares the hosts, whoever holds them.
bool operator==(const RoleHosts& a, const RoleHosts& b);

// Null: every host. `roles` ascend by first rank.
const HostSet* HostsOfRank(const std::vector<RoleHosts>& roles, int rank);
inline bool IsIn(const HostSet* hosts, fabric::HostId host) {
  return hosts == nullptr || (*hosts)[host.index()] != 0;
}
// Hosts that some of these ranks may use; null: every host.
std::shared_ptr<const HostSet> HostsOfAny(const std::vector<RoleHosts>& roles);
// What `ranks` may use, under the numbers that they have in that list.
std::vector<RoleHosts> RoleHostsAmong(const std::vector<RoleHosts>& roles,
                                      const std::vector<int>& ranks);

// How many sets of hosts the ranks of one gang may have.
inline constexpr std::size_t kMaxHostClasses = 32;

// Ranks by the hosts that they may use.
struct HostClasses {
  std::vector<std::uint8_t> of_rank;  // class by rank; empty: every rank may use every host
  std::vector<const HostSet*> hosts;  // by class; null: every host
  bool differ() const { return hosts.size() > 1; }
};
// Of the ranks 0 .. workers-1. `roles` may be null, and must outlive the result. REQUIRES: at most
// kMaxHostClasses sets differ.
HostClasses ClassesOf(const std::vector<RoleHosts>* roles, int workers);

}  // namespace yardmaster::placement
