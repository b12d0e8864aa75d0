// What Observe mode sees: where the gangs of a cluster run, and where each of them would have been
// placed. Nothing is written.
//
// A gang that runs is compared once for each set of hosts it has: it is planned as if it had none,
// with all others where they are at that moment. So this is not the history of a cluster whose jobs
// we placed all along; it says of each job whether a better place was there. A gang that waits is
// planned in the order of the queue. Contention is the share of its speed that a gang is predicted
// to lose to, and take from, the others on the uplinks of segments (plan/contention_cost.h); it is
// known with a Fabric alone.
//
// Without a Fabric hosts stand where the labels of others say (state/guessed_places.h).
//
// Complexity: gathered pods and a snapshot from nothing and a plan of the queue; for each
// comparison what one gang changes of the snapshot, and a plan. Determinism: the ClusterStates
// given so far decide. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/namespaced_name.h"
#include "pkg/extender/observe/pods_as_gangs.h"
#include "pkg/placement/objective.h"
#include "pkg/placement/outcome.h"
#include "pkg/plan/planner.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

struct ObservedPlace {
  placement::Objective objective;
  std::optional<double> contention;  // share of the gang's speed; nothing: no Fabric
};

struct ObservedGang {
  std::string namespace_name;
  std::string kind;  // of the owner of its pods
  std::string name;
  int workers = 0;
  std::int64_t gpus = 0;
  bool guessed = false;                  // its pods state no parallelism
  std::optional<ObservedPlace> actual;   // nothing: it does not run
  std::optional<ObservedPlace> planned;  // nothing: not compared yet, or it fits nowhere
  placement::Outcome outcome = placement::Outcome::kPlaced;  // of the plan
  std::string message;                                       // why it would wait
  int lost_ranks = 0;         // whose host is gone, NotReady or evicts its pods
  int replaceable_ranks = 0;  // of these, that would get another host

  // The plan is better in what placement minimises.
  bool is_better_planned() const {
    return actual && planned && planned->objective < actual->objective;
  }
};

struct Observation {
  std::vector<ObservedGang> gangs;  // by namespace and Gang
  std::vector<std::string> notes;   // what was guessed, and input that cannot be used
};

class Observer {
 public:
  // At most so many gangs that run are compared in one Observe; the others follow in the next.
  explicit Observer(int max_comparisons) : max_comparisons_(max_comparisons) {}

  Observation Observe(const state::ClusterState& cluster);
  // Whether gangs are left that run and are not compared.
  bool has_more() const { return has_more_; }

 private:
  struct Compared {
    std::vector<std::string> hosts;    // by rank
    std::optional<double> contention;  // where it is
    std::optional<ObservedPlace> planned;
    placement::Outcome outcome = placement::Outcome::kPlaced;
    std::string message;
  };
  static Compared Compare(const PodsAsGangs& observed, const NamespacedName& key,
                          state::SnapshotBuilder& builder, std::vector<std::string> hosts);
  // `builder` has made the snapshot.
  void Fill(const PodsAsGangs& observed, const plan::Snapshot& snapshot, const plan::JobPlan& job,
            state::SnapshotBuilder& builder, int& comparisons, ObservedGang& out);

  const int max_comparisons_;
  bool has_more_ = false;
  std::map<NamespacedName, Compared> compared_;  // gangs that run
};

}  // namespace yardmaster::extender
