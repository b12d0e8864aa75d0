#include "pkg/extender/webhook/decisions.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "pkg/api/rank_resolver.h"
#include "pkg/gather/gather.h"

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

// The shares of GPUs in use: of the node's segment, then of the node. A node outside the fabric is
// scored as an idle one in an idle segment.
using Fullness = std::pair<double, double>;

Fullness FullnessOf(const View& view, std::string_view node) {
  const fabric::HostId host = view.FindHost(node);
  if (!host.valid()) return {0, 0};
  const auto share = [](int free, int total) {
    return total > 0 ? static_cast<double>(total - free) / total : 0.0;
  };
  const fabric::SegmentId segment = view.snapshot().places->segment_of(host);
  const placement::HostState& state = view.snapshot().cluster.hosts[host.index()];
  return {share(view.free_gpus(segment), view.total_gpus(segment)),
          share(state.free_gpus, state.gpus)};
}

}  // namespace

PodQuery QueryOfGangPod(const View& view, const api::Pod& pod) {
  PodQuery query;
  query.gang = NamespacedName{pod.metadata.namespace_name, ""};
  query.left_to_core = gather::IsLeftToCore(pod);
  const auto membership = api::ResolveMembership(pod);
  if (!membership.ok() || !*membership || pod.metadata.controller() == nullptr) return query;
  query.gang->name = (*membership)->gang_name;
  if (const GangNote* note = view.FindNote(*query.gang)) {
    query.rank = api::RankOf(note->rank_bases, **membership).value_or(-1);
  }
  return query;
}

std::string_view Phrase(NodeVerdict verdict) {
  static constexpr std::string_view kPhrases[] = {"",
                                                  "node(s) whose free GPUs are promised to gangs",
                                                  "node(s) kept as backup hosts",
                                                  "node(s) reserved for a waiting job",
                                                  "node(s) outside the pod's slot in its gang",
                                                  "node(s) closed until the pod's gang is placed"};
  return kPhrases[static_cast<std::size_t>(verdict)];
}

bool EvictionCanHelp(NodeVerdict verdict) { return verdict == NodeVerdict::kNoGpusLeft; }

NodeVerdict CheckNode(const View& view, const PodQuery& pod, std::string_view node,
                      const std::vector<std::string>& evicted_uids) {
  if (pod.gang) {
    const NodeVerdict verdict = SlotOf(view, pod).On(node);
    if (!pod.left_to_core || verdict == NodeVerdict::kFits) return verdict;
  }
  if (pod.gpus <= 0) return NodeVerdict::kFits;
  const fabric::HostId host = view.FindHost(node);
  if (!host.valid()) return NodeVerdict::kFits;  // not of the fabric: nothing of ours to protect
  const placement::HostState& state = view.snapshot().cluster.hosts[host.index()];
  if (state.backup) return NodeVerdict::kBackup;
  if (state.reserved_for >= 0) return NodeVerdict::kReserved;
  // Of GPUs that hosts are not counted by, kube-scheduler counts what is free; so it does on a host
  // that has none to be promised.
  if (!pod.counts_gpus || state.gpus == 0 || state.free_gpus >= pod.gpus) return NodeVerdict::kFits;
  const auto freed = view.GpusFreedBy(evicted_uids);
  return freed && state.free_gpus + *freed >= pod.gpus ? NodeVerdict::kFits
                                                       : NodeVerdict::kNoGpusLeft;
}

std::vector<NodeVerdict> Filter(const View& view, const PodQuery& pod,
                                const std::vector<std::string_view>& names) {
  std::vector<NodeVerdict> verdicts;
  verdicts.reserve(names.size());
  if (pod.gang && !pod.left_to_core) {
    const Slot slot = SlotOf(view, pod);
    for (std::string_view name : names) verdicts.push_back(slot.On(name));
    return verdicts;
  }
  for (std::string_view name : names) verdicts.push_back(CheckNode(view, pod, name));
  return verdicts;
}

std::vector<int> Prioritize(const View& view, const PodQuery& pod,
                            const std::vector<std::string_view>& names) {
  std::vector<int> scores(names.size(), 0);
  if ((pod.gang && !pod.left_to_core) || pod.gpus <= 0) return scores;
  std::vector<Fullness> fullness;
  fullness.reserve(names.size());
  for (std::string_view name : names) fullness.push_back(FullnessOf(view, name));
  std::vector<Fullness> order = fullness;
  std::sort(order.begin(), order.end(), std::greater<>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = std::lower_bound(order.begin(), order.end(), fullness[i], std::greater<>());
    scores[i] = std::max(0, kMaxScore - static_cast<int>(at - order.begin()));
  }
  return scores;
}

}  // namespace yardmaster::extender
