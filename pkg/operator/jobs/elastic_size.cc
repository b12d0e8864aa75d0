#include "pkg/operator/jobs/elastic_size.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::op {

namespace {

// Room comes and goes without a sign to this job.
constexpr std::int64_t kLookAgainMs = 30'000;
// Contradictions within the job are found with hosts of any size.
constexpr int kAnyHost = 1024;

std::string Groups(int data) { return Count(data, "data group"); }

// New ranks are on their way, or wait for hosts.
SizeDecision DecideGrowth(const ElasticView& view) {
  SizeDecision decision;
  if (!view.awaits_room) return decision;
  const std::int64_t left_ms =
      std::int64_t{1000} * view.policy.shrink_after_seconds - (view.now_ms - view.changed_ms);
  decision.look_again_ms = left_ms;
  if (left_ms > 0) return decision;
  return {view.growing_from,
          StrCat("there has been no room to grow to ", Groups(view.data), "; the job stays at ",
                 view.growing_from),
          {},
          true};
}

// The size of the job, as the planner sees it; nothing: it cannot have that size.
std::optional<workload::Job> AtSize(const workload::Job& job, const api::JobSpec& spec, int data) {
  const auto workers = api::WorkersOf(spec, data);
  if (!workers) return std::nullopt;
  workload::Job at_size = job;
  at_size.workers = *workers;
  at_size.parallelism.data = data;
  if (!workload::Problems(at_size, kAnyHost).empty()) return std::nullopt;
  return at_size;
}

// The last of `sizes` that fits, if every smaller one does, too; 0: none.
int LargestOf(const std::vector<int>& sizes, const std::function<bool(int data)>& fits) {
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

}  // namespace

SizeDecision DecideSize(const ElasticView& view, const LargestFit& shrink_fit,
                        const LargestFit& grow_fit, const LargestFit& join_fit) {
  SizeDecision decision;
  if (view.sizes.empty()) return decision;
  const int largest = view.sizes.back();
  if (view.data > largest && view.growing_from != 0) {
    return {view.growing_from,
            StrCat("spec allows ", Groups(largest), " and the job grows to ", view.data,
                   "; it stays at ", view.growing_from),
            {},
            true};
  }
  if (view.data > largest) {
    return {largest, StrCat("spec allows ", Groups(largest), ", it has ", view.data), {}};
  }
  if (view.growing_from != 0) return DecideGrowth(view);
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
  if (left_ms > 0) return decision;
  const int joined = view.joins ? join_fit(sizes) : 0;
  if (joined != 0) {
    return {joined,
            StrCat("there is room for ", Groups(joined), " beside the ", view.data,
                   " that run; no worker restarts"),
            {},
            true};
  }
  const int fit = grow_fit(sizes);
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
  return LargestOf(sizes, [&](int data) {
    const auto at_size = AtSize(job.job, spec, data);
    if (!at_size) return false;
    const workload::WorkerGroups groups =
        workload::GroupsOf(at_size->parallelism, at_size->workers, at_size->gpus_per_worker);
    placement::PlannerOptions options;
    options.explain = false;
    return placement::PlanGang(cluster, {&*at_size, &groups, job.eligible.get(), id.value}, options)
               .outcome == placement::Outcome::kPlaced;
  });
}

int LargestGrowthInPlace(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                         const std::vector<int>& sizes) {
  const plan::JobState& job = snapshot.jobs[id.index()];
  if (!job.assignment || !job.lost_ranks.empty() || job.leaving) return 0;
  const auto& placed = job.assignment->host_of_rank;
  plan::Snapshot grown = snapshot;
  return LargestOf(sizes, [&](int data) {
    const auto at_size = AtSize(job.job, spec, data);
    if (!at_size || at_size->workers <= static_cast<int>(placed.size())) return false;
    const auto groups = std::make_shared<const workload::WorkerGroups>(
        workload::GroupsOf(at_size->parallelism, at_size->workers, at_size->gpus_per_worker));
    plan::JobState& state = grown.jobs[id.index()];
    state.job = *at_size;
    state.groups = groups;
    placement::PlannerOptions options;
    options.explain = false;
    const placement::GangPlan plan = placement::GrowGang(
        grown.cluster, {&*at_size, groups.get(), job.eligible.get(), id.value}, placed, options,
        [&](const std::vector<fabric::HostId>& hosts) {
          return plan::VerifyPlacement(grown, id, hosts, /*may_use_backup=*/false);
        });
    return plan.outcome == placement::Outcome::kPlaced;
  });
}

bool OthersWait(const plan::Snapshot& snapshot, plan::JobId id) {
  for (const plan::JobId other : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[other.index()];
    if (other != id && !job.assignment && job.problems.empty()) return true;
  }
  return false;
}

}  // namespace yardmaster::op
