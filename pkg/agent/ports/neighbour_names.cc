#include "pkg/agent/ports/neighbour_names.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/agent/ports/host_files.h"
#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::agent {

namespace {

constexpr int kMaxPortNumber = 1'000'000;
constexpr int kMaxStep = 1'000;

std::string InterfaceOf(const std::string& sysfs_root, const LocalNicPort& port) {
  if (!port.interface.empty()) return port.interface;
  const std::string device = StrCat(sysfs_root, "/class/infiniband/", port.rdma_device);
  const auto name = FirstLine(StrCat(device, "/ports/", port.rdma_port, "/gid_attrs/ndevs/0"));
  if (name && !name->empty()) return *name;
  const std::vector<std::string> names = NamesIn(StrCat(device, "/device/net"));
  return names.size() == 1 ? names.front() : std::string();
}

}  // namespace

std::optional<std::string> NeighbourNames::NameOf(const LldpNeighbour& neighbour) const {
  auto found = switches.find(neighbour.chassis);
  if (found == switches.end()) found = switches.find(neighbour.chassis_id);
  if (found == switches.end()) return std::nullopt;
  for (const PortRule& rule : ports) {
    if (neighbour.port.rfind(rule.prefix, 0) != 0) continue;
    const auto number =
        ParseNumber<int>(std::string_view(neighbour.port).substr(rule.prefix.size()));
    if (!number || *number < rule.first || *number > kMaxPortNumber) continue;
    const int distance = *number - rule.first;
    if (distance % rule.step != 0) continue;
    return StrCat(found->second, ":d", distance / rule.step + 1);
  }
  return std::nullopt;
}

absl::StatusOr<NeighbourNames> ParseNeighbourNames(std::string_view yaml, std::string_view file) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json root, config::ParseYaml(yaml, file));
  api::FieldErrors errors;
  api::FieldReader in(&root, "", api::UnknownFields::kReject, &errors);
  NeighbourNames names;
  for (api::FieldReader& entry : in.Objects("switches")) {
    const std::string chassis = entry.String("chassis");
    const std::string name = entry.String("name");
    entry.Close();
    if (chassis.empty() || name.empty()) {
      errors.Add(entry.path(), "does not name a chassis and a switch", "give both");
    } else if (!names.switches.emplace(chassis, name).second) {
      errors.Add(entry.path(), StrCat("names the chassis ", chassis, " again"), "name it once");
    }
  }
  for (api::FieldReader& entry : in.Objects("ports")) {
    NeighbourNames::PortRule rule;
    rule.prefix = entry.String("prefix");
    rule.first = entry.Int("first", 1, 0, kMaxPortNumber);
    rule.step = entry.Int("step", 1, 1, kMaxStep);
    entry.Close();
    names.ports.push_back(std::move(rule));
  }
  in.Close();
  if (errors.empty() && (names.switches.empty() || names.ports.empty())) {
    errors.Add(names.switches.empty() ? "switches" : "ports", "is empty",
               "name the switches, and a rule for their ports");
  }
  if (auto status = errors.status(); !status.ok()) return Annotate(status, file);
  return names;
}

std::vector<PortNeighbour> NeighboursOfPorts(const std::string& sysfs_root,
                                             const std::vector<LocalNicPort>& ports,
                                             const std::vector<LldpNeighbour>& neighbours) {
  std::map<std::string, std::vector<const LldpNeighbour*>> by_interface;
  for (const LldpNeighbour& neighbour : neighbours) {
    by_interface[neighbour.interface].push_back(&neighbour);
  }
  std::vector<PortNeighbour> found;
  for (const LocalNicPort& port : ports) {
    const std::string interface = InterfaceOf(sysfs_root, port);
    if (interface.empty()) continue;
    const auto at = by_interface.find(interface);
    if (at != by_interface.end() && at->second.size() == 1) found.push_back({port, *at->second[0]});
  }
  return found;
}

NeighbourDocument DocumentOf(const std::string& node, const std::vector<PortNeighbour>& neighbours,
                             const std::optional<NeighbourNames>& names) {
  NeighbourDocument document;
  nlohmann::json list = nlohmann::json::array();
  for (const PortNeighbour& seen : neighbours) {
    nlohmann::json entry = {{"local", StrCat(node, ":r", seen.port.rail, "p", seen.port.port)},
                            {"chassis", seen.neighbour.chassis}};
    const auto remote = names ? names->NameOf(seen.neighbour) : std::nullopt;
    if (remote) entry["remote"] = *remote;
    document.unknown += names && !remote ? 1 : 0;
    list.push_back(std::move(entry));
  }
  document.text = nlohmann::json({{"neighbours", std::move(list)}})
                      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return document;
}

}  // namespace yardmaster::agent
