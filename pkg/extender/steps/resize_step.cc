#include "pkg/extender/steps/resize_step.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/eligible_hosts.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/owner_state.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/plan/host_holders.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// Pods that say that the size may be another one: some beyond it, or none of the last rank.
bool LooksResized(const gather::GatheredGang& gathered, int workers) {
  if (!gathered.strays.empty()) return true;
  // Members are by rank. Every pass asks this of every gang, so it looks at one of them.
  const bool has_last = !gathered.members.empty() && gathered.members.back().rank == workers - 1;
  return !has_last && gathered.leaving.empty();
}

// Ranks by `bases` that have a pod; of those on their way out, too, with `leaving`.
std::set<int> RanksWithPods(const gather::GatheredGang& gathered,
                            const std::vector<api::RankBase>& bases, bool leaving) {
  std::set<int> ranks;
  for (const auto* list : {&gathered.members, &gathered.strays, &gathered.leaving}) {
    if (list == &gathered.leaving && !leaving) continue;
    for (const gather::GangMember& member : *list) {
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
  return std::any_of(gang.roles.begin(), gang.roles.end(), [&](const api::GangRole& role) {
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

// As the owner says it, which was read. nullopt: it does not. Errors: those of ResizedTo.
std::optional<absl::StatusOr<gather::GangSize>> SizeOfOwner(const PassFacts& facts,
                                                            const api::Gang& gang,
                                                            const nlohmann::json& object) {
  if (gather::OwnerStateOf(gang, object).phase != gather::OwnerPhase::kActive) return std::nullopt;
  const auto pods = gather::SizeOf(gang.owner, object);
  if (!pods) return std::nullopt;
  std::vector<std::string> added;
  for (const gather::GangMember& stray : facts.GatheredOf(KeyOf(gang.metadata))->strays) {
    added.push_back(stray.membership->subgroup);
  }
  return gather::ResizedTo(gang.rank_bases, gang.placed_workers(), added, *pods);
}

Decision Shrink(const PassFacts& facts, plan::JobId id) {
  const plan::JobState& job = facts.Job(id);
  const int placed = static_cast<int>(job.assignment->host_of_rank.size());
  const int wanted = job.resize->job.workers;
  const std::set<int> ranks =
      RanksWithPods(*facts.GatheredOf(job.job.key), facts.GangOf(id)->rank_bases, /*leaving=*/true);
  if (!ranks.empty() && *ranks.rbegin() >= wanted) return {};
  placement::GangPlan plan;
  plan.outcome = placement::Outcome::kPlaced;
  plan.host_of_rank = job.assignment->host_of_rank;
  plan.host_of_rank.resize(static_cast<std::size_t>(wanted));
  plan.objective =
      placement::Evaluate(*facts.snapshot->places, *job.resize->groups, plan.host_of_rank);
  return {{CommitPlan{job.job.key, id, std::move(plan), /*may_use_backup=*/true, /*resized=*/true},
           Event{facts.GangOf(id)->owner, job.job.key.namespace_name, false, "Resized",
                 StrCat("the gang shrank from ", placed, " to ", Count(wanted, "worker"),
                        "; the hosts of the others are free")}}};
}

Decision ReportNoRoom(const PassFacts& facts, plan::JobId id, const std::string& why) {
  const GangPtr gang = facts.GangOf(id);
  const plan::JobState& job = facts.Job(id);
  const api::Condition* told = api::FindCondition(gang->status.conditions, api::kResizedCondition);
  const bool is_news = told == nullptr || told->status != api::ConditionStatus::kFalse ||
                       told->observed_generation != gang->metadata.generation;
  if (!is_news) return {};
  const std::string text = StrCat("the gang stays at ", Count(job.job.workers, "worker"), " of ",
                                  job.resize->job.workers, " until there is room: ", why);
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kResizedCondition, false, "NoRoom", text, facts.now.wall_ms);
  return {{CommitGangStatus{job.job.key, gang, std::move(status)},
           Event{gang->owner, gang->metadata.namespace_name, true, "NotResized", text}}};
}

// It has as many workers as its owner wants, and its condition says that it waits for more.
bool WaitedForRoom(const api::Gang& gang) {
  const api::Condition* resized =
      api::FindCondition(gang.status.conditions, api::kResizedCondition);
  return resized != nullptr && resized->status == api::ConditionStatus::kFalse &&
         gang.placed_workers() == gang.job.workers;
}

Decision EndWaitForRoom(const PassFacts& facts, plan::JobId id) {
  const GangPtr gang = facts.GangOf(id);
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kResizedCondition, true, "NotNeeded",
               "the owner wants the workers that have hosts", facts.now.wall_ms);
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)}}};
}

}  // namespace

std::vector<Work> ResizeStep::FollowOwners(const PassFacts& facts) {
  const auto is_gone = [&](const auto& entry) { return facts.gangs.count(entry.first) == 0; };
  std::erase_if(refused_, is_gone);
  std::erase_if(answers_, is_gone);
  std::vector<Work> works;
  // Both by key: every pass asks every gang, and few have changed.
  auto gathered = facts.gathered.begin();
  for (const auto& [key, gang] : facts.gangs) {
    while (gathered != facts.gathered.end() && gathered->first < key) ++gathered;
    if (gathered == facts.gathered.end()) break;
    if (gathered->first != key) continue;
    const bool ours = gang->owner.kind == api::kTrainingJobKind;
    if (!ours && !LooksResized(*gathered->second, gang->job.workers)) {
      if (!answers_.empty()) answers_.erase(key);
      continue;
    }
    if (!HoldsHosts(gang->status) || facts.IsLeftAlone(key)) continue;
    if (facts.indeterminate.count(key) != 0) continue;
    if (ours) {
      const auto job = facts.cluster.jobs.Find({key.namespace_name, gang->owner.name});
      const bool same = job != nullptr && job->metadata.uid == gang->owner.uid;
      if (!same || job->job.workers == gang->job.workers) continue;
      works.push_back(
          {key, [this, key = key, size = gather::GangSize{job->job.workers, gang->rank_bases}](
                    const PassFacts& now) { return FollowOne(now, key, size); }});
    } else {
      works.push_back({key, [this, key = key](const PassFacts& now) { return AskSize(now, key); }});
    }
  }
  return works;
}

Decision ResizeStep::AskSize(const PassFacts& facts, const NamespacedName& key) {
  const GangPtr gang = facts.gangs.at(key);
  Decision decision{{AwaitTurn{key, Question::kOwnerSize}}};
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (resource) {
    decision.effects.push_back(ReadObject{{*resource, key.namespace_name, gang->owner.name, ""}});
  }
  decision.then = [this, key, gang, resource](const PassFacts& now,
                                              const EffectOutcomes& outcomes) {
    if (outcomes.front().done() && (!resource || outcomes.back().answered())) {
      Size& answer = answers_[key] = std::nullopt;
      const bool read = resource && outcomes.back().done();
      const auto size = read ? SizeOfOwner(now, *gang, outcomes.back().object) : std::nullopt;
      if (size && !size->ok()) return ReportRefusal(*gang, MessageOf(size->status()));
      if (size) answer = **size;
    }
    const auto answer = answers_.find(key);
    return answer == answers_.end() ? Decision{} : FollowOne(now, key, answer->second);
  };
  return decision;
}

Decision ResizeStep::FollowOne(const PassFacts& facts, const NamespacedName& key,
                               const Size& size) {
  const api::Gang& gang = *facts.gangs.at(key);
  if (!size || size->workers < 1 || size->workers == gang.job.workers) return {};
  const gather::GatheredGang& gathered = *facts.GatheredOf(key);
  const int placed = gang.placed_workers();
  if (size->workers > placed) {
    // The pods are still being made: their coming starts the next look.
    if (!HasAll(RanksWithPods(gathered, size->rank_bases, false), placed, size->workers)) {
      return {{Change(GangMarked{key, GangMark::kGrowing})}};
    }
  } else {
    const std::set<int> ranks = RanksWithPods(gathered, gang.rank_bases, true);
    if (!ranks.empty() && *ranks.rbegin() >= size->workers) return {};
  }
  if (GpusDiffer(gang)) return ReportRefusal(gang, "its roles ask for different numbers of GPUs");
  const std::string problem = SizeProblem(gang.job, size->workers);
  return problem.empty() ? WriteSize(facts, key, *size) : ReportRefusal(gang, problem);
}

Decision ResizeStep::WriteSize(const PassFacts& facts, const NamespacedName& key,
                               const gather::GangSize& size) {
  gather::GatheredGang pods = gather::WithOpenRanks(*facts.GatheredOf(key));
  api::Gang next = *facts.gangs.at(key);
  next.job = api::WithWorkers(std::move(next.job), size.workers);
  next.rank_bases = size.rank_bases;
  for (const gather::GangMember& member : pods.members) {
    const std::optional<int> rank = api::RankOf(size.rank_bases, *member.membership);
    if (!rank || *rank >= size.workers) continue;
    if (member.pod->gpus() != next.job.gpus_per_worker) {
      return ReportRefusal(
          *facts.gangs.at(key),
          StrCat("pod ", member.pod->metadata.name, " asks for ", Count(member.pod->gpus(), "GPU"),
                 " and the gang was placed with ", next.job.gpus_per_worker, " for every worker"));
    }
    workload::RaiseAmounts(next.requests, member.pod->requests);
  }
  gather::GatheredGang ranked = pods;
  gather::AssignRanks(next.rank_bases, next.job.workers, ranked);
  if (gather::IsComplete(ranked, next.job.workers)) {
    const bool by_owner = next.owner.kind == api::kTrainingJobKind || gather::NamesHosts(ranked);
    auto roles = gather::RolesOf(ranked, by_owner ? nullptr : &next.constraints);
    if (!roles) {
      return ReportRefusal(*facts.gangs.at(key), "its new pods ask for other nodes too often");
    }
    next.roles = *std::move(roles);
  } else if (!next.roles.empty()) {
    // A rank without a pod now: what new ranks ask for is not less than this.
    next.roles.back().requests = next.requests;
  }
  std::erase_if(next.roles,
                [&](const api::GangRole& role) { return role.first_rank >= next.job.workers; });
  Decision decision{{WriteGangSpec{key, std::move(next), std::move(pods)}}};
  decision.then = [this, key](const PassFacts&, const EffectOutcomes& written) {
    if (AllDone(written)) refused_.erase(key);
    return Decision{};
  };
  return decision;
}

Decision ResizeStep::ReportRefusal(const api::Gang& gang, const std::string& why) {
  const NamespacedName key = KeyOf(gang.metadata);
  const std::string text =
      StrCat("the gang stays at ", Count(gang.placed_workers(), "worker"), ": ", why,
             "; or suspend the job and resume it with the new size");
  Decision decision{{ReportProblem{StrCat("Gang ", key.text(), ": ", text)}}};
  if (std::exchange(refused_[key], text) == text) return decision;
  decision.effects.push_back(Event{gang.owner, key.namespace_name, true, "NotResized", text});
  return decision;
}

std::vector<Work> ResizeStep::MovePromises(const PassFacts& facts) const {
  std::vector<Work> works;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const plan::JobState& job = facts.Job(id);
    if (!job.assignment) continue;
    const NamespacedName& key = job.job.key;
    if (job.resize == nullptr) {
      if (WaitedForRoom(*facts.GangOf(id)))
        works.push_back({key, [id](const PassFacts& now) { return EndWaitForRoom(now, id); }});
      continue;
    }
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    if (gathered == nullptr || facts.IsStopping(key) || facts.IsLeftAlone(key)) continue;
    // First they move, but for ranks that are gone with the former size.
    std::vector<int> moving =
        RanksToMove(*facts.snapshot, job, *gathered, facts.GangOf(id)->status);
    moving.insert(moving.end(), job.lost_ranks.begin(), job.lost_ranks.end());
    const auto stays = [&](int rank) { return rank < job.resize->job.workers; };
    if (std::any_of(moving.begin(), moving.end(), stays)) continue;
    const bool grows =
        job.resize->job.workers > static_cast<int>(job.assignment->host_of_rank.size());
    works.push_back({key, [this, id, grows](const PassFacts& now) {
                       return grows ? Grow(now, id) : Shrink(now, id);
                     }});
  }
  return works;
}

Decision ResizeStep::Grow(const PassFacts& facts, plan::JobId id) const {
  const plan::JobState& job = facts.Job(id);
  const gather::GatheredGang& gathered = *facts.GatheredOf(job.job.key);
  const std::vector<fabric::HostId>& before = job.assignment->host_of_rank;
  // Hosts that another controller chooses are observed (adoption_step.h).
  const bool others = std::any_of(
      gathered.members.begin(), gathered.members.end(), [&](const gather::GangMember& member) {
        return member.rank && static_cast<std::size_t>(*member.rank) >= before.size() &&
               (!member.pod->selected_host().empty() || member.pod->gated_by_others() ||
                gather::IsLeftToCore(*member.pod));
      });
  if (gathered.whole != job.resize->job.workers || others) return {};
  const plan::JobState larger = Resized(job);
  std::optional<plan::Snapshot> grown;  // a copy of everything, where there is a place to look at
  placement::GangPlan plan = placement::GrowGang(
      facts.snapshot->cluster, plan::RequestOf(larger, id), before, options_,
      [&](const std::vector<fabric::HostId>& hosts) {
        if (!grown) {
          grown = *facts.snapshot;
          grown->jobs[id.index()] = larger;
        }
        return plan::VerifyPlacement(*grown, id, hosts, /*may_use_backup=*/false);
      });
  if (plan.outcome != placement::Outcome::kPlaced) {
    plan::NameHolders(*facts.snapshot, plan::HoldingJobs(*facts.snapshot), plan);
    return ReportNoRoom(facts, id, placement::Sentence(plan));
  }
  return {{CommitPlan{job.job.key, id, plan, /*may_use_backup=*/false, /*resized=*/true},
           Event{facts.GangOf(id)->owner, job.job.key.namespace_name, false, "Resized",
                 StrCat("the gang grew from ", job.job.workers, " to ",
                        Count(larger.job.workers, "worker"), " in ",
                        Count(plan.objective.segments, "segment"))}}};
}

}  // namespace yardmaster::extender
