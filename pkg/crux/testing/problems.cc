#include "pkg/crux/testing/problems.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::crux::testing {

ContendingJob OneFlowJob(const std::string& id, double flop, std::int32_t gpus,
                         double compute_seconds, double communication_start, double link_seconds,
                         const std::vector<std::int32_t>& links) {
  ContendingJob job{id, gpus, flop, compute_seconds, communication_start, {}};
  job.flows.push_back({"f0", link_seconds * 1e9, {links}});
  return job;
}

ContendingJob ManyStartsJob(const std::string& id, std::int32_t flows,
                            const std::vector<std::int32_t>& links) {
  ContendingJob job{id, 8, 1e12, 1, 1, {}};
  for (std::int32_t f = 0; f < flows; ++f) {
    Flow flow{StrCat("f", f), 1e7, {}};
    flow.communication_start = static_cast<double>(f) / flows;
    for (const std::int32_t link : links) flow.paths.Add(std::vector{link});
    job.flows.push_back(std::move(flow));
  }
  return job;
}

Problem WithLinks(std::int32_t levels, std::int32_t link_count, std::vector<ContendingJob> jobs) {
  Problem problem;
  problem.levels = levels;
  for (std::int32_t l = 0; l < link_count; ++l) {
    problem.links.push_back({StrCat("l", l), kGbpsOfOneGigabyte});
  }
  problem.jobs = std::move(jobs);
  return problem;
}

Problem Example1(std::int32_t levels) {
  return WithLinks(
      levels, 1,
      {OneFlowJob("job1", 10e9, 10, 2, 1, 2, {0}), OneFlowJob("job2", 5e9, 10, 1, 1, 1, {0})});
}

Problem Example2(std::int32_t levels) {
  return WithLinks(
      levels, 1,
      {OneFlowJob("job1", 10e9, 2, 4, 0.5, 1, {0}), OneFlowJob("job2", 30e9, 12, 2, 0.5, 3, {0})});
}

Problem Figure13() {
  return WithLinks(
      2, 2,
      {OneFlowJob("job1", 40e9, 8, 1, 1, 1, {0}), OneFlowJob("job2", 30e9, 8, 1, 1, 1, {0}),
       OneFlowJob("job3", 20e9, 8, 1, 1, 1, {1}), OneFlowJob("job4", 10e9, 8, 1, 1, 1, {1})});
}

Problem RandomProblem(const RandomShape& shape, std::uint64_t seed) {
  Random random(seed);
  Problem problem = WithLinks(shape.levels, shape.links, {});
  for (std::int32_t j = 0; j < shape.jobs; ++j) {
    ContendingJob job;
    job.id = StrCat("j", j);
    job.gpus = static_cast<std::int32_t>(8 * (1 + random.Below(8)));
    job.compute_seconds = 0.2 + random.Unit();
    job.communication_start = random.Unit();
    job.flop_per_iteration = job.gpus * job.compute_seconds * 1e14;
    const auto flows = 1 + random.Below(static_cast<std::uint64_t>(shape.flows));
    for (std::uint64_t f = 0; f < flows; ++f) {
      Flow flow{StrCat("f", f), (0.05 + random.Unit() / 2) * 1e9, {}};
      const auto candidates = 1 + random.Below(static_cast<std::uint64_t>(shape.candidates));
      for (std::uint64_t c = 0; c < candidates; ++c) {
        std::vector<std::int32_t> links(static_cast<std::size_t>(shape.links));
        std::iota(links.begin(), links.end(), 0);
        random.Shuffle(links);
        links.resize(1 + random.Below(std::min(3, shape.links)));
        std::vector<double> shares;
        const bool spread = shape.spread && random.Below(2) == 0;
        for (std::size_t l = 0; spread && l < links.size(); ++l) {
          shares.push_back((1.0 + static_cast<double>(random.Below(4))) / 4);
        }
        flow.paths.Add(links, shares);
      }
      if (shape.several_starts && random.Below(2) == 0) flow.communication_start = random.Unit();
      if (shape.storage && random.Below(3) == 0) {
        flow.every_iterations = static_cast<std::int32_t>(1 + random.Below(4));
        flow.background = flow.every_iterations == 1 || random.Below(2) == 0;
        flow.bytes *= flow.every_iterations;
      }
      job.flows.push_back(std::move(flow));
    }
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

}  // namespace yardmaster::crux::testing
