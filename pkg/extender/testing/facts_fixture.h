// The facts of a pass over a cluster in memory, and what steps decide from them, without a planner
// or a client: effects are recorded, and the facts follow as if each were carried out. TESTONLY.
// Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/testing/cluster_fixture.h"
#include "pkg/gather/gatherer.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class FactsFixture : public ClusterFixture {
 protected:
  // The objects alone: nothing is gathered, and there are no Gangs.
  PassFacts ObjectsNow() {
    state::ClusterCache cache;
    kube::Relist(client_, kube::Nodes(), cache.sink(state::Kind::kNode));
    kube::Relist(client_, kube::Pods(), cache.sink(state::Kind::kPod));
    kube::Relist(client_, kube::TrainingJobs(), cache.sink(state::Kind::kTrainingJob));
    PassFacts facts;
    facts.now = {clock_.WallMs(), clock_.SteadyMs()};
    facts.cluster = cache.Take();
    return facts;
  }
  // Every complete set of pods has a Gang. With a snapshot.
  PassFacts Facts() {
    PassFacts facts = ObjectsNow();
    gather::Gatherer gatherer(gather::Orphans::kRefuse);
    gatherer.Update(facts.cluster.pods);
    for (const auto& open : gatherer.Gangs([](const gather::GatheredGang&) { return nullptr; })) {
      const NamespacedName key{open->namespace_name, open->name};
      const std::string job = open->members.front().membership->owner.name;
      auto made = gather::MakeGang(*open, facts.cluster.jobs.Find({"team", job}).get());
      if (!made.ok() || !*made) continue;
      const auto known = gangs_.find(key);
      facts.gangs[key] =
          known != gangs_.end() ? known->second : std::make_shared<const api::Gang>(**made);
      auto pods = std::make_shared<gather::GatheredGang>(*open);
      gather::AssignRanks((*made)->rank_bases, (*made)->job.workers, *pods);
      facts.gathered[key] = std::move(pods);
    }
    TakeSnapshot(facts);
    return facts;
  }
  static void TakeSnapshot(PassFacts& facts) {
    SetSnapshot(state::BuildSnapshot(PlannedObjects(facts)), facts);
  }
  static NamespacedName GangOf(const std::string& job) { return {"team", "trainingjob-" + job}; }

  // Carries everything out, unless `becomes_` says something else of an effect; in the end `facts`
  // is what the next step would get, and effects_ what was asked for, in order.
  void Run(const std::vector<Work>& works, PassFacts& facts) {
    for (const Work& work : works) Run(work.decide(facts), facts);
    for (const auto& [key, gang] : facts.gangs) gangs_[key] = gang;
  }
  void Run(Decision decision, PassFacts& facts) {
    for (;;) {
      EffectOutcomes outcomes(decision.effects.size());
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        outcomes[i] = Perform(decision.effects[i], facts);
        if (decision.threads == 0 && !outcomes[i].done()) break;
      }
      if (!decision.then) return;
      const auto then = std::move(decision.then);
      decision = then(facts, outcomes);
    }
  }
  // Of one kind, in order.
  template <typename E>
  std::vector<E> Asked() const {
    std::vector<E> out;
    for (const Effect& effect : effects_) {
      if (const E* one = std::get_if<E>(&effect)) out.push_back(*one);
    }
    return out;
  }
  std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const Event& event : Asked<Event>()) reasons.push_back(event.reason);
    return reasons;
  }

  std::function<EffectOutcome::Result(const Effect&)> becomes_ = [](const Effect&) {
    return EffectOutcome::Result::kDone;
  };
  std::vector<Effect> effects_;

 private:
  EffectOutcome Perform(const Effect& effect, PassFacts& facts) {
    effects_.push_back(effect);
    const EffectOutcome outcome{becomes_(effect)};
    if (!outcome.done()) return outcome;
    if (const auto* write = std::get_if<CommitGangStatus>(&effect)) {
      auto gang = std::make_shared<api::Gang>(*write->base);
      gang->status = write->status;
      Apply(GangRead{std::move(gang)}, facts);
    } else if (const auto* plan = std::get_if<CommitPlan>(&effect)) {
      auto gang = std::make_shared<api::Gang>(*facts.GangOf(plan->job));
      gang->status =
          Committed(*gang, plan->plan, facts.Job(plan->job), *facts.snapshot, facts.now.wall_ms);
      Apply(GangRead{std::move(gang)}, facts);
      Apply(extender::Placed{plan->job, plan->plan.host_of_rank, plan->resized}, facts);
    } else if (const auto* change = std::get_if<Change>(&effect)) {
      Apply(*change, facts);
    } else if (const auto* isolate = std::get_if<IsolateGang>(&effect)) {
      Apply(GangIsolated{isolate->gang, isolate->error}, facts);
    } else if (std::holds_alternative<ReadBudgets>(effect)) {
      Apply(BudgetsRead{}, facts);
    }
    return outcome;
  }

  Gangs gangs_;  // as they were after the last Run
};

}  // namespace yardmaster::extender
