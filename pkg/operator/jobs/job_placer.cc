#include "pkg/operator/jobs/job_placer.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/kube/object.h"
#include "pkg/operator/jobs/place_request.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

// Until what an earlier job of this name has left is gone.
constexpr std::int64_t kOldObjectsAgainMs = 1'000;

std::string KeyTextOf(const api::TrainingJob& job) {
  return kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
}

struct RanksThere {
  bool any = false;   // a pod of a rank, which may be on its way out
  bool live = false;  // one that stays
};

// `stopped`: its pods are on their way out, but those behind the gate, which were made for another
// place.
RanksThere LookAtRanks(const JobObservation& observed, bool stopped) {
  RanksThere there;
  for (int rank = 0; rank < observed.ranks(); ++rank) {
    const Worker& worker = observed.workers[static_cast<std::size_t>(rank)];
    if (worker.phase == WorkerPhase::kMissing) continue;
    there.any = true;
    there.live |= !worker.deleting && worker.phase != WorkerPhase::kSucceeded &&
                  worker.phase != WorkerPhase::kFailed &&
                  (!stopped || worker.phase == WorkerPhase::kGated);
  }
  return there;
}

}  // namespace

JobPlacer::JobPlacer(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                     WorkerWrites& writes, PlaceOptions options, Warn warn)
    : client_(client),
      cache_(cache),
      clock_(clock),
      writes_(writes),
      options_(options),
      warn_(std::move(warn)),
      answers_(clock),
      quotas_(client, clock) {}

std::shared_ptr<const api::Gang> JobPlacer::GangOf(const api::TrainingJob& job) const {
  return cache_.FindGang(StrCat(job.metadata.namespace_name, "/",
                                api::GangName(api::kTrainingJobKind, job.metadata.name)));
}

absl::StatusOr<std::shared_ptr<const api::Gang>> JobPlacer::ReadGang(const api::TrainingJob& job) {
  const auto object = client_.Get(
      TargetOf(kube::Gangs(), job, api::GangName(api::kTrainingJobKind, job.metadata.name)));
  if (absl::IsNotFound(object.status())) return std::shared_ptr<const api::Gang>();
  YM_RETURN_IF_ERROR(object.status());
  YM_ASSIGN_OR_RETURN(api::Gang gang, api::DecodeGang(*object, api::Decoding::kLenient));
  return std::make_shared<const api::Gang>(std::move(gang));
}

absl::StatusOr<bool> JobPlacer::AwaitsNextPlace(const api::TrainingJob& job) {
  // Also once the move is over: the ledger may not have seen that it is.
  if (job.status.move.id.empty()) return false;
  YM_ASSIGN_OR_RETURN(const auto gang, ReadGang(job));
  if (gang == nullptr || !IsGangOf(*gang, job)) return false;
  if (gang->status.is_promised_next()) return true;
  const auto known = GangOf(job);
  return known != nullptr && known->status.plan_generation < gang->status.plan_generation;
}

std::int64_t JobPlacer::NetworkWaitMs(const api::TrainingJob& job, const api::Gang& gang,
                                      const std::vector<int>& ranks) {
  if (options_.network == nullptr || options_.network_wait_ms <= 0 || IsOnOneHost(gang)) return 0;
  const bool all_planned = std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return rank >= gang.placed_workers() || options_.network->Has(gang, rank);
  });
  if (all_planned || cache_.Take().fabrics.empty()) return 0;
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  NetworkWait& wait = network_waits_[KeyTextOf(job)];
  if (wait.gang_uid != gang.metadata.uid || wait.plan_generation != gang.status.plan_generation) {
    wait = {gang.metadata.uid, gang.status.plan_generation, now_ms, false};
  }
  const std::int64_t left_ms = wait.since_ms + options_.network_wait_ms - now_ms;
  if (left_ms > 0) return left_ms;
  if (!std::exchange(wait.late, true)) {
    warn_(job, "NetworkPlanLate",
          StrCat("no network plan after ", options_.network_wait_ms / 1000,
                 " s; its pods are made without: their traffic takes default paths and ",
                 "classes until it is written"));
  }
  return 0;
}

JobPlacer::Way JobPlacer::WayOfPlaced(const api::TrainingJob& job, const JobStep& step,
                                      std::shared_ptr<const api::Gang> gang) {
  // Ranks that are made again.
  if (!gather::PodsAreToCome(*gang)) return {};
  // It gives its hosts back.
  if (gang->pods == api::GangPods::kRefused) return {Making::kWait, std::move(gang)};
  const std::int64_t wait_ms = NetworkWaitMs(job, *gang, step.create);
  if (wait_ms > 0) return {Making::kWait, std::move(gang), wait_ms};
  return {Making::kPlaced, std::move(gang)};
}

JobPlacer::Way JobPlacer::WayOf(const api::TrainingJob& job, const JobObservation& observed,
                                const JobStep& step) {
  if (!options_.first || step.create.empty()) return {};
  auto gang = GangOf(job);
  // Of an earlier job of this name: the garbage collector takes it.
  if (gang != nullptr && !IsGangOf(*gang, job)) {
    return {Making::kWait, nullptr, kOldObjectsAgainMs};
  }
  if (gang != nullptr && HasPlace(*gang)) return WayOfPlaced(job, step, std::move(gang));
  const RanksThere there =
      LookAtRanks(observed, gang != nullptr && HasLostPlace(job, *gang) &&
                                api::IsTrue(gang->status.conditions, api::kPreemptedCondition));
  if (there.live) return {};
  if (there.any) return {Making::kWait, std::move(gang)};
  Asked asked;
  {
    const MutexLock lock(mutex_);
    const auto known = asked_.find(KeyTextOf(job));
    if (known != asked_.end()) asked = known->second;
  }
  if (asked.first == nullptr || asked.sent != HashOfFirstPod(job)) return {Making::kAsk, gang};
  const auto request = asked.pods_first ? std::nullopt : GangRequestOf(job, *asked.first);
  if (!request) return {};
  const bool says_it = gang != nullptr && WithRequest(*gang, *request) == *gang;
  return {says_it ? Making::kWait : Making::kAsk, std::move(gang)};
}

std::size_t JobPlacer::HashOfFirstPod(const api::TrainingJob& job) const {
  return std::hash<std::string>()(writes_.FirstPodOf(job).dump());
}

absl::Status JobPlacer::CheckRoom(const api::TrainingJob& job,
                                  const std::shared_ptr<const api::Pod>& first,
                                  StallReason& stall) {
  const auto quotas = quotas_.Read(job.metadata.namespace_name);
  // What cannot be read is said when the pods are made.
  if (!quotas.ok()) return absl::OkStatus();
  const auto refusal = CheckQuotas(**quotas, {{first, job.job.workers}});
  if (!refusal) return absl::OkStatus();
  stall = RefusalReason(refusal->status, {refusal->count, 0});
  quotas_.Drop(job.metadata.namespace_name);
  return refusal->status;
}

absl::StatusOr<std::shared_ptr<const api::Pod>> JobPlacer::AskAdmission(const api::TrainingJob& job,
                                                                        StallReason& stall) {
  const std::string nameless = writes_.FirstPodOf(WithoutName(job)).dump();
  if (auto known = answers_.Find(job, nameless)) return known;
  YM_ASSIGN_OR_RETURN(const nlohmann::json made, writes_.TryFirst(job, stall));
  YM_ASSIGN_OR_RETURN(api::Pod pod, api::DecodePod(made, api::Decoding::kLenient));
  answers_.Keep(job, nameless, pod);
  return std::make_shared<const api::Pod>(std::move(pod));
}

bool JobPlacer::Asks(const api::TrainingJob& job) {
  const auto gang = options_.first ? GangOf(job) : nullptr;
  if (!options_.first || (gang != nullptr && gang->status.committed())) return false;
  const MutexLock lock(mutex_);
  const auto known = asked_.find(KeyTextOf(job));
  return known == asked_.end() || !known->second.pods_first;
}

void JobPlacer::NoteRefusal(const api::TrainingJob& job) {
  answers_.Drop(job.metadata.namespace_name);
  quotas_.Drop(job.metadata.namespace_name);
}

absl::Status JobPlacer::Ask(const api::TrainingJob& job, const Way& way, StallReason& stall,
                            TurnResult& result) {
  YM_RETURN_IF_ERROR(writes_.TryComputeDomain(job, stall));
  if (stall.exists()) return absl::OkStatus();
  auto first = AskAdmission(job, stall);
  if (absl::IsAlreadyExists(first.status())) {
    result.waits = true;
    result.LookAgain(kOldObjectsAgainMs);
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(first.status());
  Asked asked{HashOfFirstPod(job), *std::move(first)};
  const auto request = GangRequestOf(job, *asked.first);
  asked.pods_first = !request;
  if (!request) {
    YM_RETURN_IF_ERROR(TakeBack(job, api::GangPods::kFirst));
  } else {
    YM_RETURN_IF_ERROR(CheckRoom(job, asked.first, stall));
    const api::Gang next = way.gang == nullptr ? *request : WithRequest(*way.gang, *request);
    if (way.gang == nullptr || next != *way.gang) {
      YM_ASSIGN_OR_RETURN(const auto stored, writes_.WriteGang(next));
      // The CRD of an older version does not keep it.
      asked.pods_first = stored && stored->pods != next.pods;
    }
  }
  result.waits = request && !asked.pods_first;
  const MutexLock lock(mutex_);
  asked_.insert_or_assign(KeyTextOf(job), std::move(asked));
  return absl::OkStatus();
}

bool JobPlacer::HasAsked(const api::TrainingJob& job) {
  const MutexLock lock(mutex_);
  return asked_.count(KeyTextOf(job)) != 0;
}

void JobPlacer::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  asked_.erase(key);
  network_waits_.erase(key);
}

absl::Status JobPlacer::TakeBack(const api::TrainingJob& job, api::GangPods pods) {
  const auto gang = GangOf(job);
  if (!options_.first || gang == nullptr || !IsGangOf(*gang, job)) return absl::OkStatus();
  if (gang->pods == api::GangPods::kFirst || gang->pods == pods) return absl::OkStatus();
  // Its pods have been there: it keeps its place.
  if (gang->status.committed() && !gather::PodsAreToCome(*gang)) return absl::OkStatus();
  Forget(KeyTextOf(job));
  api::Gang next = *gang;
  next.pods = pods;
  return writes_.WriteGang(next).status();
}

bool JobPlacer::IsPlacedFirst(const api::TrainingJob& job) const {
  const auto gang = options_.first ? GangOf(job) : nullptr;
  return gang != nullptr && IsGangOf(*gang, job) && gang->pods != api::GangPods::kFirst &&
         HasPlace(*gang);
}

bool JobPlacer::HasLostPlace(const api::TrainingJob& job, const api::Gang& gang) {
  return IsGangOf(gang, job) && gang.pods != api::GangPods::kFirst && !HasPlace(gang);
}

bool JobPlacer::IsTakenBack(const api::TrainingJob& job) const {
  const auto gang = options_.first ? GangOf(job) : nullptr;
  return gang != nullptr && IsGangOf(*gang, job) && gang->pods == api::GangPods::kRefused &&
         gather::PodsAreToCome(*gang);
}

std::optional<WorkerPlace> JobPlacer::FirstPlaceOfRank(const api::TrainingJob& job,
                                                       const api::Gang& gang, int rank) const {
  if (rank >= gang.placed_workers()) return std::nullopt;
  const std::string& host = gang.status.assignments[static_cast<std::size_t>(rank)].host;
  auto place = PlaceOf(job, gang, rank, cache_.FindNode(host).get(), clock_.WallMs());
  if (!place || options_.network == nullptr) return place;
  if (auto network = options_.network->Find(gang, rank)) place->network = *std::move(network);
  return place;
}

absl::StatusOr<std::size_t> JobPlacer::Make(const api::TrainingJob& job, const Way& way,
                                            const JobStep& step, const CreateLimit& limit,
                                            StallReason& stall, TurnResult& result) {
  YM_ASSIGN_OR_RETURN(const auto gang, ReadGang(job));
  // The watch is behind, and will report it.
  if (gang == nullptr || !IsGangOf(*gang, job) || !HasPlace(*gang) ||
      gang->status.plan_generation != way.gang->status.plan_generation ||
      gang->pods == api::GangPods::kRefused) {
    result.waits = true;
    return step.create.size();
  }
  auto left = writes_.Create(
      job, step.create, [&](int rank) { return FirstPlaceOfRank(job, *gang, rank); }, limit, stall);
  // It was there when the job asked for its place. Hosts do not stand empty for it.
  if (stall.reason == kComputeDomainUnavailable) {
    YM_RETURN_IF_ERROR(TakeBack(job, api::GangPods::kRefused));
  }
  return left;
}

}  // namespace yardmaster::op
