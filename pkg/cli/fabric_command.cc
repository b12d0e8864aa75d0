#include <ostream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/cli/output/print_objects.h"

namespace yardmaster::cli {

namespace {

struct FabricFlags {
  std::string preset;
  std::string output = "yaml";
  RenderSize size;
};

void Declare(FabricFlags& flags, CLI::App& app) {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) names.emplace_back(preset.name);
  app.add_option("--preset", flags.preset, "a Fabric manifest, or one of " + Join(names, ", "))
      ->required();
  auto size = [&](const char* flag, std::optional<int>& value, const char* help, int least) {
    app.add_option(flag, value, help)->check(CLI::Range(least, 1'000'000));
  };
  size("--fabric-pods", flags.size.fabric_pods, "fabric pods", 1);
  size("--segments", flags.size.segments, "segments of one fabric pod", 1);
  size("--hosts", flags.size.hosts, "hosts of one segment, with its backup hosts", 1);
  size("--domains", flags.size.domains, "domains of one segment, instead of --hosts", 1);
  size("--backup-hosts", flags.size.backup_hosts, "of these, kept as backup", 0);
  app.add_option("-o,--output", flags.output, "output format")
      ->check(CLI::IsMember({"yaml", "json"}));
}

absl::StatusOr<std::vector<nlohmann::json>> Answer(const FabricFlags& flags, std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const api::Fabric preset, LoadPreset(flags.preset));
  YM_ASSIGN_OR_RETURN(const api::Fabric fabric, Resize(preset, flags.size));
  if (!flags.size.backup_hosts &&
      fabric.spec.backup.hosts_per_segment != preset.spec.backup.hosts_per_segment) {
    err << fabric.spec.backup.hosts_per_segment << " of " << fabric.spec.hosts_per_segment
        << " hosts a segment are backup, in the preset " << preset.spec.backup.hosts_per_segment
        << " of " << preset.spec.hosts_per_segment << "; --backup-hosts changes it\n";
  }
  return RenderFabric(fabric);
}

}  // namespace

int RunFabricRenderCommand(const Args& args, std::istream& /*in*/, std::ostream& out,
                           std::ostream& err) {
  FabricFlags flags;
  CLI::App app("A Fabric and its Nodes as Kubernetes manifests",
               "kubectl yardmaster fabric render");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster fabric render --preset hpn-small > fabric.yaml\n"
      "  kubectl yardmaster fabric render --preset hpn-7.0-pod --segments 4 --hosts 20");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  return PrintObjects(Answer(flags, err), flags.output, out, err);
}

}  // namespace yardmaster::cli
