// What hosts have of every resource, besides GPUs, that some job asks for: the columns of
// placement::HostResources, kept from one ClusterState to the next.
//
// Columns are the names in the jobs' requests, so a resource that no job asks for costs nothing. A
// tenant can ask for names that no host has: of more than 128 names those are left out, and a job
// with one of them is not planned (Missing).
// A Node that changed costs one row and a copy of the table; another set of names costs all rows.
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/state/host_index.h"
#include "pkg/state/job_index.h"

namespace yardmaster::state {

// Amounts by column, ascending, above 0.
using ColumnAmounts = std::vector<std::pair<std::size_t, std::int64_t>>;

class HostCapacity {
 public:
  // True when the columns are others than before.
  bool Update(const HostIndex& hosts, const HostChanges& changes,
              const std::map<NamespacedName, KeptJob>& jobs);

  std::size_t columns() const { return names_->size(); }
  // The first of the names that was left out; empty: all have a column.
  std::string_view Missing(const workload::ResourceList& requests) const;
  // Those of the amounts that have a column.
  ColumnAmounts ColumnsOf(const workload::ResourceList& amounts) const;
  // Calls visit(column, amount) for each of them, columns ascending.
  template <typename Visit>
  void ForColumns(const workload::ResourceList& amounts, Visit visit) const {
    auto name = names_->begin();
    for (const workload::ResourceAmount& entry : amounts) {
      name = std::lower_bound(name, names_->end(), entry.name);
      if (name == names_->end()) return;
      if (*name == entry.name && entry.amount > 0) {
        visit(static_cast<std::size_t>(name - names_->begin()), entry.amount);
      }
    }
  }
  // `held`: by host and column. All of it is free but that and what claims of no pod hold.
  placement::HostResources WithHeld(const std::vector<std::int64_t>& held) const;

 private:
  using Names = std::vector<std::string>;

  static void LeaveOutWhatNoHostHas(const HostIndex& hosts, std::set<std::string_view>& names);
  void FillRow(const HostIndex& hosts, fabric::HostId host, std::vector<std::int64_t>& rows);

  std::shared_ptr<const Names> names_ = std::make_shared<const Names>();
  std::shared_ptr<const std::vector<std::int64_t>> allocatable_ =
      std::make_shared<const std::vector<std::int64_t>>();
  std::vector<std::int64_t> claimed_;  // of it, by host and column: no pod asks for that
  bool complete_ = true;               // no name was left out
};

}  // namespace yardmaster::state
