#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/mutex.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/place_request.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kOldGangAgainMs = 1'000;

std::string KeyTextOf(const api::TrainingJob& job) {
  return kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
}

struct RanksThere {
  bool any = false;   // a pod of a rank, which may be on its way out
  bool live = false;  // one that stays
};

RanksThere LookAtRanks(const JobObservation& observed) {
  RanksThere there;
  for (int rank = 0; rank < observed.ranks(); ++rank) {
    const Worker& worker = observed.workers[static_cast<std::size_t>(rank)];
    if (worker.phase == WorkerPhase::kMissing) continue;
    there.any = true;
    there.live |= !worker.deleting && worker.phase != WorkerPhase::kSucceeded &&
                  worker.phase != WorkerPhase::kFailed;
  }
  return there;
}

}  // namespace

std::int64_t JobController::NetworkWaitMs(const api::TrainingJob& job, const api::Gang& gang,
                                          const std::vector<int>& ranks) {
  if (place_.network == nullptr || place_.network_wait_ms <= 0 || IsOnOneHost(gang)) return 0;
  const bool all_planned = std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return rank >= gang.placed_workers() || place_.network->Find(gang, rank).has_value();
  });
  if (all_planned || cache_.Take().fabrics.empty()) return 0;
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(place_mutex_);
  NetworkWait& wait = network_waits_[KeyTextOf(job)];
  if (wait.gang_uid != gang.metadata.uid || wait.plan_generation != gang.status.plan_generation) {
    wait = {gang.metadata.uid, gang.status.plan_generation, now_ms, false};
  }
  const std::int64_t left_ms = wait.since_ms + place_.network_wait_ms - now_ms;
  if (left_ms > 0) return left_ms;
  if (!std::exchange(wait.late, true)) {
    EmitEvent(job, true, "NetworkPlanLate",
              StrCat("no network plan after ", place_.network_wait_ms / 1000,
                     " s; its pods are made without: their traffic takes default paths and ",
                     "classes until it is written"));
  }
  return 0;
}

JobController::Way JobController::WayOfPlaced(const api::TrainingJob& job, const JobStep& step,
                                              std::shared_ptr<const api::Gang> gang) {
  // It gives its hosts back.
  if (gang->pods == api::GangPods::kRefused && PodsAreToCome(*gang)) return {Making::kWait, gang};
  const bool to_come = PodsAreToCome(*gang);
  if (to_come) {
    const std::int64_t wait_ms = NetworkWaitMs(job, *gang, step.create);
    if (wait_ms > 0) return {Making::kWait, gang, false, wait_ms};
  }
  return {Making::kPlaced, std::move(gang), to_come};
}

JobController::Way JobController::WayOf(const api::TrainingJob& job, const JobObservation& observed,
                                        const JobStep& step) {
  if (!place_.first) return {};
  auto gang = GangOf(job);
  // Of an earlier job of this name: the garbage collector takes it.
  if (gang != nullptr && !IsGangOf(*gang, job)) {
    return {Making::kWait, nullptr, false, kOldGangAgainMs};
  }
  if (gang != nullptr && HasPlace(*gang)) return WayOfPlaced(job, step, std::move(gang));
  const RanksThere there = LookAtRanks(observed);
  if (there.live) return {};
  if (there.any) return {Making::kWait, gang};
  Asked asked;
  {
    const MutexLock lock(place_mutex_);
    const auto known = asked_.find(KeyTextOf(job));
    if (known != asked_.end()) asked = known->second;
  }
  if (asked.first == nullptr || asked.generation != job.metadata.generation) {
    return {Making::kAsk, gang};
  }
  const auto request = GangRequestOf(job, *asked.first);
  if (!request) return {};
  const bool says_it = gang != nullptr && WithRequest(*gang, *request) == *gang;
  return {says_it ? Making::kWait : Making::kAsk, gang};
}

absl::StatusOr<bool> JobController::Ask(const api::TrainingJob& job, const Way& way,
                                        StallReason& stall) {
  const std::string key = KeyTextOf(job);
  YM_ASSIGN_OR_RETURN(const nlohmann::json made, writes_.TryFirst(job, stall));
  YM_ASSIGN_OR_RETURN(api::Pod pod, api::DecodePod(made, api::Decoding::kLenient));
  const auto first = std::make_shared<const api::Pod>(std::move(pod));
  const auto request = GangRequestOf(job, *first);
  if (!request) {
    YM_RETURN_IF_ERROR(TakeRequestBack(job, api::GangPods::kFirst));
  } else if (way.gang == nullptr) {
    YM_RETURN_IF_ERROR(writes_.WriteGang(*request));
  } else {
    const api::Gang next = WithRequest(*way.gang, *request);
    if (next != *way.gang) YM_RETURN_IF_ERROR(writes_.WriteGang(next));
  }
  const MutexLock lock(place_mutex_);
  asked_.insert_or_assign(key, Asked{job.metadata.generation, first});
  return request.has_value();
}

absl::Status JobController::TakeRequestBack(const api::TrainingJob& job, api::GangPods pods) {
  const auto gang = GangOf(job);
  if (!place_.first || gang == nullptr || !IsGangOf(*gang, job)) return absl::OkStatus();
  if (gang->pods == api::GangPods::kFirst || gang->pods == pods) return absl::OkStatus();
  // Its pods have been there: it keeps its place.
  if (gang->status.committed() && !PodsAreToCome(*gang)) return absl::OkStatus();
  {
    const MutexLock lock(place_mutex_);
    asked_.erase(KeyTextOf(job));
  }
  api::Gang next = *gang;
  next.pods = pods;
  return writes_.WriteGang(next);
}

std::optional<WorkerPlace> JobController::PlaceOfRank(const api::TrainingJob& job, const Way& way,
                                                      int rank) {
  if (way.making != Making::kPlaced || rank >= way.gang->placed_workers()) return std::nullopt;
  const std::string& host = way.gang->status.assignments[static_cast<std::size_t>(rank)].host;
  auto place = PlaceOf(job, *way.gang, rank, cache_.FindNode(host).get(), clock_.WallMs());
  if (!place || place_.network == nullptr) return place;
  if (auto network = place_.network->Find(*way.gang, rank)) {
    place->network = *std::move(network);
  } else if (!way.without_network) {
    return std::nullopt;
  }
  return place;
}

absl::StatusOr<std::size_t> JobController::Make(const api::TrainingJob& job, const Way& way,
                                                const JobStep& step, const CreateLimit& limit,
                                                StallReason& stall, bool& waits) {
  if (way.making == Making::kAsk) {
    YM_ASSIGN_OR_RETURN(waits, Ask(job, way, stall));
    return step.create.size();
  }
  return writes_.Create(
      job, step.create, [&](int rank) { return PlaceOfRank(job, way, rank); }, limit, stall);
}

}  // namespace yardmaster::op
