#include "pkg/cli/input/fabric_input.h"

#include "nlohmann/json.hpp"

#include "pkg/api/node.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/cli/input/switch_names_file.h"
#include "pkg/operator/telemetry/network_faults.h"
#include "pkg/state/host_index.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::cli {

absl::StatusOr<FabricInput> ReadFabricInput(const std::vector<std::string>& files,
                                            const std::string& names_file, std::istream& in) {
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadManifests(files, in));
  state::ClusterState& cluster = manifests.cluster;
  const std::string name = InputNames(files);
  if (cluster.fabrics.empty()) {
    return absl::InvalidArgumentError(
        StrCat(name, ": holds no Fabric; write one with kubectl yardmaster fabric render"));
  }
  YM_RETURN_IF_ERROR(UseSwitchNames(names_file, in, cluster));
  if (cluster.nodes.empty()) {
    YM_ASSIGN_OR_RETURN(const std::vector<nlohmann::json> rendered,
                        RenderFabric(*state::UsedFabric(cluster.fabrics)));
    for (const nlohmann::json& object : rendered) {
      if (object.at("kind") != "Node") continue;
      YM_ASSIGN_OR_RETURN(api::Node node, api::DecodeNode(object));
      cluster.nodes.Put(std::make_shared<const api::Node>(std::move(node)));
    }
  }
  return FabricInputOf(cluster, name);
}

absl::StatusOr<FabricInput> FabricInputOf(const state::ClusterState& cluster,
                                          const std::string& name) {
  if (cluster.fabrics.empty()) return absl::InvalidArgumentError(StrCat(name, ": holds no Fabric"));
  state::HostIndex hosts;
  hosts.Update(cluster);
  FabricInput input;
  hosts.AppendWarnings(input.warnings);
  if (hosts.network() == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(name, ": makes no network\n", Join(input.warnings, "\n")));
  }
  input.network = hosts.network();
  std::vector<std::uint8_t> down = hosts.cable_down();
  const std::string problem =
      op::MarkDownLinks(*state::UsedFabric(cluster.fabrics), *input.network, down);
  if (!problem.empty()) input.warnings.push_back(StrCat("Fabric: ", problem));
  for (std::size_t c = 0; c < down.size(); ++c) {
    if (down[c] != 0) input.down.emplace_back(static_cast<std::int32_t>(c));
  }
  return input;
}

}  // namespace yardmaster::cli
