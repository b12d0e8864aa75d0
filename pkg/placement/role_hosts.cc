#include "pkg/placement/role_hosts.h"

#include <algorithm>

namespace yardmaster::placement {

namespace {

bool Same(const HostSet* a, const HostSet* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

// Null: no role has a rank as low.
const RoleHosts* RoleOf(const std::vector<RoleHosts>& roles, int rank) {
  const auto after =
      std::upper_bound(roles.begin(), roles.end(), rank,
                       [](int wanted, const RoleHosts& role) { return wanted < role.first_rank; });
  return after == roles.begin() ? nullptr : &*std::prev(after);
}

}  // namespace

bool operator==(const RoleHosts& a, const RoleHosts& b) {
  return a.first_rank == b.first_rank && Same(a.hosts.get(), b.hosts.get());
}

const HostSet* HostsOfRank(const std::vector<RoleHosts>& roles, int rank) {
  const RoleHosts* role = RoleOf(roles, rank);
  return role == nullptr ? nullptr : role->hosts.get();
}

std::shared_ptr<const HostSet> HostsOfAny(const std::vector<RoleHosts>& roles) {
  HostSet any;
  for (const RoleHosts& role : roles) {
    if (role.hosts == nullptr) return nullptr;
    any.resize(role.hosts->size(), 0);
    for (std::size_t host = 0; host < any.size(); ++host) any[host] |= (*role.hosts)[host];
  }
  return roles.empty() ? nullptr : std::make_shared<const HostSet>(std::move(any));
}

std::vector<RoleHosts> RoleHostsAmong(const std::vector<RoleHosts>& roles,
                                      const std::vector<int>& ranks) {
  std::vector<RoleHosts> out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RoleHosts* role = RoleOf(roles, ranks[i]);
    const auto hosts = role == nullptr ? nullptr : role->hosts;
    if (out.empty() || out.back().hosts != hosts) out.push_back({static_cast<int>(i), hosts});
  }
  return out;
}

HostClasses ClassesOf(const std::vector<RoleHosts>* roles, int workers) {
  HostClasses out;
  if (roles == nullptr) return out;
  out.of_rank.resize(static_cast<std::size_t>(workers), 0);
  int rank = 0;
  for (std::size_t i = 0; i <= roles->size() && rank < workers; ++i) {
    const HostSet* hosts = i == 0 ? nullptr : (*roles)[i - 1].hosts.get();
    const int end = i < roles->size() ? std::min((*roles)[i].first_rank, workers) : workers;
    if (rank >= end) continue;
    const auto known = std::find_if(out.hosts.begin(), out.hosts.end(),
                                    [&](const HostSet* other) { return Same(other, hosts); });
    const auto number = known - out.hosts.begin();
    if (known == out.hosts.end()) out.hosts.push_back(hosts);
    for (; rank < end; ++rank) out.of_rank[rank] = static_cast<std::uint8_t>(number);
  }
  return out;
}

}  // namespace yardmaster::placement
