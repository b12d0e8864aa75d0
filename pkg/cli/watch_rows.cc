#include "pkg/cli/watch_rows.h"

#include <ostream>

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/kube/timing.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::cli {

namespace {

constexpr std::int64_t kSyncMs = 60'000;
constexpr std::int64_t kIdleMs = 60'000;
// Changes that arrive in bursts are printed together.
constexpr std::int64_t kGatherMs = 200;

}  // namespace

void RowPrinter::Print(const std::vector<Table>& tables, std::ostream& out) {
  const bool first = rows_.empty();
  rows_.resize(tables.size());
  widths_.resize(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (tables[t].empty()) continue;
    if (first) {
      widths_[t] = WidthsOf(tables[t]);
      PrintRow(tables[t][0], widths_[t], out);
    }
    std::map<std::string, std::vector<std::string>> now;
    for (std::size_t r = 1; r < tables[t].size(); ++r) {
      const auto& row = tables[t][r];
      const std::string key = row[0] + "/" + row[1];
      const auto old = rows_[t].find(key);
      if (old == rows_[t].end() || old->second != row) PrintRow(row, widths_[t], out);
      now[key] = row;
    }
    rows_[t] = std::move(now);
  }
  out << std::flush;
}

int WatchRows(kube::Client& client, const TablesFunction& tables, std::ostream& out,
              std::ostream& err, std::stop_token stop) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  state::ClusterCache cache;
  state::ClusterFeed::Handlers handlers;
  handlers.failed = [&err](state::Kind, const absl::Status& status) {
    err << "warning: " << MessageOf(status) << "\n";
  };
  state::ClusterFeed feed(
      client, cache,
      {state::Kind::kFabric, state::Kind::kNode, state::Kind::kPod, state::Kind::kTrainingJob,
       state::Kind::kGang, state::Kind::kDeviceClass},
      std::move(handlers), {clock, sleeper, /*seed=*/1});
  feed.Start();
  const absl::Status synced = feed.WaitForSync(kSyncMs);
  if (!synced.ok()) {
    feed.Stop();
    return Fail(synced, err);
  }
  RowPrinter printer;
  std::uint64_t seen = cache.version();
  while (!stop.stop_requested()) {
    printer.Print(tables(cache.Take()), out);
    const std::uint64_t now = cache.WaitForChange(seen, kIdleMs, stop);
    if (now == seen) continue;
    cache.WaitForChange(now, kGatherMs, stop);
    seen = cache.version();
  }
  feed.Stop();
  return 0;
}

}  // namespace yardmaster::cli
