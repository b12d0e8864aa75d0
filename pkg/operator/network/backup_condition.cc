#include "pkg/operator/network/backup_condition.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/capacity/spare_hosts.h"
#include "pkg/plan/backup_pool.h"

namespace yardmaster::op {

namespace {

using api::ConditionStatus;

constexpr double kInside = 0.99;
constexpr double kRepairDays = 1;

struct LargestSegment {
  int hosts = 0;
  int backup = 0;  // that it keeps
};

LargestSegment LargestOf(const fabric::FabricSpec& spec, const plan::Snapshot& snapshot) {
  LargestSegment largest;
  for (const fabric::SegmentId segment : snapshot.places->segments()) {
    const auto hosts = snapshot.places->hosts_of(segment);
    if (hosts.size() <= largest.hosts) continue;
    int marked = 0;
    for (const fabric::HostId host : hosts) {
      marked += snapshot.cluster.hosts[host.index()].backup ? 1 : 0;
    }
    const int planned = plan::BackupHostsOf(spec.backup, hosts.size(), spec.hosts_per_segment);
    largest = {hosts.size(), std::max(marked, planned)};
  }
  return largest;
}

// The fewest that suffice; `hosts`: none do.
int Enough(capacity::SparePool pool) {
  for (pool.spares = 1; pool.spares < pool.hosts; ++pool.spares) {
    if (capacity::InsideShare(pool) >= kInside) return pool.spares;
  }
  return pool.hosts;
}

std::string Percent(double share) { return StrCat(static_cast<int>(share * 100 + 1e-9), " %"); }

}  // namespace

void AddBackupCondition(const api::Fabric& fabric, const plan::Snapshot& snapshot,
                        const state::HostFailures& seen, std::int64_t now_ms,
                        api::FabricStatus& status) {
  const LargestSegment segment = LargestOf(fabric.spec, snapshot);
  const bool known = api::FindCondition(status.conditions, kBackupSufficesCondition) != nullptr;
  const bool answers = seen.enough() && segment.backup > 0 && segment.backup < segment.hosts;
  if (!answers && !known) return;
  api::Condition condition{kBackupSufficesCondition,
                           ConditionStatus::kUnknown,
                           "TooFewSeen",
                           "too few failures of hosts were seen, or no backup hosts are kept",
                           0,
                           0};
  if (answers) {
    const capacity::SparePool pool{segment.hosts, segment.backup, seen.per_host_day(), kRepairDays};
    const double inside = capacity::InsideShare(pool);
    const bool suffices = inside >= kInside;
    condition.status = suffices ? ConditionStatus::kTrue : ConditionStatus::kFalse;
    condition.reason = suffices ? "Enough" : "TooSmall";
    condition.message =
        suffices ? StrCat(Count(segment.backup, "backup host"), " of ", segment.hosts,
                          " replace a lost host inside its segment with a probability of at least ",
                          Percent(kInside), ", at the rate at which hosts were lost")
                 : StrCat(Count(segment.backup, "backup host"), " of ", segment.hosts,
                          " replace a lost host inside its segment with a probability of ",
                          Percent(inside), ", at the rate at which hosts were lost; ", Enough(pool),
                          " reach ", Percent(kInside),
                          ": raise spec.backup.hostsPerSegment, or spec.backup.ratio");
  }
  condition.observed_generation = fabric.metadata.generation;
  api::SetCondition(status.conditions, std::move(condition), now_ms);
}

}  // namespace yardmaster::op
