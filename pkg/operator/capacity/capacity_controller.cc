#include "pkg/operator/capacity/capacity_controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/operator/capacity/rental_deadline.h"
#include "pkg/operator/job_status_patch.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

using api::RentalPhase;
using nlohmann::json;

constexpr char kCapacityReady[] = "CapacityReady";
// While a rental is in use, what asked for it is looked at no more often than that.
constexpr std::int64_t kSettledPollMs = 5'000;
constexpr std::int64_t kReleasedAgainMs = 1'000;

bool IsRefusalOrMissing(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         absl::IsNotFound(status);
}

std::string RefusalOf(const kube::Target& target, const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    return StrCat("the cluster has no ", target.resource.GroupResource(),
                  "; install what provides them, or scale the pool in another way");
  }
  return StrCat(target.resource.kind, " ", target.name, " is refused: ", MessageOf(status));
}

bool BelongsTo(const json& object, const api::TrainingJob& job) {
  const json labels = object.value("/metadata/labels"_json_pointer, json::object());
  return labels.value(api::kRentalLabel, "") == job.metadata.uid || IsOwnedBy(object, job);
}

api::Condition ConditionOf(const api::CapacityStatus& status, std::int64_t generation) {
  const bool ready = status.phase == RentalPhase::kProvisioned;
  const bool plain = status.reason == api::RentalReason::kNone || ready;
  return {kCapacityReady,
          ready ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
          plain ? api::NameOf(status.phase) : api::NameOf(status.reason),
          status.message,
          generation,
          0};
}

void AddRentalsOfOthers(const api::TrainingJob& job, const state::ClusterState& cluster,
                        state::RentalContext& rentals) {
  for (const auto& other : cluster.jobs) {
    if (other->metadata.uid == job.metadata.uid || !other->status.capacity.active()) continue;
    const bool same = other->metadata.namespace_name == job.metadata.namespace_name;
    for (const api::RentedHosts& part : other->status.capacity.hosts) {
      rentals.in_use[{part.pool, part.type}] += part.hosts;
      if (same) rentals.in_use_of_namespace[{part.pool, part.type}] += part.hosts;
    }
  }
}

bool AnySelectsNamespaces(const std::vector<api::CapacityPool>& pools) {
  return std::any_of(pools.begin(), pools.end(), [](const api::CapacityPool& pool) {
    return pool.namespace_selector.has_value();
  });
}

}  // namespace

CapacityController::CapacityController(kube::Client& client, state::ClusterCache& cache,
                                       HostHealth& hosts, const Clock& clock, Notify notify,
                                       std::function<bool()> may_write, bool renting)
    : client_(client),
      cache_(cache),
      clock_(clock),
      observer_(cache, hosts, clock),
      notify_(std::move(notify)),
      may_write_(may_write ? std::move(may_write) : [] { return true; }),
      renting_(renting),
      sweeper_(client, cache, clock, notify_) {}

absl::StatusOr<CapacityController::Poll> CapacityController::Look(const api::TrainingJob& job) {
  const api::CapacityStatus& status = job.status.capacity;
  Poll poll;
  {
    MutexLock lock(mutex_);
    poll = polls_[job.metadata.uid];
  }
  if (poll.generation != status.generation) poll = Poll{};
  const std::int64_t now_ms = clock_.SteadyMs();
  const bool settled = status.phase == RentalPhase::kProvisioned && !poll.found.empty();
  if (poll.generation == status.generation && settled && now_ms - poll.at_ms < kSettledPollMs) {
    return poll;
  }
  poll.generation = status.generation;
  poll.at_ms = now_ms;
  const std::vector<RentalObject> objects = RentalNames(job);
  poll.found.assign(objects.size(), nullptr);
  poll.created.resize(objects.size());
  std::string foreign;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    auto object = client_.Get(objects[i].target);
    if (absl::IsNotFound(object.status())) continue;
    YM_RETURN_IF_ERROR(object.status());
    if (BelongsTo(*object, job)) {
      poll.created[i] = true;
      poll.found[i] = *std::move(object);
    } else if (foreign.empty()) {
      foreign = StrCat(objects[i].target.resource.kind, " ", objects[i].target.name,
                       " exists and does not belong to this job; delete it");
    }
  }
  poll.state = ReadProvisioning(status, objects, poll.found, poll.created);
  if (poll.state.failed.empty() && !foreign.empty()) poll.state.failed = foreign;
  if (!poll.refusal.empty()) poll.state.failed = poll.refusal;
  MutexLock lock(mutex_);
  polls_[job.metadata.uid] = poll;
  return poll;
}

absl::StatusOr<state::RentalContext> CapacityController::ContextOf(
    const CapacityObservation& observed) {
  state::RentalContext rentals;
  if (!renting_ || !AnySelectsNamespaces(observed.pools)) return rentals;
  const std::string& ns = observed.job->metadata.namespace_name;
  YM_ASSIGN_OR_RETURN(const json object, client_.Get({kube::Namespaces(), "", ns, ""}));
  api::FieldErrors errors;
  rentals.namespace_labels = api::FieldReader({kube::FindAt(object, {"metadata"}), "metadata",
                                               api::UnknownFields::kIgnore, &errors})
                                 .StringMap("labels");
  return rentals;
}

absl::Status CapacityController::Write(api::TrainingJob& job, const api::CapacityStatus& status) {
  if (status == job.status.capacity) return absl::OkStatus();
  std::vector<api::Condition> conditions = job.status.conditions;
  api::SetCondition(conditions, ConditionOf(status, job.metadata.generation), clock_.WallMs());
  YM_RETURN_IF_ERROR(PatchJobStatus(client_, cache_, job,
                                    {{"capacity", api::EncodeCapacityStatus(status)},
                                     {"conditions", api::EncodeConditions(conditions)}}));
  job.status.conditions = std::move(conditions);
  job.status.capacity = status;
  return absl::OkStatus();
}

absl::Status CapacityController::Provide(const api::TrainingJob& job,
                                         const std::vector<api::CapacityPool>& pools) {
  const std::vector<RentalObject> objects = RentalObjects(job, pools);
  Poll poll;
  {
    MutexLock lock(mutex_);
    poll = polls_[job.metadata.uid];
  }
  if (poll.generation != job.status.capacity.generation) poll = Poll{};
  poll.generation = job.status.capacity.generation;
  poll.created.resize(objects.size());
  absl::Status failed;
  for (std::size_t i = 0; i < objects.size() && failed.ok() && poll.refusal.empty(); ++i) {
    // An object that was removed is not created again: its host was not available.
    if (poll.created[i]) continue;
    const kube::Target& target = objects[i].target;
    if (objects[i].object.is_null()) {
      poll.refusal = "its CapacityPool is gone or is scaled in another way";
      break;
    }
    if (!may_write_()) {
      failed = absl::UnavailableError("this process does not lead any more");
      break;
    }
    auto made =
        client_.Create({target.resource, target.ns, "", ""}, objects[i].object, {kFieldManager});
    poll.created[i] = made.ok();
    if (made.ok() || absl::IsAlreadyExists(made.status())) continue;
    if (IsRefusalOrMissing(made.status())) {
      poll.refusal = RefusalOf(target, made.status());
    } else {
      failed = made.status();
    }
  }
  if (!poll.refusal.empty()) poll.state.failed = poll.refusal;
  MutexLock lock(mutex_);
  polls_[job.metadata.uid] = std::move(poll);
  return failed;
}

absl::Status CapacityController::Release(const api::TrainingJob& job, const Poll& poll) {
  const std::vector<RentalObject> objects = RentalNames(job);
  absl::Status first;
  for (std::size_t i = objects.size(); i-- > 0;) {
    if (i >= poll.found.size() || poll.found[i].is_null()) continue;
    if (kube::FindAt(poll.found[i], {"metadata", "deletionTimestamp"}) != nullptr) continue;
    kube::DeleteOptions options;
    options.uid = kube::UidOf(poll.found[i]);
    const absl::Status deleted = client_.Delete(objects[i].target, options);
    if (!deleted.ok() && !absl::IsNotFound(deleted) && !absl::IsAborted(deleted) && first.ok()) {
      first = deleted;
    }
  }
  return first;
}

void CapacityController::Announce(const api::TrainingJob& job, const api::CapacityStatus& before) {
  const api::CapacityStatus& now = job.status.capacity;
  if (now.phase == before.phase && now.generation == before.generation &&
      now.reason == before.reason) {
    return;
  }
  const auto tell = [&](bool warning, const char* reason) {
    notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, warning, reason,
             now.message});
  };
  const bool left = (now.phase == RentalPhase::kLeaving || now.phase == RentalPhase::kReleasing) &&
                    before.phase != RentalPhase::kLeaving &&
                    before.phase != RentalPhase::kReleasing;
  if (left) {
    MutexLock lock(mutex_);
    ++ends_[api::NameOf(now.reason)];
  }
  if (left) {
    const bool planned =
        now.reason == api::RentalReason::kJobEnded || now.reason == api::RentalReason::kSuspended;
    tell(!planned, "CapacityLeft");
  } else if (now.phase == RentalPhase::kRequested && now.generation != before.generation) {
    tell(false, "CapacityRequested");
  } else if (now.phase == RentalPhase::kProvisioned && before.phase != now.phase) {
    tell(false, "CapacityProvided");
  } else if (!now.active() && now.reason != before.reason &&
             now.reason != api::RentalReason::kNone) {
    tell(true, "CapacityUnavailable");
  }
}

absl::StatusOr<std::optional<std::int64_t>> CapacityController::Reconcile(const std::string& key) {
  const std::optional<std::int64_t> nothing;
  const auto found = cache_.FindJob(key);
  if (found == nullptr || found->metadata.deleted_ms) return nothing;
  const std::string& managed_by = found->run.managed_by;
  if (!managed_by.empty() && managed_by != api::kManagedByOperator) return nothing;
  const RentalPhase phase = found->status.capacity.phase;
  if (!MayRent(*found) && phase == RentalPhase::kNone) return nothing;
  api::TrainingJob job = *found;
  CapacityObservation observed = observer_.Observe(job);
  // A job that may leave hosts for its deadline asks first what it would get.
  const bool weighs_deadline = phase == RentalPhase::kProvisioned &&
                               job.capacity.deadline_ms != 0 &&
                               HasRevocableHosts(job.status.capacity);
  observed.may_choose =
      !job.status.capacity.active() || phase == RentalPhase::kReleasing || weighs_deadline;
  Poll poll;
  for (const auto& pool : cache_.Take().pools) observed.pools.push_back(*pool);
  observed.renting_is_off = !renting_;
  if (job.status.capacity.active()) {
    YM_ASSIGN_OR_RETURN(poll, Look(job));
    observed.provisioning = poll.state;
  }
  CapacityStep step;
  absl::Status written;
  if (observed.may_choose) {
    if (observed.waits || job.status.capacity.active()) {
      YM_ASSIGN_OR_RETURN(observed.rentals, ContextOf(observed));
    }
    MutexLock choice(choice_mutex_);
    AddRentalsOfOthers(job, cache_.Take(), observed.rentals);
    step = NextCapacityStep(observed);
    written = Write(job, step.status);
  } else {
    step = NextCapacityStep(observed);
    written = Write(job, step.status);
  }
  if (absl::IsNotFound(written)) return nothing;
  YM_RETURN_IF_ERROR(written);
  Announce(job, found->status.capacity);
  if (step.provide) YM_RETURN_IF_ERROR(Provide(job, observed.pools));
  if (step.release) {
    // Only of what was seen of this rental: a new look, where its objects were not read yet.
    if (poll.generation != job.status.capacity.generation) return std::optional<std::int64_t>(1);
    YM_RETURN_IF_ERROR(Release(job, poll));
    return std::optional<std::int64_t>(kReleasedAgainMs);
  }
  return step.look_again_ms;
}

absl::Status CapacityController::Sweep() {
  const absl::Status swept = renting_ ? sweeper_.Sweep() : absl::OkStatus();
  std::set<std::string> alive;
  for (const auto& job : cache_.Take().jobs) alive.insert(job->metadata.uid);
  MutexLock lock(mutex_);
  std::erase_if(polls_, [&](const auto& poll) { return alive.count(poll.first) == 0; });
  return swept;
}

std::vector<PoolUse> CapacityController::Uses() const {
  std::map<std::pair<std::string, std::string>, PoolUse> uses;
  for (const auto& job : cache_.Take().jobs) {
    if (!job->status.capacity.active()) continue;
    for (const api::RentedHosts& part : job->status.capacity.hosts) {
      const std::string type = api::NameOf(part.type);
      PoolUse& use = uses[{part.pool, type}];
      use.pool = part.pool;
      use.type = type;
      use.currency = job->status.capacity.currency;
      use.chosen += part.hosts;
      use.provided += part.provided;
      use.cost_per_hour +=
          static_cast<double>(part.price * part.provided) / capacity::kMicrosPerUnit;
    }
  }
  std::vector<PoolUse> out;
  for (auto& [key, use] : uses) out.push_back(std::move(use));
  return out;
}

std::map<std::string, double> CapacityController::ends() const {
  MutexLock lock(mutex_);
  return ends_;
}

std::vector<std::string> CapacityController::Keys() const {
  std::vector<std::string> keys;
  for (const auto& job : cache_.Take().jobs) {
    if (!MayRent(*job) && job->status.capacity.phase == RentalPhase::kNone) continue;
    keys.push_back(kube::MakeKey(job->metadata.namespace_name, job->metadata.name));
  }
  return keys;
}

}  // namespace yardmaster::op
