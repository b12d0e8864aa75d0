// What a step of a pass asks for. A step only decides: it gets the facts of the pass
// (facts/pass_facts.h) and returns effects, as values, without a client. The executor (executor.h)
// is the one that carries them out.
//
// An effect names the gang in whose name it happens: a failure counts against that gang alone.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/pin_patch.h"
#include "pkg/extender/facts/pass_facts.h"
#include "pkg/extender/ledger/pass_report.h"
#include "pkg/kube/resource.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::extender {

// --- The ledger (ledger.h).

// Makes the Gang, where there is none, or gives it this spec. Its pods then have the ranks that it
// gives.
struct WriteGangSpec {
  NamespacedName gang;
  api::Gang spec;
  gather::GatheredGang pods;  // with open ranks
};
// The Gang gets this status. `base` is the version that the decision was made from: a newer one is
// not overwritten.
struct CommitGangStatus {
  NamespacedName gang;
  GangPtr base;
  api::GangStatus status;
};
// Only the version that was seen.
struct DeleteGang {
  NamespacedName gang;
  GangPtr base;
};
// The plan of a job of the snapshot becomes a promise: the verifier agrees (plan/verifier.h), one
// write of the Gang's status commits it, and the snapshot follows.
struct CommitPlan {
  NamespacedName gang;
  plan::JobId job;
  placement::GangPlan plan;
  bool may_use_backup = false;
  bool resized = false;  // for the size that the job's owner wants now
};

// --- Pods and Nodes. Each names the object as it was known, and does nothing to another one of its
// name.

// Annotates the slot, pins the pod and opens its gate, in one patch (api/pin_patch.h).
struct ReleasePod {
  NamespacedName gang;
  gather::PodPtr pod;
  api::Pin pin;
};
// Opens the gate of a pod that gets no place, and says why. This and FailPod are carried out for
// isolated gangs, too.
struct OpenGate {
  NamespacedName gang;
  gather::PodPtr pod;
  std::string why;
};
// Writes the rank of a pod whose controller does not number its pods, as its label
// yardmaster.dev/rank.
struct NumberPod {
  NamespacedName gang;
  gather::PodPtr pod;
  int rank = 0;
};
// Annotates the slot of a pod that runs without having been released by us.
struct MarkSlot {
  NamespacedName gang;
  gather::PodPtr pod;
  std::string slot_annotation;  // the text of yardmaster.dev/slot
};
struct FailPod {
  NamespacedName gang;
  gather::PodPtr pod;
  std::string reason;
  std::string message;
};
enum class EvictWhen {
  kSamePod,      // another pod of that name stays
  kSameVersion,  // so does the pod if it has changed since, for example because it was bound
};
// By the eviction call, which respects disruption budgets.
struct EvictPod {
  NamespacedName gang;
  gather::PodPtr pod;
  EvictWhen when = EvictWhen::kSamePod;
  int PassReport::*counter = &PassReport::evicted_pods;
  // For a pod that is being deleted with a longer one (gather/leaving_pods.h); nullopt: what the
  // pod asks for.
  std::optional<std::int64_t> grace_ms = std::nullopt;
};
struct PatchNode {
  NamespacedName gang;  // of no gang
  std::string node;
  nlohmann::json patch;  // RFC 6902, with a test of what it counts on
};

// --- Reads. They are not charged to the step's time.

// Questions about a gang that cost something. Each is asked at once when the gang's pods have
// changed, and then ever less often (owner_query_limiter.h).
enum class Question {
  kOwnerState,
  kOwnerGone,
  kOwnerSize,
  kOwnerReplicas,
  kJobsOfJobSet,
  kPodGroup,
  kAdoption,
};
// Done when it is the gang's turn. Stands before what it guards, so that the latter is not tried
// otherwise.
struct AwaitTurn {
  NamespacedName gang;
  Question question;
};
// The answer is EffectOutcome::object.
struct ReadObject {
  kube::Target target;
};
// All pods of a namespace, as the API server has them: EffectOutcome::pods.
struct ReadPods {
  std::string namespace_name;
};
// Makes PassFacts::budgets known. Once in a pass.
struct ReadBudgets {};

// --- What the rest of the pass is to know (Change). Nothing is written; it cannot fail.

struct IsolateGang {
  NamespacedName gang;
  std::string what;  // failed
  std::string error;
};

// --- What people and the next passes are told. These cannot fail.

using Event = ObjectNotice;
struct ReportProblem {
  std::string text;
};
// A fault of this program.
struct ReportError {
  std::string text;
};
struct Increment {
  int PassReport::*counter;
  int by = 1;
};
struct WakeIn {
  std::int64_t ms;
};
// Something is left, and the next pass should come soon.
struct RunSoon {};

using Effect =
    std::variant<WriteGangSpec, CommitGangStatus, DeleteGang, CommitPlan,                  //
                 ReleasePod, OpenGate, NumberPod, MarkSlot, FailPod, EvictPod, PatchNode,  //
                 AwaitTurn, ReadObject, ReadPods, ReadBudgets,                             //
                 IsolateGang, Change,                                                      //
                 Event, ReportProblem, ReportError, Increment, GangDecision, WakeIn, RunSoon>;

// Refused evictions of a gang's pods back off under this name, apart from the gang: its other pods
// are released, and it is planned, meanwhile. No gang has such a name.
inline NamespacedName EvictionsOf(const NamespacedName& gang) {
  return {gang.namespace_name, "evictions of " + gang.name};
}

// What became of an effect.
struct EffectOutcome {
  enum class Result {
    kDone,
    kFailed,    // or it is not known; `status` says how
    kNotTried,  // an effect before it failed, its gang is left alone, or the hold of the lease has
                // ended
    kLeft,      // the step's time was over: the next pass may try it
  };
  Result result = Result::kNotTried;
  absl::Status status = {};
  nlohmann::json object = nullptr;        // ReadObject
  std::vector<gather::PodPtr> pods = {};  // ReadPods
  bool done() const { return result == Result::kDone; }
  // Of a ReadObject: the object is known, or that there is none.
  bool answered() const { return done() || absl::IsNotFound(status); }
};
// In the order of the effects.
using EffectOutcomes = std::vector<EffectOutcome>;
inline bool AllDone(const EffectOutcomes& outcomes) {
  return outcomes.empty() || outcomes.back().done();
}

// What is to be done for a gang, and what comes after it.
struct Decision {
  std::vector<Effect> effects = {};
  // 0: one after the other, and the first that is not done ends them. Else the effects do not count
  // on each other, and that many may be under way at once; writes for one gang end at the
  // `max_failures`-th that fails, where pods that are gone do not count, nor pods that could not be
  // released for any other cause than a policy.
  std::size_t threads = 0;
  int max_failures = 3;
  // Goes on from there, whatever has become of them; null: that is all. It gets the facts as they
  // are then.
  std::function<Decision(const PassFacts&, const EffectOutcomes&)> then = {};
};

// `next` after `first` and all that follows it, whatever has become of them.
inline Decision AndThen(Decision first, std::function<Decision(const PassFacts&)> next) {
  first.then = [then = std::move(first.then), next](const PassFacts& facts,
                                                    const EffectOutcomes& outcomes) {
    return then ? AndThen(then(facts, outcomes), next) : next(facts);
  };
  return first;
}

// A step's work for one gang. An exception isolates that gang and ends nothing else.
struct Work {
  NamespacedName gang;  // empty: of no gang in particular
  std::function<Decision(const PassFacts&)> decide;
};

}  // namespace yardmaster::extender
