#include "pkg/operator/jobs/move_policy.h"

#include <algorithm>
#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/disruption_budgets.h"
#include "pkg/kube/api_error.h"
#include "pkg/operator/job_status_patch.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kDayMs = 86'400'000;

std::shared_ptr<const api::TrainingJob> OwnerOf(const state::ClusterState& cluster,
                                                const NamespacedName& gang) {
  const auto known = cluster.gangs.Find(gang);
  if (known == nullptr || known->owner.kind != api::kTrainingJobKind) return nullptr;
  auto job = cluster.jobs.Find({gang.namespace_name, known->owner.name});
  return job != nullptr && job->metadata.uid == known->owner.uid ? job : nullptr;
}

// A job that has ended holds no hosts, even if its status still says that it moves.
bool IsUnderWay(const api::TrainingJob& job) {
  return job.status.move.active() && !job.status.ended() && !job.metadata.deleted_ms;
}

using Segments = std::set<fabric::SegmentId>;

void AddSegments(const fabric::Places& places, const std::vector<fabric::HostId>& hosts,
                 Segments& segments) {
  for (const fabric::HostId host : hosts) segments.insert(places.segment_of(host));
}

void DropOld(std::int64_t now_ms, std::vector<api::MoveExpense>& moves) {
  std::erase_if(moves, [&](const api::MoveExpense& move) {
    return !IsWithin(move.asked_ms, now_ms, kDayMs);
  });
}

// That moves under way leave or go to.
Segments BusySegments(const state::ClusterState& cluster, const plan::Snapshot& snapshot) {
  Segments segments;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto job = OwnerOf(cluster, state.job.key);
    if (job == nullptr || !IsUnderWay(*job)) continue;
    if (state.assignment) AddSegments(*snapshot.places, state.assignment->host_of_rank, segments);
    if (state.next) AddSegments(*snapshot.places, state.next->host_of_rank, segments);
    for (const std::string& name : job->status.move.hosts) {
      const fabric::HostId host = snapshot.places->FindHost(name);
      if (host.valid()) segments.insert(snapshot.places->segment_of(host));
    }
  }
  return segments;
}

// The end of the choice that begins at `first`: moves for one waiting gang end with the one that
// admits it, and come before all others.
std::size_t EndOfChoice(const std::vector<plan::Move>& moves, std::size_t first) {
  for (std::size_t i = first; i < moves.size(); ++i) {
    if (!moves[i].gain.admits.empty()) return i + 1;
  }
  return first + 1;
}

}  // namespace

void KeepWilling(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                 TermsByGang& terms) {
  for (const auto& job : jobs) {
    if (!IsWithin(job->status.move.record.policy_refused_ms, now_ms, kMoveAgainMs)) continue;
    const auto at = terms.find(
        {job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)});
    if (at != terms.end()) Hold("it refused a move of the policy in the last hour", at->second);
  }
}

void KeepWithinBudgets(const std::vector<api::DisruptionBudget>& budgets,
                       const state::ObjectTable<api::Pod>& pods, TermsByGang& terms) {
  if (budgets.empty()) return;
  std::map<NamespacedName, std::vector<std::shared_ptr<const api::Pod>>> of_gang;
  for (const auto& pod : pods) {
    const auto job = api::Find(pod->metadata.labels, api::kJobLabel);
    if (!job || pod->finished()) continue;
    NamespacedName key{pod->metadata.namespace_name, api::GangName(api::kTrainingJobKind, *job)};
    if (terms.count(key) != 0) of_gang[std::move(key)].push_back(pod);
  }
  for (const auto& [key, of_it] : of_gang) {
    if (gather::WhyNotEvictable(budgets, of_it).empty()) continue;
    Hold("a disruption budget protects its pods", terms.at(key));
  }
}

double MoveSpending::Update(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms) {
  for (const auto& job : jobs) {
    spent_[job->metadata.uid] = job->status.move.record.policy_moves;
  }
  double sum = 0;
  for (auto& [uid, moves] : spent_) {
    DropOld(now_ms, moves);
    for (const api::MoveExpense& move : moves) sum += move.gpu_seconds;
  }
  std::erase_if(spent_, [](const auto& job) { return job.second.empty(); });
  return sum;
}

void MoveSpending::Add(const std::string& uid, const api::MoveExpense& expense) {
  spent_[uid].push_back(expense);
}

double DayLimit(const MovePolicyOptions& options, const plan::Snapshot& snapshot) {
  if (options.gpu_seconds_per_day) return *options.gpu_seconds_per_day;
  std::int64_t gpus = 0;
  for (const placement::HostState& host : snapshot.cluster.hosts) gpus += host.gpus;
  return kMovesShare * static_cast<double>(gpus) * static_cast<double>(kDayMs) / 1000;
}

MoveChoice ChooseMove(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                      const plan::Rebalancing& proposed, double left) {
  MoveChoice choice;
  const Segments busy = BusySegments(cluster, snapshot);
  for (std::size_t first = 0; first < proposed.moves.size();) {
    const std::size_t end = EndOfChoice(proposed.moves, first);
    double price = 0;
    for (std::size_t i = first; i < end; ++i) price += proposed.moves[i].price_gpu_seconds;
    const plan::Move& move = proposed.moves[first];
    first = end;
    if (price > left) {
      ++choice.too_dear;
      continue;
    }
    Segments touched;
    AddSegments(*snapshot.places, move.from, touched);
    AddSegments(*snapshot.places, move.to, touched);
    const bool free = std::none_of(touched.begin(), touched.end(), [&](fabric::SegmentId segment) {
      return busy.count(segment) != 0;
    });
    if (free) {
      choice.move = &move;
      break;
    }
    ++choice.busy;
  }
  return choice;
}

absl::StatusOr<bool> AskForMove(kube::Client& client, state::ClusterCache& cache,
                                const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                                const plan::Move& move, std::int64_t now_ms,
                                MoveSpending& spending) {
  const NamespacedName& key = snapshot.jobs[move.job.index()].job.key;
  const auto known = OwnerOf(cluster, key);
  if (known == nullptr) return false;  // gone since
  api::TrainingJob job = *known;
  api::JobMove asked;
  asked.id = StrCat("policy-", now_ms);
  asked.state = api::JobMoveState::kAsked;
  asked.by_policy = true;
  asked.message = move.why;
  asked.price_gpu_seconds = move.price_gpu_seconds;
  asked.asked_ms = now_ms / 1000 * 1000;
  asked.record = job.status.move.record;
  std::vector<api::MoveExpense>& moves = asked.record.policy_moves;
  DropOld(now_ms, moves);
  const api::MoveExpense expense{asked.asked_ms, asked.price_gpu_seconds};
  moves.push_back(expense);
  // More than one an hour are by clocks that were wrong.
  for (; moves.size() > api::kKeptExpenses; moves.erase(moves.begin())) {
    moves[1].gpu_seconds += moves[0].gpu_seconds;
  }
  for (const fabric::HostId host : move.to) asked.hosts.push_back(snapshot.places->name(host));
  const absl::Status written =
      PatchJobStatus(client, cache, job, {{"move", api::EncodeObject(asked)}});
  // A write that was sent twice may have met itself.
  const bool may_be_there =
      kube::WasReplayed(written) || (!absl::IsAborted(written) && !absl::IsNotFound(written));
  if (may_be_there) spending.Add(job.metadata.uid, expense);
  YM_RETURN_IF_ERROR(written);
  return true;
}

}  // namespace yardmaster::op
