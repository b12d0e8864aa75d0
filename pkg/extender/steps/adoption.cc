#include "pkg/extender/steps/adoption.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/pass_facts.h"
#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

std::string Disagreement(const gather::GatheredGang& gang, const gather::GangMember& member) {
  const api::Pod& pod = *member.pod;
  if (pod.node_name.empty()) return "is on no node yet";
  const auto text = api::Find(pod.metadata.annotations, api::kSlotAnnotation);
  if (!text) return StrCat("has no annotation ", api::kSlotAnnotation);
  const auto slot = api::DecodeSlot(*text);
  if (!slot.ok()) return MessageOf(slot.status());
  if (slot->gang != gang.name || slot->rank != member.rank) {
    return StrCat("says that it is rank ", slot->rank, " of gang ", slot->gang);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> HostsOfRunningPods(const gather::GatheredGang& gang,
                                                            int workers) {
  if (!gather::IsComplete(gang, workers)) {
    return absl::FailedPreconditionError("not every rank has exactly one pod");
  }
  std::vector<std::string> hosts(static_cast<std::size_t>(workers));
  for (const gather::GangMember& member : gang.members) {
    if (std::string wrong = Disagreement(gang, member); !wrong.empty()) {
      return absl::FailedPreconditionError(StrCat("pod ", member.pod->metadata.name, " ", wrong));
    }
    hosts[static_cast<std::size_t>(*member.rank)] = member.pod->node_name;
  }
  return hosts;
}

const std::string& HostnameIndex::NodeOf(const std::string& hostname) const {
  constexpr char kLabel[] = "kubernetes.io/hostname";
  if (const auto named = nodes_.Find({"", hostname})) {
    const auto label = api::Find(named->metadata.labels, kLabel);
    if (!label || *label == hostname) return hostname;
  }
  if (!by_label_) {
    by_label_.emplace();
    for (const auto& node : nodes_) {
      if (const auto label = api::Find(node->metadata.labels, kLabel)) {
        by_label_->emplace(*label, node.get());
      }
    }
  }
  const auto at = by_label_->find(hostname);
  return at == by_label_->end() ? hostname : at->second->metadata.name;
}

std::optional<std::vector<std::string>> HostsChosenByOthers(const gather::GatheredGang& gang,
                                                            int workers,
                                                            const std::vector<std::string>& before,
                                                            const HostnameIndex& nodes) {
  std::vector<std::string> hosts = before;
  hosts.resize(static_cast<std::size_t>(workers));
  bool chosen = false;
  for (const gather::GangMember& member : gang.members) {
    const std::string hostname = member.pod->selected_host();
    if (hostname.empty() || !member.rank || *member.rank >= workers) continue;
    hosts[static_cast<std::size_t>(*member.rank)] = nodes.NodeOf(hostname);
    chosen = true;
  }
  for (const std::string& host : hosts) {
    if (host.empty()) return std::nullopt;
  }
  return chosen ? std::optional(std::move(hosts)) : std::nullopt;
}

std::optional<std::vector<std::string>> HostsChosenByCore(const gather::GatheredGang& gang,
                                                          int workers,
                                                          const std::vector<std::string>& before) {
  std::vector<std::string> hosts = before;
  hosts.resize(static_cast<std::size_t>(workers));
  for (const gather::GangMember& member : gang.members) {
    if (!member.rank || *member.rank >= workers || member.pod->node_name.empty()) continue;
    hosts[static_cast<std::size_t>(*member.rank)] = member.pod->node_name;
  }
  const bool whole = std::none_of(hosts.begin(), hosts.end(),
                                  [](const std::string& host) { return host.empty(); });
  return whole ? std::optional(std::move(hosts)) : std::nullopt;
}

std::string AdoptionProblem(const plan::Snapshot& snapshot, const api::Gang& gang, bool verify) {
  const plan::JobId id = IdOfJob(snapshot, KeyOf(gang.metadata));
  if (!id.valid()) return "it contradicts itself";
  const plan::JobState& job = snapshot.jobs[id.index()];
  if (!job.problems.empty()) return job.problems.front();
  if (!job.assignment) return "a pod is on a node that is not of the fabric";
  const std::vector<std::int64_t> promised = PromisedGpus(snapshot);
  for (fabric::HostId host : job.assignment->host_of_rank) {
    if (promised[host.index()] > snapshot.cluster.hosts[host.index()].gpus) {
      return StrCat("host ", snapshot.places->name(host), " is promised to others, too");
    }
  }
  const auto& before = gang.status.assignments;
  for (std::size_t rank = 0; !verify && rank < job.assignment->host_of_rank.size(); ++rank) {
    const fabric::HostId host = job.assignment->host_of_rank[rank];
    const std::string& name = snapshot.places->name(host);
    const bool kept = rank < before.size() && before[rank].host == name;
    if (snapshot.cluster.hosts[host.index()].backup && !kept) {
      return StrCat("host ", name, " is kept as backup");
    }
  }
  if (!verify) return "";
  const absl::Status sound = plan::VerifyPlacement(snapshot, id, job.assignment->host_of_rank,
                                                   /*may_use_backup=*/true);
  return sound.ok() ? "" : MessageOf(sound);
}

}  // namespace yardmaster::extender
