// One entry for every policy: problem in, decisions out.
//
//   crux       ours: paths and priorities as published, with hysteresis for what holds; improved
//              compression; and where a judge is given, a bounded search around the result
//   published  the Crux paper as written: one reference job, ten random orders, no judge
//   ecmp sincronia varys taccl cassini   baselines.h
//   exact      the optimum by enumeration, as the judge sees it
//
// Deterministic in (problem, policy, options). Thread safety: pure apart from the judge.
// Errors: what Validate refuses; FailedPrecondition for exact without a judge; ResourceExhausted
// for exact on a case too large to enumerate; InvalidArgument for levels all of which are reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/compression.h"
#include "pkg/crux/judge.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/refine.h"

namespace yardmaster::crux {

enum class Policy { kCrux, kPublished, kEcmp, kSincronia, kVarys, kTaccl, kCassini, kExact };

// The names above. Errors: InvalidArgument that lists them.
absl::StatusOr<Policy> ParsePolicy(std::string_view name);
std::string_view PolicyName(Policy policy);
std::vector<Policy> AllPolicies();

struct Options {
  std::uint64_t seed = 1;
  // Levels that belong to somebody else (control traffic, a job being profiled); never handed out.
  std::vector<std::int32_t> reserved_levels;
  PathOptions paths;
  CompressionOptions compression;
  JudgeFactory judge;  // may be empty, except for exact
  RefineOptions refine;
  // Refinement looks only at sets of jobs this small.
  std::size_t refine_jobs = 12;
  double exact_limit = 2e6;

  // What holds now, for crux and published: aligned with problem.jobs, an entry of a new job has no
  // paths and level -1. Only `changed` jobs (sorted; new ones are always among them) choose paths
  // and a place in the order; everybody keeps what it has where that costs nothing. The rest of
  // the problem has to be one that was answered before: only changed jobs are validated.
  std::optional<Solution> previous;
  std::vector<std::int32_t> changed;
};

absl::StatusOr<Solution> Decide(const Problem& problem, Policy policy, const Options& options = {});

// Fills the numbers of section 2 to 4 for paths and levels decided elsewhere: communication time,
// intensity, and priorities that agree with the levels; edges; loss.
Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels);

}  // namespace yardmaster::crux
