// Path selection (section 4.1): takes the jobs from the highest GPU intensity to the lowest and
// gives each flow the least congested of its candidates, given what has been placed so far.
//
// Congestion of a path is the load of its fullest link with the flow on it, then the sum over its
// links, then the lower index. Links that all candidates of a flow have in common (its NICs) are
// left out in production: they cannot be avoided, and a full one would hide a full uplink behind
// it. The load of a link is the share of time it is busy: a job adds M_{j,e} / (B_e * T_j), T_j
// being its iteration alone (a job that talks rarely congests little). A flow in the background
// counts like any other, and before all others where it has one path. Inside a job larger flows
// choose first. The order needs intensities before there are paths; a job that had paths is
// estimated on those, any other on its own choice on an empty network among the first 16 candidates
// of each flow.
//
// Complexity: O(sum over flows of candidates x links of a path). No failure: a problem that
// passed Validate always has an answer. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct PathSelectionOptions {
  // Reselect leaves a flow where it is unless its path would get less congested by more than this
  // share: a running job's connections must not flap for a small gain.
  double hysteresis = 0.1;
  // Links that all candidates have in common count too, as published.
  bool count_common_links = false;
};

// The load that jobs which do not choose put on links.
class BaseLoad {
 public:
  virtual ~BaseLoad() = default;
  // Share of time the link is busy with them.
  virtual double BusyWith(std::int32_t link) const = 0;
};

// Every job again.
Paths SelectPaths(const Problem& problem, const PathSelectionOptions& options = {});

// Only the flows of `changed` jobs (sorted indices) choose, all others stay on `previous`.
// A job that had paths keeps a flow's path unless the gain exceeds the hysteresis. If a changed
// job's entry in `previous` does not have one valid path for each flow, the job is treated as new.
// Complexity: that of SelectPaths for the changed jobs, plus the links that all other jobs use.
// The jobs `first` (sorted) choose before the others regardless of their intensity.
// REQUIRES: previous.size() == problem.jobs.size(), and unchanged jobs have valid paths in it.
Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed,
                    const PathSelectionOptions& options = {},
                    std::span<const ContendingJobId> first = {});

// Space for choosing paths, by link, so that it need not be made for every choice.
struct PathSpace {
  std::vector<double> busy;  // zero between choices, as are the others
  std::vector<double> alone;
  std::vector<double> seconds_per_byte;
  std::vector<double> bytes;
};

// As above, but the load of the jobs that are not listed is read from `base`, and only for links on
// candidates of those listed; unlisted entries of `previous` are copied and may be empty.
Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed, const PathSelectionOptions& options,
                    const BaseLoad& base, PathSpace& space);

// The job's own choice on an empty network, among all candidates.
std::vector<std::int32_t> SelectAlone(const Problem& problem, const ContendingJob& job);

// Uniform over the candidates, as a hash spreads them. Deterministic in `seed`.
Paths RandomPaths(const Problem& problem, std::uint64_t seed);

}  // namespace yardmaster::crux
