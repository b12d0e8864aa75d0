#include "pkg/extender/decisions.h"

#include <algorithm>

namespace yardmaster::extender {

namespace {

constexpr int kMaxScore = 10;

// Where a gang's pod belongs.
struct Slot {
  NodeVerdict elsewhere = NodeVerdict::kOtherSlot;  // on every node but `node`
  std::string_view node;                            // empty: there is none

  NodeVerdict On(std::string_view name) const {
    return !node.empty() && name == node ? NodeVerdict::kFits : elsewhere;
  }
};

Slot SlotOf(const View& view, const PodQuery& pod) {
  const plan::JobState* gang = view.FindGang(*pod.gang);
  if (gang == nullptr || !gang->assignment) return {NodeVerdict::kGangNotPlanned, {}};
  const auto& hosts = gang->assignment->host_of_rank;
  if (pod.rank < 0 || static_cast<std::size_t>(pod.rank) >= hosts.size()) return {};
  const fabric::HostId host = hosts[static_cast<std::size_t>(pod.rank)];
  if (!host.valid()) return {};  // its Node is gone
  return {NodeVerdict::kOtherSlot, view.snapshot().places->name(host)};
}

}  // namespace

std::string_view Phrase(NodeVerdict verdict) {
  switch (verdict) {
    case NodeVerdict::kFits:
      return "";
    case NodeVerdict::kNoGpusLeft:
      return "node(s) whose free GPUs are promised to gangs";
    case NodeVerdict::kBackup:
      return "node(s) kept as backup hosts";
    case NodeVerdict::kReserved:
      return "node(s) reserved for a waiting job";
    case NodeVerdict::kOtherSlot:
      return "node(s) outside the pod's slot in its gang";
    case NodeVerdict::kGangNotPlanned:
      return "node(s) closed until the pod's gang is placed";
  }
  return "";
}

bool EvictionCanHelp(NodeVerdict verdict) { return verdict == NodeVerdict::kNoGpusLeft; }

NodeVerdict Judge(const View& view, const PodQuery& pod, std::string_view node) {
  return JudgeWithout(view, pod, node, {});
}

NodeVerdict JudgeWithout(const View& view, const PodQuery& pod, std::string_view node,
                         const std::vector<std::string>& evicted_uids) {
  if (pod.gang) return SlotOf(view, pod).On(node);
  if (pod.gpus <= 0) return NodeVerdict::kFits;
  const fabric::HostId host = view.FindHost(node);
  if (!host.valid()) return NodeVerdict::kFits;  // not of the fabric: nothing of ours to protect
  const placement::HostState& state = view.snapshot().cluster.hosts[host.index()];
  if (state.backup) return NodeVerdict::kBackup;
  if (state.reserved_for >= 0) return NodeVerdict::kReserved;
  // Of GPUs that hosts are not counted by, kube-scheduler counts what is free.
  if (!pod.counts_gpus || state.free_gpus >= pod.gpus) return NodeVerdict::kFits;
  const auto freed = view.GpusFreedBy(evicted_uids);
  return freed && state.free_gpus + *freed >= pod.gpus ? NodeVerdict::kFits
                                                       : NodeVerdict::kNoGpusLeft;
}

std::vector<NodeVerdict> Filter(const View& view, const PodQuery& pod,
                                const std::vector<std::string_view>& names) {
  std::vector<NodeVerdict> verdicts;
  verdicts.reserve(names.size());
  if (pod.gang) {
    const Slot slot = SlotOf(view, pod);
    for (std::string_view name : names) verdicts.push_back(slot.On(name));
    return verdicts;
  }
  for (std::string_view name : names) verdicts.push_back(Judge(view, pod, name));
  return verdicts;
}

std::vector<int> Prioritize(const View& view, const PodQuery& pod,
                            const std::vector<std::string_view>& names) {
  std::vector<int> scores(names.size(), 0);
  if (pod.gang || pod.gpus <= 0) return scores;
  const plan::Snapshot& snapshot = view.snapshot();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fabric::HostId host = view.FindHost(names[i]);
    if (!host.valid()) continue;
    const fabric::SegmentId segment = snapshot.places->segment_of(host);
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    // The segment counts up to 8, the node up to 2.
    const double segment_used =
        1.0 - static_cast<double>(view.free_gpus(segment)) / std::max(1, view.total_gpus(segment));
    const double node_used =
        1.0 - static_cast<double>(state.free_gpus) / std::max<int>(1, state.gpus);
    scores[i] = std::clamp(static_cast<int>(segment_used * 8 + node_used * 2), 0, kMaxScore);
  }
  return scores;
}

}  // namespace yardmaster::extender
