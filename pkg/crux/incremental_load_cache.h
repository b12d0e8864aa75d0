// The draft of the present plan (draft.h), kept from one decision to the next: an arrival counts
// what the new job puts on links and what that changes, and no flow of any other job.
//
// What is kept: per job what it puts on links, its traffic and intensity; per link its users and
// the share of time it is busy; the pairs that contend; per job the load of its fullest link.
//
// It is a cache and cannot be stale: Follow compares every job that is to stay with the flows,
// numbers and chosen paths it was counted for, and links by their speed, and counts again what
// differs. Jobs are recognised by id, which decides only what is compared with what. Where the jobs
// that stayed are in another order, a link changed its speed or links were removed, everything is
// counted again. So after Refresh the draft, busy() and contention() are, to the bit, those of an
// object that has seen nothing before: sums are added in the order of the jobs in either case.
//
// Complexity: Follow O(flows * links of a path) comparisons; Refresh O(uses of the links that jobs
// came to or left, and of the jobs there, + jobs + pairs); where more than a quarter of the jobs
// moved, Refresh finds all pairs again. Thread safety: single threaded.
//
// Order of calls: Begin, then Follow and Move, then Refresh; draft(), busy() and contention() are
// valid after Refresh.
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

  // The jobs of `problem` become those kept. Returns, for each of them, its index before this call;
  // invalid where it was not known, or where everything is counted again.
  std::vector<ContendingJobId> Begin(const Problem& problem);
  // Jobs with `absent` set put nothing on any link; all others take `paths`.
  void Follow(const Problem& problem, const Paths& paths, std::span<const char> absent);
  // These jobs take other paths.
  void Move(const Problem& problem, std::span<const ContendingJobId> jobs, const Paths& paths);
  // Brings draft(), busy() and contention() up to date.
  void Refresh();

  const Draft& draft() const { return draft_; }
  // Share of time each link is busy with all jobs alone.
  const std::vector<double>& busy() const { return busy_; }
  // As ContentionOf.
  const std::vector<JobContention>& contention() const { return contention_; }

  // What the jobs present put on a link, background included, as path selection counts it.
  double BusyWith(std::int32_t link) const override;
  // The paths that `jobs` (sorted) would choose if they had none and all others stayed. The entries
  // of the others are empty.
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
  // What a job was counted for.
  struct CachedJob {
    std::string id;
    std::int32_t slot = -1;
    bool present = false;
    double flop_per_iteration = 0;
    double compute_seconds = 0;
    double communication_start = 0;
    std::vector<CachedFlow> flows;
    std::vector<std::int32_t> links;  // of all paths, one after the other
    std::vector<double> shares;       // beside links; empty: no flow is spread
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
  // `spans` is made when a job needs it: it costs the number of links.
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
  std::vector<double> period_;       // by slot: of an iteration alone, by communication time
  std::vector<double> span_period_;  // by slot: the same, by span
  std::vector<std::int32_t> free_slots_;
  Draft draft_;
  std::vector<double> busy_;
  std::vector<JobContention> contention_;
  // What Refresh has to look at.
  std::vector<char> touched_;  // by link
  std::vector<std::int32_t> touched_links_;
  std::vector<char> dirty_;  // by job
  PathSpace path_space_;
  // Of the job being counted, by link; zero between counts.
  std::vector<double> mean_bytes_;
  std::vector<double> all_bytes_;
};

}  // namespace yardmaster::crux
