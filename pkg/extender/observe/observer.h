// Observer computes for Observe mode where the gangs of a cluster run, and where Yardmaster would
// have placed each of them. It writes nothing.
//
//   - A running gang is compared once for each set of hosts on which it runs: the planner plans it
//     as if it had none, with all other gangs where they are. So the result shows whether a better
//     place existed for this gang. It does not show what the cluster would be if Yardmaster had
//     placed all gangs.
//   - A waiting gang is planned in the order of the queue.
//   - Contention is the predicted fraction of its speed that a gang loses to, and takes from,
//     others on the uplinks of segments (plan/contention_cost.h). It requires a Fabric.
//   - Without a Fabric, the places of hosts are derived from Node labels of other controllers
//     (state/guessed_places.h).
//
// Complexity: one snapshot and one plan of the queue; for each comparison, the difference of one
// gang to that snapshot and one plan. Determinism: a function of the ClusterStates so far. Thread
// safety: one thread.
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
  std::optional<double> contention;  // fraction of the gang's speed; nullopt: no Fabric
};

struct ObservedGang {
  std::string namespace_name;
  std::string kind;  // kind of the owner of its pods
  std::string name;
  int workers = 0;
  std::int64_t gpus = 0;
  bool guessed = false;                  // its pods do not state their parallelism
  std::optional<ObservedPlace> actual;   // nullopt: it does not run
  std::optional<ObservedPlace> planned;  // nullopt: not compared yet, or it fits nowhere
  placement::Outcome outcome = placement::Outcome::kPlaced;  // of the plan
  std::string message;                                       // why the gang would wait
  int lost_ranks = 0;         // ranks whose host is gone, NotReady or evicts its pods
  int replaceable_ranks = 0;  // lost ranks that would get another host

  // Whether the plan has a better placement objective.
  bool is_better_planned() const {
    return actual && planned && planned->objective < actual->objective;
  }
};

struct Observation {
  std::vector<ObservedGang> gangs;  // by namespace and Gang
  std::vector<std::string> notes;   // assumptions, and input that cannot be used
};

class Observer {
 public:
  // `max_comparisons`: maximum number of running gangs that one Observe compares; the next one
  // continues.
  explicit Observer(int max_comparisons) : max_comparisons_(max_comparisons) {}

  Observation Observe(const state::ClusterState& cluster);
  // Whether running gangs are left that were not compared.
  bool has_more() const { return has_more_; }

 private:
  struct Compared {
    std::vector<std::string> hosts;    // by rank
    std::optional<double> contention;  // at its present place
    std::optional<ObservedPlace> planned;
    placement::Outcome outcome = placement::Outcome::kPlaced;
    std::string message;
  };
  static Compared Compare(const PodsAsGangs& observed, const NamespacedName& key,
                          state::SnapshotBuilder& builder, std::vector<std::string> hosts);
  // `builder`: has built `snapshot`.
  void Fill(const PodsAsGangs& observed, const plan::Snapshot& snapshot, const plan::JobPlan& job,
            state::SnapshotBuilder& builder, int& comparisons, ObservedGang& out);

  const int max_comparisons_;
  bool has_more_ = false;
  std::map<NamespacedName, Compared> compared_;  // running gangs
};

}  // namespace yardmaster::extender
