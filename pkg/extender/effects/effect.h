// Defines the effects by which a step of a pass asks for reads, writes and reports. A step only
// decides: it gets the facts of the pass (facts/pass_facts.h) and returns effects as values. The
// executor (executor.h) carries them out.
//
// An effect names the gang for which it happens. If it fails, only that gang backs off.
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

// Creates the Gang, or replaces its spec. The facts then have its pods with the ranks of the new
// spec.
struct WriteGangSpec {
  NamespacedName gang;
  api::Gang spec;
  gather::GatheredGang pods;  // ranks are not assigned yet
};
// Writes this status to the Gang. `base`: the version from which it was decided; a newer version is
// not overwritten.
struct CommitGangStatus {
  NamespacedName gang;
  GangPtr base;
  api::GangStatus status;
};
// Deletes the Gang if it still is this version.
struct DeleteGang {
  NamespacedName gang;
  GangPtr base;
};
// Commits the plan of a job: the verifier checks it (plan/verifier.h), one write of the Gang's
// status stores it, and the snapshot of the pass is updated.
struct CommitPlan {
  NamespacedName gang;
  plan::JobId job;
  placement::GangPlan plan;
  bool may_use_backup = false;
  bool resized = false;  // for the size that the job's owner wants now
};

// --- Pods and Nodes. A write has no effect on another object with the same name.

// Annotates the pod with its slot, pins it to its host and opens its gate, in one patch
// (api/pin_patch.h).
struct ReleasePod {
  NamespacedName gang;
  gather::PodPtr pod;
  api::Pin pin;
};
// Opens the gate of a pod that gets no place, and annotates why. OpenGate and FailPod are also
// carried out for isolated gangs.
struct OpenGate {
  NamespacedName gang;
  gather::PodPtr pod;
  std::string why;
};
// Writes the label yardmaster.dev/rank of a pod whose controller does not number its pods.
struct NumberPod {
  NamespacedName gang;
  gather::PodPtr pod;
  int rank = 0;
};
// Annotates the slot of a pod that runs but was not released by the extender.
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
  kSamePod,      // evicts only the pod with this uid
  kSameVersion,  // and only if it has not changed since, for example because it was bound
};
// Evicts the pod by the eviction API, which respects PodDisruptionBudgets.
struct EvictPod {
  NamespacedName gang;
  gather::PodPtr pod;
  EvictWhen when = EvictWhen::kSamePod;
  int PassReport::*counter = &PassReport::evicted_pods;
  // A shorter grace period for a pod that is being deleted (gather/leaving_pods.h); nullopt: the
  // pod's own.
  std::optional<std::int64_t> grace_ms = std::nullopt;
};
struct PatchNode {
  NamespacedName gang;  // empty
  std::string node;
  nlohmann::json patch;  // RFC 6902; tests what it depends on
};

// --- Reads. They do not use the time budget of the step.

// Questions about a gang that need a read. The first read follows immediately when the gang's pods
// have changed; the intervals then double (owner_query_limiter.h).
enum class Question {
  kOwnerState,
  kOwnerGone,
  kOwnerSize,
  kOwnerReplicas,
  kJobsOfJobSet,
  kPodGroup,
  kAdoption,
};
// Succeeds if the gang may be read in this pass. It precedes the effects that it guards: if it does
// not succeed, they are not tried.
struct AwaitTurn {
  NamespacedName gang;
  Question question;
};
// Reads one object into EffectOutcome::object.
struct ReadObject {
  kube::Target target;
};
// Reads all pods of a namespace from the API server into EffectOutcome::pods.
struct ReadPods {
  std::string namespace_name;
};
// Fills PassFacts::budgets, once per pass.
struct ReadBudgets {};

// --- Updates of the facts of the pass (Change). Nothing is written; they cannot fail.

struct IsolateGang {
  NamespacedName gang;
  std::string what;  // the operation that failed
  std::string error;
};

// --- Reports to users and to the next pass. They cannot fail.

using Event = ObjectNotice;
struct ReportProblem {
  std::string text;
};
// An internal error of the program.
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
// Work is left: the next pass should start soon.
struct RunSoon {};

using Effect =
    std::variant<WriteGangSpec, CommitGangStatus, DeleteGang, CommitPlan,                  //
                 ReleasePod, OpenGate, NumberPod, MarkSlot, FailPod, EvictPod, PatchNode,  //
                 AwaitTurn, ReadObject, ReadPods, ReadBudgets,                             //
                 IsolateGang, Change,                                                      //
                 Event, ReportProblem, ReportError, Increment, GangDecision, WakeIn, RunSoon>;

// The name under which refused evictions of a gang's pods back off. It differs from that of the
// gang, so that the gang is still planned and its other pods are released. No gang has such a name.
inline NamespacedName EvictionsOf(const NamespacedName& gang) {
  return {gang.namespace_name, "evictions of " + gang.name};
}

// The result of an effect.
struct EffectOutcome {
  enum class Result {
    kDone,
    kFailed,    // or the result is unknown; see `status`
    kNotTried,  // an effect before it failed, its gang is left alone, or the hold of the lease has
                // ended
    kLeft,      // the step's time was over: the next pass may try it
  };
  Result result = Result::kNotTried;
  absl::Status status = {};
  nlohmann::json object = nullptr;        // ReadObject
  std::vector<gather::PodPtr> pods = {};  // ReadPods
  bool done() const { return result == Result::kDone; }
  // For ReadObject: the object was read, or does not exist.
  bool answered() const { return done() || absl::IsNotFound(status); }
};
// In the order of the effects.
using EffectOutcomes = std::vector<EffectOutcome>;
inline bool AllDone(const EffectOutcomes& outcomes) {
  return outcomes.empty() || outcomes.back().done();
}

// The next effects for a gang, and the function that decides what follows them.
struct Decision {
  std::vector<Effect> effects = {};
  // 0: the executor performs the effects in order and stops at the first that is not done. Else the
  // effects are independent, and up to this many run at once. For each gang, writes stop after
  // `max_failures` failures. A pod that is gone is not a failure, nor is a release that was refused
  // for any other reason than a policy or quota.
  std::size_t threads = 0;
  int max_failures = 3;
  // Decides the next effects from the outcomes and the updated facts; it is called also after
  // failures. Null: nothing follows.
  std::function<Decision(const PassFacts&, const EffectOutcomes&)> then = {};
};

// Returns a decision that runs `next` after `first` and all that follows `first`, also after
// failures.
inline Decision AndThen(Decision first, std::function<Decision(const PassFacts&)> next) {
  first.then = [then = std::move(first.then), next](const PassFacts& facts,
                                                    const EffectOutcomes& outcomes) {
    return then ? AndThen(then(facts, outcomes), next) : next(facts);
  };
  return first;
}

// The work of a step for one gang. An exception isolates this gang only.
struct Work {
  NamespacedName gang;  // empty: not for one gang
  std::function<Decision(const PassFacts&)> decide;
};

}  // namespace yardmaster::extender
