// Rebuilds the plan of a gang from its running pods, for when its Gang object was deleted under
// them. Without the plan their hosts would not be promised, and the planner would look for other
// hosts for the gang.
//
// The plan is taken only if all pods agree: every rank has one unfinished pod, and each is on a
// node with a slot annotation that names this gang and this rank. Then the hosts are the plan.
// Anything else is reported, and the gang stays without a plan. Thread safety: pure functions; an
// index has one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/gather/gather.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

// Of the condition Planned of a gang whose hosts another controller chose.
inline constexpr char kObservedReason[] = "Observed";

// Host of every rank. Errors: FailedPrecondition naming the first pod that does not agree, and how.
absl::StatusOr<std::vector<std::string>> HostsOfRunningPods(const gather::GatheredGang& gang,
                                                            int workers);

// Finds Nodes by their label kubernetes.io/hostname. Reads all of them once, at the first name that
// is not the name of the Node, too, as it usually is.
class HostnameIndex {
 public:
  using Nodes = state::ObjectTable<api::Node>;
  HostnameIndex(Nodes nodes) : nodes_(std::move(nodes)) {}  // NOLINT(google-explicit-constructor)
  // The name itself where no Node has that label.
  const std::string& NodeOf(const std::string& hostname) const;

 private:
  Nodes nodes_;
  mutable std::optional<std::unordered_map<std::string_view, const api::Node*>> by_label_;
};

// Hosts that another controller chose, by rank: each pod's nodeSelector names one by
// kubernetes.io/hostname. Ranks without a pod keep `before`, which is empty or has every rank.
// nullopt when some rank has no host, or no pod names one.
std::optional<std::vector<std::string>> HostsChosenByOthers(const gather::GatheredGang& gang,
                                                            int workers,
                                                            const std::vector<std::string>& before,
                                                            const HostnameIndex& nodes);

// Hosts of a gang that kube-scheduler placed by its core PodGroup, by rank: those that its pods are
// on. Ranks without a pod keep `before`, which is empty or has every rank. nullopt when some rank
// has no host.
std::optional<std::vector<std::string>> HostsChosenByCore(const gather::GatheredGang& gang,
                                                          int workers,
                                                          const std::vector<std::string>& before);

// Of a snapshot in which the gang is placed where its pods are: why that cannot be its plan; empty:
// it can. No GPU may be promised to another gang as well. With `verify` it has to pass what every
// plan of ours must pass; else no backup host may come to those that `gang` has already.
std::string AdoptionProblem(const plan::Snapshot& snapshot, const api::Gang& gang, bool verify);

}  // namespace yardmaster::extender
