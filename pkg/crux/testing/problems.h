// Builds small problems for tests: the paper's worked examples and random ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux::testing {

// A link on which `seconds` of traffic are `seconds` * 1e9 bytes.
inline constexpr double kGbpsOfOneGigabyte = 8;

// Returns a job with one flow of `link_seconds` over the given links (each of kGbpsOfOneGigabyte).
ContendingJob OneFlowJob(const std::string& id, double flop, std::int32_t gpus,
                         double compute_seconds, double communication_start, double link_seconds,
                         const std::vector<std::int32_t>& links);

// Returns a job with `flows` flows over any of the given links, each with its own start.
ContendingJob ManyStartsJob(const std::string& id, std::int32_t flows,
                            const std::vector<std::int32_t>& links);

// Returns an edge from job `from` to job `to`.
inline ContentionEdge Edge(std::int32_t from, std::int32_t to, double weight) {
  return {ContendingJobId(from), ContendingJobId(to), weight};
}

// Returns a problem with links "l0", "l1", ..., each of kGbpsOfOneGigabyte.
Problem WithLinks(std::int32_t levels, std::int32_t link_count, std::vector<ContendingJob> jobs);

Problem Example1(std::int32_t levels);  // figure 11
Problem Example2(std::int32_t levels);  // figure 12
Problem Figure13();                     // four jobs, two links, two levels

struct RandomShape {
  std::int32_t jobs = 5;
  std::int32_t links = 6;
  std::int32_t levels = 3;
  std::int32_t flows = 2;       // at most, per job
  std::int32_t candidates = 2;  // at most, per flow
  bool several_starts = false;  // a flow has a start of its own, with probability 1/2
  bool storage = false;         // a flow runs seldom, in the background, or both, with 1/3
  bool spread = false;          // a path is spread over its links, with probability 1/2
};
// Deterministic in (shape, seed).
Problem RandomProblem(const RandomShape& shape, std::uint64_t seed);

}  // namespace yardmaster::crux::testing
