#include "pkg/operator/elastic_size.h"

#include <algorithm>
#include <iterator>

#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::op {

namespace {

// Room comes and goes without a sign to this job.
constexpr std::int64_t kLookAgainMs = 30'000;
// Contradictions within the job are found with hosts of any size.
constexpr int kAnyHost = 1024;

std::string Groups(int data) { return Count(data, "data group"); }

}  // namespace

SizeDecision DecideSize(const ElasticView& view, const LargestFit& shrink_fit,
                        const LargestFit& grow_fit) {
  SizeDecision decision;
  if (view.sizes.empty()) return decision;
  const int largest = view.sizes.back();
  if (view.data > largest) {
    return {largest, StrCat("spec allows ", Groups(largest), ", it has ", view.data), {}};
  }
  std::vector<int> sizes;
  if (view.waiting_ms) {
    std::copy_if(view.sizes.begin(), view.sizes.end(), std::back_inserter(sizes),
                 [&](int data) { return data < view.data; });
    if (sizes.empty()) return decision;
    const std::int64_t left_ms =
        std::int64_t{1000} * view.policy.shrink_after_seconds - *view.waiting_ms;
    decision.look_again_ms = left_ms > 0 ? left_ms : kLookAgainMs;
    const int fit = left_ms > 0 ? 0 : shrink_fit(sizes);
    if (fit == 0) return decision;
    return {fit,
            StrCat("there has been no room for ", Groups(view.data), " for ",
                   *view.waiting_ms / 1000, " s; ", Groups(fit), fit == 1 ? " fits" : " fit"),
            {}};
  }
  if (view.running_ms == 0 || view.data == largest) return decision;
  std::copy_if(view.sizes.begin(), view.sizes.end(), std::back_inserter(sizes),
               [&](int data) { return data > view.data; });
  const std::int64_t settled_ms = std::min(view.running_ms, view.now_ms - view.changed_ms);
  const std::int64_t left_ms = std::int64_t{1000} * view.policy.grow_after_seconds - settled_ms;
  decision.look_again_ms = left_ms > 0 ? left_ms : kLookAgainMs;
  const int fit = left_ms > 0 ? 0 : grow_fit(sizes);
  if (fit == 0) return decision;
  return {fit, StrCat("there is room for ", Groups(fit), ", it has ", view.data), {}};
}

int LargestSizeThatFits(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                        const std::vector<int>& sizes) {
  const plan::JobState& job = snapshot.jobs[id.index()];
  placement::Cluster cluster = snapshot.cluster;
  if (job.assignment) {
    placement::ReleaseHosts(cluster, job.job, job.assignment->host_of_rank);
  }
  const auto fits = [&](int data) {
    workload::Job at_size = job.job;
    const auto workers = api::WorkersOf(spec, data);
    if (!workers) return false;
    at_size.workers = *workers;
    at_size.parallelism.data = data;
    if (!workload::Problems(at_size, kAnyHost).empty()) return false;
    const workload::WorkerGroups groups =
        workload::GroupsOf(at_size.parallelism, at_size.workers, at_size.gpus_per_worker);
    placement::PlannerOptions options;
    options.explain = false;
    return placement::PlanGang(cluster, {&at_size, &groups, job.eligible.get(), id.value}, options)
               .outcome == placement::Outcome::kPlaced;
  };
  // sizes[low - 1] fits, sizes[high] does not.
  std::size_t low = 0;
  std::size_t high = sizes.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (fits(sizes[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : sizes[low - 1];
}

bool OthersWait(const plan::Snapshot& snapshot, plan::JobId id) {
  for (const plan::JobId other : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[other.index()];
    if (other != id && !job.assignment && job.problems.empty()) return true;
  }
  return false;
}

}  // namespace yardmaster::op
