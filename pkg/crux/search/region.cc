#include "pkg/crux/search/region.h"

#include <algorithm>
#include <utility>

#include "pkg/crux/intensity.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/streams.h"

namespace yardmaster::crux {
namespace {

// Jobs outside leave at least this share of a link.
constexpr double kMinLeft = 0.1;

double Period(const Problem& problem, const Draft& draft, ContendingJobId j) {
  return IterationSeconds(problem.jobs[j.index()], draft.traffic[j.index()].communication_seconds);
}

// The path in use first, then the fresh one (-1: none), then those whose fullest link is least
// busy.
std::vector<std::int32_t> WorthTrying(const Flow& flow, std::int32_t now, std::int32_t fresh,
                                      const std::vector<double>& busy,
                                      std::int32_t max_candidates) {
  std::vector<std::int32_t> kept = {now};
  if (max_candidates < 2 || flow.paths.size() <= max_candidates) fresh = -1;
  if (fresh >= 0 && fresh != now) kept.push_back(fresh);
  std::vector<std::pair<std::pair<double, double>, std::int32_t>> others;
  for (std::int32_t p = 0; p < flow.paths.size(); ++p) {
    if (p == now || p == fresh) continue;
    double fullest = 0;
    double sum = 0;
    for (const std::int32_t link : flow.paths[p]) {
      fullest = std::max(fullest, busy[link]);
      sum += busy[link];
    }
    others.push_back({{fullest, sum}, p});
  }
  const auto room = std::max(0, max_candidates - static_cast<std::int32_t>(kept.size()));
  const auto count = std::min<std::size_t>(others.size(), static_cast<std::size_t>(room));
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count),
                    others.end());
  for (std::size_t i = 0; i < count; ++i) kept.push_back(others[i].second);
  return kept;
}

}  // namespace

Region CutRegion(const Problem& problem, const Draft& draft,
                 const std::vector<std::int32_t>& levels, const std::vector<double>& busy,
                 std::span<const ContendingJobId> jobs, std::int32_t max_candidates,
                 const Paths& fresh) {
  Region region;
  region.jobs.assign(jobs.begin(), jobs.end());
  region.problem.levels = problem.levels;
  std::vector<double> own(problem.links.size(), 0);  // seconds of `jobs` per second, by link
  for (const ContendingJobId j : jobs) {
    const double period = Period(problem, draft, j);
    for (const LinkSeconds& load : draft.loads[j.index()]) own[load.link] += load.seconds / period;
  }
  std::vector<std::int32_t> number(problem.links.size(), -1);  // in the region, -1: not there yet
  const auto link_of = [&](std::int32_t link) {
    if (number[link] < 0) {
      number[link] = static_cast<std::int32_t>(region.problem.links.size());
      Link part = problem.links[link];
      part.gbps *= std::clamp(1 - (busy[link] - own[link]), kMinLeft, 1.0);
      region.problem.links.push_back(std::move(part));
    }
    return number[link];
  };
  std::vector<std::int32_t> path;
  for (const ContendingJobId j : jobs) {
    const ContendingJob& job = problem.jobs[j.index()];
    ContendingJob copy{
        job.id, job.gpus, job.flop_per_iteration, job.compute_seconds, job.communication_start, {}};
    region.candidates.emplace_back();
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      const Flow& flow = job.flows[f];
      auto kept = WorthTrying(flow, draft.paths[j.index()][f],
                              fresh.empty() ? -1 : fresh[j.index()][f], busy, max_candidates);
      Flow part{flow.id,         flow.bytes, {}, flow.communication_start, flow.every_iterations,
                flow.background, flow.ring};
      for (const std::int32_t p : kept) {
        path.clear();
        for (const std::int32_t link : flow.paths[p]) path.push_back(link_of(link));
        part.paths.Add(path, flow.paths.shares(p));
      }
      copy.flows.push_back(std::move(part));
      region.candidates.back().push_back(std::move(kept));
    }
    region.state.paths.emplace_back(job.flows.size(), 0);
    region.state.levels.push_back(levels[j.index()]);
    region.problem.jobs.push_back(std::move(copy));
  }
  return region;
}

void PutBack(const Region& region, SearchState& whole) {
  for (std::size_t i = 0; i < region.jobs.size(); ++i) {
    const ContendingJobId j = region.jobs[i];
    whole.levels[j.index()] = region.state.levels[i];
    for (std::size_t f = 0; f < whole.paths[j.index()].size(); ++f) {
      whole.paths[j.index()][f] = region.candidates[i][f][region.state.paths[i][f]];
    }
  }
}

std::vector<std::vector<std::int32_t>> Neighbours(std::int32_t job_count,
                                                  std::span<const ContendingPair> pairs) {
  std::vector<std::vector<std::int32_t>> of_job(static_cast<std::size_t>(job_count));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    of_job[pairs[p].a.index()].push_back(static_cast<std::int32_t>(p));
    of_job[pairs[p].b.index()].push_back(static_cast<std::int32_t>(p));
  }
  return of_job;
}

std::vector<ContendingJobId> Neighbourhood(const Problem& problem, ContendingJobId seed,
                                           const Draft& draft,
                                           const std::vector<std::vector<std::int32_t>>& pairs_of,
                                           const RegionSize& size) {
  std::vector<std::pair<double, ContendingJobId>> near;
  for (const std::int32_t p : pairs_of[seed.index()]) {
    const ContendingPair& pair = draft.pairs[p];
    near.emplace_back(-(pair.a_seconds + pair.b_seconds), pair.a == seed ? pair.b : pair.a);
  }
  std::sort(near.begin(), near.end());
  std::vector<ContendingJobId> jobs = {seed};
  std::size_t flows = problem.jobs[seed.index()].flows.size();
  std::size_t streams = MergedStreamCount(problem.jobs[seed.index()]);
  for (std::size_t i = 0; i < near.size() && jobs.size() < size.max_jobs; ++i) {
    const ContendingJob& job = problem.jobs[near[i].second.index()];
    if (flows + job.flows.size() > size.max_flows) continue;
    const std::size_t more = MergedStreamCount(job);
    if (streams + more > ScheduleEvaluator::kMaxStreams) continue;
    flows += job.flows.size();
    streams += more;
    jobs.push_back(near[i].second);
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace yardmaster::crux
