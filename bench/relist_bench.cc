// What it costs to take in a list of pods as clouds write them: when nothing is held, when the same
// states are held (a list read again), and when each has a new version. Usage: relist_bench
// [pods=20000]. Prints CPU time, from the parsed object to the cache.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "bench/cluster_load/cloud_objects.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/json/json_view.h"
#include "pkg/state/cluster_state.h"

namespace {

using namespace yardmaster;

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// CPU seconds to take in all pods, without those to parse them. `prefix` goes before the digits of
// each resource version.
double List(const bench::CloudCluster& cluster, std::string_view prefix, kube::ObjectSink& sink) {
  constexpr std::string_view kVersion = "\"resourceVersion\":\"";
  double seconds = 0;
  JsonParser parser;
  std::string text;
  sink.BeginList();
  for (std::size_t pod = 0; pod < cluster.pods(); ++pod) {
    text.clear();
    cluster.AppendPod(pod, text);
    text.insert(text.find(kVersion) + kVersion.size(), prefix);
    const auto object = parser.Parse(text);
    if (!object.ok()) std::abort();
    const double began = CpuSeconds();
    sink.Listed(*object);
    seconds += CpuSeconds() - began;
  }
  const double began = CpuSeconds();
  sink.EndList(StrCat(prefix, cluster.pods()));
  return seconds + CpuSeconds() - began;
}

}  // namespace

int main(int argc, char** argv) {
  const int pods = argc > 1 ? std::atoi(argv[1]) : 20'000;
  const auto preset = cli::LoadPreset("hpn-7.0");
  const auto fabric =
      preset.ok() ? cli::Resize(*preset, {1, 15, std::nullopt, std::nullopt}) : preset;
  const auto cluster = fabric.ok() ? bench::CloudCluster::Make(*fabric, pods)
                                   : absl::StatusOr<bench::CloudCluster>(fabric.status());
  if (!cluster.ok()) return 1;
  state::ClusterCache cache;
  kube::ObjectSink& sink = cache.sink(state::Kind::kPod);
  for (const auto& [what, prefix] :
       {std::pair{"nothing held", "1"}, std::pair{"the same states held", "1"},
        std::pair{"older states held", "2"}}) {
    std::printf("%zu pods, %-21s %7.0f ms\n", cluster->pods(), what,
                List(*cluster, prefix, sink) * 1e3);
  }
  return cache.Take().problems.empty() ? 0 : 1;
}
