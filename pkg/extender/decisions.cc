#include "pkg/extender/decisions.h"

#include <algorithm>

namespace yardmaster::extender {

namespace {

constexpr int kMaxScore = 10;

// Where a gang's pod belongs.
struct Slot {
  Verdict elsewhere = Verdict::kOtherSlot;  // on every node but `node`
  std::string_view node;                    // empty: there is none

  Verdict On(std::string_view name) const {
    return !node.empty() && name == node ? Verdict::kFits : elsewhere;
  }
};

Slot SlotOf(const View& view, const PodQuery& pod) {
  const plan::JobState* gang = view.FindGang(*pod.gang);
  if (gang == nullptr || !gang->assignment) return {Verdict::kGangNotPlanned, {}};
  const auto& hosts = gang->assignment->host_of_rank;
  if (pod.rank < 0 || static_cast<std::size_t>(pod.rank) >= hosts.size()) return {};
  const fabric::HostId host = hosts[static_cast<std::size_t>(pod.rank)];
  if (!host.valid()) return {};  // its Node is gone
  return {Verdict::kOtherSlot, view.snapshot().places->name(host)};
}

}  // namespace

std::string_view Phrase(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "";
    case Verdict::kNoGpusLeft:
      return "node(s) whose free GPUs are promised to gangs";
    case Verdict::kBackup:
      return "node(s) kept as backup hosts";
    case Verdict::kReserved:
      return "node(s) reserved for a waiting job";
    case Verdict::kOtherSlot:
      return "node(s) outside the pod's slot in its gang";
    case Verdict::kGangNotPlanned:
      return "node(s) closed until the pod's gang is placed";
  }
  return "";
}

bool EvictionCanHelp(Verdict verdict) { return verdict == Verdict::kNoGpusLeft; }

Verdict Judge(const View& view, const PodQuery& pod, std::string_view node) {
  return JudgeWithout(view, pod, node, {});
}

Verdict JudgeWithout(const View& view, const PodQuery& pod, std::string_view node,
                     const std::vector<std::string>& evicted_uids) {
  if (pod.gang) return SlotOf(view, pod).On(node);
  if (pod.gpus <= 0) return Verdict::kFits;
  const fabric::HostId host = view.FindHost(node);
  if (!host.valid()) return Verdict::kFits;  // not of the fabric: nothing of ours to protect
  const placement::HostState& state = view.snapshot().cluster.hosts[host.index()];
  if (state.backup) return Verdict::kBackup;
  if (state.reserved_for >= 0) return Verdict::kReserved;
  // Of GPUs that hosts are not counted by, kube-scheduler counts what is free.
  if (!pod.counts_gpus || state.free_gpus >= pod.gpus) return Verdict::kFits;
  const auto freed = view.GpusFreedBy(evicted_uids);
  return freed && state.free_gpus + *freed >= pod.gpus ? Verdict::kFits : Verdict::kNoGpusLeft;
}

std::vector<Verdict> Filter(const View& view, const PodQuery& pod,
                            const std::vector<std::string_view>& names) {
  std::vector<Verdict> verdicts;
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
    // The segment decides (0..8), the node breaks ties inside it (0..2).
    const double segment_used =
        1.0 - static_cast<double>(view.free_gpus(segment)) / std::max(1, view.total_gpus(segment));
    const double node_used =
        1.0 - static_cast<double>(state.free_gpus) / std::max<int>(1, state.gpus);
    scores[i] = std::clamp(static_cast<int>(segment_used * 8 + node_used * 2), 0, kMaxScore);
  }
  return scores;
}

}  // namespace yardmaster::extender
