// Decides for the webhook, from a View, to which candidate nodes a pod may go, how good each is,
// and which preemptions help. The functions keep no state, because the scheduler may ask about
// placements that it does not use.
//
//   - A pod of a gang may go only to the host of its slot, and to no node before its gang has a
//     place. A gang that kube-scheduler places (PodQuery::left_to_core) is also treated as ordinary
//     pods.
//   - Another GPU pod may not use backup hosts, promised GPUs and reserved hosts. It is steered to
//     the fullest segment.
//   - A pod without GPUs may go to every node.
//
// Thread safety: pure functions. Determinism: functions of their arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/extender/webhook/view.h"

namespace yardmaster::extender {

// The properties of a pod that the decisions depend on.
struct PodQuery {
  std::optional<NamespacedName> gang;  // set for gang pods
  int rank = -1;                       // set for gang pods; -1: not known
  int gpus = 0;
  bool counts_gpus = true;  // `gpus` is of the resource by which hosts are counted
  // kube-scheduler places the pod with its gang: treated like an ordinary pod, and accepted on the
  // host of its rank.
  bool left_to_core = false;
};

// Returns gang and rank of a pod that wants a gang (api::WantsGang). A pod that belongs to no gang,
// for example one with copied labels and no controller, gets a gang that is never planned: it stays
// pending, and its event gives the reason.
//
// kube-scheduler asks for each pod of a core PodGroup once for each placement that it tries, and
// undoes most of them; therefore the answer depends on the view only.
PodQuery QueryOfGangPod(const View& view, const api::Pod& pod);

// A small fixed set: the scheduler groups nodes by their phrases in its event.
enum class NodeVerdict {
  kFits,
  kNoGpusLeft,      // the free GPUs are promised to gangs
  kBackup,          // kept as backup host
  kReserved,        // reserved for a job that waits
  kOtherSlot,       // the pod's slot is another host
  kGangNotPlanned,  // the pod's gang has no place yet
};
std::string_view Phrase(NodeVerdict verdict);
// Whether evicting pods from the node could change the verdict (ExtenderFilterResult's
// FailedNodes); otherwise it belongs to FailedAndUnresolvableNodes.
bool EvictionCanHelp(NodeVerdict verdict);

// Returns the verdict for the time when the pods with these uids have been evicted.
NodeVerdict CheckNode(const View& view, const PodQuery& pod, std::string_view node,
                      const std::vector<std::string>& evicted_uids = {});

// Returns a verdict for each name. O(names).
std::vector<NodeVerdict> Filter(const View& view, const PodQuery& pod,
                                const std::vector<std::string_view>& names);

// Returns a score from 0 to 10 for each name. Nodes are ordered by the fraction of GPUs in use in
// their segment, then by that of the node. The fullest nodes get 10, the next fullest 9, and so on;
// from the eleventh level on nodes get 0. Nodes outside the fabric count as idle. For gang pods and
// pods without GPUs every score is 0. O(names log names).
std::vector<int> Prioritize(const View& view, const PodQuery& pod,
                            const std::vector<std::string_view>& names);

}  // namespace yardmaster::extender
