// Which of the proposed moves of running TrainingJobs the operator asks for by itself
// (--moves=Auto), and when.
//
// Of the proposals (plan/rebalance) those that gain what the policy wants for their price are
// looked at in their order; moves that only together let a waiting gang start are one choice, and
// begin with their first. A choice is taken where
//   - no move under way has hosts in a segment that it leaves or goes to;
//   - what it costs is left of the day's GPU seconds;
//   - disruption budgets let all pods of the job go;
//   - no move of the job that the policy asked for was refused in the last hour.
// One move is asked for at a look.
//
// What was spent in the last day follows from the records of jobs (api/job_move.h), which later
// requests do not replace, and from what this process has seen of jobs, or asked of them, that are
// gone since: another leader does not know of those. A move that was refused has cost nothing.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/disruption_budget.h"
#include "pkg/api/training_job.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

enum class MovesMode { kOff, kPropose, kAuto };

// Of the GPU time of all hosts, what moves may cost where the policy does not say: a fixed number
// of GPU seconds fits one size of cluster. A gang of every eighth GPU may lose nearly two hours.
inline constexpr double kMovesShare = 0.01;

struct MovePolicyOptions {
  MovesMode mode = MovesMode::kPropose;
  std::optional<double> gpu_seconds_per_day = {};  // that moves may cost; nothing: by kMovesShare
  double min_gain = 3;                             // GPU seconds for each that a move costs
  std::int64_t least_run_ms = kLeastRunMs;
};

// Jobs that have refused no move of the policy in the last hour are as movable as before, others
// are not.
void KeepWilling(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                 TermsByGang& terms);
// Jobs whose pods no budget keeps are as movable as before, others are not.
void KeepWithinBudgets(const std::vector<api::DisruptionBudget>& budgets,
                       const state::ObjectTable<api::Pod>& pods, TermsByGang& terms);

// GPU seconds that moves by the policy have cost, or were to cost.
class MoveSpending {
 public:
  // Of the last day, up to now.
  double Update(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms);
  // A move of the job may have been asked for. The job's record replaces it as soon as Update has
  // the job; of one that is gone by then it stays.
  void Add(const std::string& uid, const api::MoveExpense& expense);

 private:
  std::map<std::string, std::vector<api::MoveExpense>> spent_;  // by uid of the job
};

// GPU seconds that moves may cost in a day.
double DayLimit(const MovePolicyOptions& options, const plan::Snapshot& snapshot);

struct MoveChoice {
  const plan::Move* move = nullptr;  // that is asked for next; null: none
  // Choices before it that wait.
  int too_dear = 0;  // they cost more than is left of the day
  int busy = 0;      // another move is under way in a segment of theirs
};
// `left`: GPU seconds of the day.
MoveChoice ChooseMove(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                      const plan::Rebalancing& proposed, double left);

// Writes that the policy asks for it, and adds it to `spending`, also where the answer is lost.
// False: the job is gone. Errors: Aborted where the job is newer than `cluster` has it.
absl::StatusOr<bool> AskForMove(kube::Client& client, state::ClusterCache& cache,
                                const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                                const plan::Move& move, std::int64_t now_ms,
                                MoveSpending& spending);

}  // namespace yardmaster::op
