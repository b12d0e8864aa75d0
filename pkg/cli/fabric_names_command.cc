#include <istream>
#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/metadata.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_input.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/config/observations.h"
#include "pkg/config/switch_names.h"

namespace yardmaster::cli {

namespace {

struct NamesFlags {
  ReadFlags read;
  std::vector<std::string> files;
  std::string output = "yaml";
};

absl::StatusOr<state::ClusterState> ReadObjects(NamesFlags& flags, const Connector& connect,
                                                std::istream& in, std::ostream& err) {
  if (flags.files.empty()) {
    YM_ASSIGN_OR_RETURN(ConnectedCluster cluster, ConnectAndRead(flags.read, connect, err));
    return std::move(cluster.state);
  }
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadManifests(flags.files, in));
  return std::move(manifests.cluster);
}

// What the agents saw, of their own ports only. What cannot be read is added to `problems`.
std::vector<repac::Neighbour> ReportsOf(const state::ClusterState& cluster,
                                        std::vector<std::string>& problems) {
  std::vector<repac::Neighbour> all;
  for (const auto& node : cluster.nodes) {
    const std::string& name = node->metadata.name;
    const auto text = api::Find(node->metadata.annotations, api::kNeighboursAnnotation);
    if (!text || text->empty()) continue;
    auto reports =
        config::ReadNeighbours(std::string(*text), std::string(api::kNeighboursAnnotation));
    if (!reports.ok()) {
      problems.push_back(StrCat("Node ", name, ": ", MessageOf(reports.status())));
      continue;
    }
    for (repac::Neighbour& report : *reports) {
      if (report.local.rfind(StrCat(name, ":"), 0) == 0) all.push_back(std::move(report));
    }
  }
  return all;
}

absl::StatusOr<nlohmann::json> Answer(NamesFlags& flags, const Connector& connect, std::istream& in,
                                      std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const state::ClusterState cluster, ReadObjects(flags, connect, in, err));
  const std::string from = flags.files.empty() ? "cluster" : InputNames(flags.files);
  YM_ASSIGN_OR_RETURN(const FabricInput input, FabricInputOf(cluster, from));
  std::vector<std::string> warnings = input.warnings;
  const std::vector<repac::Neighbour> reports = ReportsOf(cluster, warnings);
  config::LearnedNames learned = config::LearnSwitchNames(*input.network, reports);
  if (learned.names.empty()) {
    PrintWarnings(warnings, err);
    PrintWarnings(learned.problems, err);
    return absl::NotFoundError(
        StrCat(from,
               ": no Node says what LLDP calls its switches; give the agents lldpd's output "
               "(agent.lldp.file of the chart)"));
  }
  const auto seen = static_cast<std::int64_t>(learned.names.size());
  learned.names.merge(config::SwitchNames(input.network->spec().switch_names));
  const auto all = static_cast<std::int64_t>(learned.names.size());
  err << "note: " << seen << " of " << Count(learned.tors, "ToR") << " named from LLDP, "
      << all - seen << " other names from the Fabric; of " << input.network->num_switches()
      << " switches " << input.network->num_switches() - all << " have no name\n";
  PrintWarnings(warnings, err);
  PrintWarnings(learned.problems, err);
  return nlohmann::json{{"switchNames", std::move(learned.names)}};
}

}  // namespace

int RunFabricNamesCommand(const Args& args, const Connector& connect, std::istream& in,
                          std::ostream& out, std::ostream& err) {
  NamesFlags flags;
  CLI::App app(
      "What operators call the switches: for each ToR the name that LLDP gave to its hosts, "
      "besides\nthe names that the Fabric has. The answer goes into the Fabric's spec, or to "
      "--names of other verbs.",
      "kubectl yardmaster fabric names");
  CLI::Option* files =
      app.add_option("-f,--filename", flags.files,
                     "the Fabric and its Nodes as manifests; default: the cluster's");
  app.add_option("-o,--output", flags.output, "output format")
      ->check(CLI::IsMember({"yaml", "json"}));
  app.add_option("--kubeconfig", flags.read.cluster.kubeconfig, "kubeconfig file")->excludes(files);
  app.add_option("--context", flags.read.cluster.context, "context of the kubeconfig")
      ->excludes(files);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster fabric names > names.yaml\n"
      "  kubectl patch fabric hpn --type merge -p \"{\\\"spec\\\": $(kubectl yardmaster fabric "
      "names "
      "-o json)}\"");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<nlohmann::json> answer = Answer(flags, connect, in, err);
  if (!answer.ok()) return Fail(answer.status(), err);
  PrintAnswer(*answer, flags.output, out);
  return 0;
}

}  // namespace yardmaster::cli
