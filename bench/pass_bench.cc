// One pass of the extender's planner when nothing has to be written: what every change in the
// cluster costs. Gangs of 128 workers run on all hosts but the backup ones; the rest of the pods
// ask for no GPU.
//
//   bench/pass_bench [NODES PODS]...      default: 2040 15000 16320 15000 16320 140000
//
// Prints for each size the time to decode the world once, the median and longest pass of nine, and
// the resident memory of world, snapshot and view.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gang_planner.h"
#include "pkg/kube/fake_client.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kHostsPerSegment = 136;
constexpr int kBackup = 8;
constexpr int kWorkers = kHostsPerSegment - kBackup;  // one gang a segment

double Since(SteadyClock::time_point began) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - began).count();
}

double ResidentMib() {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::string Segment(int s) { return StrCat("p", s / 15, "s", s % 15); }
std::string Host(int s, int h) { return StrCat(Segment(s), "h", h); }

json Node(int s, int h) {
  json node = {
      {"metadata",
       {{"name", Host(s, h)},
        {"resourceVersion", "1"},
        {"labels",
         {{api::kFabricPodLabel, StrCat("p", s / 15)}, {api::kSegmentLabel, Segment(s)}}}}},
      {"spec", json::object()},
      {"status",
       {{"allocatable", {{api::kGpuResource, "8"}}},
        {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  if (h >= kWorkers) {
    node["metadata"]["labels"][api::kBackupKey] = "true";
  } else {
    node["spec"]["taints"] = json::array({{{"key", api::kPromisedKey},
                                           {"value", StrCat("team.trainingjob-j", s)},
                                           {"effect", "NoSchedule"}}});
  }
  return node;
}

json Owner(int s) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", "TrainingJob"},
          {"name", StrCat("j", s)},
          {"uid", StrCat("job-", s)},
          {"controller", true}};
}

json GangPod(int s, int rank) {
  const std::string slot =
      api::EncodeSlot({StrCat("trainingjob-j", s), rank, StrCat("p", s / 15), Segment(s), {0}});
  return {
      {"metadata",
       {{"name", StrCat("j", s, "-", rank)},
        {"namespace", "team"},
        {"uid", StrCat("pod-", s, "-", rank)},
        {"resourceVersion", "1"},
        {"annotations", {{api::kSlotAnnotation, slot}}},
        {"labels", {{api::kJobLabel, StrCat("j", s)}, {api::kRankLabel, StrCat(rank)}}},
        {"ownerReferences", json::array({Owner(s)})}}},
      {"spec",
       {{"nodeName", Host(s, rank)},
        {"tolerations", json::array({{{"key", api::kPromisedKey}, {"operator", "Exists"}}})},
        {"containers",
         json::array({{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
      {"status", {{"phase", "Running"}}}};
}

json OtherPod(int i, const std::string& host) {
  return {
      {"metadata", {{"name", StrCat("web-", i)}, {"namespace", "web"}, {"uid", StrCat("web-", i)}}},
      {"spec", {{"nodeName", host}, {"containers", json::array({{{"name", "c"}}})}}},
      {"status", {{"phase", "Running"}}}};
}

json GangObject(int s) {
  api::Gang gang;
  gang.metadata.name = StrCat("trainingjob-j", s);
  gang.metadata.namespace_name = "team";
  gang.metadata.uid = StrCat("gang-", s);
  gang.metadata.resource_version = "1";
  gang.owner = {api::kGroupVersion, "TrainingJob", StrCat("j", s), StrCat("job-", s), true};
  gang.job.workers = kWorkers;
  gang.job.parallelism_given = true;
  gang.job.parallelism.tensor = 8;
  gang.job.parallelism.data = kWorkers;
  gang.rank_bases = {{"", 0}};
  gang.status.plan_generation = 1;
  gang.status.outcome = placement::Outcome::kPlaced;
  gang.status.conditions = {{"Planned", api::ConditionStatus::kTrue, "Placed", "", 0, 0},
                            {"Released", api::ConditionStatus::kTrue, "PodsReleased", "", 0, 0}};
  for (int rank = 0; rank < kWorkers; ++rank) {
    gang.status.assignments.push_back({rank, Host(s, rank), StrCat("p", s / 15), Segment(s), {0}});
  }
  return api::EncodeGang(gang);
}

void Run(int nodes, int pods) {
  const double before = ResidentMib();
  const int segments = nodes / kHostsPerSegment;
  FakeClock clock;
  kube::FakeClient client(clock);
  state::WorldCache cache;
  auto began = SteadyClock::now();
  int made = 0;
  for (int s = 0; s < segments; ++s) {
    for (int h = 0; h < kHostsPerSegment; ++h) cache.Deliver(state::Kind::kNode, Node(s, h));
    cache.Deliver(state::Kind::kGang, GangObject(s));
    for (int rank = 0; rank < kWorkers; ++rank, ++made) {
      cache.Deliver(state::Kind::kPod, GangPod(s, rank));
    }
  }
  for (; made < pods; ++made) {
    cache.Deliver(state::Kind::kPod,
                  OtherPod(made, Host(made % segments, made % kHostsPerSegment)));
  }
  const double decode_ms = Since(began);
  std::shared_ptr<const View> view;
  GangPlanner planner(
      client, cache, clock, [] { return true; }, [&](auto v) { view = std::move(v); },
      [](const Notice&) {}, {});
  std::vector<double> ms;
  int writes = 0;
  for (int i = 0; i < 9; ++i) {
    began = SteadyClock::now();
    const PassReport report = planner.Pass();
    ms.push_back(Since(began));
    writes += report.committed + report.released_pods + report.taint_changes +
              report.gangs_created +
              static_cast<int>(report.errors.size() + report.problems.size());
  }
  std::sort(ms.begin(), ms.end());
  began = SteadyClock::now();
  const state::World world = cache.Take();
  const double take_ms = Since(began);
  began = SteadyClock::now();
  const Gathered gathered = Gather(world.pods);
  const double gather_ms = Since(began);
  began = SteadyClock::now();
  const plan::Snapshot snapshot = state::BuildSnapshot(world);
  const double build_ms = Since(began);
  std::printf(
      "%6d nodes %7d pods: decode %7.0f ms, pass median %7.1f ms, longest %7.1f ms, %5.0f MiB%s\n",
      nodes, made, decode_ms, ms[ms.size() / 2], ms.back(), ResidentMib() - before,
      writes == 0 ? "" : " (it found something to do)");
  std::printf("  of it take %.1f ms, gather %.1f ms (%zu gangs), snapshot %.1f ms (%zu jobs)\n",
              take_ms, gather_ms, gathered.gangs.size(), build_ms, snapshot.jobs.size());
}

}  // namespace
}  // namespace yardmaster::extender

int main(int argc, char** argv) {
  if (argc < 3) {
    yardmaster::extender::Run(2040, 15000);
    yardmaster::extender::Run(16320, 15000);
    yardmaster::extender::Run(16320, 140000);
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    yardmaster::extender::Run(std::atoi(argv[i]), std::atoi(argv[i + 1]));
  }
}
