#include "pkg/cli/input/nic_devices.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "pkg/api/field_reader.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

constexpr int kMaxRails = 64;
constexpr int kMaxPlanes = 16;
constexpr std::size_t kMaxNamed = 10;  // hosts that differ
constexpr char kRailField[] = "spec.interfaceNameTemplate.railIndex";
constexpr char kPlanesField[] = "spec.interfaceNameTemplate.planeIndices";
constexpr char kModeField[] = "spec.configuration.template.spectrumXOptimized.multiplaneMode";
constexpr char kHardwareSprays[] = "hwplb";

struct Layout {
  int rails = 0;
  int planes = 0;
  bool spraying = false;
  auto operator<=>(const Layout&) const = default;
};

std::string TextOf(const Layout& layout) {
  return StrCat(Count(layout.rails, "rail"), " in ", Count(layout.planes, "plane"),
                layout.spraying ? ", spraying" : "");
}

// A host's NICs, or why they are none of a Fabric's: "field: ...".
struct HostNics {
  std::map<int, std::vector<int>> planes_of_rail;
  std::map<std::pair<int, int>, std::string> interfaces;  // by rail and plane
  int spraying = 0;
  int nics = 0;
  Layout layout;
  std::string problem;
};

std::string ProblemOf(HostNics& host) {
  int rail = 0;
  for (auto& [index, planes] : host.planes_of_rail) {
    if (index != rail)
      return StrCat(kRailField, ": there is a rail ", index, " and no rail ", rail);
    ++rail;
    std::sort(planes.begin(), planes.end());
    for (std::size_t i = 0; i < planes.size(); ++i) {
      if (planes[i] == static_cast<int>(i)) continue;
      return StrCat(
          kPlanesField, ": the NICs of rail ", index, " have ",
          i > 0 && planes[i] == planes[i - 1] ? "two ports in plane " : "no port below plane ",
          planes[i]);
    }
    if (planes.size() != host.planes_of_rail.begin()->second.size()) {
      return StrCat(kPlanesField, ": rail ", index, " has ",
                    Count(static_cast<std::int64_t>(planes.size()), "plane"), ", rail 0 has ",
                    host.planes_of_rail.begin()->second.size());
    }
  }
  if (host.spraying != 0 && host.spraying != host.nics) {
    return StrCat(kModeField, ": is ", kHardwareSprays, " for ", host.spraying, " of ",
                  Count(host.nics, "NIC"));
  }
  return "";
}

HostNics HostNicsOf(const std::vector<const NicDevice*>& nics) {
  HostNics out;
  for (const NicDevice* nic : nics) {
    ++out.nics;
    out.spraying += nic->spraying ? 1 : 0;
    std::vector<int>& planes = out.planes_of_rail[nic->rail];
    planes.insert(planes.end(), nic->planes.begin(), nic->planes.end());
    if (nic->interfaces.size() != nic->planes.size()) continue;
    for (std::size_t i = 0; i < nic->planes.size(); ++i) {
      out.interfaces[{nic->rail, nic->planes[i]}] = nic->interfaces[i];
    }
  }
  out.problem = ProblemOf(out);
  if (out.problem.empty()) {
    out.layout = {static_cast<int>(out.planes_of_rail.size()),
                  static_cast<int>(out.planes_of_rail.begin()->second.size()), out.spraying > 0};
  }
  return out;
}

std::string DifferenceOf(const Layout& host, const Layout& most) {
  if (host.rails != most.rails) {
    return StrCat(kRailField, ": ", Count(host.rails, "rail"), ", most hosts have ", most.rails);
  }
  if (host.planes != most.planes) {
    return StrCat(kPlanesField, ": ", Count(host.planes, "plane"), ", most hosts have ",
                  most.planes);
  }
  return StrCat(kModeField, ": ", host.spraying ? "is " : "is not ", kHardwareSprays,
                ", unlike that of most hosts");
}

// Named one by one, as far as that helps.
void AppendHosts(const std::vector<std::string>& differing, std::vector<std::string>& notes) {
  const std::size_t named = std::min(differing.size(), kMaxNamed);
  notes.insert(notes.end(), differing.begin(),
               differing.begin() + static_cast<std::ptrdiff_t>(named));
  if (differing.size() > named) {
    notes.push_back(StrCat("NICs of ", differing.size() - named, " more Nodes differ"));
  }
}

using Hosts = std::map<std::string, HostNics>;

// The layout of most hosts, and of several the smallest.
Layout MostFrequent(const Hosts& hosts) {
  std::map<Layout, int> counts;
  for (const auto& [name, host] : hosts) {
    if (host.problem.empty()) ++counts[host.layout];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? Layout{} : most->first;
}

std::vector<NicPortValue> PortsOf(const Hosts& hosts, const Layout& layout) {
  const auto& first = hosts.begin()->second.interfaces;
  const auto ports =
      static_cast<std::size_t>(layout.rails) * static_cast<std::size_t>(layout.planes);
  const bool alike = std::all_of(hosts.begin(), hosts.end(),
                                 [&](const auto& host) { return host.second.interfaces == first; });
  std::vector<NicPortValue> out;
  if (!alike || first.size() != ports) return out;
  for (const auto& [at, interface] : first) out.push_back({at.first, at.second, interface});
  return out;
}

}  // namespace

absl::StatusOr<NicDevice> DecodeNicDevice(JsonView object) {
  api::FieldErrors errors;
  api::FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  NicDevice out;
  out.name = in.Object("metadata").RequiredString("name");
  api::FieldReader status = in.Object("status");
  out.node = status.RequiredString("node");
  for (api::FieldReader& port : status.Objects("ports")) {
    std::string interface = port.String("networkInterface");
    if (!interface.empty()) out.interfaces.push_back(std::move(interface));
  }
  api::FieldReader spec = in.Object("spec");
  out.spraying = spec.Object("configuration")
                     .Object("template")
                     .Object("spectrumXOptimized")
                     .String("multiplaneMode") == kHardwareSprays;
  api::FieldReader place = spec.Object("interfaceNameTemplate");
  if (place.present()) {
    out.rail = place.Int("railIndex", 0, 0, kMaxRails - 1);
    out.planes = place.Ints("planeIndices", 0, kMaxPlanes - 1, {.max_entries = kMaxPlanes});
    if (out.planes.empty()) errors.Add(place.PathOf("planeIndices"), "is empty", "name its planes");
  }
  if (!errors.empty()) return errors.status();
  return out;
}

absl::StatusOr<NicFindings> SetNics(const std::vector<std::string>& hosts,
                                    const std::vector<NicDevice>& nics, fabric::FabricSpec& spec) {
  std::map<std::string, std::vector<const NicDevice*>> nics_of;
  for (const std::string& host : hosts) nics_of[host];
  for (const NicDevice& nic : nics) {
    const auto host = nics_of.find(nic.node);
    if (host != nics_of.end() && nic.rail >= 0) host->second.push_back(&nic);
  }
  Hosts found;
  std::vector<std::string> differing;
  for (const auto& [name, of_host] : nics_of) {
    if (!of_host.empty()) found.emplace(name, HostNicsOf(of_host));
  }
  NicFindings out;
  if (found.empty()) return out;
  const Layout most = MostFrequent(found);
  for (const auto& [name, of_host] : nics_of) {
    const auto host = found.find(name);
    if (host == found.end()) {
      differing.push_back(StrCat("Node ", name, ": no NicDevice names a rail of it"));
    } else if (!host->second.problem.empty()) {
      differing.push_back(StrCat("Node ", name, ": ", host->second.problem));
    } else if (host->second.layout != most) {
      differing.push_back(StrCat("Node ", name, ": ", DifferenceOf(host->second.layout, most)));
    }
  }
  if (most.rails == 0) return absl::InvalidArgumentError(differing.front());
  const Layout before{spec.rails, spec.planes, spec.nic_spraying};
  spec.rails = most.rails;
  spec.planes = spec.nic_ports = most.planes;
  spec.nic_spraying = most.spraying;
  const absl::Status fits = fabric::Validate(spec);
  if (!fits.ok()) {
    return absl::InvalidArgumentError(
        StrCat("NicDevices say ", TextOf(most), ": ", MessageOf(fits)));
  }
  out.notes.push_back(StrCat("NicDevices say ", TextOf(most),
                             most == before ? "" : StrCat("; the Fabric had ", TextOf(before))));
  AppendHosts(differing, out.notes);
  if (differing.empty()) out.ports = PortsOf(found, most);
  return out;
}

}  // namespace yardmaster::cli
