// Decides which of the proposed moves of running TrainingJobs the operator requests itself
// (--moves=Auto), and when.
//
// The policy considers, in their order, the proposals (plan/rebalance) whose gain is worth their
// price. Moves that admit a waiting gang only together are one choice, of which the first move is
// requested. A choice is taken if
//
//   - no move in progress has hosts in a segment that the first move leaves or enters,
//   - its price is within the rest of the day's GPU seconds,
//   - disruption budgets allow the eviction of all pods of the job, and
//   - the job has not refused a move of the policy in the last hour.
//
// The policy requests one move per reconcile.
//
// The price of the last day is the sum over the records in jobs (api/job_move.h), which later
// requests do not overwrite, and over deleted jobs that this process has seen or asked. A new
// leader does not know of those. A refused move costs nothing.
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

// The default fraction of the GPU time of all hosts that moves may cost per day. A fraction fits
// clusters of every size. With it, a gang with an eighth of all GPUs may lose nearly two hours.
inline constexpr double kMovesShare = 0.01;

struct MovePolicyOptions {
  MovesMode mode = MovesMode::kPropose;
  std::optional<double> gpu_seconds_per_day = {};  // price limit; nullopt: by kMovesShare
  double min_gain = 3;                             // GPU seconds gained per GPU second of the price
  std::int64_t least_run_ms = kLeastRunMs;
};

// Makes jobs immovable that have refused a move of the policy in the last hour.
void KeepWilling(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                 TermsByGang& terms);
// Makes jobs immovable if a disruption budget forbids the eviction of their pods.
void KeepWithinBudgets(const std::vector<api::DisruptionBudget>& budgets,
                       const state::ObjectTable<api::Pod>& pods, TermsByGang& terms);

// GPU seconds that moves of the policy have cost, or will cost.
class MoveSpending {
 public:
  // Reads the records of the jobs. Returns the sum of the last day.
  double Update(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms);
  // Adds a move that may have been requested. The next Update replaces it by the job's record,
  // unless the job is deleted.
  void Add(const std::string& uid, const api::MoveExpense& expense);

 private:
  std::map<std::string, std::vector<api::MoveExpense>> spent_;  // by uid of the job
};

// Returns the GPU seconds that moves may cost per day.
double DayLimit(const MovePolicyOptions& options, const plan::Snapshot& snapshot);

struct MoveChoice {
  const plan::Move* move = nullptr;  // to be requested next; null: none
  // Choices before it that must wait.
  int too_dear = 0;  // their price exceeds the rest of the day
  int busy = 0;      // another move is in progress in one of their segments
};
// `left`: rest of the day, in GPU seconds.
MoveChoice ChooseMove(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                      const plan::Rebalancing& proposed, double left);

// Requests the move in the job's status, and adds it to `spending`, also if the answer is lost.
// Returns false if the job is deleted. Errors: Aborted if the job has changed since `cluster` was
// read.
absl::StatusOr<bool> AskForMove(kube::Client& client, state::ClusterCache& cache,
                                const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                                const plan::Move& move, std::int64_t now_ms,
                                MoveSpending& spending);

}  // namespace yardmaster::op
