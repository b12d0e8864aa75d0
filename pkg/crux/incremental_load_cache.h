// IncrementalLoadCache keeps the draft of the present plan (draft.h) between decisions. When a job
// arrives, it counts the new job's load on links and what that changes, but no flow of another job.
//
// It caches for each job its load on links, traffic, intensity and the load of its fullest link;
// for each link its users and the fraction of time that it is busy; and the pairs that contend.
//
// The cache cannot be stale:
//
//   - Follow compares every job that stays with the flows, numbers and paths for which it was
//     counted, and links by their speed, and counts again what differs. Jobs are identified by id,
//     which only decides what is compared with what.
//   - If the jobs that stay are in another order, or a link changed its speed or was removed,
//     everything is counted again.
//   - So after Refresh, draft(), busy() and contention() are bitwise those of a new object: sums
//     are always added in the order of the jobs.
//
// Order of calls: Begin, then Follow and Move, then Refresh. draft(), busy() and contention() are
// valid after Refresh.
//
// Complexity: Follow O(flows * links of a path) comparisons; Refresh O(uses of the links that jobs
// joined or left, and of the jobs there, + jobs + pairs). If more than a quarter of the jobs moved,
// Refresh computes all pairs again. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/crux/draft.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/link_users.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

class IncrementalLoadCache final : public BaseLoad {
 public:
  void Clear();

  // Replaces the cached jobs by those of `problem`. Returns for each job its index before this
  // call; invalid if it was not cached, or if everything is counted again.
  std::vector<ContendingJobId> Begin(const Problem& problem);
  // Sets `paths` for all jobs; jobs with `absent` set have no load.
  void Follow(const Problem& problem, const Paths& paths, std::span<const char> absent);
  // Changes the paths of these jobs.
  void Move(const Problem& problem, std::span<const ContendingJobId> jobs, const Paths& paths);
  // Updates draft(), busy() and contention().
  void Refresh();

  const Draft& draft() const { return draft_; }
  // Fraction of time for which each link is busy, if every job runs at its speed without
  // contention.
  const std::vector<double>& busy() const { return busy_; }
  // Equal to ContentionOf.
  const std::vector<JobContention>& contention() const { return contention_; }

  // Fraction of time for which the present jobs use the link, background flows included, as path
  // selection counts it.
  double BusyWith(std::int32_t link) const override;
  // Returns the paths that `jobs` (sorted) would choose if they had none and all others stayed. The
  // entries of the others are empty.
  Paths ReselectAsIfNew(const Problem& problem, std::span<const ContendingJobId> jobs,
                        const PathSelectionOptions& options);
  PathSpace& path_space() { return path_space_; }

 private:
  struct CachedFlow {
    double bytes = 0;
    double start = 0;
    std::int32_t every_iterations = 1;
    bool background = false;
    std::uint32_t path_end = 0;  // in links
  };
  // The values for which a job was counted.
  struct CachedJob {
    std::string id;
    std::int32_t slot = -1;
    bool present = false;
    double flop_per_iteration = 0;
    double compute_seconds = 0;
    double communication_start = 0;
    std::vector<CachedFlow> flows;
    std::vector<std::int32_t> links;  // of all paths, concatenated
    std::vector<double> shares;       // parallel to links; empty: no flow is spread
    std::vector<std::int32_t> used;   // each once
  };

  bool FollowLinks(const Problem& problem);
  std::vector<ContendingJobId> MatchJobs(const Problem& problem) const;
  void Arrange(const Problem& problem, const std::vector<ContendingJobId>& before);
  static bool SameShares(const CachedJob& kept, std::uint32_t begin, std::uint32_t end,
                         std::span<const double> shares);
  static bool Same(const CachedJob& kept, const ContendingJob& job,
                   std::span<const std::int32_t> paths);
  void Remove(std::size_t j);
  // `spans` is created when a job needs it, because it costs O(links).
  void Place(const Problem& problem, std::size_t j, const std::vector<std::int32_t>& paths,
             std::optional<LoadCounter>& spans);
  void Count(const ContendingJob& job, const std::vector<std::int32_t>& paths, CachedJob& kept);
  double BusyWithout(std::int32_t link, std::span<const ContendingJobId> jobs) const;
  void Touch(std::int32_t link);
  void RefreshBusy();
  void RefreshPairs();
  void RefreshContention();

  std::vector<double> gbps_;
  LinkUsers users_;
  std::vector<CachedJob> jobs_;
  std::vector<std::int32_t> rank_;   // by slot: the job's index
  std::vector<double> period_;       // by slot: iteration without contention, by communication time
  std::vector<double> span_period_;  // by slot: the same, by span
  std::vector<std::int32_t> free_slots_;
  Draft draft_;
  std::vector<double> busy_;
  std::vector<JobContention> contention_;
  // What Refresh must update.
  std::vector<char> touched_;  // by link
  std::vector<std::int32_t> touched_links_;
  std::vector<char> dirty_;  // by job
  PathSpace path_space_;
  // Of the job that is counted, by link; zero between counts.
  std::vector<double> mean_bytes_;
  std::vector<double> all_bytes_;
};

}  // namespace yardmaster::crux
