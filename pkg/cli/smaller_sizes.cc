#include "pkg/cli/smaller_sizes.h"

#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/elastic.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/elastic_size.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

// The hosts as they are once the plan is carried out.
plan::Snapshot After(const plan::Snapshot& before, const plan::Plan& plan) {
  plan::Snapshot after = before;
  for (const plan::JobPlan& job : plan.jobs) {
    const plan::JobState& state = before.jobs[job.job.index()];
    if (job.gang.outcome != placement::Outcome::kPlaced || job.gang.host_of_rank.empty()) continue;
    placement::MoveOccupation(
        after.cluster, state.job,
        state.assignment ? state.assignment->host_of_rank : std::vector<fabric::HostId>{},
        job.gang.host_of_rank);
  }
  return after;
}

std::vector<int> SmallerSizes(const api::TrainingJob& job) {
  std::vector<int> sizes = api::SizesOf(job.job, job.elastic);
  std::erase_if(sizes, [&](int data) { return data >= job.job.parallelism.data; });
  return sizes;
}

json Smaller(const api::TrainingJob& job, int data) {
  const int workers = api::WorkersOf(job.job, data).value_or(0);
  return {{"data", data},
          {"workers", workers},
          {"message", StrCat("fits with ", Count(data, "data group"), " (",
                             Count(workers, "worker"), "); the operator makes it so small after ",
                             job.elastic.shrink_after_seconds, " s without a place")}};
}

}  // namespace

void AddSmallerSizes(const PlanInput& input, const plan::Plan& plan, json& report) {
  if (input.elastic.empty()) return;
  const plan::Snapshot after = After(input.snapshot, plan);
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const plan::JobPlan& planned = plan.jobs[i];
    const plan::JobState& state = input.snapshot.jobs[planned.job.index()];
    const auto job = input.elastic.find(state.job.key);
    if (job == input.elastic.end() || state.assignment || !state.problems.empty() ||
        planned.gang.outcome == placement::Outcome::kPlaced) {
      continue;
    }
    const int data =
        op::LargestSizeThatFits(after, planned.job, job->second->job, SmallerSizes(*job->second));
    if (data > 0) report["jobs"][i]["elastic"] = Smaller(*job->second, data);
  }
}

}  // namespace yardmaster::cli
