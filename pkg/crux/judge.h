// Who says how good a schedule is. The planner knows no simulator (it stands below); a caller that
// has one hands in a factory, and exact search and refinement use it. Without one they are skipped.
// Thread safety: a Judge is single threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/crux/rate_bound.h"

namespace yardmaster::crux {

class Judge {
 public:
  virtual ~Judge() = default;
  // FLOP/s that `jobs` (sorted indices) achieve together when only they run, with the paths and
  // levels given per job of the whole problem. A function of its arguments.
  virtual double FlopRate(std::span<const std::int32_t> jobs, const Paths& paths,
                          std::span<const std::int32_t> levels) = 0;
  // FlopRate is at most this, whatever the levels, below the served jobs; infinite where nothing is
  // known.
  virtual double RateBound(std::span<const std::int32_t> jobs, const Paths& paths,
                           std::span<const Served> served) {
    static_cast<void>(jobs);
    static_cast<void>(paths);
    static_cast<void>(served);
    return std::numeric_limits<double>::infinity();
  }
  // True once it has worked more than it may; its answers since then mean nothing, and whoever
  // asked keeps what it had.
  virtual bool exhausted() const { return false; }
};

// The problem must outlive the judge.
using JudgeFactory = std::function<std::unique_ptr<Judge>(const Problem&)>;

// Splits what it is asked into groups that share no link, each judged once and remembered: a search
// that changes one job's path or level asks mostly what it asked before.
class GroupJudge {
 public:
  // `problem` and `judge` must outlive this.
  GroupJudge(const Problem& problem, Judge& judge) : problem_(problem), judge_(judge) {}

  struct Group {
    std::vector<std::int32_t> jobs;
    bool contended = false;
  };
  // The groups into which `jobs` fall on these paths.
  std::vector<Group> GroupsOf(std::span<const std::int32_t> jobs, const Paths& paths) const;

  double GroupRate(std::span<const std::int32_t> jobs, const Paths& paths,
                   std::span<const std::int32_t> levels);
  double Rate(std::span<const std::int32_t> jobs, const Paths& paths,
              std::span<const std::int32_t> levels);
  // FLOP/s with nobody in the way, on the paths given.
  double LoneRate(std::span<const std::int32_t> jobs, const Paths& paths) const;

  // At most what any levels give on these paths: the judge's bound, LoneRate where it has none.
  double Bound(std::span<const std::int32_t> jobs, const Paths& paths,
               std::span<const Served> served = {}) const;

  bool exhausted() const { return judge_.exhausted(); }
  // Judgements really made so far.
  std::int64_t evaluations() const { return evaluations_; }

 private:
  const Problem& problem_;
  Judge& judge_;
  std::map<std::vector<std::int32_t>, double> known_;
  std::int64_t evaluations_ = 0;
};

}  // namespace yardmaster::crux
