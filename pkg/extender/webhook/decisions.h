// The webhook's answers as pure functions of a View: which of the scheduler's candidate nodes a pod
// may go to, how good each is, and which preemptions make sense. The scheduler may ask for
// placements that it rolls back, so nothing is remembered here.
//
// A pod of a gang goes to its slot's host and nowhere else; before its gang is planned it goes
// nowhere. Any other GPU pod is kept off backup hosts, promised GPUs and reserved hosts, and is
// steered to the tightest segment. Pods that ask for no GPU pass through.
//
// Determinism and thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/extender/webhook/view.h"

namespace yardmaster::extender {

// What of a pod matters here.
struct PodQuery {
  std::optional<NamespacedName> gang;  // set for gang pods
  int rank = -1;                       // of gang pods; -1: not known
  int gpus = 0;
  bool counts_gpus = true;  // they are those that hosts are counted by
  // kube-scheduler places it with its gang: like an ordinary pod, and on the host of its rank.
  bool left_to_core = false;
};

// Gang and rank of a pod that wants a gang (api::WantsGang). A pod that no gang counts, for example
// one with copied labels and no controller, gets a gang that is never planned: it waits, as its
// event says. kube-scheduler asks for each pod of a core PodGroup once for each placement of the
// group that it tries, and takes most of them back: answers follow from the view alone.
PodQuery QueryOfGangPod(const View& view, const api::Pod& pod);

// Few, fixed phrases: the scheduler groups nodes by them in its event.
enum class NodeVerdict {
  kFits,
  kNoGpusLeft,      // the GPUs that are free are promised to gangs
  kBackup,          // kept as backup host
  kReserved,        // reserved for a job that waits
  kOtherSlot,       // the pod's slot is another host
  kGangNotPlanned,  // the pod's gang has no place yet
};
std::string_view Phrase(NodeVerdict verdict);
// Whether evicting pods from the node could change the verdict (ExtenderFilterResult's
// FailedNodes); otherwise it belongs to FailedAndUnresolvableNodes.
bool EvictionCanHelp(NodeVerdict verdict);

// Once the pods of these uids have been evicted.
NodeVerdict CheckNode(const View& view, const PodQuery& pod, std::string_view node,
                      const std::vector<std::string>& evicted_uids = {});

// By input position. `names` as the scheduler sent them. O(names).
std::vector<NodeVerdict> Filter(const View& view, const PodQuery& pod,
                                const std::vector<std::string_view>& names);

// The place of each name in the order: first by the share of its segment's GPUs that are in use,
// then by that of the node's own. The fullest nodes get 10, the next fullest 9, and so on; from the
// eleventh on all get 0, because kube-scheduler takes scores from 0 to 10. Nodes outside the fabric
// are scored as idle. Gang pods and pods without GPUs get 0 everywhere (their place is not a matter
// of score). O(names * log names).
std::vector<int> Prioritize(const View& view, const PodQuery& pod,
                            const std::vector<std::string_view>& names);

}  // namespace yardmaster::extender
