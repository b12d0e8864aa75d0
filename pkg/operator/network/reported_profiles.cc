#include "pkg/operator/network/reported_profiles.h"

#include <iterator>
#include <optional>
#include <utility>

#include "pkg/operator/telemetry/network_profiles.h"

namespace yardmaster::op {

std::vector<std::string> ApplyReportedProfiles(const PodsByGang& pods, plan::Snapshot& snapshot) {
  std::vector<std::string> problems;
  LoneTransfers transfers;
  for (plan::JobState& job : snapshot.jobs) {
    const auto members = pods.find(job.job.key.text());
    if (members == pods.end() || !job.problems.empty()) continue;
    MeasuredJob measured = ApplyProfile(members->second, *snapshot.network, snapshot.cluster,
                                        std::nullopt, transfers, job);
    std::move(measured.problems.begin(), measured.problems.end(), std::back_inserter(problems));
  }
  return problems;
}

}  // namespace yardmaster::op
