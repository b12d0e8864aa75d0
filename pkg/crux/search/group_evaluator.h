// GroupEvaluator splits jobs into groups that share no link, simulates each group once and caches
// the result. A search that changes the path or level of one job leaves most groups unchanged.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/crux/search/schedule_evaluator.h"

namespace yardmaster::crux {

class GroupEvaluator {
 public:
  // `problem` and `evaluator` must outlive this.
  GroupEvaluator(const Problem& problem, ScheduleEvaluator& evaluator)
      : problem_(problem), evaluator_(evaluator) {}

  struct Group {
    std::vector<ContendingJobId> jobs;
    bool contended = false;
  };
  // Returns the groups of `jobs` on these paths.
  std::vector<Group> GroupsOf(std::span<const ContendingJobId> jobs, const Paths& paths) const;

  // FLOP/s of `jobs` (sorted), simulated together without being split. Invalid once exhausted().
  double GroupRate(std::span<const ContendingJobId> jobs, const Paths& paths,
                   std::span<const std::int32_t> levels);
  // FLOP/s of `jobs` (sorted), the sum over their groups. Invalid once exhausted().
  double Rate(std::span<const ContendingJobId> jobs, const Paths& paths,
              std::span<const std::int32_t> levels);
  // FLOP/s of each of `jobs` (sorted), in their order. Invalid once exhausted().
  std::vector<double> JobRates(std::span<const ContendingJobId> jobs, const Paths& paths,
                               std::span<const std::int32_t> levels);

  bool exhausted() const { return evaluator_.exhausted(); }
  // Number of simulations so far, without cached results.
  std::int64_t evaluations() const { return evaluations_; }

 private:
  struct Rates {  // FLOP/s
    double sum = 0;
    std::vector<double> of_job;
  };
  // Simulates the jobs together, unless the result is cached. Invalid once exhausted().
  Rates RatesOf(std::span<const ContendingJobId> jobs, const Paths& paths,
                std::span<const std::int32_t> levels);

  const Problem& problem_;
  ScheduleEvaluator& evaluator_;
  std::map<std::vector<std::int32_t>, Rates> known_;
  std::int64_t evaluations_ = 0;
};

}  // namespace yardmaster::crux
