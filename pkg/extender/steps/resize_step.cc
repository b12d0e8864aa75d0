#include "pkg/extender/steps/resize_step.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gather/owner_state.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/ledger/plan_commit.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// Pods that say that the size may be another one: some beyond it, or none of the last rank.
bool LooksResized(const GatheredGang& gathered, int workers) {
  if (!gathered.strays.empty()) return true;
  // Members are by rank. Every pass asks this of every gang, so it looks at one of them.
  const bool has_last = !gathered.members.empty() && gathered.members.back().rank == workers - 1;
  return !has_last && gathered.leaving.empty();
}

// Ranks by `bases` that have a pod; of those on their way out, too, with `leaving`.
std::set<int> RanksWithPods(const GatheredGang& gathered, const std::vector<api::RankBase>& bases,
                            bool leaving) {
  std::set<int> ranks;
  for (const auto* list : {&gathered.members, &gathered.strays, &gathered.leaving}) {
    if (list == &gathered.leaving && !leaving) continue;
    for (const GangMember& member : *list) {
      if (const auto rank = api::RankOf(bases, *member.membership)) ranks.insert(*rank);
    }
  }
  return ranks;
}

// Every rank from `first` to `end - 1` is among them.
bool HasAll(const std::set<int>& ranks, int first, int end) {
  for (int rank = first; rank < end; ++rank) {
    if (ranks.count(rank) == 0) return false;
  }
  return true;
}

bool GpusDiffer(const api::Gang& gang) {
  return std::any_of(gang.roles.begin(), gang.roles.end(), [&](const workload::Role& role) {
    return role.gpus.value_or(gang.job.gpus_per_worker) != gang.job.gpus_per_worker;
  });
}

// Why a job cannot have that many workers; empty: it can.
std::string SizeProblem(const api::JobSpec& spec, int workers) {
  const workload::Parallelism& p = spec.parallelism;
  const std::int64_t world = std::int64_t{1} * workers * spec.gpus_per_worker;
  const std::int64_t replica = std::int64_t{1} * p.tensor * p.context * p.pipeline;
  if (world % replica == 0 && (world / replica) % p.expert == 0) return "";
  return StrCat(Count(workers, "worker"), " of ", Count(spec.gpus_per_worker, "GPU"),
                " cannot be split by tensor ", p.tensor, ", context ", p.context, ", pipeline ",
                p.pipeline, " and expert ", p.expert, "; use a multiple");
}

}  // namespace

void ResizeStep::FollowOwners(PassState& pass) {
  ask_times_.Begin();
  const auto is_gone = [&](const auto& entry) { return pass.gangs.count(entry.first) == 0; };
  std::erase_if(refused_, is_gone);
  std::erase_if(answers_, is_gone);
  std::vector<NamespacedName> keys;
  // Both by key: every pass asks every gang, and few have changed.
  auto gathered = pass.gathered.begin();
  for (const auto& [key, gang] : pass.gangs) {
    while (gathered != pass.gathered.end() && gathered->first < key) ++gathered;
    if (gathered == pass.gathered.end()) break;
    if (gathered->first != key) continue;
    const bool ours = gang->owner.kind == api::kTrainingJobKind;
    if (!ours && !LooksResized(*gathered->second, gang->job.workers)) {
      if (!answers_.empty()) answers_.erase(key);
      continue;
    }
    if (!HoldsHosts(gang->status)) continue;
    if (pass.quarantined.count(key) != 0 || pass.backing_off.count(key) != 0) continue;
    if (!ledger_.InDoubt(key)) keys.push_back(key);
  }
  for (const NamespacedName& key : keys) {
    pass.handling = key;
    FollowOne(pass, key);
  }
  pass.handling.reset();
  ask_times_.End();
}

void ResizeStep::FollowOne(PassState& pass, const NamespacedName& key) {
  const std::optional<GangSize> size = WantedSize(pass, key);
  if (!size || size->workers < 1) return;
  const api::Gang& gang = *pass.gangs.at(key);
  if (size->workers == gang.job.workers) return;
  const GatheredGang& gathered = *pass.GatheredOf(key);
  const int placed = gang.placed_workers();
  if (size->workers > placed) {
    // The pods are still being made: their coming starts the next look.
    if (!HasAll(RanksWithPods(gathered, size->rank_bases, false), placed, size->workers)) {
      pass.growing.insert(key);
      return;
    }
  } else {
    const std::set<int> ranks = RanksWithPods(gathered, gang.rank_bases, true);
    if (!ranks.empty() && *ranks.rbegin() >= size->workers) return;
  }
  if (GpusDiffer(gang)) {
    return TellRefusal(pass, key, "its roles ask for different numbers of GPUs");
  }
  const std::string problem = SizeProblem(gang.job, size->workers);
  if (!problem.empty()) return TellRefusal(pass, key, problem);
  WriteSize(pass, key, *size);
}

std::optional<GangSize> ResizeStep::WantedSize(PassState& pass, const NamespacedName& key) {
  const api::Gang& gang = *pass.gangs.at(key);
  if (gang.owner.kind == api::kTrainingJobKind) {
    const auto job = pass.cluster.jobs.Find({key.namespace_name, gang.owner.name});
    if (job == nullptr || job->metadata.uid != gang.owner.uid) return std::nullopt;
    return GangSize{job->job.workers, gang.rank_bases};
  }
  if (ask_times_.IsDue(pass, key)) answers_[key] = SizeOfOwner(pass, key);
  const auto answer = answers_.find(key);
  return answer == answers_.end() ? std::nullopt : answer->second;
}

std::optional<GangSize> ResizeStep::SizeOfOwner(PassState& pass, const NamespacedName& key) {
  const api::Gang& gang = *pass.gangs.at(key);
  const auto resource = ResourceOfOwner(gang.owner);
  if (!resource) return std::nullopt;
  const auto object = client_.Get({*resource, key.namespace_name, gang.owner.name, ""});
  if (!object.ok() || OwnerStateOf(gang, *object).phase != OwnerPhase::kActive) {
    return std::nullopt;
  }
  const auto pods = SizeOf(gang.owner, *object);
  if (!pods) return std::nullopt;
  std::vector<std::string> added;
  for (const GangMember& stray : pass.GatheredOf(key)->strays) {
    added.push_back(stray.membership->subgroup);
  }
  auto size = ResizedTo(gang.rank_bases, gang.placed_workers(), added, *pods);
  if (size.ok()) return *std::move(size);
  TellRefusal(pass, key, MessageOf(size.status()));
  return std::nullopt;
}

void ResizeStep::WriteSize(PassState& pass, const NamespacedName& key, const GangSize& size) {
  if (!ledger_.may_write()) return;
  GatheredGang pods = WithOpenRanks(*pass.GatheredOf(key));
  api::Gang next = *pass.gangs.at(key);
  next.job = api::WithWorkers(std::move(next.job), size.workers);
  next.rank_bases = size.rank_bases;
  for (const GangMember& member : pods.members) {
    const std::optional<int> rank = api::RankOf(size.rank_bases, *member.membership);
    if (!rank || *rank >= size.workers) continue;
    if (member.pod->gpus() != next.job.gpus_per_worker) {
      return TellRefusal(
          pass, key,
          StrCat("pod ", member.pod->metadata.name, " asks for ", Count(member.pod->gpus(), "GPU"),
                 " and the gang was placed with ", next.job.gpus_per_worker, " for every worker"));
    }
    workload::RaiseAmounts(next.requests, member.pod->requests);
  }
  GatheredGang ranked = pods;
  AssignRanks(next.rank_bases, next.job.workers, ranked);
  if (IsComplete(ranked, next.job.workers)) {
    next.roles = RolesOf(ranked);
  } else if (!next.roles.empty()) {
    // A rank without a pod now: what new ranks ask for is not less than this.
    next.roles.back().requests = next.requests;
  }
  std::erase_if(next.roles,
                [&](const workload::Role& role) { return role.first_rank >= next.job.workers; });
  if (ledger_.WriteSpec(pass, next, std::move(pods))) refused_.erase(key);
}

void ResizeStep::TellRefusal(PassState& pass, const NamespacedName& key, const std::string& why) {
  const api::Gang& gang = *pass.gangs.at(key);
  const std::string text =
      StrCat("the gang stays at ", Count(gang.placed_workers(), "worker"), ": ", why,
             "; or suspend the job and resume it with the new size");
  pass.report.problems.push_back(StrCat("Gang ", key.text(), ": ", text));
  std::string& told = refused_[key];
  if (std::exchange(told, text) == text) return;
  notify_({gang.owner, key.namespace_name, true, "NotResized", text});
}

void ResizeStep::Apply(PassState& pass) {
  for (const plan::JobId id : pass.snapshot->job_ids()) {
    const plan::JobState& job = pass.snapshot->jobs[id.index()];
    if (job.resize == nullptr || !job.assignment) continue;
    const NamespacedName& key = job.job.key;
    if (pass.GatheredOf(key) == nullptr) continue;
    if (pass.stopping.count(key) != 0 || pass.backing_off.count(key) != 0) continue;
    // First they move, but for ranks that are gone with the former size.
    const auto stays = [&](int rank) { return rank < job.resize->job.workers; };
    if (std::any_of(job.lost_ranks.begin(), job.lost_ranks.end(), stays)) continue;
    pass.handling = key;
    ApplyOne(pass, id);
  }
  pass.handling.reset();
}

void ResizeStep::ApplyOne(PassState& pass, plan::JobId id) {
  plan::JobState& job = pass.snapshot->jobs[id.index()];
  const GatheredGang& gathered = *pass.GatheredOf(job.job.key);
  const int placed = static_cast<int>(job.assignment->host_of_rank.size());
  const int wanted = job.resize->job.workers;
  if (wanted > placed) {
    const bool others = std::any_of(
        gathered.members.begin(), gathered.members.end(), [&](const GangMember& member) {
          return member.rank && *member.rank >= placed &&
                 (!member.pod->selected_host().empty() || member.pod->gated_by_others());
        });
    // Hosts that another controller chooses are observed (adoption_step.h).
    if (gathered.whole == wanted && !others) Grow(pass, id);
    return;
  }
  const std::set<int> ranks = RanksWithPods(gathered, pass.GangOf(id).rank_bases, /*leaving=*/true);
  if (!ranks.empty() && *ranks.rbegin() >= wanted) return;
  const plan::JobState before = job;
  job.job = before.resize->job;
  job.groups = before.resize->groups;
  job.resize = nullptr;
  placement::GangPlan plan;
  plan.outcome = placement::Outcome::kPlaced;
  plan.host_of_rank = before.assignment->host_of_rank;
  plan.host_of_rank.resize(static_cast<std::size_t>(wanted));
  plan.objective = placement::Evaluate(*pass.snapshot->places, *job.groups, plan.host_of_rank);
  if (!CommitPlan(pass, ledger_, clock_, id, plan, /*may_use_backup=*/true)) {
    job = before;
    return;
  }
  notify_({pass.GangOf(id).owner, job.job.key.namespace_name, false, "Resized",
           StrCat("the gang shrank from ", placed, " to ", Count(wanted, "worker"),
                  "; the hosts of the others are free")});
}

void ResizeStep::Grow(PassState& pass, plan::JobId id) {
  plan::Snapshot& snapshot = *pass.snapshot;
  plan::JobState& job = snapshot.jobs[id.index()];
  const plan::JobState before = job;
  job.job = before.resize->job;
  job.groups = before.resize->groups;
  job.resize = nullptr;
  const placement::GangPlan plan = placement::GrowGang(
      snapshot.cluster, {&job.job, job.groups.get(), job.eligible.get(), id.value},
      before.assignment->host_of_rank, options_, [&](const std::vector<fabric::HostId>& hosts) {
        return plan::VerifyPlacement(snapshot, id, hosts, /*may_use_backup=*/false);
      });
  if (plan.outcome != placement::Outcome::kPlaced) {
    job = before;
    return TellNoRoom(pass, id, placement::Sentence(plan));
  }
  if (!CommitPlan(pass, ledger_, clock_, id, plan, /*may_use_backup=*/false)) {
    job = before;
    return;
  }
  notify_(
      {pass.GangOf(id).owner, job.job.key.namespace_name, false, "Resized",
       StrCat("the gang grew from ", before.job.workers, " to ", Count(job.job.workers, "worker"),
              " in ", Count(plan.objective.segments, "segment"))});
}

void ResizeStep::TellNoRoom(PassState& pass, plan::JobId id, const std::string& why) {
  const api::Gang gang = pass.GangOf(id);
  const plan::JobState& job = pass.snapshot->jobs[id.index()];
  const api::Condition* told = api::FindCondition(gang.status.conditions, api::kResizedCondition);
  const bool is_news = told == nullptr || told->status != api::ConditionStatus::kFalse ||
                       told->observed_generation != gang.metadata.generation;
  if (!is_news) return;
  const std::string text = StrCat("the gang stays at ", Count(job.job.workers, "worker"), " of ",
                                  job.resize->job.workers, " until there is room: ", why);
  api::GangStatus status = gang.status;
  SetCondition(status, gang, api::kResizedCondition, false, "NoRoom", text, clock_.WallMs());
  if (!ledger_.Write(pass, gang, status)) return;
  notify_({gang.owner, gang.metadata.namespace_name, true, "NotResized", text});
}

}  // namespace yardmaster::extender
