// Defines the input and the output of the network planner, independent of a fabric: jobs that send
// bytes over abstract links, with candidate paths for each flow. Method: Cao et al., "Crux:
// GPU-Efficient Communication Scheduling for Deep Learning Training", SIGCOMM 2024; docs/crux.md
// has the formulas.
//
//   - Within a problem, links and flows are identified by their index and jobs by a
//     ContendingJobId. String ids appear in messages and results. A job's id also identifies it
//     between decisions (incremental_load_cache.h).
//   - A part of a problem (search/region.h) has its own numbers of jobs.
//   - A link is one direction of one cable (or of a PCIe or NVLink connection).
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/base/ids.h"
#include "pkg/base/status.h"

namespace yardmaster::crux {

struct Link {
  std::string id;
  double gbps = 0;  // 1e9 bit per second
};

// The candidate paths of one flow, each a list of link indices. They are stored in flat arrays,
// because a large fabric has millions of candidates, and a vector for each would cost more than its
// content.
//
// A "path" of a flow whose packets are spread has links that each carry a fraction (share) of its
// bytes, in no order. If no path of a flow is spread, no shares are stored.
class PathList {
 public:
  PathList() = default;
  PathList(std::initializer_list<std::vector<std::int32_t>> paths) {
    for (const auto& path : paths) Add(path);
  }
  void Add(std::span<const std::int32_t> links) {
    links_.insert(links_.end(), links.begin(), links.end());
    ends_.push_back(static_cast<std::uint32_t>(links_.size()));
    if (!shares_.empty()) shares_.resize(links_.size(), 1);
  }
  // REQUIRES: one share for each link, or none: each link carries all bytes.
  void Add(std::span<const std::int32_t> links, std::span<const double> shares) {
    const bool whole =
        std::all_of(shares.begin(), shares.end(), [](double share) { return share == 1; });
    if (!whole) {
      shares_.resize(links_.size(), 1);
      shares_.insert(shares_.end(), shares.begin(), shares.end());
    }
    Add(links);
  }
  void Reserve(std::size_t paths, std::size_t links) {
    ends_.reserve(paths);
    links_.reserve(links);
  }
  std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
  bool empty() const { return ends_.empty(); }
  // REQUIRES: 0 <= path < size().
  std::span<const std::int32_t> operator[](std::int32_t path) const {
    const auto at = static_cast<std::size_t>(path);
    const std::uint32_t begin = at == 0 ? 0 : ends_[at - 1];
    return {links_.data() + begin, ends_[at] - begin};
  }
  // Shares by link of the path; empty: each link carries all bytes.
  std::span<const double> shares(std::int32_t path) const {
    if (shares_.empty()) return {};
    const std::span<const std::int32_t> links = (*this)[path];
    return {shares_.data() + (links.data() - links_.data()), links.size()};
  }
  // Calls visit(link, share) for each link of the path.
  template <typename Visit>
  void Each(std::int32_t path, Visit visit) const {
    const std::span<const std::int32_t> links = (*this)[path];
    if (shares_.empty()) {
      for (const std::int32_t link : links) visit(link, 1.0);
      return;
    }
    const std::span<const double> part = shares(path);
    for (std::size_t i = 0; i < links.size(); ++i) visit(links[i], part[i]);
  }

 private:
  std::vector<std::int32_t> links_;
  std::vector<double> shares_;  // by link; empty: all 1
  std::vector<std::uint32_t> ends_;
};

// A flow of a job. Most flows run once per iteration, and the iteration waits for them. Storage
// differs: checkpoints are written and data is loaded only in some iterations, and mostly in the
// background.
struct Flow {
  std::string id;
  double bytes = 0;  // each time the flow runs
  PathList paths;    // at least one
  // Fraction of compute after which the flow may start; absent: the job's.
  std::optional<double> communication_start = std::nullopt;
  // The flow runs in every n-th iteration of its job, starting with the n-th.
  std::int32_t every_iterations = 1;
  // The flow is served below every level, and iterations do not wait for its end. Only the
  // iteration in which it runs again waits.
  bool background = false;
  // Flows of a job with the same ring >= 0, start, every_iterations and background are the hops of
  // one ring. Each hop forwards what it receives, so all move at one rate in proportion to their
  // bytes. -1: the flow is not part of a ring.
  std::int32_t ring = -1;
};

// Whether the flows differ only in their ids: exchanging their paths changes no result.
bool AreTwins(const Flow& a, const Flow& b);

struct ContendingJob {
  std::string id;
  std::int32_t gpus = 0;
  double flop_per_iteration = 0;   // W_j, summed over the job's GPUs
  double compute_seconds = 0;      // of one iteration
  double communication_start = 1;  // fraction of compute after which flows may start; 1: no overlap
  std::vector<Flow> flows;         // start at communication_start unless they have their own start
};

// Index into Problem::jobs, and into every array with an entry per job.
using ContendingJobId = Id<struct JobTag>;

struct Problem {
  std::int32_t levels = 8;  // K; may exceed the number of jobs
  std::vector<Link> links;
  std::vector<ContendingJob> jobs;
};

// Returns the ids of `count` jobs, by index.
inline std::vector<ContendingJobId> AllJobs(std::size_t count) {
  std::vector<ContendingJobId> all;
  all.reserve(count);
  for (std::size_t j = 0; j < count; ++j) all.emplace_back(static_cast<std::int32_t>(j));
  return all;
}

// paths[job][flow] is an index into that flow's candidate paths.
using Paths = std::vector<std::vector<std::int32_t>>;

// The result of a schedule for a job, except its paths.
struct JobNumbers {
  double communication_seconds = 0;  // t_j on the chosen paths
  double intensity = 0;              // I_j
  double correction = 1;             // k_j
  double priority = 0;               // P_j = k_j * I_j
  std::int32_t level = 0;            // 0 is the lowest
};

struct JobDecision : JobNumbers {
  double offset_seconds = 0;        // only CASSINI delays a job's start
  std::vector<std::int32_t> paths;  // per flow
};

// An edge of the communication contention DAG, from the higher to the lower priority.
struct ContentionEdge {
  ContendingJobId from;
  ContendingJobId to;
  double weight = 0;  // intensity of `from`
};

// Invariant: an edge never leads to a higher level, and it leads from the higher priority (ties:
// lower index) to the lower one.
struct Solution {
  std::vector<JobDecision> jobs;
  std::vector<ContentionEdge> edges;   // sorted by (from, to)
  double loss = 0;                     // weight of the edges whose two ends share a level
  std::optional<double> optimal_loss;  // set if it was computed exactly
};

Paths PathsOf(const Solution& solution);

struct ValidationOptions {
  // Whether jobs may have no flows. A job on one host sends nothing; the cluster plans it, on the
  // lowest level. In a case file written by hand it is an error.
  bool allow_jobs_without_flows = true;
};

// Returns the first error in `problem`, as a FieldError with the path in the case file
// (`jobs[1].flows[0].bytes`) and the job's name. A path that uses a link twice is a cycle and
// rejected.
//
// Decide (decide.h) and DecideBy (simulation/policies/policies.h) validate their problem; every
// other function of this folder REQUIRES a problem that passed.
absl::Status Validate(const Problem& problem, const ValidationOptions& options = {});

// Like Validate, but checks only the listed jobs: for a problem that passed before these were added
// or changed. Links, the number of levels and the uniqueness of job ids are not checked again. An
// invalid index is a FieldError for `changed`.
absl::Status ValidateChanged(const Problem& problem, std::span<const ContendingJobId> changed);

}  // namespace yardmaster::crux
