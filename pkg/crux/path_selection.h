// Selects paths (section 4.1): takes the jobs from the highest GPU intensity to the lowest and
// gives each flow the least congested of its candidates, given the flows placed so far.
//
//   - The congestion of a path is the load of its fullest link with the flow on it, then the sum
//     over its links, then the lower index.
//   - In production, links that all candidates of a flow have in common (those of its NICs) are
//     left out: they cannot be avoided, and a full one would hide a full uplink.
//   - The load of a link is the fraction of time that it is busy. A job adds M_{j,e} / (B_e * T_j),
//     where T_j is its iteration without contention. So a job that seldom communicates congests
//     little.
//   - A background flow counts like the others. If it has one path, it counts before all others.
//   - Within a job larger flows choose first.
//   - The order of jobs needs intensities before paths exist. A job that had paths is estimated on
//     those; another one on its choice on an empty network among the first 16 candidates of each
//     flow.
//
// Complexity: O(sum over flows of candidates * links of a path). It does not fail: a problem that
// passed Validate always has an answer. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct PathSelectionOptions {
  // A flow of a running job keeps its path unless another one reduces its congestion by more than
  // this fraction, so that connections do not flap for a small gain.
  double hysteresis = 0.1;
  // Whether links that all candidates have in common count, too, as published.
  bool count_common_links = false;
};

// The load of the jobs that do not choose.
class BaseLoad {
 public:
  virtual ~BaseLoad() = default;
  // Returns the fraction of time that they keep the link busy.
  virtual double BusyWith(std::int32_t link) const = 0;
};

// Selects paths for every job.
Paths SelectPaths(const Problem& problem, const PathSelectionOptions& options = {});

// Selects paths for the flows of `changed` jobs (sorted); all others stay on `previous`.
//
//   - A job that had paths keeps a flow's path unless the gain exceeds the hysteresis. A changed
//     job without a valid path for each flow in `previous` is treated as new.
//   - The jobs `first` (sorted) choose before the others regardless of their intensity.
//
// REQUIRES: previous.size() == problem.jobs.size(), and unchanged jobs have valid paths in it.
// Complexity: that of SelectPaths for the changed jobs, plus the links that all other jobs use.
Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed,
                    const PathSelectionOptions& options = {},
                    std::span<const ContendingJobId> first = {});

// Scratch space by link, which is reused between calls.
struct PathSpace {
  std::vector<double> busy;  // zero between calls, like the others
  std::vector<double> alone;
  std::vector<double> seconds_per_byte;
  std::vector<double> bytes;
};

// Like ReselectPaths above, but the load of unlisted jobs is read from `base`, and only for links
// on candidates of listed jobs. Unlisted entries of `previous` are copied and may be empty.
Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed, const PathSelectionOptions& options,
                    const BaseLoad& base, PathSpace& space);

// Returns the job's choice on an empty network, among all candidates.
std::vector<std::int32_t> SelectAlone(const Problem& problem, const ContendingJob& job);

// Chooses uniformly among the candidates, as a hash does. Deterministic in `seed`.
Paths RandomPaths(const Problem& problem, std::uint64_t seed);

}  // namespace yardmaster::crux
