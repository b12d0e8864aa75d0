#include "pkg/cli/output/host_description.h"

#include <algorithm>
#include <cmath>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/incomplete_gang.h"
#include "pkg/plan/residual_bandwidth.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

namespace {

using placement::Unavailability;

std::string TaintsOf(const api::Node& node) {
  std::vector<std::string> taints;
  for (const api::Taint& taint : node.taints) {
    const std::string_view effect = api::kTaintEffectNames[static_cast<std::size_t>(taint.effect)];
    taints.push_back(StrCat(taint.key, taint.value.empty() ? "" : "=", taint.value, ":", effect));
  }
  return Join(taints, ", ");
}

std::string StateText(const placement::HostState& state, bool has_domains) {
  switch (state.unavailable) {
    case Unavailability::kNotReady:
      return "not ready: it gets no worker, and its ranks move";
    case Unavailability::kCordoned:
      return "cordoned: it gets no worker; pods there stay";
    case Unavailability::kTainted:
      return "tainted: no waiting job tolerates all of its taints";
    case Unavailability::kSegmentLost:
      return "its segment is lost as a whole: it gets no worker, and its ranks move";
    case Unavailability::kDomainLost:
      return "its domain is lost as a whole: it gets no worker, and its ranks move";
    case Unavailability::kNo:
      break;
  }
  std::string text = StrCat("usable, ", state.free_gpus, " of ", state.gpus, " GPUs free");
  if (state.backup) {
    text += ", backup host: kept free to replace another of its ";
    text += has_domains ? "domain, then of its segment" : "segment";
  }
  return text;
}

// ", domain d1 (16 of 18 hosts usable, 4 free)"; nothing where hosts have no domains.
std::string DomainText(const plan::Snapshot& snapshot, fabric::HostId id) {
  const fabric::Places& places = *snapshot.places;
  if (!places.has_domains()) return "";
  const fabric::DomainId domain = places.domain_of(id);
  int usable = 0, free = 0;
  for (fabric::HostId host : places.hosts_of(domain)) {
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    if (state.unavailable != Unavailability::kNo) continue;
    ++usable;
    free += state.free_gpus == state.gpus ? 1 : 0;
  }
  return StrCat(", domain ", places.name(domain), " (", usable, " of ",
                Count(places.hosts_of(domain).size(), "host"), " usable, ", free, " free)");
}

std::string GangText(const state::Subject& subject, const api::AssignmentEntry& entry,
                     std::int64_t now_ms) {
  std::string text = StrCat(subject.kind, " ", subject.namespace_name, "/", subject.name, " rank ",
                            entry.rank, ", plan ", subject.gang->status.plan_generation);
  if (subject.gang->status.committed_ms > 0) {
    text += StrCat(", since ", FormatTime(subject.gang->status.committed_ms), " (",
                   Ago(subject.gang->status.committed_ms, now_ms), ")");
  }
  return text;
}

void AddHolders(const state::ClusterState& cluster, const std::string& host, std::int64_t now_ms,
                Description& description) {
  bool held = false;
  for (const state::Subject& subject : state::SubjectsOf(cluster)) {
    if (subject.gang == nullptr) continue;
    const api::GangStatus& status = subject.gang->status;
    const bool ended = api::IsTrue(status.conditions, state::kFinishedCondition);
    for (const api::AssignmentEntry& entry : status.assignments) {
      if (ended || entry.host != host) continue;
      description.emplace_back("held by", GangText(subject, entry, now_ms));
      held = true;
    }
    if (status.preemption &&
        std::count(status.preemption->hosts.begin(), status.preemption->hosts.end(), host) > 0) {
      description.emplace_back("kept for", StrCat(subject.kind, " ", subject.namespace_name, "/",
                                                  subject.name, ", for which others are stopped"));
    }
    for (const api::HostRefusal& refusal : status.refusals) {
      if (refusal.host != host) continue;
      description.emplace_back(
          "refused", StrCat("kube-scheduler refused rank ", refusal.rank, " of ",
                            subject.namespace_name, "/", subject.name, " here: ", refusal.message,
                            "; not tried again before ", FormatTime(refusal.until_ms)));
    }
  }
  if (!held) description.emplace_back("held by", "no gang");
}

void AddPods(const state::ClusterState& cluster, const std::string& host, std::int64_t now_ms,
             Description& description) {
  for (const auto& pod : cluster.pods) {
    if (pod->node_name != host || pod->finished() || pod->gpus() == 0) continue;
    description.emplace_back(
        "pod", StrCat(pod->metadata.namespace_name, "/", pod->metadata.name, ", ",
                      Count(pod->gpus(), "GPU"), ", ", pod->phase.empty() ? "Pending" : pod->phase,
                      ", made ", Ago(pod->metadata.created_ms, now_ms),
                      pod->metadata.deleted_ms ? ", is being deleted" : ""));
  }
}

}  // namespace

std::string Ago(std::int64_t then_ms, std::int64_t now_ms) {
  if (then_ms <= 0 || now_ms <= 0) return "-";
  const std::int64_t seconds = std::max<std::int64_t>(0, (now_ms - then_ms) / 1000);
  if (seconds < 120) return StrCat(Count(seconds, "second"), " ago");
  if (seconds < 7'200) return StrCat(Count(seconds / 60, "minute"), " ago");
  if (seconds < 172'800) return StrCat(Count(seconds / 3'600, "hour"), " ago");
  return StrCat(Count(seconds / 86'400, "day"), " ago");
}

absl::StatusOr<Description> DescribeHost(const state::ClusterState& cluster,
                                         const std::string& host, std::int64_t now_ms) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::HostId id = snapshot.places->FindHost(host);
  const auto node = cluster.nodes.Find({"", host});
  if (!id.valid() && node == nullptr) {
    std::vector<std::string> names;
    for (fabric::HostId each : snapshot.places->hosts())
      names.push_back(snapshot.places->name(each));
    const std::string meant = api::Nearest(host, names);
    return absl::NotFoundError(StrCat("there is no node ", host,
                                      meant.empty() ? "" : StrCat("; did you mean ", meant, "?")));
  }
  Description description = {{"host", host}};
  if (!id.valid()) {
    description.emplace_back("place",
                             "none: the Node has no labels of a place, so nothing is placed there");
  } else {
    const fabric::SegmentId segment = snapshot.places->segment_of(id);
    description.emplace_back(
        "place",
        StrCat("fabric pod ", snapshot.places->name(snapshot.places->fabric_pod_of(segment)),
               ", segment ", snapshot.places->name(segment), DomainText(snapshot, id)));
    const placement::HostState& state = snapshot.cluster.hosts[id.index()];
    description.emplace_back("state", StateText(state, snapshot.places->has_domains()));
    if (state.degraded) {
      description.emplace_back("degraded", "a NIC port or uplink is down, or loses packets");
    }
    if (snapshot.network != nullptr && snapshot.network->spec().nic_spraying) {
      const plan::ResidualBandwidth left = plan::ResidualOf(snapshot, id);
      if (left.share < 1) {
        description.emplace_back("bandwidth", StrCat(std::lround(100 * left.share), " % on rail ",
                                                     left.rail, ", its narrowest"));
      }
    }
  }
  if (node == nullptr) {
    description.emplace_back("node", "gone; the ledger still names it");
  } else {
    if (!node->taints.empty()) description.emplace_back("taints", TaintsOf(*node));
    const auto ports = api::Find(node->metadata.annotations, api::kDownPortsAnnotation);
    if (ports && !ports->empty()) description.emplace_back("ports down", std::string(*ports));
    const auto lossy = api::Find(node->metadata.annotations, api::kLossyPortsAnnotation);
    if (lossy && !lossy->empty()) {
      description.emplace_back("lossy ports", StrCat(*lossy, " frames of a million"));
    }
  }
  AddHolders(cluster, host, now_ms, description);
  AddPods(cluster, host, now_ms, description);
  return description;
}

absl::StatusOr<Description> DescribePod(const state::ClusterState& cluster, const std::string& ns,
                                        const std::string& name, std::int64_t now_ms) {
  const auto pod = cluster.pods.Find({ns, name});
  if (pod == nullptr) {
    return absl::NotFoundError(StrCat("there is no pod ", name, " in namespace ", ns));
  }
  Description description = {{"pod", StrCat(ns, "/", name)},
                             {"phase", pod->phase.empty() ? "Pending" : pod->phase},
                             {"made", Ago(pod->metadata.created_ms, now_ms)},
                             {"GPUs", StrCat(pod->gpus())}};
  if (!pod->node_name.empty()) description.emplace_back("host", pod->node_name);
  const auto membership = api::ResolveMembership(*pod);
  if (!membership.ok()) {
    description.emplace_back("gang", StrCat("unknown: ", MessageOf(membership.status())));
  } else if (!*membership) {
    description.emplace_back("gang", "none: filter and prioritize steer it, it is not planned");
  } else {
    const NamespacedName key{ns, (*membership)->gang_name};
    const auto gang = cluster.gangs.Find(key);
    description.emplace_back("gang", key.name + (gang == nullptr ? ", not made yet" : ""));
    for (const gather::IncompleteGang& waits : gather::IncompleteGangsOf(cluster)) {
      if (waits.gang == key) description.emplace_back("pods", waits.text);
    }
    if (gang != nullptr) {
      for (const state::Subject& subject : state::SubjectsOf(cluster)) {
        if (subject.gang == gang.get())
          description.emplace_back("job", StrCat(subject.kind, " ", ns, "/", subject.name, ", ",
                                                 state::StateOf(subject)));
      }
    }
  }
  if (pod->gated()) {
    description.emplace_back(
        "gate", "closed: it waits for its gang's place; kubectl yardmaster explain JOB says why");
  }
  if (pod->gated_by_others())
    description.emplace_back("gate", "another controller's gate is closed, too");
  if (pod->unschedulable) description.emplace_back("kube-scheduler", pod->unschedulable_message);
  for (const auto& [label, key] : std::vector<std::pair<const char*, const char*>>{
           {"slot", api::kSlotAnnotation}, {"level", api::kPriorityAnnotation}}) {
    if (const auto text = api::Find(pod->metadata.annotations, key)) {
      description.emplace_back(label, std::string(*text));
    }
  }
  description.emplace_back("path plan",
                           api::Find(pod->metadata.annotations, api::kPathPlanAnnotation)
                               ? "written"
                               : "none: default behaviour of the network");
  for (const std::string& problem : pod->problems) description.emplace_back("problem", problem);
  return description;
}

}  // namespace yardmaster::cli
