// Finds the hosts of a gang whose plan exists outside its Gang object: its pods run, or another
// controller chose their hosts.
//
// If a user deletes a Gang under its running pods, its hosts are promised to no gang, and the
// planner would choose other hosts. HostsOfRunningPods rebuilds the plan from the pods if they all
// agree: every rank has exactly one unfinished pod, that pod is on a node, and its slot annotation
// names this gang and this rank. Otherwise the function returns an error and the gang stays without
// a plan.
//
// Thread safety: the functions are pure; a HostnameIndex belongs to one thread.
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

// Reason of the condition Planned of a gang whose hosts another controller or kube-scheduler chose.
inline constexpr char kObservedReason[] = "Observed";

// Returns the host of every rank. Errors: FailedPrecondition that names the first pod that
// disagrees, and why.
absl::StatusOr<std::vector<std::string>> HostsOfRunningPods(const gather::GatheredGang& gang,
                                                            int workers);

// Finds a Node by its label kubernetes.io/hostname. The label usually equals the Node's name. The
// index reads all Nodes, once, at the first host name that is not the name of such a Node.
class HostnameIndex {
 public:
  using Nodes = state::ObjectTable<api::Node>;
  HostnameIndex(Nodes nodes) : nodes_(std::move(nodes)) {}  // NOLINT(google-explicit-constructor)
  // Returns the name of the Node with that label; `hostname` itself if no Node has it.
  const std::string& NodeOf(const std::string& hostname) const;

 private:
  Nodes nodes_;
  mutable std::optional<std::unordered_map<std::string_view, const api::Node*>> by_label_;
};

// Returns, by rank, the hosts that another controller chose by the nodeSelector
// kubernetes.io/hostname of the pods. A rank without a pod keeps its host of `before`, which is
// empty or has every rank. nullopt if some rank has no host, or if no pod names one.
std::optional<std::vector<std::string>> HostsChosenByOthers(const gather::GatheredGang& gang,
                                                            int workers,
                                                            const std::vector<std::string>& before,
                                                            const HostnameIndex& nodes);

// Returns, by rank, the nodes to which kube-scheduler has bound the pods of a gang that it placed
// by a core PodGroup. A rank without a bound pod keeps its host of `before`, which is empty or has
// every rank. nullopt if some rank has no host.
std::optional<std::vector<std::string>> HostsChosenByCore(const gather::GatheredGang& gang,
                                                          int workers,
                                                          const std::vector<std::string>& before);

// Returns why the plan of `gang` in `snapshot` cannot be adopted; empty if it can. No host may be
// promised more GPUs than it has. With `verify` the plan has to pass plan::VerifyPlacement; without
// it, only hosts that `gang` already has may be backup hosts.
std::string AdoptionProblem(const plan::Snapshot& snapshot, const api::Gang& gang, bool verify);

}  // namespace yardmaster::extender
