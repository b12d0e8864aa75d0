#include "pkg/operator/network/network_annotations.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/annotation.h"
#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/traffic_class.h"

namespace yardmaster::op {

namespace {

template <typename T, typename Same>
T& FindOrAdd(std::vector<T>& list, T fresh, Same same) {
  auto at = std::find_if(list.begin(), list.end(), same);
  if (at != list.end()) return *at;
  list.push_back(std::move(fresh));
  return list.back();
}

void AddPath(const netplan::PathAssignment& path, const plan::Snapshot& snapshot,
             api::PodPathPlan& plan) {
  api::RailPaths& rail =
      FindOrAdd(plan.rails, api::RailPaths{path.src.rail, {}},
                [&](const api::RailPaths& r) { return r.rail == path.src.rail; });
  rail.address = snapshot.network->nic_address(path.src.host, path.src.rail).ToString();
  const int plane = snapshot.network->plane_of(path.src);
  api::PeerPaths fresh;
  fresh.rank = path.to_rank;
  fresh.host = snapshot.places->name(path.dst.host);
  fresh.address = snapshot.network->nic_address(path.dst.host, path.dst.rail).ToString();
  fresh.plane = plane;
  api::PeerPaths& peer = FindOrAdd(rail.peers, fresh, [&](const api::PeerPaths& p) {
    return p.rank == fresh.rank && p.plane == plane && p.address == fresh.address;
  });
  peer.source_ports.push_back(path.source_port);
  peer.alternate_ports.push_back(path.alternate_port);
}

void Sort(api::PodPathPlan& plan) {
  std::sort(plan.rails.begin(), plan.rails.end(),
            [](const auto& a, const auto& b) { return a.rail < b.rail; });
  for (api::RailPaths& rail : plan.rails) {
    std::sort(rail.peers.begin(), rail.peers.end(), [](const auto& a, const auto& b) {
      return std::tie(a.rank, a.plane, a.address) < std::tie(b.rank, b.plane, b.address);
    });
    for (api::PeerPaths& peer : rail.peers) {
      auto& ports = peer.alternate_ports;
      if (std::count(ports.begin(), ports.end(), 0) == static_cast<std::ptrdiff_t>(ports.size())) {
        ports.clear();
      }
    }
  }
}

// Not less than the text of the plan has, without making it.
std::size_t MostBytes(const api::PodPathPlan& plan) {
  std::size_t bytes = 512;
  for (const api::RailPaths& rail : plan.rails) {
    bytes += 128;
    for (const api::PeerPaths& peer : rail.peers) {
      bytes += 128 + peer.host.size() + peer.address.size() +
               6 * (peer.source_ports.size() + peer.alternate_ports.size());
      for (const api::TcpPaths& tcp : peer.tcp) bytes += 64 + 6 * tcp.source_ports.size();
    }
  }
  return bytes;
}

// Leaves out what does not fit into the annotation: TCP ports, then alternate ports, then all
// ports, so that connections use the default. Returns what was left out, for people; empty:
// nothing.
std::string Shorten(api::PodPathPlan& plan) {
  const auto fits = [&plan] {
    return MostBytes(plan) <= api::kMaxAnnotationBytes || api::EncodePathPlan(plan).ok();
  };
  if (fits()) return "";
  const auto clear = [&plan](auto part) {
    for (api::RailPaths& rail : plan.rails) {
      for (api::PeerPaths& peer : rail.peers) (peer.*part).clear();
    }
  };
  clear(&api::PeerPaths::tcp);
  if (fits()) return "its TCP ports are left out";
  clear(&api::PeerPaths::alternate_ports);
  if (fits()) return "its TCP ports and alternate ports are left out";
  plan.rails.clear();
  return "all its ports are left out, and connections choose their own";
}

}  // namespace

std::vector<GangNetwork> NetworksOf(const netplan::NetworkPlan& plan,
                                    const plan::Snapshot& snapshot, const NetworkOptions& options) {
  std::vector<GangNetwork> networks;
  std::map<plan::JobId, std::size_t> by_job;
  for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
    if (!plan.jobs[j]) continue;
    const netplan::JobNetwork& numbers = *plan.jobs[j];
    GangNetwork network;
    network.job = plan::JobId(static_cast<std::int32_t>(j));
    const workload::Job& of = snapshot.jobs[j].job;
    network.share = numbers.share;
    network.status = {
        numbers.flop_per_iteration,
        numbers.communication_seconds,
        numbers.intensity,
        numbers.priority,
        numbers.level,
        of.profile.measured ? api::NetworkSource::kMeasured : api::NetworkSource::kAnalytic};
    // Whole seconds, as the annotation has it.
    const std::int64_t expires_ms = (options.now_ms + options.life_ms) / 1000 * 1000;
    network.paths_of_rank.resize(
        static_cast<std::size_t>(of.workers),
        {options.fabric_generation, expires_ms, {}, {}, options.fabric_uid});
    by_job[network.job] = networks.size();
    networks.push_back(std::move(network));
  }
  for (const std::vector<netplan::PathAssignment>* paths : {&plan.paths, &plan.ack_paths}) {
    for (const netplan::PathAssignment& path : *paths) {
      auto at = by_job.find(path.job);
      if (at == by_job.end() || path.source_port == 0) continue;
      auto& ranks = networks[at->second].paths_of_rank;
      AddPath(path, snapshot, ranks[static_cast<std::size_t>(path.from_rank)]);
    }
  }
  for (GangNetwork& network : networks) {
    for (api::PodPathPlan& paths : network.paths_of_rank) Sort(paths);
  }
  return networks;
}

absl::StatusOr<PodChange> AnnotationsToWrite(const GangNetwork& network, int rank,
                                             const std::map<std::string, std::string>& present,
                                             const NetworkOptions& options) {
  PodChange change;
  const std::string level = StrCat(network.status.level);
  const auto has_level = present.find(api::kPriorityAnnotation);
  const bool same_level = has_level != present.end() && has_level->second == level;
  if (!same_level) change.annotations[api::kPriorityAnnotation] = level;
  api::PodPathPlan wanted = network.paths_of_rank[static_cast<std::size_t>(rank)];
  if (auto of_level = fabric::TrafficClassOf(options.levels, network.status.level); of_level.ok()) {
    wanted.traffic_class = *of_level;
    std::string conf = StrCat("NCCL_IB_TC=", *of_level, "\n");
    const auto has_conf = present.find(api::kNcclConfAnnotation);
    if (has_conf == present.end() || has_conf->second != conf) {
      change.annotations[api::kNcclConfAnnotation] = std::move(conf);
    }
  }
  if (const std::string left_out = Shorten(wanted); !left_out.empty()) {
    change.problem = StrCat(api::kPathPlanAnnotation, ": a plan for so many peers is longer than ",
                            api::kMaxAnnotationBytes / 1024, " KiB; ", left_out);
  }
  const auto has_paths = present.find(api::kPathPlanAnnotation);
  if (has_paths == present.end()) {
    if (wanted.rails.empty()) return change;
  } else if (const auto standing = api::DecodePathPlan(has_paths->second); standing.ok()) {
    change.expires_ms = standing->expires_ms;
    const bool same = standing->rails == wanted.rails &&
                      standing->traffic_class == wanted.traffic_class &&
                      standing->fabric_generation == wanted.fabric_generation &&
                      (standing->fabric_uid.empty() || standing->fabric_uid == wanted.fabric_uid);
    if (same && standing->expires_ms - options.now_ms > options.life_ms / 2) return change;
    change.renewal =
        same && same_level && change.annotations.empty() && standing->expires_ms > options.now_ms;
  }
  YM_ASSIGN_OR_RETURN(change.annotations[api::kPathPlanAnnotation], api::EncodePathPlan(wanted));
  return change;
}

void AddGenerationAnnotation(const api::Pod& pod, std::int64_t plan_generation, PodChange& change) {
  if (!pod.gated()) return;
  std::string text = StrCat(plan_generation);
  const auto said = api::Find(pod.metadata.annotations, api::kNetworkGenerationAnnotation);
  if (said && *said == text) return;
  change.annotations[api::kNetworkGenerationAnnotation] = std::move(text);
  change.renewal = false;
}

}  // namespace yardmaster::op
