#include "pkg/cli/output/unplanned_pods.h"

#include <cstdint>
#include <map>
#include <set>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

// What people call the job of a pod; nothing: it has no owner.
std::optional<api::OwnerReference> OwnerOf(const api::Pod& pod) {
  const auto membership = api::ResolveMembership(pod);
  if (membership.ok() && *membership) return (*membership)->owner;
  if (const auto* controller = pod.metadata.controller()) return *controller;
  return std::nullopt;
}

std::string WhyNot(const api::Pod& pod, std::int64_t gpus) {
  if (gpus == 0) return "none of its pods asks for GPUs, so kube-scheduler places them";
  if (api::Find(pod.metadata.annotations, api::kReleasedAnnotation)) {
    return "its pods were released without a place (annotation yardmaster.dev/released)";
  }
  if (api::WantsGang(pod)) {
    const auto membership = api::ResolveMembership(pod);
    if (!membership.ok()) return MessageOf(membership.status());
    return "its pods are there and no Gang is; the extender makes it within a second: if it does "
           "not, look whether it runs and what it logs, and at the events of the pods";
  }
  const auto membership = api::ResolveMembership(pod);
  return StrCat("its pods do not say their parallelism, so kube-scheduler places them one by one; ",
                "the annotation ", api::kParallelismAnnotation, ": \"dp=", gpus,
                "\" on the pod template (", gpus,
                " GPUs as one data-parallel group, or as in "
                "\"tp=8,pp=2\") makes them a gang",
                membership.ok() ? "" : StrCat("; also ", MessageOf(membership.status())));
}

}  // namespace

std::optional<UnplannedPods> FindUnplannedPods(const state::ClusterState& cluster,
                                               const std::string& ns, const std::string& job) {
  std::optional<UnplannedPods> out;
  std::shared_ptr<const api::Pod> first;
  std::map<std::string, std::int64_t> phases;
  std::int64_t pods = 0, gpus = 0;
  for (const auto& pod : cluster.pods) {
    if (pod->metadata.namespace_name != ns || pod->finished()) continue;
    const auto owner = OwnerOf(*pod);
    if (!owner || owner->name != job) continue;
    if (!out) out = UnplannedPods{ns, owner->kind, owner->name, "", "", "", ""};
    // One with GPUs says what the gang asks for.
    if (first == nullptr || (first->gpus() == 0 && pod->gpus() > 0)) first = pod;
    ++pods;
    gpus += pod->gpus();
    ++phases[pod->phase.empty() ? "Pending" : pod->phase];
    if (pod->unschedulable && out->kube_scheduler.empty()) {
      out->kube_scheduler = pod->unschedulable_message;
    }
  }
  if (!out) return std::nullopt;
  std::vector<std::string> counts;
  for (const auto& [phase, count] : phases) counts.push_back(StrCat(count, " ", phase));
  out->pods = StrCat(pods, ": ", Join(counts, ", "));
  out->state = api::WantsGang(*first) ? "Waiting" : "NotPlanned";
  out->why = WhyNot(*first, gpus);
  return out;
}

std::vector<std::string> OwnersOfPods(const state::ClusterState& cluster, const std::string& ns) {
  std::set<std::string> names;
  for (const auto& pod : cluster.pods) {
    if (pod->metadata.namespace_name != ns || pod->finished()) continue;
    if (const auto owner = OwnerOf(*pod)) names.insert(owner->name);
  }
  return {names.begin(), names.end()};
}

}  // namespace yardmaster::cli
