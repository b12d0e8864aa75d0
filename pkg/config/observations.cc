#include "pkg/config/observations.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::config {

namespace {

using fabric::LinkId;
using fabric::Network;
using nlohmann::json;

absl::Status CheckKeys(const json& object, const std::string& path,
                       std::initializer_list<const char*> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  if (!object.is_object()) {
    return FieldError(path.empty() ? "document" : path, "is not an object",
                      StrCat("give ", Join(names, ", ")));
  }
  for (const auto& [key, unused] : object.items()) {
    bool found = false;
    for (const std::string& name : names) found |= key == name;
    if (found) continue;
    return FieldError(api::JoinPath(path, key), "unknown key",
                      StrCat("known ones are ", Join(names, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Text(const json& object, const std::string& path, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) {
    return FieldError(api::JoinPath(path, key), "is not a string", "give a name");
  }
  return at->get<std::string>();
}

absl::StatusOr<json> List(const json& object, const std::string& path, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) {
    return FieldError(api::JoinPath(path, key), "is not a list", "list what was seen");
  }
  return *at;
}

// `list` is the document's only key; `read_entry` gets each entry with its path. Errors name the
// document, then the path in it.
template <typename T, typename ReadEntry>
absl::StatusOr<std::vector<T>> ReadList(const std::string& text, const std::string& name,
                                        const char* key, ReadEntry read_entry) {
  YM_ASSIGN_OR_RETURN(const json document, ParseYaml(text, name));
  const auto read = [&]() -> absl::StatusOr<std::vector<T>> {
    YM_RETURN_IF_ERROR(CheckKeys(document, "", {key}));
    YM_ASSIGN_OR_RETURN(const json list, List(document, "", key));
    std::vector<T> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      YM_ASSIGN_OR_RETURN(T entry, read_entry(list[i], StrCat(key, "[", i, "]")));
      out.push_back(std::move(entry));
    }
    return out;
  };
  absl::StatusOr<std::vector<T>> out = read();
  return out.ok() ? std::move(out) : Annotate(out.status(), name);
}

// The link of that very name; a cable's name alone does not say which way.
LinkId FindLink(const Network& network, const std::string& name) {
  const fabric::CableId cable = network.FindCable(name);
  if (!cable.valid()) return LinkId();
  for (const LinkId link : {Network::up(cable), Network::down(cable)}) {
    if (network.name(link) == name || network.shown(link) == name) return link;
  }
  return LinkId();
}

// The switch a link leaves; an invalid id if a host does.
fabric::SwitchId NearEnd(const Network& network, LinkId link) {
  const fabric::CableId cable = Network::cable_of(link);
  if (Network::is_down(link)) return network.far_end(Network::up(cable));
  return network.is_host_cable(cable) ? fabric::SwitchId() : network.switch_port_of(cable).id;
}

absl::Status ReadLinks(const Network& network, const json& list, const std::string& path,
                       repac::ObservedPath& out) {
  LinkId came_by = Network::up(network.host_cable(out.src));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = StrCat(path, "[", i, "]");
    if (list[i].is_null()) {
      came_by = LinkId();
      out.links.emplace_back();
      continue;
    }
    if (!list[i].is_string()) return FieldError(at, "is not a link's name", "or give null");
    const auto& name = list[i].get_ref<const std::string&>();
    const LinkId link = FindLink(network, name);
    if (!link.valid()) {
      return FieldError(at, StrCat("there is no link \"", name, "\""),
                        "use a name as paths show it, for example p00s00h003:r2p0.up");
    }
    if (i == 0 && link == came_by) continue;
    const bool joined = !came_by.valid() || (network.far_end(came_by).valid() &&
                                             NearEnd(network, link) == network.far_end(came_by));
    if (!joined) {
      return FieldError(at, StrCat("\"", name, "\" does not begin where the link before it ends"),
                        "put null where a hop is missing");
    }
    out.links.push_back(link);
    came_by = link;
  }
  return absl::OkStatus();
}

absl::StatusOr<repac::ObservedPath> ReadPath(const Network& network, const json& value,
                                             const std::string& path) {
  YM_RETURN_IF_ERROR(CheckKeys(value, path, {"from", "to", "sourcePort", "links"}));
  YM_ASSIGN_OR_RETURN(const std::string from, Text(value, path, "from"));
  YM_ASSIGN_OR_RETURN(const std::string to, Text(value, path, "to"));
  repac::ObservedPath out;
  YM_ASSIGN_OR_RETURN(out.src, ParseNicPort(network, api::JoinPath(path, "from"), from));
  YM_ASSIGN_OR_RETURN(out.dst, ParseNicPort(network, api::JoinPath(path, "to"), to));
  if (out.src.host == out.dst.host) {
    return FieldError(api::JoinPath(path, "to"), "is the host the packet came from",
                      "name another one");
  }
  if (network.plane_of(out.src) != network.plane_of(out.dst)) {
    return FieldError(api::JoinPath(path, "to"), "is in another plane than from",
                      "name the port that the packet arrived at");
  }
  const auto port = value.find("sourcePort");
  if (port == value.end() || !port->is_number_integer() || *port < 0 || *port > 65535) {
    return FieldError(api::JoinPath(path, "sourcePort"), "is not a UDP port",
                      "give a number from 0 to 65535");
  }
  out.source_port = port->get<std::uint16_t>();
  YM_ASSIGN_OR_RETURN(const json links, List(value, path, "links"));
  YM_RETURN_IF_ERROR(ReadLinks(network, links, api::JoinPath(path, "links"), out));
  return out;
}

}  // namespace

absl::StatusOr<fabric::NicPort> ParseNicPort(const fabric::Network& network, std::string_view field,
                                             std::string_view text) {
  const std::vector<std::string> parts = Split(text, '/');
  if (parts.size() != 3) {
    return FieldError(field, StrCat("\"", text, "\" is not HOST/RAIL/PORT"),
                      "write it like p00s00h003/2/0");
  }
  const fabric::HostId host = network.places().FindHost(parts[0]);
  if (!host.valid()) {
    return FieldError(field,
                      StrCat("there is no host \"", parts[0], "\" with a place in the fabric"),
                      "name a Node of the manifests");
  }
  const auto in_range = [&](const std::string& part, int limit) {
    const auto number = ParseNumber<int>(part);
    return number && *number >= 0 && *number < limit ? *number : -1;
  };
  const int rail = in_range(parts[1], network.spec().rails);
  if (rail < 0) {
    return FieldError(field, StrCat("there is no rail ", parts[1]),
                      StrCat("name one from 0 to ", network.spec().rails - 1));
  }
  const int port = in_range(parts[2], network.spec().nic_ports);
  if (port < 0) {
    return FieldError(field, StrCat("a NIC has no port ", parts[2]),
                      StrCat("name one from 0 to ", network.spec().nic_ports - 1));
  }
  return fabric::NicPort{host, rail, port};
}

absl::StatusOr<std::vector<repac::Neighbour>> ReadNeighbours(const std::string& text,
                                                             const std::string& name) {
  return ReadList<repac::Neighbour>(
      text, name, "neighbours",
      [](const json& entry, const std::string& path) -> absl::StatusOr<repac::Neighbour> {
        YM_RETURN_IF_ERROR(CheckKeys(entry, path, {"local", "remote", "chassis"}));
        repac::Neighbour out;
        YM_ASSIGN_OR_RETURN(out.local, Text(entry, path, "local"));
        if (entry.contains("chassis")) {
          YM_ASSIGN_OR_RETURN(out.chassis, Text(entry, path, "chassis"));
          if (!entry.contains("remote")) return out;
        }
        YM_ASSIGN_OR_RETURN(out.remote, Text(entry, path, "remote"));
        return out;
      });
}

absl::StatusOr<std::vector<repac::ObservedPath>> ReadObservedPaths(const Network& network,
                                                                   const std::string& text,
                                                                   const std::string& name) {
  return ReadList<repac::ObservedPath>(
      text, name, "paths",
      [&](const json& entry, const std::string& path) { return ReadPath(network, entry, path); });
}

}  // namespace yardmaster::config
