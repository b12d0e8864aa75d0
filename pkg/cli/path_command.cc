#include <istream>
#include <ostream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_input.h"
#include "pkg/cli/input/switch_names_file.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/config/observations.h"
#include "pkg/repac/path.h"

namespace yardmaster::cli {

namespace {

using fabric::Network;
using nlohmann::ordered_json;

struct PathFlags {
  std::vector<std::string> fabric;
  std::string from;
  std::string to;
  int source_port = 0;
  std::vector<std::string> down;
  std::string names;
  std::string output = "json";
};

void Declare(PathFlags& flags, CLI::App& app) {
  app.add_option("--fabric,-f,--filename", flags.fabric, "a Fabric and its Nodes, YAML or JSON")
      ->required();
  app.add_option("--from", flags.from, "HOST/RAIL/PORT the packet leaves by")->required();
  app.add_option("--to", flags.to, "HOST/RAIL/PORT it is for, of the same plane")->required();
  app.add_option("--source-port", flags.source_port, "UDP source port")
      ->required()
      ->check(CLI::Range(0, 65535));
  app.add_option("--down", flags.down, "a link, cable or switch that is down");
  DeclareNames(flags.names, app);
  app.add_option("-o,--output", flags.output, "output format")->check(CLI::IsMember({"json"}));
}

absl::Status AddDown(const Network& network, const std::string& name,
                     std::vector<fabric::CableId>& down) {
  if (const fabric::CableId cable = network.FindCable(name); cable.valid()) {
    down.push_back(cable);
    return absl::OkStatus();
  }
  const fabric::SwitchId id = network.FindSwitch(name);
  if (!id.valid()) {
    return FieldError("--down", StrCat("there is no link \"", name, "\""),
                      "use a name as paths show it, for example p00s00h003:r2p0");
  }
  for (int c = 0; c < network.num_cables(); ++c) {
    const fabric::CableId cable(c);
    const bool above = network.far_end(Network::up(cable)) == id;
    const bool below = !network.is_host_cable(cable) && network.switch_port_of(cable).id == id;
    if (above || below) down.push_back(cable);
  }
  return absl::OkStatus();
}

// Names that people use stand beside those that programs read.
ordered_json ToJson(const Network& network, const repac::PredictedPath& path) {
  const bool named = !network.spec().switch_names.empty();
  ordered_json out = {{"predictable", path.predictable}};
  if (!path.predictable) out["reason"] = path.reason;
  out["plane"] = path.plane;
  out["hops"] = ordered_json::array();
  for (const repac::PathHop& hop : path.hops) {
    ordered_json item = {{"switch", network.name(hop.at)}, {"members", hop.members}};
    if (named) item["switchName"] = network.shown(hop.at);
    item["hash"] = hop.hash ? ordered_json(*hop.hash) : ordered_json(nullptr);
    item["index"] = hop.index;
    item["link"] = network.name(hop.link);
    if (named) item["linkName"] = network.shown(hop.link);
    out["hops"].push_back(std::move(item));
  }
  out["links"] = ordered_json::array();
  for (fabric::LinkId link : path.links) out["links"].push_back(network.name(link));
  if (!named) return out;
  out["linkNames"] = ordered_json::array();
  for (fabric::LinkId link : path.links) out["linkNames"].push_back(network.shown(link));
  return out;
}

absl::StatusOr<ordered_json> Answer(const PathFlags& flags, std::istream& in, std::ostream& err) {
  YM_ASSIGN_OR_RETURN(FabricInput input, ReadFabricInput(flags.fabric, flags.names, in));
  PrintWarnings(input.warnings, err);
  const Network& network = *input.network;
  YM_ASSIGN_OR_RETURN(const fabric::NicPort from,
                      config::ParseNicPort(network, "--from", flags.from));
  YM_ASSIGN_OR_RETURN(const fabric::NicPort to, config::ParseNicPort(network, "--to", flags.to));
  for (const std::string& name : flags.down) {
    YM_RETURN_IF_ERROR(AddDown(network, name, input.down));
  }
  YM_ASSIGN_OR_RETURN(auto hashes, repac::SwitchHashes::Compile(network));
  const repac::ForwardingModel model(network, hashes, input.down);
  auto path = repac::PredictPath(model, from, to, static_cast<std::uint16_t>(flags.source_port));
  if (path.ok()) return ToJson(network, *path);
  if (!absl::IsNotFound(path.status())) return Annotate(path.status(), "--from and --to");
  repac::PredictedPath lost;
  lost.predictable = false;
  lost.reason = MessageOf(path.status());
  lost.plane = network.plane_of(from);
  return ToJson(network, lost);
}

}  // namespace

int RunPathCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  PathFlags flags;
  CLI::App app("The path that one RoCE packet takes", "kubectl yardmaster path");
  Declare(flags, app);
  app.footer(
      "Example:\n"
      "  kubectl yardmaster path --fabric fabric.yaml --from p00s00h000/0/0 --to p00s01h003/0/0 "
      "--source-port 49321");
  if (const auto code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ordered_json> answer = Answer(flags, in, err);
  if (!answer.ok()) return Fail(answer.status(), err);
  out << answer->dump(2) << "\n";
  return 0;
}

}  // namespace yardmaster::cli
