#include "pkg/state/host_builder.h"

#include <algorithm>
#include <set>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

using fabric::HostId;

std::string NodeField(const api::Node& node, std::string_view map, std::string_view key) {
  return StrCat("Node ", node.metadata.name, ": metadata.", api::JoinPath(map, key));
}

// The first Fabric by name; the others are named in a warning.
const api::Fabric* ChooseFabric(const std::vector<std::shared_ptr<const api::Fabric>>& fabrics,
                                std::vector<std::string>& warnings) {
  const api::Fabric* chosen = nullptr;
  for (const auto& fabric : fabrics) {
    if (chosen == nullptr || fabric->metadata.name < chosen->metadata.name) chosen = fabric.get();
  }
  for (const auto& fabric : fabrics) {
    if (fabric.get() == chosen) continue;
    warnings.push_back(StrCat("Fabric ", fabric->metadata.name, ": is not used, one Fabric is ",
                              "planned at a time and ", chosen->metadata.name,
                              " comes first by name; delete one of them"));
  }
  std::sort(warnings.begin(), warnings.end());
  return chosen;
}

// Fills the addresses of the Node's NICs, or says why they are not known.
void ReadNicAddresses(const api::Node& node, int rails, fabric::HostPlace& place,
                      std::vector<std::string>& warnings) {
  const auto text = api::Find(node.metadata.annotations, api::kNicAddressesAnnotation);
  if (!text || text->empty()) return;
  std::set<IpAddress> distinct;
  for (const std::string& part : Split(*text, ',')) {
    const auto address = IpAddress::Parse(part);
    if (!address.ok()) break;
    place.nic_addresses.push_back(*address);
    distinct.insert(*address);
  }
  const bool one_kind =
      std::all_of(place.nic_addresses.begin(), place.nic_addresses.end(),
                  [&place](const IpAddress& a) { return a.v6 == place.nic_addresses[0].v6; });
  if (static_cast<int>(distinct.size()) == rails && distinct.size() == place.nic_addresses.size() &&
      one_kind) {
    return;
  }
  place.nic_addresses.clear();
  place.address_problem =
      StrCat(NodeField(node, "annotations", api::kNicAddressesAnnotation), ": \"", *text,
             "\" is not one address for each of ", rails, " rails, all IPv4 or all IPv6");
  warnings.push_back(place.address_problem + "; the host gets no path plans until it is");
}

// Where a Node stands, or nothing.
std::optional<fabric::HostPlace> PlaceOf(const api::Node& node, const fabric::FabricSpec& spec,
                                         std::vector<std::string>& warnings) {
  const auto pod = api::Find(node.metadata.labels, spec.fabric_pod_label.c_str());
  const auto segment = api::Find(node.metadata.labels, spec.segment_label.c_str());
  if (pod && segment && !pod->empty() && !segment->empty()) {
    fabric::HostPlace place{node.metadata.name, std::string(*pod), std::string(*segment), {}, {}};
    ReadNicAddresses(node, spec.rails, place, warnings);
    return place;
  }
  if (node.gpus > 0) {
    const std::string& missing = pod && !pod->empty() ? spec.segment_label : spec.fabric_pod_label;
    warnings.push_back(StrCat(NodeField(node, "labels", missing),
                              ": is missing, the node is not used; label it with its place"));
  }
  return std::nullopt;
}

// Two Nodes with one address would take each other's paths: neither gets any.
void DropRepeatedAddresses(std::vector<fabric::HostPlace>& hosts,
                           std::vector<std::string>& warnings) {
  std::map<IpAddress, std::string> owner;
  std::set<std::string> repeated;
  for (const fabric::HostPlace& host : hosts) {
    for (const IpAddress& address : host.nic_addresses) {
      const auto [it, fresh] = owner.emplace(address, host.name);
      if (fresh) continue;
      repeated.insert(host.name);
      repeated.insert(it->second);
    }
  }
  for (fabric::HostPlace& host : hosts) {
    if (repeated.count(host.name) == 0) continue;
    host.nic_addresses.clear();
    host.address_problem =
        StrCat("Node ", host.name, ": metadata.annotations[\"", api::kNicAddressesAnnotation,
               "\"]: has an address that another NIC has, too");
    warnings.push_back(host.address_problem + "; give every NIC its own");
  }
}

class HostBuilder {
 public:
  HostBuilder(const api::Fabric* fabric, plan::Snapshot& snapshot)
      : snapshot_(snapshot), spec_(fabric != nullptr ? fabric->spec : fabric::FabricSpec{}) {}

  void AddNodes(const std::vector<std::shared_ptr<const api::Node>>& nodes) {
    std::vector<const api::Node*> sorted;
    for (const auto& node : nodes) sorted.push_back(node.get());
    std::sort(sorted.begin(), sorted.end(), [](const api::Node* a, const api::Node* b) {
      return a->metadata.name < b->metadata.name;
    });
    for (const api::Node* node : sorted) {
      if (!by_name_.emplace(node->metadata.name, node).second) {
        snapshot_.warnings.push_back(
            StrCat("Node ", node->metadata.name, ": is there twice; the first one counts"));
        continue;
      }
      if (auto place = PlaceOf(*node, spec_, snapshot_.warnings)) {
        hosts_.push_back(*std::move(place));
      } else {
        by_name_[node->metadata.name] = nullptr;
      }
    }
    DropRepeatedAddresses(hosts_, snapshot_.warnings);
  }

  // Promised hosts without a usable Node keep their place in the ledger.
  void AddPromisedHosts(const std::vector<std::shared_ptr<const api::Gang>>& gangs) {
    std::map<std::string, fabric::HostPlace> missing;
    for (const auto& gang : gangs) {
      for (const api::AssignmentEntry& entry : gang->status.assignments) {
        const auto it = by_name_.find(entry.host);
        if (it != by_name_.end() && it->second != nullptr) continue;
        if (entry.fabric_pod.empty() || entry.segment.empty()) continue;
        missing.emplace(entry.host,
                        fabric::HostPlace{entry.host, entry.fabric_pod, entry.segment, {}});
      }
    }
    for (auto& [name, place] : missing) hosts_.push_back(std::move(place));
  }

  Hosts Finish(const api::Fabric* fabric) {
    absl::StatusOr<fabric::Places> places = fabric::Places::Build(hosts_);
    if (!places.ok()) {
      snapshot_.warnings.push_back(MessageOf(places.status()));
      places = fabric::Places::Build({});
    }
    snapshot_.places = std::make_shared<const fabric::Places>(*std::move(places));
    Hosts out;
    if (fabric != nullptr) {
      out.spec = &fabric->spec;
      BuildNetwork();
    }
    FillStates(out);
    return out;
  }

 private:
  void BuildNetwork() {
    absl::StatusOr<fabric::Network> network = fabric::Network::Build(spec_, snapshot_.places);
    if (network.ok()) {
      snapshot_.network = std::make_shared<const fabric::Network>(*std::move(network));
    } else {
      snapshot_.warnings.push_back(MessageOf(network.status()));
    }
  }

  void FillStates(Hosts& out) {
    const fabric::Places& places = *snapshot_.places;
    snapshot_.cluster.places = snapshot_.places;
    snapshot_.cluster.hosts.resize(static_cast<std::size_t>(places.num_hosts()));
    out.node_of_host.resize(static_cast<std::size_t>(places.num_hosts()), nullptr);
    out.gpus_per_host = spec_.gpus_per_host;
    for (HostId host : places.hosts()) {
      const auto it = by_name_.find(places.name(host));
      const api::Node* node = it == by_name_.end() ? nullptr : it->second;
      out.node_of_host[host.index()] = node;
      FillState(host, node, snapshot_.cluster.hosts[host.index()]);
      if (node != nullptr && out.spec == nullptr) {
        out.gpus_per_host = std::max(out.gpus_per_host, static_cast<int>(node->gpus));
      }
    }
  }

  void FillState(HostId host, const api::Node* node, placement::HostState& state) {
    if (node == nullptr) {
      state = {0, 0, placement::HostOut::kNotReady, false, false, -1};
      return;
    }
    state.gpus = static_cast<std::int16_t>(std::min<std::int64_t>(node->gpus, 1024));
    state.free_gpus = state.gpus;
    state.backup = node->backup();
    if (node->ready == std::optional<bool>(false) || node->metadata.deleted_ms) {
      state.out = placement::HostOut::kNotReady;
    } else if (node->unschedulable) {
      state.out = placement::HostOut::kCordoned;
    }
    state.degraded = MarkDownPorts(host, *node);
  }

  // "r0p1,r3p0". True when at least one port is down.
  bool MarkDownPorts(HostId host, const api::Node& node) {
    const auto text = api::Find(node.metadata.annotations, api::kDownPortsAnnotation);
    if (!text || text->empty()) return false;
    bool any = false;
    for (const std::string& port : Split(*text, ',')) {
      const std::size_t p = port.find('p');
      const auto rail = port.empty() || port[0] != 'r' || p == std::string::npos
                            ? std::nullopt
                            : ParseNumber<int>(std::string_view(port).substr(1, p - 1));
      const auto number =
          rail ? ParseNumber<int>(std::string_view(port).substr(p + 1)) : std::nullopt;
      if (!number || *rail < 0 || *rail >= spec_.rails || *number < 0 ||
          *number >= spec_.nic_ports) {
        snapshot_.warnings.push_back(
            StrCat(NodeField(node, "annotations", api::kDownPortsAnnotation), ": \"", port,
                   "\" is no NIC port of this fabric; write r<rail>p<port>, comma separated"));
        continue;
      }
      any = true;
      MarkDown(host, *rail, *number);
    }
    return any;
  }

  void MarkDown(HostId host, int rail, int port) {
    if (snapshot_.network == nullptr) return;
    const fabric::Network& network = *snapshot_.network;
    snapshot_.cable_down.resize(static_cast<std::size_t>(network.num_cables()), 0);
    snapshot_.cable_down[network.host_cable({host, rail, port}).index()] = 1;
  }

  plan::Snapshot& snapshot_;
  const fabric::FabricSpec spec_;
  std::map<std::string, const api::Node*> by_name_;  // null: has no place
  std::vector<fabric::HostPlace> hosts_;
};

}  // namespace

Hosts BuildHosts(const std::vector<std::shared_ptr<const api::Fabric>>& fabrics,
                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                 const std::vector<std::shared_ptr<const api::Gang>>& gangs,
                 plan::Snapshot& snapshot) {
  const api::Fabric* fabric = ChooseFabric(fabrics, snapshot.warnings);
  HostBuilder builder(fabric, snapshot);
  builder.AddNodes(nodes);
  builder.AddPromisedHosts(gangs);
  return builder.Finish(fabric);
}

}  // namespace yardmaster::state
