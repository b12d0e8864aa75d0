#include "pkg/extender/cluster_planner.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/steps/move_step.h"
#include "pkg/extender/steps/owner_step.h"
#include "pkg/extender/steps/revocation_step.h"

namespace yardmaster::extender {

namespace {

// Between two views of a pass that places gangs. The operator plans no sooner after a commit.
constexpr std::int64_t kPublishMs = 100;

// What the webhook needs of gangs besides the snapshot.
std::map<NamespacedName, GangNote> NotesOf(const PassFacts& facts) {
  std::map<NamespacedName, GangNote> notes;
  for (const auto& [key, gang] : facts.gangs) {
    GangNote& note = notes[key];
    note.rank_bases = gang->rank_bases;
    const api::Condition* planned =
        api::FindCondition(gang->status.conditions, api::kPlannedCondition);
    const bool waits = planned != nullptr && planned->status != api::ConditionStatus::kTrue;
    if (waits) note.waiting = planned->message;
    // A count in it may have moved since it was written.
    const auto why = facts.waiting.find(key);
    if (why != facts.waiting.end()) note.waiting = why->second;
  }
  return notes;
}

// A wait goes before a choice among places, and before others are stopped.
plan::PlanOptions WithWaits(plan::PlanOptions options, std::int64_t limit_ms) {
  if (limit_ms == 0) return options;
  const plan::Policies waits = plan::AwaitLeavingHosts(limit_ms);
  options.policies.insert(options.policies.begin(), waits.begin(), waits.end());
  return options;
}

}  // namespace

ClusterPlanner::ClusterPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                               Fence fence, Publish publish, Notify notify, Options options)
    : cache_(cache),
      publish_(std::move(publish)),
      notify_(std::move(notify)),
      options_(std::move(options)),
      executor_(client, cache, std::move(fence), options_.ledger, clock, notify_),
      resize_(options_.plan.placement),
      gates_(options_.gates),
      stale_releases_(options_.stale_releases),
      placement_(WithWaits(options_.plan, options_.await_limit_ms), options_.preemption),
      release_(options_.release),
      taints_(options_.taints) {}

PassReport ClusterPlanner::RunOnce() {
  try {
    RunPass();
  } catch (const std::exception& error) {
    // Nothing is lost: what was derived from the cache is derived again.
    gatherer_ = gather::Gatherer(gather::Orphans::kRefuse, options_.ungated);
    executor_.Abandon(error.what());
  }
  return executor_.End();
}

void ClusterPlanner::RunPass() {
  published_commits_ = 0;
  const bool leads = executor_.Begin();
  executor_.SetFacts(GatherFacts());
  if (leads) TakeStock();
  ReportProblems();
  executor_.TakeSnapshot();
  if (leads) {
    executor_.Run("taking up its move", TakeUpMoves);
    executor_.Run("revoking its promise", RevokeDoublePromises);
  }
  if (!executor_.facts().snapshot_is_current()) executor_.TakeSnapshot();
  const PassFacts& facts = executor_.facts();
  for (const auto* problems : {&facts.snapshot->warnings, &facts.cluster.problems}) {
    PassReport& report = executor_.report();
    report.problems.insert(report.problems.end(), problems->begin(), problems->end());
  }
  executor_.report().free_places = FreePlacesOf(facts.snapshot->cluster);
  PublishView();
  if (leads && executor_.may_write()) Place();
  NoteOldestGatedPod();
}

PassFacts ClusterPlanner::GatherFacts() {
  PassFacts facts;
  facts.cluster = cache_.Take();
  for (const auto& gang : facts.cluster.gangs) facts.gangs[KeyOf(gang->metadata)] = gang;
  gatherer_.Update(facts.cluster.pods);
  const auto gang_of = [&facts](const gather::GatheredGang& gathered) -> const api::Gang* {
    const auto known = facts.gangs.find({gathered.namespace_name, gathered.name});
    return known != facts.gangs.end() && gather::IsSameLife(*known->second, gathered)
               ? known->second.get()
               : nullptr;
  };
  for (auto& gang : gatherer_.Gangs(gang_of)) {
    NamespacedName key{gang->namespace_name, gang->name};
    // Pods of another life of the job wait until the garbage collector has taken the old Gang.
    const GangPtr known = facts.FindGang(key);
    if (known != nullptr && !gather::IsSameLife(*known, *gang)) continue;
    facts.gathered.insert_or_assign(std::move(key), std::move(gang));
  }
  facts.idle_pods = gatherer_.Idle();
  facts.leaving_pods = gatherer_.LeavingAlone();
  facts.await_limit_ms = options_.await_limit_ms;
  return facts;
}

void ClusterPlanner::TakeStock() {
  const auto run = [this](const char* name, auto step, Executor::Limits limits = {}) {
    executor_.Run(name, step, limits);
  };
  const Executor::Limits spec_limits{std::max(options_.write_slice_ms, queue_ms_)};
  const Executor::Limits gate_limits{options_.gate_slice_ms, /*fair=*/true};
  const EvictionOptions evictions{options_.eviction_threads, options_.preemption.max_grace_ms};
  run("ending its move", EndMoves);
  run("giving its hosts back", GiveUnneededHostsBack);
  run("deleting it", [this](const PassFacts& f) { return cleanup_.Plan(f); });
  run("numbering its pods", [this](const PassFacts& f) { return numbers_.Plan(f); });
  run(
      "gathering its pods", [this](const PassFacts& f) { return specs_.Plan(f); }, spec_limits);
  run("reading its volumes", [this](const PassFacts& f) { return volumes_.Plan(f); });
  run("saying what it lacks", [this](const PassFacts& f) { return incomplete_.Plan(f); });
  run("resizing it", [this](const PassFacts& f) { return resize_.FollowOwners(f); });
  run("marking it released", PodRelease::MarkReleased);
  run("adopting its plan", [this](const PassFacts& f) { return adoption_.Plan(f); });
  run("marking its slots", AdoptionStep::MarkSlots);
  run("releasing its idle pod", GateStep::ReleaseIdlePods, gate_limits);
  run(
      "ending its wait", [this](const PassFacts& f) { return gates_.EndWaits(f); }, gate_limits);
  run(
      "checking its start", [this](const PassFacts& f) { return gates_.CheckReady(f); },
      gate_limits);
  run("stopping its victims",
      [evictions](const PassFacts& f) { return StopVictims(f, evictions); });
  run("taking its hosts", TakeHostsOfVictims);
  run("ending its preemption", EndCancelledPreemptions);
  run("replacing its pods", [this](const PassFacts& f) { return stale_releases_.Plan(f); });
}

void ClusterPlanner::Place() {
  const auto run = [this](const char* name, auto step, Executor::Limits limits = {}) {
    return executor_.Run(name, step, limits);
  };
  run("marking it degraded", PlacementStep::MarkDegraded);
  run("moving its ranks", [this](const PassFacts& f) { return placement_.MoveRanks(f); });
  PublishCommits();
  queue_ms_ = run("planning the queue",
                  AsOneWork([this](const PassFacts& f) { return placement_.PlanQueue(f); }));
  // At least as long as the plan took; otherwise most of each pass would be planning the same queue
  // again.
  const Executor::Limits limits{std::max(options_.write_slice_ms, queue_ms_)};
  run(
      "saying why it waits", [this](const PassFacts& f) { return placement_.ReportWaiting(f); },
      limits);
  run(
      "placing it",
      [this](const PassFacts& f) { return PublishingCommits(placement_.PlaceQueue(f)); }, limits);
  run("reserving hosts",
      AsOneWork([this](const PassFacts& f) { return placement_.ReserveHosts(f); }));
  run("promising its next hosts", PromiseMoves);
  run("moving its promise", [this](const PassFacts& f) { return resize_.MovePromises(f); });
  run("moving its pods", [this](const PassFacts& f) { return unschedulable_.Plan(f); });
  PublishView();
  run("releasing pods", AsOneWork([this](const PassFacts& f) { return release_.Decide(f); }),
      {options_.release_slice_ms});
  run("tainting hosts", AsOneWork([this](const PassFacts& f) { return taints_.Decide(f); }));
}

// Each once as an event on its pod, where people look when it stays pending.
void ClusterPlanner::ReportProblems() {
  const PassFacts& facts = executor_.facts();
  std::vector<gather::PodProblem> problems = gatherer_.Problems();
  for (const auto& [key, gathered] : facts.gathered) {
    const GangPtr gang = facts.FindGang(key);
    if (gang == nullptr || facts.Is(key, GangMark::kGrowing)) continue;
    std::vector<gather::PodProblem> strays = gather::StrayProblems(*gathered, gang->job.workers);
    std::move(strays.begin(), strays.end(), std::back_inserter(problems));
  }
  constexpr int kMaxEvents = 50;  // in one pass; the rest follows
  std::map<std::string, std::string> before;
  before.swap(reported_);
  int events = 0;
  for (gather::PodProblem& problem : problems) {
    const auto at = before.find(problem.uid);
    const bool is_new = at == before.end() || at->second != problem.text;
    if (!is_new || (executor_.may_write() && events < kMaxEvents)) {
      reported_[problem.uid] = problem.text;
    }
    if (is_new && executor_.may_write() && events++ < kMaxEvents) {
      notify_({{"v1", "Pod", problem.pod, problem.uid, false},
               problem.namespace_name,
               true,
               "NotInGang",
               problem.text});
    }
    executor_.report().problems.push_back(std::move(problem.text));
  }
}

// The queue as users see it, for any cause of waiting: a place, the other pods, isolation.
void ClusterPlanner::NoteOldestGatedPod() {
  const std::int64_t now_ms = executor_.facts().now.wall_ms;
  std::int64_t oldest_ms = now_ms;
  for (const auto& [key, gathered] : executor_.facts().gathered) {
    if (gathered->gated == 0) continue;
    for (const gather::GangMember& member : gathered->members) {
      if (member.pod->gated()) oldest_ms = std::min(oldest_ms, member.pod->metadata.created_ms);
    }
  }
  for (const auto& [key, gang] : executor_.facts().gangs) {
    if (gang->status.committed() || !MayBePlacedFirst(executor_.facts(), *gang)) continue;
    oldest_ms = std::min(oldest_ms, gang->metadata.created_ms);
  }
  executor_.report().oldest_gated_seconds = static_cast<double>(now_ms - oldest_ms) / 1000;
}

std::vector<Work> ClusterPlanner::PublishingCommits(std::vector<Work> works) {
  for (Work& work : works) {
    work.decide = [this, decide = std::move(work.decide)](const PassFacts& facts) {
      if (facts.now.steady_ms - published_ms_ >= kPublishMs) PublishCommits();
      return decide(facts);
    };
  }
  return works;
}

void ClusterPlanner::PublishCommits() {
  if (executor_.report().committed != published_commits_) PublishView();
}

void ClusterPlanner::PublishView() {
  const PassFacts& facts = executor_.facts();
  published_commits_ = executor_.report().committed;
  published_ms_ = facts.now.steady_ms;
  publish_(std::make_shared<const View>(std::make_shared<const plan::Snapshot>(*facts.snapshot),
                                        NotesOf(facts), facts.cluster.pods));
}

}  // namespace yardmaster::extender
