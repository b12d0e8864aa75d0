// Every policy by its name, for comparisons: problem in, decisions out. What production runs is one
// of them; ym_crux links none of the others.
//
//   crux       the production policy (crux/decide.h), with the options given
//   published  the Crux paper as written: one reference job, k unbounded, least congested whole
//              path, ten random orders, no search, everything again at every event
//   ecmp sincronia varys taccl cassini   baselines.h
//   exact      the optimum by enumeration of paths and levels, as ScheduleEvaluator sees it
//
// Deterministic in (problem, policy, options). Thread safety: pure.
// Errors: what Validate refuses; ResourceExhausted for exact on a case too large to enumerate;
// InvalidArgument for levels all of which are reserved.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

enum class Policy { kCrux, kPublished, kEcmp, kSincronia, kVarys, kTaccl, kCassini, kExact };

// The names above. Errors: InvalidArgument that lists them.
absl::StatusOr<Policy> ParsePolicy(std::string_view name);
std::string_view PolicyName(Policy policy);
std::vector<Policy> AllPolicies();

struct ExactOptions {
  double max_evaluations = 2e6;  // of each component of jobs that could contend
  // At most 100 iterations of the slowest job; 0: these 100.
  double window_seconds = 0;
  std::int64_t event_budget = 200'000'000;
};

// Only crux reads what is `present` besides reserved levels; the others decide everything again.
absl::StatusOr<Solution> DecideBy(Policy policy, const Problem& problem,
                                  const Options& options = {}, const ExactOptions& exact = {},
                                  const PresentState& present = {});

// What `published` runs: production with everything that differs from the paper taken out.
Options PublishedOptions(const Options& options);

}  // namespace yardmaster::crux
