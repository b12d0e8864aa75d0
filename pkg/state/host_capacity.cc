#include "pkg/state/host_capacity.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "pkg/state/node_facts.h"

namespace yardmaster::state {

bool HostCapacity::Update(const HostIndex& hosts, const HostChanges& changes,
                          const std::map<NamespacedName, KeptJob>& jobs) {
  std::set<std::string_view> wanted;
  for (const auto& [key, job] : jobs) {
    for (const auto& request : job.state.job.requests) wanted.insert(request.name);
  }
  const bool others = !std::equal(wanted.begin(), wanted.end(), names_->begin(), names_->end());
  if (others) names_ = std::make_shared<const Names>(wanted.begin(), wanted.end());
  if (!others && !changes.renumbered && changes.hosts.empty()) return false;
  std::vector<std::int64_t> rows;
  if (others || changes.renumbered) {
    rows.resize(hosts.states().size() * columns());
    for (fabric::HostId host : hosts.places()->hosts()) FillRow(hosts, host, rows);
  } else {
    rows = *allocatable_;
    for (fabric::HostId host : changes.hosts) FillRow(hosts, host, rows);
  }
  allocatable_ = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  return others;
}

void HostCapacity::FillRow(const HostIndex& hosts, fabric::HostId host,
                           std::vector<std::int64_t>& rows) const {
  const api::Node* node = hosts.node(host);
  for (std::size_t column = 0; column < columns(); ++column) {
    rows[host.index() * columns() + column] =
        node == nullptr ? 0 : AllocatableOf(*node, (*names_)[column]);
  }
}

ColumnAmounts HostCapacity::ColumnsOf(const workload::ResourceList& amounts) const {
  ColumnAmounts out;
  ForColumns(amounts, [&](std::size_t column, std::int64_t amount) {
    out.push_back({column, amount});
  });
  return out;
}

placement::HostResources HostCapacity::WithHeld(const std::vector<std::int64_t>& held) const {
  placement::HostResources out{names_, allocatable_, *allocatable_};
  for (std::size_t i = 0; i < held.size() && i < out.free.size(); ++i) out.free[i] -= held[i];
  return out;
}

}  // namespace yardmaster::state
