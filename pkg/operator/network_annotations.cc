#include "pkg/operator/network_annotations.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

std::string Ipv4(std::uint32_t address) {
  return StrCat(address >> 24, ".", address >> 16 & 255, ".", address >> 8 & 255, ".",
                address & 255);
}

template <typename T, typename Same>
T& FindOrAdd(std::vector<T>& list, T fresh, Same same) {
  auto at = std::find_if(list.begin(), list.end(), same);
  if (at != list.end()) return *at;
  list.push_back(std::move(fresh));
  return list.back();
}

void AddPath(const plan::PathAssignment& path, const plan::Snapshot& snapshot,
             api::PathPlan& plan) {
  api::RailPaths& rail =
      FindOrAdd(plan.rails, api::RailPaths{path.from.rail, {}},
                [&](const api::RailPaths& r) { return r.rail == path.from.rail; });
  const int plane = snapshot.network->plane_of(path.from);
  api::PeerPaths fresh;
  fresh.rank = path.to_rank;
  fresh.host = snapshot.places->name(path.to.host);
  fresh.address = Ipv4(snapshot.network->nic_address(path.to.host, path.to.rail));
  fresh.plane = plane;
  api::PeerPaths& peer = FindOrAdd(rail.peers, fresh, [&](const api::PeerPaths& p) {
    return p.rank == path.to_rank && p.plane == plane;
  });
  peer.source_ports.push_back(path.source_port);
}

void Sort(api::PathPlan& plan) {
  std::sort(plan.rails.begin(), plan.rails.end(),
            [](const auto& a, const auto& b) { return a.rail < b.rail; });
  for (api::RailPaths& rail : plan.rails) {
    std::sort(rail.peers.begin(), rail.peers.end(), [](const auto& a, const auto& b) {
      return std::tie(a.rank, a.plane) < std::tie(b.rank, b.plane);
    });
  }
}

// Whether the plan on the pod still says the same and has more than half of its life left.
bool StillGood(const std::string& text, const api::PathPlan& wanted,
               const NetworkOptions& options) {
  auto present = api::DecodePathPlan(text);
  if (!present.ok()) return false;
  return present->rails == wanted.rails && present->fabric_generation == wanted.fabric_generation &&
         present->expires_ms - options.now_ms > options.life_ms / 2;
}

}  // namespace

std::vector<GangNetwork> NetworksOf(const plan::Plan& plan, const plan::Snapshot& snapshot,
                                    const NetworkOptions& options) {
  std::vector<GangNetwork> networks;
  std::map<int, std::size_t> by_job;
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.network) continue;
    const plan::JobNetwork& numbers = *job.network;
    GangNetwork network;
    network.job = job.job;
    const workload::Job& of = snapshot.jobs[static_cast<std::size_t>(job.job)].job;
    network.status = {
        numbers.flop_per_iteration,
        numbers.communication_seconds,
        numbers.intensity,
        numbers.priority,
        numbers.level,
        of.profile.measured ? api::NetworkSource::kMeasured : api::NetworkSource::kAnalytic};
    // Whole seconds, as the annotation has it.
    const std::int64_t expires_ms = (options.now_ms + options.life_ms) / 1000 * 1000;
    network.paths_of_rank.resize(static_cast<std::size_t>(of.workers),
                                 {options.fabric_generation, expires_ms, {}});
    by_job[job.job] = networks.size();
    networks.push_back(std::move(network));
  }
  for (const plan::PathAssignment& path : plan.paths) {
    auto at = by_job.find(path.job);
    if (at == by_job.end() || path.source_port == 0) continue;
    auto& ranks = networks[at->second].paths_of_rank;
    AddPath(path, snapshot, ranks[static_cast<std::size_t>(path.from_rank)]);
  }
  for (GangNetwork& network : networks) {
    for (api::PathPlan& paths : network.paths_of_rank) Sort(paths);
  }
  return networks;
}

absl::StatusOr<std::map<std::string, std::string>> AnnotationsToWrite(
    const GangNetwork& network, int rank, const std::map<std::string, std::string>& present,
    const NetworkOptions& options) {
  std::map<std::string, std::string> write;
  const std::string level = StrCat(network.status.level);
  auto has_level = present.find(api::kPriorityAnnotation);
  if (has_level == present.end() || has_level->second != level) {
    write[api::kPriorityAnnotation] = level;
  }
  const api::PathPlan& paths = network.paths_of_rank[static_cast<std::size_t>(rank)];
  auto has_paths = present.find(api::kPathPlanAnnotation);
  if (has_paths != present.end() && StillGood(has_paths->second, paths, options)) return write;
  if (has_paths == present.end() && paths.rails.empty()) return write;
  YM_ASSIGN_OR_RETURN(write[api::kPathPlanAnnotation], api::EncodePathPlan(paths));
  return write;
}

}  // namespace yardmaster::op
