// The server of bench/cluster_load/run: a CloudCluster behind an ApiServer.
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/cluster_load/api_server.h"
#include "pkg/base/status.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"

int main(int argc, char** argv) {
  using namespace yardmaster;
  bench::ApiServerOptions options;
  cli::RenderSize size{1, 15, std::nullopt, std::nullopt};
  int pods = 20'000;
  bool no_watch_list = false;
  CLI::App app("An API server with a large cluster in it, for measurements", "cluster_load");
  app.add_option("--port", options.port, "port on 127.0.0.1; 0: any");
  app.add_option("--tls-cert-file", options.certificate_file, "PEM; without it plain HTTP");
  app.add_option("--tls-key-file", options.key_file, "PEM");
  app.add_option("--fabric-pods", *size.fabric_pods, "fabric pods of 15 segments of 136 Nodes");
  app.add_option("--segments", *size.segments, "segments of a fabric pod");
  app.add_option("--pods", pods, "pods, those of the gangs included");
  app.add_flag("--no-watch-list", no_watch_list, "refuse streamed lists");
  CLI11_PARSE(app, argc, argv);
  options.watch_list = !no_watch_list;
  const auto preset = cli::LoadPreset("hpn-7.0");
  const auto fabric = preset.ok() ? cli::Resize(*preset, size) : preset;
  const auto cluster = fabric.ok() ? bench::CloudCluster::Make(*fabric, pods)
                                   : absl::StatusOr<bench::CloudCluster>(fabric.status());
  if (!cluster.ok()) {
    std::cerr << MessageOf(cluster.status()) << "\n";
    return 1;
  }
  std::string pod, node;
  cluster->AppendPod(cluster->pods() - 1, pod);
  cluster->AppendNode(0, node);
  std::cerr << cluster->pods() << " pods of " << pod.size() << " bytes, " << cluster->nodes()
            << " Nodes of " << node.size() << " bytes, " << cluster->gangs() << " gangs\n";
  std::cerr << bench::ApiServer(*cluster, options).Run() << "\n";
  return 1;
}
