#include "pkg/cli/fabric_input.h"

#include "nlohmann/json.hpp"

#include "pkg/api/node.h"
#include "pkg/base/strings.h"
#include "pkg/cli/manifests.h"
#include "pkg/cli/render_fabric.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/host_builder.h"

namespace yardmaster::cli {

absl::StatusOr<FabricInput> ReadFabricInput(const std::vector<std::string>& files,
                                            std::istream& in) {
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadManifests(files, in));
  state::World& world = manifests.world;
  const std::string name = Join(files, ", ");
  if (world.fabrics.empty()) {
    return absl::InvalidArgumentError(
        StrCat(name, ": holds no Fabric; write one with kubectl yardmaster fabric render"));
  }
  if (world.nodes.empty()) {
    YM_ASSIGN_OR_RETURN(const std::vector<nlohmann::json> rendered,
                        RenderFabric(*world.fabrics.front()));
    for (const nlohmann::json& object : rendered) {
      if (object.at("kind") != "Node") continue;
      YM_ASSIGN_OR_RETURN(api::Node node, api::DecodeNode(object));
      world.nodes.push_back(std::make_shared<const api::Node>(std::move(node)));
    }
  }
  plan::Snapshot snapshot;
  state::BuildHosts(world.fabrics, world.nodes, world.gangs, snapshot);
  if (snapshot.network == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(name, ": makes no network\n", Join(snapshot.warnings, "\n")));
  }
  FabricInput input;
  input.network = snapshot.network;
  input.warnings = std::move(snapshot.warnings);
  for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
    if (snapshot.cable_down[c] != 0) input.down.emplace_back(static_cast<std::int32_t>(c));
  }
  return input;
}

absl::StatusOr<fabric::NicPort> ParseNicPort(const fabric::Network& network, std::string_view flag,
                                             std::string_view text) {
  const std::vector<std::string> parts = Split(text, '/');
  if (parts.size() != 3) {
    return FieldError(flag, StrCat("\"", text, "\" is not HOST/RAIL/PORT"),
                      "write it like p00s00h003/2/0");
  }
  const fabric::HostId host = network.places().FindHost(parts[0]);
  if (!host.valid()) {
    return FieldError(flag,
                      StrCat("there is no host \"", parts[0], "\" with a place in the fabric"),
                      "name a Node of the manifests");
  }
  const auto in_range = [&](const std::string& part, int limit) {
    const auto number = ParseNumber<int>(part);
    return number && *number >= 0 && *number < limit ? *number : -1;
  };
  const int rail = in_range(parts[1], network.spec().rails);
  if (rail < 0) {
    return FieldError(flag, StrCat("there is no rail ", parts[1]),
                      StrCat("name one from 0 to ", network.spec().rails - 1));
  }
  const int port = in_range(parts[2], network.spec().nic_ports);
  if (port < 0) {
    return FieldError(flag, StrCat("a NIC has no port ", parts[2]),
                      StrCat("name one from 0 to ", network.spec().nic_ports - 1));
  }
  return fabric::NicPort{host, rail, port};
}

}  // namespace yardmaster::cli
