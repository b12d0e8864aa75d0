#include "simulation/simulator/running_speed.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "pkg/crux/contention.h"
#include "simulation/simulator/trace_speed.h"

namespace yardmaster::sim {
namespace {

double SharedLoad(const crux::Problem& problem,
                  const std::vector<std::vector<crux::LinkSeconds>>& loads,
                  const crux::Solution& solution) {
  std::map<std::int32_t, std::pair<int, double>> busy;  // users and load, by link
  for (std::size_t r = 0; r < loads.size(); ++r) {
    const double seconds = solution.jobs[r].communication_seconds;
    const double period = crux::IterationSeconds(problem.jobs[r], seconds);
    for (const crux::LinkSeconds& load : loads[r]) {
      auto& [users, sum] = busy[load.link];
      ++users;
      sum += load.seconds / period;
    }
  }
  double fullest = 0;
  for (const auto& [link, use] : busy) {
    if (use.first > 1) fullest = std::max(fullest, use.second);
  }
  return fullest;
}

std::vector<std::int64_t> KeyOf(const std::vector<RunningJob>& running,
                                const std::vector<crux::ContendingJobId>& group) {
  // Only the order of the levels inside the group matters.
  std::set<std::int32_t> levels;
  for (const crux::ContendingJobId j : group) levels.insert(running[j.index()].decision.level);
  std::vector<std::int64_t> key;
  for (const crux::ContendingJobId j : group) {
    const RunningJob& job = running[j.index()];
    key.push_back(static_cast<std::int64_t>(job.index));
    key.push_back(std::distance(levels.begin(), levels.find(job.decision.level)));
    key.push_back(static_cast<std::int64_t>(job.decision.offset_seconds * 1e6));
    key.insert(key.end(), job.decision.paths.begin(), job.decision.paths.end());
  }
  return key;
}

}  // namespace

RunningSpeeds::RunningSpeeds(const std::vector<crux::Link>& links, std::int32_t network_links,
                             double window_iterations, bool offsets_hold)
    : network_links_(network_links),
      window_iterations_(window_iterations),
      offsets_hold_(offsets_hold) {
  for (const crux::Link& link : links) gbps_.push_back(link.gbps);
}

std::vector<crux::ContendingJobId> RunningSpeeds::JobsThatMeetInNetwork(const Loads& loads) const {
  std::vector<int> users(static_cast<std::size_t>(network_links_), 0);
  const auto in_network = [&](const crux::LinkSeconds& load) { return load.link < network_links_; };
  for (const auto& job : loads) {
    for (const crux::LinkSeconds& load : job) {
      if (in_network(load)) ++users[static_cast<std::size_t>(load.link)];
    }
  }
  std::vector<crux::ContendingJobId> jobs;
  for (std::size_t j = 0; j < loads.size(); ++j) {
    const bool meets =
        std::any_of(loads[j].begin(), loads[j].end(), [&](const crux::LinkSeconds& load) {
          return in_network(load) && users[static_cast<std::size_t>(load.link)] > 1;
        });
    if (meets) jobs.emplace_back(static_cast<std::int32_t>(j));
  }
  return jobs;
}

std::vector<std::vector<crux::ContendingJobId>> RunningSpeeds::Measure(
    const crux::Problem& problem, const crux::Solution& solution,
    std::vector<RunningJob>& running) {
  Loads loads;
  crux::LoadCounter counter(problem);
  for (std::size_t r = 0; r < running.size(); ++r) {
    loads.push_back(counter.Count(problem.jobs[r], solution.jobs[r].paths));
  }
  shared_load_ = SharedLoad(problem, loads, solution);
  met_in_network_ = JobsThatMeetInNetwork(loads);
  const auto pairs = crux::ContendingPairs(static_cast<std::int32_t>(problem.links.size()), loads);
  auto groups = crux::Components(static_cast<std::int32_t>(running.size()), pairs);
  std::map<std::vector<std::int64_t>, std::vector<double>> fresh;
  for (const auto& group : groups) {
    double slowest = 0;
    for (const crux::ContendingJobId j : group) {
      const crux::ContendingJob& job = problem.jobs[j.index()];
      const double seconds = crux::CommunicationSeconds(loads[j.index()]);
      const double iteration = crux::IterationSeconds(job, seconds);
      slowest = std::max(slowest, iteration);
      running[j.index()].share = job.compute_seconds / iteration;
    }
    if (group.size() == 1) continue;
    std::vector<std::int64_t> key = KeyOf(running, group);
    const auto known = measured_.find(key);
    std::vector<double> shares =
        known != measured_.end() ? known->second
                                 : Simulate(problem, running, group, slowest * window_iterations_);
    for (std::size_t g = 0; g < group.size(); ++g) running[group[g].index()].share = shares[g];
    fresh.emplace(std::move(key), std::move(shares));
  }
  measured_ = std::move(fresh);
  std::erase_if(groups, [](const auto& group) { return group.size() == 1; });
  return groups;
}

std::vector<double> RunningSpeeds::Simulate(const crux::Problem& problem,
                                            const std::vector<RunningJob>& running,
                                            const std::vector<crux::ContendingJobId>& group,
                                            double window_seconds) const {
  std::vector<RingJob> jobs;
  for (const crux::ContendingJobId j : group) {
    const crux::ContendingJob& job = problem.jobs[j.index()];
    const RunningJob& runs = running[j.index()];
    const crux::JobDecision& decision = runs.decision;
    const double offset =
        offsets_hold_ ? decision.offset_seconds
                      : runs.phase * crux::IterationSeconds(job, decision.communication_seconds);
    jobs.push_back({job.compute_seconds, job.communication_start, decision.level, offset,
                    offsets_hold_, RingsOf(runs.hops, decision.paths)});
  }
  return ComputeShares(gbps_, std::move(jobs), window_seconds);
}

}  // namespace yardmaster::sim
