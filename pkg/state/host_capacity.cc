#include "pkg/state/host_capacity.h"

#include "pkg/api/pod_requests.h"
#include "pkg/state/node_facts.h"

namespace yardmaster::state {

namespace {

// Each takes 24 bytes for each host.
constexpr std::size_t kManyNames = 128;

}  // namespace

bool HostCapacity::Update(const HostIndex& hosts, const HostChanges& changes,
                          const std::map<NamespacedName, KeptJob>& jobs) {
  std::set<std::string_view> wanted;
  for (const auto& [key, job] : jobs) {
    for (const auto& request : job.state.job.requests) wanted.insert(request.name);
  }
  const std::size_t all = wanted.size();
  if (all > kManyNames) LeaveOutWhatNoHostHas(hosts, wanted);
  complete_ = wanted.size() == all;
  const bool others = !std::equal(wanted.begin(), wanted.end(), names_->begin(), names_->end());
  if (others) names_ = std::make_shared<const Names>(wanted.begin(), wanted.end());
  if (!others && !changes.renumbered && changes.hosts.empty()) return false;
  std::vector<std::int64_t> rows;
  if (others || changes.renumbered) {
    rows.resize(hosts.states().size() * columns());
    claimed_.assign(rows.size(), 0);
    for (fabric::HostId host : hosts.places()->hosts()) FillRow(hosts, host, rows);
  } else {
    rows = *allocatable_;
    for (fabric::HostId host : changes.hosts) FillRow(hosts, host, rows);
  }
  allocatable_ = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  return others;
}

void HostCapacity::LeaveOutWhatNoHostHas(const HostIndex& hosts,
                                         std::set<std::string_view>& names) {
  std::set<std::string_view> offered;
  for (const fabric::HostId host : hosts.places()->hosts()) {
    if (hosts.node(host) == nullptr) continue;
    for (const workload::ResourceAmount& entry : hosts.node(host)->allocatable) {
      if (entry.amount > 0) offered.insert(entry.name);
    }
  }
  std::erase_if(names, [&](std::string_view name) {
    return offered.count(name) == 0 && !IsOfEveryNode(name) && api::RoomForExclusive(name) == 0;
  });
}

std::string_view HostCapacity::Missing(const workload::ResourceList& requests) const {
  if (complete_) return "";
  const auto missing =
      std::find_if(requests.begin(), requests.end(), [&](const workload::ResourceAmount& entry) {
        return entry.amount > 0 && !std::binary_search(names_->begin(), names_->end(), entry.name);
      });
  return missing == requests.end() ? std::string_view() : std::string_view(missing->name);
}

void HostCapacity::FillRow(const HostIndex& hosts, fabric::HostId host,
                           std::vector<std::int64_t>& rows) {
  const api::Node* node = hosts.node(host);
  for (std::size_t column = 0; column < columns(); ++column) {
    const std::size_t at = host.index() * columns() + column;
    rows[at] = node == nullptr ? 0 : AllocatableOf(*node, (*names_)[column]);
    claimed_[at] = node == nullptr ? 0 : workload::AmountOf(node->claimed, (*names_)[column]);
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
  for (std::size_t i = 0; i < held.size() && i < out.free.size(); ++i) {
    out.free[i] -= held[i] + claimed_[i];
  }
  return out;
}

}  // namespace yardmaster::state
