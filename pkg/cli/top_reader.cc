#include "pkg/cli/top_reader.h"

#include <ostream>
#include <sstream>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/cli/plan_input.h"
#include "pkg/plan/planner.h"

namespace yardmaster::cli {

TopReader::TopReader(ClusterConnection connection, const Clock& clock)
    : connection_(std::move(connection)), clock_(clock), start_ms_(clock.SteadyMs()) {}

absl::StatusOr<TopLoad> TopReader::Read(std::ostream& err) {
  Manifests manifests;
  YM_ASSIGN_OR_RETURN(manifests.cluster, ReadCluster(*connection_.client));
  const std::int64_t now_ms = connection_.now_ms + (clock_.SteadyMs() - start_ms_);
  // Objects that cannot be read are among what the input says.
  std::ostringstream said;
  PlanInput input = InputOfCluster(std::move(manifests), now_ms, said);
  std::set<std::string> warnings;
  for (const std::string& line : Split(said.str(), '\n')) {
    if (line.empty() || !warnings.insert(line).second) continue;
    if (warned_.count(line) == 0) err << line << "\n";
  }
  warned_ = std::move(warnings);
  netplan::NetworkInput network;
  network.lossy = input.lossy;
  if (input.previous) network.previous = &*input.previous;
  const plan::Plan placement = plan::MakePlan(input.snapshot);
  TopLoad load;
  load.picture =
      page::PictureOf(netplan::PlanNetwork(input.snapshot, netplan::PlacedJobs(placement), network),
                      input.snapshot);
  load.snapshot = std::move(input.snapshot);
  return load;
}

}  // namespace yardmaster::cli
