#include "pkg/crux/decide.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/level_hysteresis.h"
#include "pkg/crux/search/region.h"
#include "pkg/crux/search/replan.h"
#include "pkg/crux/search/schedule_evaluator.h"

namespace yardmaster::crux {
namespace {

// Problems with so few jobs are searched component by component of what could contend; larger ones
// around the jobs that contend.
constexpr std::size_t kSmallProblem = 64;
// A component of so many jobs gets its least loss in passing, for the report.
constexpr std::size_t kReportedLossJobs = 64;
// Jobs with so many times the flows of a region are not planned again as a whole.
constexpr std::size_t kReplanFlows = 4;
// A plan is expected to hold so long at least, in seconds.
constexpr double kMinHorizon = 1;

class Decider {
 public:
  Decider(const Problem& problem, const Options& options, const PresentState& present,
          std::vector<std::int32_t> usable, DecisionMemory& memory)
      : problem_(problem),
        options_(options),
        present_(present),
        memory_(memory),
        usable_(std::move(usable)),
        levels_(static_cast<std::int32_t>(usable_.size())),
        changed_(problem.jobs.size(), 0),
        affected_(problem.jobs.size(), present.previous && !present.departures ? 0 : 1),
        moved_(problem.jobs.size(), 0),
        releveled_(problem.jobs.size(), 0) {
    budget_.left = options.search.event_budget;
    for (const ContendingJobId j : present.changed) changed_[j.index()] = affected_[j.index()] = 1;
    ReadPrevious();
  }

  Solution Run(DecisionReport* report) {
    LevelledDraft plan = PlanByPriorities();
    if (budget_.left > 0 && levels_ > 0) {
      if (problem_.jobs.size() <= kSmallProblem) ReplanComponents(plan);
      Search(plan);
    }
    if (report != nullptr) *report = {budget_.spent, evaluations_, searches_};
    return ToSolution(problem_, plan, usable_);
  }

 private:
  // The previous levels, counted within the usable ones; -1 where there was none.
  void ReadPrevious() {
    if (!present_.previous) return;
    for (const JobDecision& job : present_.previous->jobs) {
      const auto at = std::find(usable_.begin(), usable_.end(), job.level);
      held_levels_.push_back(at == usable_.end() ? -1
                                                 : static_cast<std::int32_t>(at - usable_.begin()));
    }
  }
  bool Runs(ContendingJobId j) const {
    return present_.previous && held_levels_[j.index()] >= 0 &&
           present_.previous->jobs[j.index()].paths.size() == problem_.jobs[j.index()].flows.size();
  }

  // Counts what the jobs put on links, on the paths they chose.
  const Draft& ChoosePaths() {
    IncrementalLoadCache& kept = memory_.draft;
    if (!present_.previous) kept.Clear();
    FollowJobs(kept.Begin(problem_));
    if (!present_.previous) {
      kept.Move(problem_, AllJobs(problem_.jobs.size()), SelectPaths(problem_, options_.paths));
    } else {
      const Paths before = PathsOf(*present_.previous);
      kept.Follow(problem_, before, changed_);
      kept.Move(problem_, present_.changed,
                ReselectPaths(problem_, before, present_.changed, options_.paths, kept,
                              kept.path_space()));
    }
    kept.Refresh();
    return kept.draft();
  }

  // What is known of jobs goes where they went.
  void FollowJobs(const std::vector<ContendingJobId>& before) {
    std::vector<KnownCorrection> corrections(before.size());
    for (std::size_t j = 0; j < before.size(); ++j) {
      if (before[j].valid()) corrections[j] = memory_.corrections[before[j].index()];
    }
    memory_.corrections = std::move(corrections);
  }

  Priorities AssignPriorities() {
    return crux::AssignPriorities(problem_, memory_.draft.draft().traffic,
                                  memory_.draft.contention(), options_.correction,
                                  &memory_.corrections);
  }

  // The plan of sections 2 to 4, before any search.
  LevelledDraft PlanByPriorities() {
    const Draft& draft = ChoosePaths();
    const Priorities priorities = AssignPriorities();
    const auto edges = ContentionDag(draft.pairs, priorities.order, draft.intensities);
    CompressionOptions compression = options_.compression;
    compression.seed ^= options_.seed;
    const auto count = static_cast<std::int32_t>(problem_.jobs.size());
    Compression fresh = Compress(count, edges, levels_, compression, &memory_.cuts);
    std::vector<std::int32_t> levels = fresh.levels;
    if (present_.previous) {
      // A departure alone moves no level here: the search does where it pays. Otherwise a job that
      // comes and goes would swing the others wherever the orders with it and without it differ.
      levels = HoldLevels(edges, levels_, {held_levels_, changed_}, fresh.levels,
                          options_.level_hysteresis);
    }
    LevelledDraft plan = PlanWithLevels(draft, priorities, std::move(levels));
    plan.optimal_loss = fresh.optimal_loss;
    if (plan.levels != fresh.levels) SetOptimalLoss(plan);
    return plan;
  }

  void SetOptimalLoss(LevelledDraft& plan) const {
    plan.optimal_loss.reset();
    if (problem_.jobs.size() > kReportedLossJobs) return;
    plan.optimal_loss = Compress(static_cast<std::int32_t>(problem_.jobs.size()), plan.edges,
                                 levels_, options_.compression)
                            .optimal_loss;
  }

  // Whole plans made again, where the jobs that could contend are few enough to be simulated
  // together.
  void ReplanComponents(LevelledDraft& plan) {
    const Draft& draft = *plan.draft;
    SearchState state{draft.paths, plan.levels};
    const std::vector<char> contends = Contends(draft);
    for (const std::vector<ContendingJobId>& jobs : PossibleComponents(problem_)) {
      if (std::none_of(jobs.begin(), jobs.end(),
                       [&](ContendingJobId j) { return IsReasonToSearch(j, contends); })) {
        continue;
      }
      if (FlowsOf(jobs) > kReplanFlows * options_.search.max_flows) continue;
      Region region = CutRegion(problem_, draft, state.levels, memory_.draft.busy(), jobs,
                                std::numeric_limits<std::int32_t>::max());
      evaluations_ += Replan(region.problem, levels_, CostsOf(region), options_.paths,
                             options_.correction, options_.search, budget_, region.state)
                          .evaluations;
      PutBack(region, state);
    }
    AdoptAsPlan(std::move(state), plan);
  }

  void Search(LevelledDraft& plan) {
    const Draft& draft = *plan.draft;
    SearchState state{draft.paths, plan.levels};
    for (const std::vector<ContendingJobId>& jobs : Regions(draft)) {
      if (budget_.exhausted()) break;
      SearchRegion(draft, jobs, state);
    }
    AdoptAsPlan(std::move(state), plan);
  }

  void AdoptAsPlan(SearchState state, LevelledDraft& plan) {
    const Draft& draft = *plan.draft;
    std::vector<ContendingJobId> moved;
    for (const ContendingJobId j : AllJobs(state.paths.size())) {
      if (state.paths[j.index()] != draft.paths[j.index()]) moved.push_back(j);
    }
    if (moved.empty() && state.levels == plan.levels) return;
    for (const ContendingJobId j : moved) moved_[j.index()] = 1;
    for (std::size_t j = 0; j < state.levels.size(); ++j) {
      if (state.levels[j] != plan.levels[j]) releveled_[j] = 1;
    }
    memory_.draft.Move(problem_, moved, state.paths);
    memory_.draft.Refresh();
    const Priorities wanted = AssignPriorities();
    plan = PlanWithLevels(draft, wanted, std::move(state.levels));
    SetOptimalLoss(plan);
  }

  std::vector<char> Contends(const Draft& draft) const {
    std::vector<char> contends(problem_.jobs.size(), 0);
    for (const ContendingPair& pair : draft.pairs)
      contends[pair.a.index()] = contends[pair.b.index()] = 1;
    return contends;
  }
  bool IsReasonToSearch(ContendingJobId j, const std::vector<char>& contends) const {
    return affected_[j.index()] != 0 && contends[j.index()] != 0;
  }
  std::size_t FlowsOf(std::span<const ContendingJobId> jobs) const {
    std::size_t flows = 0;
    for (const ContendingJobId j : jobs) flows += problem_.jobs[j.index()].flows.size();
    return flows;
  }

  // What is searched, in this order.
  std::vector<std::vector<ContendingJobId>> Regions(const Draft& draft) const {
    const std::vector<char> contends = Contends(draft);
    const auto is_reason = [&](ContendingJobId j) { return IsReasonToSearch(j, contends); };
    std::vector<std::vector<ContendingJobId>> regions;
    std::vector<ContendingJobId> seeds;
    if (problem_.jobs.size() <= kSmallProblem) {
      for (auto& jobs : PossibleComponents(problem_)) {
        if (std::none_of(jobs.begin(), jobs.end(), is_reason)) continue;
        if (jobs.size() <= options_.search.max_jobs && FlowsOf(jobs) <= options_.search.max_flows &&
            ScheduleEvaluator::Fits(problem_, jobs)) {
          regions.push_back(std::move(jobs));
        } else {
          std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(seeds), is_reason);
        }
      }
    } else {
      seeds = AllJobs(problem_.jobs.size());
      std::erase_if(seeds, [&](ContendingJobId j) { return !is_reason(j); });
    }
    AddNeighbourhoods(draft, seeds, regions);
    return regions;
  }

  // Around the seeds, those with the fullest links first; each seed once.
  void AddNeighbourhoods(const Draft& draft, std::vector<ContendingJobId> seeds,
                         std::vector<std::vector<ContendingJobId>>& regions) const {
    if (seeds.empty()) return;
    const std::vector<JobContention>& contention = memory_.draft.contention();
    std::stable_sort(seeds.begin(), seeds.end(), [&](ContendingJobId a, ContendingJobId b) {
      return contention[a.index()].fullest_load > contention[b.index()].fullest_load;
    });
    const auto pairs_of = Neighbours(static_cast<std::int32_t>(problem_.jobs.size()), draft.pairs);
    std::vector<char> covered(problem_.jobs.size(), 0);
    for (const ContendingJobId seed : seeds) {
      if (covered[seed.index()] != 0) continue;
      regions.push_back(Neighbourhood(problem_, seed, draft, pairs_of,
                                      {options_.search.max_jobs, options_.search.max_flows}));
      for (const ContendingJobId j : regions.back()) covered[j.index()] = 1;
    }
  }

  void SearchRegion(const Draft& draft, const std::vector<ContendingJobId>& jobs,
                    SearchState& state) {
    if (jobs.size() < 2 || FlowsOf(jobs) > options_.search.max_flows) return;
    const bool whole = jobs.size() == problem_.jobs.size();
    const std::int32_t candidates =
        whole ? std::max(options_.search.max_candidates, 8) : options_.search.max_candidates;
    Paths fresh;
    if (std::any_of(jobs.begin(), jobs.end(), [&](ContendingJobId j) { return Runs(j); })) {
      fresh = memory_.draft.ReselectAsIfNew(problem_, jobs, options_.paths);
    }
    Region region =
        CutRegion(problem_, draft, state.levels, memory_.draft.busy(), jobs, candidates, fresh);
    for (const ContendingJobId j : jobs) {
      // An earlier region may have moved the job.
      if (state.paths[j.index()] != draft.paths[j.index()]) return;
    }
    const SearchReport found =
        ImproveSchedule(region.problem, levels_, CostsOf(region), options_.correction,
                        options_.search, budget_, region.state);
    evaluations_ += found.evaluations;
    ++searches_;
    PutBack(region, state);
  }

  // For so long a plan of these jobs is expected to hold.
  double HorizonOf(const std::vector<ContendingJobId>& jobs) const {
    const std::vector<double>& remaining = present_.remaining_seconds;
    double seconds = options_.moves.horizon_seconds;
    for (const ContendingJobId j : jobs) {
      if (j.index() < remaining.size()) {
        seconds = std::min(seconds, std::max(remaining[j.index()], kMinHorizon));
      }
    }
    return seconds;
  }

  // What a running job does not compute while it moves, spread over the time that a plan holds.
  MoveCosts CostsOf(const Region& region) const {
    MoveCosts costs;
    const MoveOptions& moves = options_.moves;
    const double horizon = HorizonOf(region.jobs);
    LoadCounter counter(region.problem);
    for (std::size_t i = 0; i < region.jobs.size(); ++i) {
      const ContendingJobId j = region.jobs[i];
      const ContendingJob& job = region.problem.jobs[i];
      const double seconds = counter.CommunicationSeconds(job, region.state.paths[i]);
      const double rate = Runs(j) ? job.flop_per_iteration / IterationSeconds(job, seconds) : 0;
      // A job that this decision has moved already does not stall twice.
      costs.paths.push_back(moved_[j.index()] ? 0 : rate * moves.path_stall_seconds / horizon);
      costs.level.push_back(releveled_[j.index()] ? 0 : rate * moves.level_stall_seconds / horizon);
    }
    return costs;
  }

  const Problem& problem_;
  const Options& options_;
  const PresentState& present_;
  DecisionMemory& memory_;
  const std::vector<std::int32_t> usable_;
  const std::int32_t levels_;
  std::vector<char> changed_;
  std::vector<char> affected_;  // what is searched: changed, or all after a departure
  std::vector<char> moved_;     // by this decision's searches, to other paths
  std::vector<char> releveled_;
  std::vector<std::int32_t> held_levels_;
  EventBudget budget_;
  std::int64_t evaluations_ = 0;
  std::int32_t searches_ = 0;
};

absl::Status CheckPrevious(const Problem& problem, const PresentState& present) {
  if (!present.previous) return absl::OkStatus();
  if (present.previous->jobs.size() != problem.jobs.size()) {
    return FieldError("previous", "does not line up with the jobs", "give one entry per job");
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (std::binary_search(present.changed.begin(), present.changed.end(),
                           ContendingJobId(static_cast<std::int32_t>(j)))) {
      continue;
    }
    const ContendingJob& job = problem.jobs[j];
    const std::vector<std::int32_t>& paths = present.previous->jobs[j].paths;
    bool fits = paths.size() == job.flows.size();
    for (std::size_t f = 0; fits && f < paths.size(); ++f) {
      fits = paths[f] >= 0 && paths[f] < job.flows[f].paths.size();
    }
    if (!fits) {
      return FieldError("previous", StrCat("job \"", job.id, "\" has no paths to keep"),
                        "list it among the changed jobs");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::int32_t> UsableLevels(std::int32_t levels, std::span<const std::int32_t> reserved,
                                       std::size_t jobs) {
  std::vector<std::int32_t> usable;
  // More levels than jobs are never needed; the highest ones are taken.
  for (std::int32_t level = levels - 1; level >= 0; --level) {
    if (std::find(reserved.begin(), reserved.end(), level) == reserved.end()) {
      usable.push_back(level);
    }
    if (usable.size() > jobs && usable.size() >= 64) break;
  }
  std::reverse(usable.begin(), usable.end());
  return usable;
}

absl::StatusOr<Solution> Decide(const Problem& problem, const Options& options,
                                const PresentState& present, DecisionReport* report,
                                DecisionMemory* memory) {
  // What was answered before was valid then; checking all of it again costs more than the answer.
  YM_RETURN_IF_ERROR(present.previous ? absl::OkStatus() : Validate(problem));
  YM_RETURN_IF_ERROR(ValidateChanged(problem, present.changed));
  YM_RETURN_IF_ERROR(CheckPrevious(problem, present));
  std::vector<std::int32_t> usable =
      UsableLevels(problem.levels, present.reserved_levels, problem.jobs.size());
  if (usable.empty()) {
    return FieldError("levels", "every level is reserved", "leave at least one for the jobs");
  }
  DecisionMemory none;
  return Decider(problem, options, present, std::move(usable), memory == nullptr ? none : *memory)
      .Run(report);
}

Solution Describe(const Problem& problem, const Paths& paths,
                  const std::vector<std::int32_t>& levels, const std::vector<std::int32_t>& usable,
                  const CorrectionOptions& correction) {
  const Draft draft(problem, paths);
  const Priorities wanted = PrioritiesOf(problem, draft, correction);
  return ToSolution(problem, PlanWithLevels(draft, wanted, levels), usable);
}

}  // namespace yardmaster::crux
