#include "pkg/extender/steps/move_step.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "pkg/api/refusals.h"
#include "pkg/api/status_text.h"
#include "pkg/api/training_job.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/gatherer.h"
#include "pkg/gather/owner_state.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

using api::GangMove;
using api::GangMoveState;
using JobPtr = std::shared_ptr<const api::TrainingJob>;

// A time that lies further ahead was written by a process whose clock was.
constexpr std::int64_t kClockDifferenceMs = 60'000;

JobPtr JobOf(const PassFacts& facts, const api::Gang& gang) {
  if (gang.owner.kind != api::kTrainingJobKind) return nullptr;
  auto job = facts.cluster.jobs.Find({gang.metadata.namespace_name, gang.owner.name});
  return job != nullptr && job->metadata.uid == gang.owner.uid ? job : nullptr;
}

// Why the job runs nowhere next, whatever it has asked for; empty: it may move.
std::string WhyNotRunning(const api::TrainingJob& job) {
  const api::TrainingJobStatus& status = job.status;
  if (job.metadata.deleted_ms) return "the job is deleted";
  if (status.ended()) return "the job has ended";
  if (job.run.suspended || status.recovery.suspended) return "the job is suspended";
  if (status.queue.holds_job()) return "the job waits for quota";
  if (status.capacity.holds_job()) return "the job waits for hosts that are rented";
  if (status.elastic.target != 0) return "the job changes its size";
  return "";
}

// Why a promise is given up; empty: it holds.
std::string WhyOver(const PassFacts& facts, const api::Gang& gang) {
  const GangMove& move = *gang.status.move;
  if (!HoldsHosts(gang.status)) return "the gang has no place";
  if (facts.IsStopping(KeyOf(gang.metadata))) return "the gang makes room for another one";
  const std::int64_t now_ms = facts.now.wall_ms;
  if (move.expires_ms <= now_ms || move.promised_ms > now_ms + kClockDifferenceMs) {
    return "the gang has not left its hosts in time";
  }
  const JobPtr job = JobOf(facts, gang);
  if (job == nullptr) return "its TrainingJob is gone";
  if (job->status.move.id != move.id || !job->status.move.active()) {
    return "the job does not ask for it any more";
  }
  if (job->job.workers != gang.placed_workers()) return "the job changes its size";
  return WhyNotRunning(*job);
}

// The answer to a request, in place of the promise if there was one.
api::GangStatus Answered(const api::Gang& gang, GangMove answer) {
  api::GangStatus status = gang.status;
  answer.message = api::CutStatusText(std::move(answer.message));
  status.move = std::move(answer);
  return status;
}

Decision GiveUp(const GangPtr& gang, const std::string& why) {
  const GangMove& move = *gang->status.move;
  return {
      {CommitGangStatus{
           KeyOf(gang->metadata), gang,
           Answered(*gang, {move.id, GangMoveState::kGivenUp, why, move.promised_ms, 0, {}, {}})},
       Event{gang->owner, gang->metadata.namespace_name, true, "MoveGivenUp",
             StrCat(why, "; the gang keeps its place")}}};
}

// Why the gang cannot go to the hosts that are promised to it; empty: it can.
std::string WhyUnusable(const PassFacts& facts, const plan::JobState& job,
                        const std::vector<std::int64_t>& promised) {
  if (!job.next) return "the places of the promised hosts are not known, or not of every rank";
  for (const fabric::HostId host : job.next->host_of_rank) {
    const placement::HostState& state = facts.snapshot->cluster.hosts[host.index()];
    const std::string& name = facts.snapshot->places->name(host);
    if (state.unavailable != placement::Unavailability::kNo) {
      return StrCat("host ", name, ", to which it was to move, is out of service");
    }
    if (promised[host.index()] > state.gpus) {
      return StrCat("host ", name, ", to which it was to move, is promised to another gang, too");
    }
  }
  return "";
}

// As the API server has the job: it moves, by this request.
bool IsMoving(const nlohmann::json& object, const api::Gang& gang) {
  const auto job = api::DecodeTrainingJob(object, api::UnknownFields::kIgnore);
  return job.ok() && job->metadata.uid == gang.owner.uid &&
         job->status.move.id == gang.status.move->id &&
         job->status.move.state == api::JobMoveState::kMoving && WhyNotRunning(*job).empty();
}

// `gang`: the version that holds the promise. What is read is newer.
Decision TakeUp(const GangPtr& gang) {
  const NamespacedName key = KeyOf(gang->metadata);
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (!resource) return {};
  Decision decision{{ReadObject{{*resource, key.namespace_name, gang->owner.name, ""}},
                     ReadPods{key.namespace_name}}};
  decision.then = [key, gang](const PassFacts& now, const EffectOutcomes& read) -> Decision {
    if (!AllDone(read) || !IsMoving(read.front().object, *gang)) return {};
    if (!gather::NoneOfItCanRun(key, read.back().pods)) return {};
    api::GangStatus moved = Moved(*gang, now.now.wall_ms);
    std::string text = StrCat("the gang has left its hosts and goes to ",
                              Count(moved.objective.segments, "segment"));
    return {{CommitGangStatus{key, gang, std::move(moved)},
             Event{gang->owner, key.namespace_name, false, "Moved", std::move(text)}}};
  };
  return decision;
}

Decision Refuse(const GangPtr& gang, const std::string& id, const std::string& why) {
  return {{CommitGangStatus{KeyOf(gang->metadata), gang,
                            Answered(*gang, {id, GangMoveState::kRefused, why, 0, 0, {}, {}})}}};
}

// The hosts that are asked for, or why the gang gets none.
absl::StatusOr<std::vector<fabric::HostId>> HostsOf(const PassFacts& facts, plan::JobId id,
                                                    const api::TrainingJob& owner) {
  const plan::JobState& job = facts.Job(id);
  const api::Gang& gang = *facts.GangOf(id);
  const auto refused = [](const auto&... parts) {
    return absl::FailedPreconditionError(StrCat(parts...));
  };
  const std::vector<std::string>& names = owner.status.move.hosts;
  if (names.size() != job.assignment->host_of_rank.size()) {
    return refused("hosts of ", names.size(), " ranks are asked for, and the gang has ",
                   job.assignment->host_of_rank.size());
  }
  const std::vector<std::string> avoided = AvoidedByJob(facts, gang);
  std::vector<fabric::HostId> hosts;
  for (const std::string& name : names) {
    const auto rank = static_cast<int>(hosts.size());
    hosts.push_back(facts.snapshot->places->FindHost(name));
    if (!hosts.back().valid()) return refused("there is no host ", name);
    if (std::find(avoided.begin(), avoided.end(), name) != avoided.end()) {
      return refused("the job avoids host ", name);
    }
    if (api::IsRefused(gang.status, rank, name, facts.now.wall_ms)) {
      return refused("kube-scheduler refused host ", name, " to rank ", rank);
    }
  }
  if (hosts == job.assignment->host_of_rank) return refused("the gang is there already");
  return hosts;
}

// Why the gang stays where it is, for now or for good; empty: its next place can be looked at.
std::string WhyStays(const PassFacts& facts, const api::Gang& gang, const api::TrainingJob& owner) {
  const NamespacedName key = KeyOf(gang.metadata);
  if (!HoldsHosts(gang.status)) return "the gang has no place";
  if (gang.pods != api::GangPods::kFollow)
    return "its pods come before their place, and stay there";
  if (!api::IsTrue(gang.status.conditions, api::kReleasedCondition)) {
    return "its pods are yet to come";
  }
  if (facts.IsStopping(key)) return "the gang makes room for another one";
  if (gang.status.preemption) return "others are stopped for it";
  const plan::JobId id = IdOfJob(*facts.snapshot, key);
  if (!id.valid() || !facts.Job(id).assignment) return "its hosts are not known";
  const plan::JobState& job = facts.Job(id);
  if (!job.lost_ranks.empty()) return "it has lost a host";
  if (job.resize != nullptr) return "it changes its size";
  if (!job.problems.empty()) return job.problems.front();
  return WhyNotRunning(owner);
}

Decision Promise(const PassFacts& facts, const NamespacedName& key, const JobPtr& owner) {
  const GangPtr gang = facts.gangs.at(key);
  const std::string& request = owner->status.move.id;
  const std::string stays = WhyStays(facts, *gang, *owner);
  if (!stays.empty()) return Refuse(gang, request, stays);
  const plan::JobId id = IdOfJob(*facts.snapshot, key);
  const plan::JobState& job = facts.Job(id);
  const auto hosts = HostsOf(facts, id, *owner);
  if (!hosts.ok()) return Refuse(gang, request, MessageOf(hosts.status()));
  const absl::Status sound = plan::VerifyPlacement(*facts.snapshot, id, *hosts);
  if (!sound.ok()) return Refuse(gang, request, MessageOf(sound));
  const fabric::Places& places = *facts.snapshot->places;
  const placement::Objective objective = placement::Evaluate(places, *job.groups, *hosts);
  if (placement::Evaluate(places, *job.groups, job.assignment->host_of_rank) < objective) {
    return Refuse(gang, request, "the place is worse than the one that the gang has");
  }
  const std::int64_t now_ms = facts.now.wall_ms;
  const std::int64_t expires_ms =
      now_ms + kMoveMs + std::int64_t{1000} * owner->checkpoint.grace_seconds;
  GangMove move{
      request,
      GangMoveState::kPromised,
      StrCat(Count(objective.segments, "segment"), " instead of ", gang->status.objective.segments),
      now_ms,
      expires_ms,
      AssignmentsOf(*hosts, job, places),
      objective};
  return {
      {CommitGangStatus{key, gang, Answered(*gang, std::move(move))}, WakeIn{expires_ms - now_ms}}};
}

}  // namespace

std::vector<Work> EndMoves(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    if (!gang->status.is_promised_next()) continue;
    works.push_back({key, [key = key](const PassFacts& now) -> Decision {
                       const GangPtr gang = now.gangs.at(key);
                       const std::string why = WhyOver(now, *gang);
                       if (!why.empty()) return GiveUp(gang, why);
                       return {{WakeIn{gang->status.move->expires_ms - now.now.wall_ms + 1}}};
                     }});
  }
  return works;
}

std::vector<Work> TakeUpMoves(const PassFacts& facts) {
  std::vector<Work> works;
  std::optional<std::vector<std::int64_t>> promised;  // by HostId
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const NamespacedName& key = facts.Job(id).job.key;
    const GangPtr gang = facts.FindGang(key);
    if (gang == nullptr || !gang->status.is_promised_next()) continue;
    if (!promised) promised = PromisedGpus(*facts.snapshot);
    const std::string why = WhyUnusable(facts, facts.Job(id), *promised);
    if (!why.empty()) {
      works.push_back({key, [gang, why](const PassFacts&) { return GiveUp(gang, why); }});
      continue;
    }
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    const JobPtr job = JobOf(facts, *gang);
    const bool moves = job != nullptr && job->status.move.id == gang->status.move->id &&
                       job->status.move.state == api::JobMoveState::kMoving;
    if (!moves || (gathered != nullptr && !gather::NoneCanRun(*gathered))) continue;
    works.push_back({key, [gang](const PassFacts&) { return TakeUp(gang); }});
  }
  return works;
}

std::vector<Work> PromiseMoves(const PassFacts& facts) {
  std::vector<Work> works;
  for (const JobPtr& job : facts.cluster.jobs) {
    if (job->status.move.state != api::JobMoveState::kAsked) continue;
    const NamespacedName key{job->metadata.namespace_name,
                             api::GangName(api::kTrainingJobKind, job->metadata.name)};
    const GangPtr gang = facts.FindGang(key);
    if (gang == nullptr || JobOf(facts, *gang) != job || facts.IsLeftAlone(key)) continue;
    const auto& answer = gang->status.move;
    if (answer && (answer->id == job->status.move.id || answer->promised())) continue;
    works.push_back({key, [key, job](const PassFacts& now) { return Promise(now, key, job); }});
  }
  return works;
}

}  // namespace yardmaster::extender
