#include "pkg/cli/input/switch_names_file.h"

#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "pkg/cli/input/read_input.h"
#include "pkg/config/switch_names.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::cli {

void DeclareNames(std::string& file, CLI::App& app) {
  app.add_option("--names", file,
                 "file of what your switches are called, as fabric names writes it; default: the "
                 "Fabric's names");
}

absl::Status UseSwitchNames(const std::string& file, std::istream& in,
                            state::ClusterState& cluster) {
  if (file.empty()) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(const std::string text, ReadInput(file, in));
  YM_ASSIGN_OR_RETURN(config::SwitchNames names, config::ReadSwitchNames(text, InputName(file)));
  const auto used = state::UsedFabric(cluster.fabrics);
  if (used == nullptr) {
    return FieldError("--names", "there is no Fabric whose switches could have these names",
                      "give the Fabric with -f");
  }
  api::Fabric named = *used;
  names.merge(named.spec.switch_names);
  named.spec.switch_names = std::move(names);
  cluster.fabrics.Put(std::make_shared<const api::Fabric>(std::move(named)));
  return absl::OkStatus();
}

}  // namespace yardmaster::cli
