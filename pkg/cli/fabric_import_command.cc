#include <istream>
#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_import_topograph.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/cli/output/print_objects.h"
#include "simulation/formats/simai_fabric.h"

namespace yardmaster::cli {

namespace {

struct FabricImportFlags {
  std::string from;
  std::string file;
  std::string name;
  std::string preset;
  TopographKeys keys;
  bool nodes = false;
  std::string output = "yaml";
};

void Declare(FabricImportFlags& flags, CLI::App& app) {
  app.add_option("--from", flags.from, "tool that wrote the file: simai or topograph")
      ->required()
      ->check(CLI::IsMember({"simai", "topograph"}));
  app.add_option(
         "file", flags.file,
         "a SimAI topology, or Nodes with topograph's labels and NicDevices; - reads standard "
         "input")
      ->required();
  app.add_option("--name", flags.name, "name of the Fabric");
  app.add_option("--preset", flags.preset, "topograph: the Fabric whose ports and speeds to take");
  app.add_option("--leaf-label", flags.keys.leaf,
                 "topograph: the label that names the leaf switch");
  app.add_option("--spine-label", flags.keys.spine,
                 "topograph: the label that names the spine switch");
  app.add_flag("--nodes", flags.nodes, "simai: write the Nodes, too, as fabric render does");
  app.add_option("-o,--output", flags.output, "output format")
      ->check(CLI::IsMember({"yaml", "json"}));
}

void ReportNicPorts(const std::vector<NicPortValue>& ports, std::ostream& err) {
  if (ports.empty()) return;
  err << "note: the agents know the ports by these values of the chart:\n"
      << "agent:\n"
      << "  nicPorts:\n";
  for (const NicPortValue& port : ports) {
    err << "  - {rail: " << port.rail << ", port: " << port.port
        << ", interface: " << nlohmann::json(port.interface).dump() << "}\n";
  }
}

absl::StatusOr<ImportedFabric> FromTopograph(const FabricImportFlags& flags, std::istream& in,
                                             std::ostream& err) {
  if (flags.preset.empty()) {
    return FieldError("--preset", "is missing",
                      "labels do not say how many ports there are; name a preset or a Fabric");
  }
  YM_ASSIGN_OR_RETURN(const api::Fabric base, LoadPreset(flags.preset));
  YM_ASSIGN_OR_RETURN(const Manifests manifests, ReadManifests({flags.file}, in));
  std::vector<api::Node> nodes;
  for (const auto& node : manifests.cluster.nodes) nodes.push_back(*node);
  YM_ASSIGN_OR_RETURN(ImportedFabric imported, ImportTopograph(nodes, base, flags.keys));
  std::vector<std::string> hosts;
  for (const api::Node& node : nodes) {
    if (node.gpus() > 0) hosts.push_back(node.metadata.name);
  }
  YM_ASSIGN_OR_RETURN(NicFindings nics, SetNics(hosts, manifests.nics, imported.fabric.spec));
  for (std::string& note : nics.notes) imported.notes.push_back(std::move(note));
  ReportNicPorts(nics.ports, err);
  return imported;
}

absl::StatusOr<ImportedFabric> FromSimAi(const FabricImportFlags& flags, std::istream& in) {
  YM_ASSIGN_OR_RETURN(const std::string text, ReadInput(flags.file, in));
  const std::string name = InputName(flags.file);
  YM_ASSIGN_OR_RETURN(const sim::SimAiTopology topology, sim::ReadSimAiTopology(text, name));
  YM_ASSIGN_OR_RETURN(sim::SimAiFabric described, sim::ImportSimAi(topology, name));
  return ImportedFabric{std::move(described.fabric), std::move(described.notes)};
}

// The chart's agents run where the default label is.
void ReportChartValues(const fabric::FabricSpec& spec, std::ostream& err) {
  if (spec.segment_label == fabric::FabricSpec().segment_label) return;
  err << "note: the agents of the chart run on hosts with this label once these are among its "
         "values:\n"
      << "agent:\n"
      << "  affinity:\n"
      << "    nodeAffinity:\n"
      << "      requiredDuringSchedulingIgnoredDuringExecution:\n"
      << "        nodeSelectorTerms:\n"
      << "        - matchExpressions:\n"
      << "          - {key: " << nlohmann::json(spec.segment_label).dump()
      << ", operator: Exists}\n";
}

absl::StatusOr<std::vector<nlohmann::json>> Answer(const FabricImportFlags& flags, std::istream& in,
                                                   std::ostream& err) {
  const bool simai = flags.from == "simai";
  YM_ASSIGN_OR_RETURN(ImportedFabric imported,
                      simai ? FromSimAi(flags, in) : FromTopograph(flags, in, err));
  if (!flags.name.empty()) {
    imported.fabric.metadata.name = imported.fabric.spec.name = flags.name;
  }
  for (const std::string& note : imported.notes) err << "note: " << note << "\n";
  ReportChartValues(imported.fabric.spec, err);
  if (simai && flags.nodes) return RenderFabric(imported.fabric);
  return std::vector<nlohmann::json>{api::EncodeFabric(imported.fabric)};
}

}  // namespace

int RunFabricImportCommand(const Args& args, std::istream& in, std::ostream& out,
                           std::ostream& err) {
  FabricImportFlags flags;
  CLI::App app("A Fabric out of what another tool wrote", "kubectl yardmaster fabric import");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster fabric import --from simai topology.txt --name mine > fabric.yaml\n"
      "  kubectl get nodes -o yaml | kubectl yardmaster fabric import --from topograph - --preset "
      "hpn-7.0\n"
      "  kubectl get nodes,nicdevices -A -o yaml | kubectl yardmaster fabric import --from "
      "topograph "
      "- --preset hpn-7.0");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  return PrintObjects(Answer(flags, in, err), flags.output, out, err);
}

}  // namespace yardmaster::cli
