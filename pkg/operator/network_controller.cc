#include "pkg/operator/network_controller.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/fabric_status.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

namespace {

constexpr char kFieldManager[] = "yardmaster-operator";
constexpr int kConflictTries = 3;

using PodPtr = std::shared_ptr<const api::Pod>;

// Pods by the gang they have a slot in, "ns/gang" -> rank -> pod.
using PodsByGang = std::map<std::string, std::map<int, PodPtr>>;

PodsByGang IndexPods(const state::World& world) {
  PodsByGang index;
  for (const PodPtr& pod : world.pods) {
    auto text = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
    if (!text || pod->finished() || pod->metadata.deleted_ms) continue;
    auto slot = api::DecodeSlot(*text);
    if (slot.ok()) index[StrCat(pod->metadata.namespace_name, "/", slot->gang)][slot->rank] = pod;
  }
  return index;
}

std::optional<int> LevelOf(const api::Pod& pod) {
  auto text = api::Find(pod.metadata.annotations, api::kPriorityAnnotation);
  return text ? ParseNumber<int>(*text) : std::nullopt;
}

}  // namespace

struct NetworkController::PodWrite {
  PodPtr pod;
  std::map<std::string, std::string> annotations;
  int rise = 0;  // new level minus old
};

NetworkController::NetworkController(kube::Client& client, state::WorldCache& cache,
                                     const Clock& clock, Options options)
    : client_(client), cache_(cache), clock_(clock), options_(options) {}

void NetworkController::WriteFabrics(const state::World& world, const plan::Snapshot& snapshot,
                                     RoundReport& report) {
  bool used = true;  // the first by name
  for (const auto& fabric : world.fabrics) {
    const api::FabricStatus status = StatusOf(*fabric, snapshot, used, clock_.WallMs());
    used = false;
    if (status == fabric->status) continue;
    const nlohmann::json patch = {{"metadata", {{"uid", fabric->metadata.uid}}},
                                  {"status", api::EncodeFabricStatus(status)}};
    auto written = client_.Patch({kube::Fabrics(), "", fabric->metadata.name, "status"},
                                 kube::MergePatch(patch), {kFieldManager, false, false});
    if (written.ok()) {
      cache_.Assume(state::Kind::kFabric, *written);
      ++report.statuses;
    } else if (!absl::IsNotFound(written.status())) {
      report.errors.push_back(MessageOf(written.status()));
    }
  }
}

void NetworkController::WriteStatus(const api::Gang& gang, const api::NetworkStatus& network,
                                    RoundReport& report) {
  if (gang.status.network == network &&
      api::IsTrue(gang.status.conditions, api::kNetworkPlannedCondition)) {
    return;
  }
  const kube::Target target{kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name,
                            "status"};
  api::Gang next = gang;
  for (int attempt = 0; attempt < kConflictTries; ++attempt) {
    next.status.network = network;
    api::SetCondition(next.status.conditions,
                      {api::kNetworkPlannedCondition, api::ConditionStatus::kTrue, "Planned",
                       StrCat("level ", network.level), gang.metadata.generation, 0},
                      clock_.WallMs());
    auto written = client_.Replace(target, api::EncodeGang(next), {kFieldManager, false, false});
    if (written.ok()) {
      cache_.Assume(state::Kind::kGang, *written);
      ++report.statuses;
      return;
    }
    if (!absl::IsAborted(written.status())) {
      if (!absl::IsNotFound(written.status())) report.errors.push_back(MessageOf(written.status()));
      return;
    }
    // The extender wrote in between: keep its part, add ours.
    auto fresh = client_.Get({kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name, ""});
    if (!fresh.ok()) return;
    auto decoded = api::DecodeGang(*fresh);
    if (!decoded.ok()) return;
    next = *std::move(decoded);
  }
}

void NetworkController::CollectPods(const GangNetwork& network,
                                    const std::map<int, PodPtr>& members,
                                    const NetworkOptions& options, std::vector<PodWrite>& writes,
                                    RoundReport& report) {
  for (const auto& [rank, pod] : members) {
    if (static_cast<std::size_t>(rank) >= network.paths_of_rank.size()) continue;
    auto write = AnnotationsToWrite(network, rank, pod->metadata.annotations, options);
    if (!write.ok()) {
      report.errors.push_back(StrCat("Pod ", pod->metadata.namespace_name, "/", pod->metadata.name,
                                     ": ", MessageOf(write.status())));
      continue;
    }
    if (write->empty()) continue;
    const int rise = network.status.level - LevelOf(*pod).value_or(network.status.level);
    writes.push_back({pod, *std::move(write), rise});
  }
}

void NetworkController::WritePods(std::vector<PodWrite>& writes, RoundReport& report) {
  std::sort(writes.begin(), writes.end(), [](const PodWrite& a, const PodWrite& b) {
    return std::tie(a.rise, a.pod->metadata.namespace_name, a.pod->metadata.name) <
           std::tie(b.rise, b.pod->metadata.namespace_name, b.pod->metadata.name);
  });
  std::mutex mutex;
  // One rise after the other, so that what falls is down before anything climbs.
  for (std::size_t first = 0; first < writes.size();) {
    std::size_t last = first;
    while (last < writes.size() && writes[last].rise == writes[first].rise) ++last;
    ParallelFor(last - first, options_.write_threads, [&](std::size_t i) {
      const PodWrite& write = writes[first + i];
      const api::ObjectMeta& metadata = write.pod->metadata;
      const nlohmann::json patch = {
          {"metadata", {{"uid", metadata.uid}, {"annotations", write.annotations}}}};
      auto written = client_.Patch({kube::Pods(), metadata.namespace_name, metadata.name, ""},
                                   kube::MergePatch(patch), {kFieldManager, false, false});
      if (written.ok()) cache_.Assume(state::Kind::kPod, *written);
      std::lock_guard lock(mutex);
      if (written.ok()) {
        ++report.pods;
      } else if (!absl::IsNotFound(written.status()) && !absl::IsAborted(written.status()) &&
                 !absl::IsFailedPrecondition(written.status())) {
        report.errors.push_back(MessageOf(written.status()));
      }
    });
    first = last;
  }
}

RoundReport NetworkController::Round() {
  RoundReport report;
  state::World world = cache_.Take();
  world.jobs.clear();
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const api::Gang>> gangs;
  std::vector<std::shared_ptr<const api::Gang>> placed;
  for (const auto& gang : world.gangs) {
    if (!gang->status.committed()) continue;
    placed.push_back(gang);
    gangs[{gang->metadata.namespace_name, gang->metadata.name}] = gang;
  }
  world.gangs = std::move(placed);
  const plan::Snapshot snapshot = state::BuildSnapshot(world);
  WriteFabrics(world, snapshot, report);
  plan::PlanOptions plan_options;
  plan_options.network = plan_options.paths = true;
  plan_options.seed = options_.seed;
  const plan::Plan plan = plan::MakePlan(snapshot, plan_options);

  NetworkOptions options;
  options.fabric_generation =
      world.fabrics.empty() ? 0 : world.fabrics.front()->metadata.generation;
  options.now_ms = clock_.WallMs();
  options.life_ms = options_.path_plan_life_ms;
  const PodsByGang pods = IndexPods(world);
  std::vector<PodWrite> writes;
  for (const GangNetwork& network : NetworksOf(plan, snapshot, options)) {
    const workload::JobKey& key = snapshot.jobs[static_cast<std::size_t>(network.job)].job.key;
    auto gang = gangs.find({key.namespace_name, key.name});
    if (gang == gangs.end()) continue;
    ++report.gangs;
    WriteStatus(*gang->second, network.status, report);
    auto members = pods.find(key.text());
    if (members == pods.end()) continue;
    CollectPods(network, members->second, options, writes, report);
  }
  WritePods(writes, report);
  return report;
}

}  // namespace yardmaster::op
