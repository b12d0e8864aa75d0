#include "pkg/extender/effects/executor.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "pkg/api/disruption_budget.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/gatherer.h"
#include "pkg/kube/api_error.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <typename E>
constexpr bool kIsPodWrite =
    std::is_same_v<E, ReleasePod> || std::is_same_v<E, OpenGate> || std::is_same_v<E, MarkSlot> ||
    std::is_same_v<E, NumberPod> || std::is_same_v<E, FailPod> || std::is_same_v<E, EvictPod> ||
    std::is_same_v<E, PatchNode>;

template <typename E>
constexpr bool kIsRead = std::is_same_v<E, AwaitTurn> || std::is_same_v<E, ReadObject> ||
                         std::is_same_v<E, ReadPods> || std::is_same_v<E, ReadBudgets>;

bool IsPodWrite(const Effect& effect) {
  return std::visit([](const auto& e) { return kIsPodWrite<std::decay_t<decltype(e)>>; }, effect);
}

// REQUIRES: a write of a pod or a Node.
const NamespacedName& GangOf(const Effect& effect) {
  static const NamespacedName kNone;
  return std::visit(
      [](const auto& e) -> const NamespacedName& {
        if constexpr (kIsPodWrite<std::decay_t<decltype(e)>>) return e.gang;
        return kNone;
      },
      effect);
}

// Of a failed write of a pod or a Node: whether the next one of its gang is likely to fail as it
// did. A pod that is gone says nothing of others; nor does one that could not be released for any
// other cause than a policy.
bool CountsAgainstGang(const Effect& effect, const absl::Status& status) {
  if (status.ok()) return false;
  if (!std::holds_alternative<ReleasePod>(effect)) return !kube::IsGone(status);
  return kube::IsDenied(status) || absl::IsResourceExhausted(status);
}

// Its pods wait for no place of ours any more.
bool EndsWait(const Effect& effect) {
  return std::holds_alternative<OpenGate>(effect) || std::holds_alternative<FailPod>(effect);
}

// Namespaces take turns, each with its gangs by name, from `first` on.
void MakeFair(const NamespacedName& first, std::vector<Work>& works) {
  const auto by_gang = [](const Work& a, const Work& b) { return a.gang < b.gang; };
  std::stable_sort(works.begin(), works.end(), by_gang);
  const auto begin = std::lower_bound(works.begin(), works.end(), Work{first, nullptr}, by_gang);
  std::rotate(works.begin(), begin, works.end());
  std::map<std::string, int> turns;  // by namespace
  std::vector<std::pair<int, Work>> order;
  order.reserve(works.size());
  for (Work& work : works) {
    const int turn = turns[work.gang.namespace_name]++;
    order.emplace_back(turn, std::move(work));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(order.begin(), order.end(), works.begin(),
                 [](auto& entry) { return std::move(entry.second); });
}

// What a former Gang of that name left on the pods is not taken for the network plan of this one.
std::int64_t FirstGeneration(const gather::GatheredGang* gathered) {
  std::int64_t first = 1;
  for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
    const auto text = api::Find(gathered->members[m].pod->metadata.annotations,
                                api::kNetworkGenerationAnnotation);
    const auto said = text ? ParseNumber<std::int64_t>(*text) : std::nullopt;
    if (said && *said < INT32_MAX) first = std::max(first, *said + 1);
  }
  return first;
}

EffectOutcome Done() { return {EffectOutcome::Result::kDone}; }

}  // namespace

Executor::Executor(kube::Client& client, state::ClusterCache& cache, Fence fence,
                   Ledger::Options options, const Clock& clock, Notify notify)
    : client_(client),
      clock_(clock),
      notify_(std::move(notify)),
      backoff_(clock),
      isolation_(clock, notify_),
      ledger_(client, cache, backoff_, std::move(fence), options),
      writer_(client, cache, [this] { return ledger_.may_write(); }) {}

bool Executor::Begin() {
  report_ = {};
  facts_ = {};
  facts_.backing_off = backoff_.Begin(report_);
  for (auto& [question, limiter] : limiters_) limiter.Begin();
  return ledger_.BeginPass(report_);
}

void Executor::SetFacts(PassFacts facts) {
  facts.backing_off = std::move(facts_.backing_off);
  for (const auto& [key, write] : ledger_.indeterminate()) {
    facts.indeterminate[key] = write.attempted;
  }
  isolation_.Begin(facts, report_);
  facts.victims = VictimsOf(facts);
  facts_ = std::move(facts);
  UpdateTime();
}

PassReport Executor::End() {
  for (auto& [question, limiter] : limiters_) limiter.End();
  backoff_.End(report_);
  report_.isolated = static_cast<int>(facts_.isolated.size());
  facts_ = {};
  return std::move(report_);
}

void Executor::Abandon(const std::string& error) {
  builder_ = state::SnapshotBuilder();
  report_.errors.push_back(StrCat("a pass was cut short: ", error));
  report_.more_to_do = true;
}

void Executor::TakeSnapshot() {
  constexpr char kReading[] = "reading it into the snapshot";
  UpdateTime();
  const auto build = [this] { return builder_.Build(PlannedObjects(facts_)); };
  std::optional<plan::Snapshot> snapshot;
  try {
    snapshot = build();
  } catch (const std::exception& error) {
    report_.errors.push_back(StrCat("the snapshot failed: ", error.what()));
    builder_ = state::SnapshotBuilder();
    const state::ClusterState objects = PlannedObjects(facts_);
    for (const GangPtr& gang : objects.gangs) {
      state::ClusterState alone = objects;
      alone.gangs.clear();
      alone.gangs.Put(gang);
      try {
        state::BuildSnapshot(alone);
      } catch (const std::exception& cause) {
        Isolate(KeyOf(gang->metadata), kReading, cause.what());
      }
    }
  }
  for (const Unreadable& one : SetSnapshot(snapshot ? *std::move(snapshot) : build(), facts_)) {
    Isolate(one.gang, kReading, one.error.c_str());
  }
}

std::int64_t Executor::Run(const std::string& name, const Step& step, Limits limits) {
  Memory& memory = memories_[name];
  std::vector<Work> works;
  deciding_ms_ = 0;
  try {
    UpdateTime();
    works = step(facts_);
  } catch (const std::exception& error) {
    Isolate({}, name, error.what());
  }
  if (limits.fair) MakeFair(memory.first, works);
  TimeBudget budget(clock_, limits.budget_ms), retries(clock_, limits.budget_ms);
  bool is_cut = false;
  for (const Work& work : works) {
    budget_ = memory.failed.count(work.gang) != 0 ? &retries : &budget;
    failed_ = tried_ = timed_out_ = false;
    Handle(name, work);
    if (failed_) memory.failed.insert(work.gang);
    if (tried_ && !failed_) memory.failed.erase(work.gang);
    if (timed_out_ && !tried_ && !std::exchange(is_cut, true)) memory.first = work.gang;
  }
  std::erase_if(memory.failed, [&](const NamespacedName& gang) {
    return facts_.FindGang(gang) == nullptr && facts_.GatheredOf(gang) == nullptr;
  });
  return deciding_ms_;
}

void Executor::Handle(const std::string& name, const Work& work) {
  try {
    Decision decision = Decide([&] { return work.decide(facts_); });
    for (;;) {
      const EffectOutcomes outcomes = Perform(decision);
      if (!decision.then) return;
      const auto then = std::move(decision.then);
      decision = Decide([&] { return then(facts_, outcomes); });
    }
  } catch (const std::exception& error) {
    Isolate(work.gang, name, error.what());
  }
}

Decision Executor::Decide(const std::function<Decision()>& decide) {
  UpdateTime();
  Decision decision = decide();
  deciding_ms_ += clock_.SteadyMs() - facts_.now.steady_ms;
  return decision;
}

void Executor::Isolate(const NamespacedName& gang, const std::string& what, const char* error) {
  report_.errors.push_back(
      StrCat(what, gang.name.empty() ? "" : StrCat(" of Gang ", gang.text()), ": ", error));
  report_.more_to_do = true;
  if (gang.name.empty()) return;
  Learn(GangIsolated{gang, isolation_.Add(gang, what, error, facts_, report_)});
}

EffectOutcomes Executor::Perform(const Decision& decision) {
  EffectOutcomes outcomes(decision.effects.size());
  std::vector<std::size_t> apart;
  for (std::size_t i = 0; i < decision.effects.size(); ++i) {
    if (decision.threads > 0 && IsPodWrite(decision.effects[i])) {
      apart.push_back(i);
      continue;
    }
    outcomes[i] = Do(decision.effects[i]);
    if (decision.threads == 0 && !outcomes[i].done()) break;
  }
  if (!apart.empty()) PerformApart(decision, apart, outcomes);
  return outcomes;
}

void Executor::PerformApart(const Decision& decision, const std::vector<std::size_t>& effects,
                            EffectOutcomes& outcomes) {
  std::map<NamespacedName, int> failures;
  const std::int64_t began_ms = clock_.SteadyMs();
  const TimeBudget::Spending spending(*budget_);
  ParallelFor(effects.size(), decision.threads, [&](std::size_t i) {
    const Effect& effect = decision.effects[effects[i]];
    const NamespacedName& gang = GangOf(effect);
    {
      MutexLock lock(mutex_);
      if (failures[gang] >= decision.max_failures) return;
      outcomes[effects[i]].result = MayTry(gang, EndsWait(effect));
      if (!outcomes[effects[i]].done()) return;
    }
    const absl::Status status = std::visit(
        [&](const auto& e) -> absl::Status {
          if constexpr (kIsPodWrite<std::decay_t<decltype(e)>>) return writer_.Write(e);
          return absl::InternalError("not a write of a pod");
        },
        effect);
    MutexLock lock(mutex_);
    outcomes[effects[i]] = Finish(effect, status);
    if (CountsAgainstGang(effect, status)) ++failures[gang];
  });
  report_.waited_ms += clock_.SteadyMs() - began_ms;
}

EffectOutcome::Result Executor::MayTry(const NamespacedName& gang, bool ends_wait) {
  using Result = EffectOutcome::Result;
  if (!ledger_.may_write() || facts_.backing_off.count(gang) != 0) return Result::kNotTried;
  if (!ends_wait && facts_.isolated.count(gang) != 0) return Result::kNotTried;
  if (facts_.indeterminate.count(gang) != 0) return Result::kNotTried;
  if (budget_->IsOver()) {
    timed_out_ = report_.run_again_now = true;
    return Result::kLeft;
  }
  tried_ = true;
  return Result::kDone;
}

// The report of a write of a pod or a Node.
EffectOutcome Executor::Finish(const Effect& effect, const absl::Status& status) {
  if (status.ok()) {
    std::visit(Overloaded{[&](const ReleasePod&) { ++report_.released_pods; },
                          [&](const EvictPod& e) { ++(report_.*e.counter); },
                          [&](const PatchNode&) { ++report_.taint_changes; }, [](const auto&) {}},
               effect);
    return Done();
  }
  if (absl::IsCancelled(status)) return {};  // the hold has ended
  const bool is_node = std::holds_alternative<PatchNode>(effect);
  if (is_node && (absl::IsFailedPrecondition(status) || absl::IsAborted(status))) {
    report_.more_to_do = true;  // the Node is newer than what we have seen of it
  } else if (!(std::holds_alternative<ReleasePod>(effect) ? absl::IsNotFound(status)
                                                          : kube::IsGone(status))) {
    failed_ = true;
    report_.errors.push_back(MessageOf(status));
    if (!is_node) backoff_.NoteFailure(GangOf(effect), status);
  }
  return {EffectOutcome::Result::kFailed, status};
}

EffectOutcome Executor::Written(const NamespacedName& gang, const Ledger::Written& written) {
  if (written.gang != nullptr) Learn(GangRead{written.gang});
  const auto write = ledger_.indeterminate().find(gang);
  if (write != ledger_.indeterminate().end()) Learn(GangMayBecome{write->second.attempted});
  failed_ |= !written.is_done;
  return {written.is_done ? EffectOutcome::Result::kDone : EffectOutcome::Result::kFailed};
}

EffectOutcome Executor::DoWrite(const WriteGangSpec& effect) {
  const bool is_new = facts_.FindGang(effect.gang) == nullptr;
  const Ledger::Written written = ledger_.WriteSpec(effect.spec, is_new, report_);
  const EffectOutcome outcome = Written(effect.gang, written);
  if (!outcome.done()) return outcome;
  auto pods = std::make_shared<gather::GatheredGang>(effect.pods);
  gather::AssignRanks(written.gang->rank_bases, written.gang->job.workers, *pods);
  Learn(GangRead{written.gang, std::move(pods)});
  return outcome;
}

EffectOutcome Executor::DoWrite(const CommitGangStatus& effect) {
  return Written(effect.gang, ledger_.WriteStatus(*effect.base, effect.status, report_));
}

EffectOutcome Executor::DoWrite(const DeleteGang& effect) {
  kube::DeleteOptions same;
  same.uid = effect.base->metadata.uid;
  same.resource_version = effect.base->metadata.resource_version;
  const absl::Status deleted =
      client_.Delete({kube::Gangs(), effect.gang.namespace_name, effect.gang.name, ""}, same);
  if (deleted.ok() || absl::IsNotFound(deleted)) {
    Learn(GangDeleted{effect.gang});
    return Done();
  }
  failed_ = true;
  if (!kube::IsGone(deleted)) report_.errors.push_back(MessageOf(deleted));
  return {EffectOutcome::Result::kFailed, deleted};
}

EffectOutcome Executor::DoWrite(const CommitPlan& effect) {
  const plan::Snapshot* snapshot = &*facts_.snapshot;
  std::optional<plan::Snapshot> with_size;
  if (effect.resized) {
    with_size = *snapshot;
    with_size->jobs[effect.job.index()] = Resized(facts_.Job(effect.job));
    snapshot = &*with_size;
  }
  const absl::Status sound =
      plan::VerifyPlacement(*snapshot, effect.job, effect.plan.host_of_rank, effect.may_use_backup);
  if (!sound.ok()) {
    report_.errors.push_back(StrCat("Gang ", effect.gang.text(), ": a plan did not pass the ",
                                    "verifier and was dropped: ", MessageOf(sound)));
    failed_ = true;
    return {EffectOutcome::Result::kFailed, sound};
  }
  const GangPtr gang = facts_.GangOf(effect.job);
  api::GangStatus status = Committed(*gang, effect.plan, snapshot->jobs[effect.job.index()],
                                     *snapshot, facts_.now.wall_ms);
  if (gang->status.plan_generation == 0) {
    status.plan_generation = FirstGeneration(facts_.GatheredOf(effect.gang));
  }
  const EffectOutcome outcome = Written(effect.gang, ledger_.WriteStatus(*gang, status, report_));
  if (!outcome.done()) return outcome;
  Learn(Placed{effect.job, effect.plan.host_of_rank, effect.resized});
  ++report_.committed;
  return outcome;
}

EffectOutcome Executor::Do(const AwaitTurn& effect) {
  const auto pods = facts_.gathered.find(effect.gang);
  // The Jobs of one JobSet are up to 16 reads.
  const std::size_t per_pass = effect.question == Question::kJobsOfJobSet ? 1 : 16;
  const auto [limiter, is_new] = limiters_.try_emplace(effect.question, clock_, per_pass);
  if (is_new) limiter->second.Begin();
  const bool due = limiter->second.IsDue(
      effect.gang, pods == facts_.gathered.end() ? nullptr : pods->second, report_);
  return due ? Done() : EffectOutcome();
}

EffectOutcome Executor::Do(const ReadObject& effect) {
  auto object = client_.Get(effect.target);
  if (!object.ok()) return {EffectOutcome::Result::kFailed, object.status()};
  return {EffectOutcome::Result::kDone, {}, *std::move(object)};
}

EffectOutcome Executor::Do(const ReadPods& effect) {
  EffectOutcome outcome = Done();
  const absl::Status listed = kube::ReadAll(
      client_, {kube::Pods(), effect.namespace_name, "", ""}, [&] { outcome.pods.clear(); },
      [&](JsonView object) {
        auto pod = api::DecodePod(object, api::Decoding::kLenient);
        if (pod.ok()) outcome.pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
      });
  if (listed.ok()) return outcome;
  report_.errors.push_back(MessageOf(listed));
  return {EffectOutcome::Result::kFailed, listed};
}

EffectOutcome Executor::Do(const ReadBudgets&) {
  if (facts_.budgets) return Done();
  BudgetsRead read;
  const absl::Status listed = kube::ReadAll(
      client_, {kube::PodDisruptionBudgets(), "", "", ""}, [&] { read.budgets.clear(); },
      [&](JsonView object) {
        auto budget = api::DecodeDisruptionBudget(object);
        if (budget.ok()) read.budgets.push_back(*std::move(budget));
      });
  if (!listed.ok()) {
    report_.errors.push_back(MessageOf(listed));
    return {EffectOutcome::Result::kFailed, listed};
  }
  Learn(std::move(read));
  return Done();
}

EffectOutcome Executor::Do(const Effect& effect) {
  const auto write = [&](const auto& e) {
    const EffectOutcome may = {MayTry(e.gang, EndsWait(effect))};
    if (!may.done()) return may;
    const TimeBudget::Spending spending(*budget_);
    if constexpr (kIsPodWrite<std::decay_t<decltype(e)>>) {
      return Finish(effect, writer_.Write(e));
    } else {
      return DoWrite(e);
    }
  };
  const auto local =
      Overloaded{[&](const IsolateGang& e) { Isolate(e.gang, e.what, e.error.c_str()); },
                 [&](const Change& e) { Learn(e); },
                 [&](const Event& e) { notify_(e); },
                 [&](const ReportProblem& e) { report_.problems.push_back(e.text); },
                 [&](const ReportError& e) { report_.errors.push_back(e.text); },
                 [&](const Increment& e) { report_.*e.counter += e.by; },
                 [&](const GangDecision& e) { report_.decisions.push_back(e); },
                 [&](const WakeIn& e) { report_.WakeIn(e.ms); },
                 [&](const RunSoon&) { report_.more_to_do = true; }};
  return std::visit(
      [&](const auto& e) -> EffectOutcome {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_invocable_v<decltype(local), const E&>) {
          local(e);
          return Done();
        } else if constexpr (kIsRead<E>) {
          return Do(e);
        } else {
          return write(e);
        }
      },
      effect);
}

}  // namespace yardmaster::extender
