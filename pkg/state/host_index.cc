#include "pkg/state/host_index.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/state/place_contradictions.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::state {

namespace {

using fabric::HostId;
using fabric::HostPlace;

// The API server counts what changes a spec; a status alone leaves the count as it is.
bool SameSpec(const api::Fabric* a, const api::Fabric* b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && !a->metadata.uid.empty() && a->metadata.generation > 0 &&
         a->metadata.uid == b->metadata.uid && a->metadata.generation == b->metadata.generation;
}

std::string_view GpuModelOf(const api::Node* node) {
  return node == nullptr
             ? std::string_view()
             : api::Find(node->metadata.labels, api::kGpuModelLabel).value_or(std::string_view());
}

// Those of the next place, too, where one is promised.
template <typename Visit>
void ForEachPromise(const api::GangStatus& status, Visit visit) {
  for (const api::AssignmentEntry& entry : status.assignments) visit(entry);
  if (!status.is_promised_next()) return;
  for (const api::AssignmentEntry& entry : status.move->assignments) visit(entry);
}

// By id in `before`: the id of the host of that name in `after`, or an invalid one.
std::vector<HostId> MovedTo(const fabric::Places& before, const fabric::Places& after) {
  std::vector<HostId> to(static_cast<std::size_t>(before.num_hosts()));
  auto at = after.by_name().begin();
  const auto end = after.by_name().end();
  for (HostId host : before.by_name()) {
    while (at != end && after.name(*at) < before.name(host)) ++at;
    if (at != end && after.name(*at) == before.name(host)) to[host.index()] = *at;
  }
  return to;
}

}  // namespace

HostChanges HostIndex::Update(const ClusterState& cluster) {
  const bool other_fabric = ChooseFabric(cluster.fabrics) || places_ == nullptr;
  if (other_fabric) {
    nodes_.clear();
    place_of_node_.clear();
    warned_.clear();
    gangs_.clear();
    missing_.clear();
    moved_ = true;
  }
  ReadNodes(cluster.nodes);
  ReadPromises(cluster.gangs);
  HostChanges changes;
  const std::shared_ptr<const fabric::Places> before = places_;
  changes.renumbered = moved_ && Renumber(other_fabric);
  moved_ = false;
  changes.all = changes.renumbered && other_fabric;
  if (changes.renumbered && before != nullptr) changes.moved_to = MovedTo(*before, *places_);
  if (changes.all) {
    FillAll();
  } else if (changes.renumbered) {
    MoveHosts(changes.moved_to);
  }
  for (const ReadNode& read : read_nodes_) {
    const HostId host = changes.all ? HostId() : places_->FindHost(read.node->metadata.name);
    if (!host.valid()) continue;
    FillHost(host, read.usable ? read.node : nullptr);
    changes.hosts.push_back(host);
  }
  std::sort(changes.hosts.begin(), changes.hosts.end());
  if (gpu_models_differ_) ReadGpuModels();
  if (!changes.renumbered && changes.hosts.empty()) return changes;
  // A group must fit into the largest host that exists, not into the hosts that the Fabric
  // describes.
  gpus_per_host_ = 0;
  for (const placement::HostState& state : states_) {
    gpus_per_host_ = std::max<int>(gpus_per_host_, state.gpus);
  }
  if (gpus_per_host_ == 0) gpus_per_host_ = spec_.gpus_per_host;
  MarkCables();
  return changes;
}

// Takes the Fabric that is in use; the others are named in a warning. True when another spec counts
// than before.
bool HostIndex::ChooseFabric(const ObjectTable<api::Fabric>& fabrics) {
  const std::shared_ptr<const api::Fabric> chosen = UsedFabric(fabrics);
  fabric_warnings_.clear();
  for (const auto& fabric : fabrics) {
    if (fabric == chosen) continue;
    fabric_warnings_.push_back(StrCat(
        "Fabric ", fabric->metadata.name, ": is not used, one Fabric is planned at a time and ",
        chosen->metadata.name, " is older or has the annotation ", api::kInUseAnnotation,
        "=true; delete one of them, or annotate the one that is meant"));
  }
  const bool same = SameSpec(fabric_.get(), chosen.get());
  fabric_ = chosen;
  if (!same) spec_ = chosen != nullptr ? chosen->spec : fabric::FabricSpec{};
  return !same;
}

void HostIndex::ReadNodes(const ObjectTable<api::Node>& nodes) {
  read_nodes_.clear();
  came_or_went_.clear();
  // Nodes come by name: where many have changed, the next one is often the next one that is known.
  auto at = place_of_node_.begin();
  ObjectTable<api::Node>::Differences(nodes_, nodes, [&](const auto& before, const auto& after) {
    const std::shared_ptr<const api::Node>& node = after != nullptr ? after : before;
    const std::string& name = node->metadata.name;
    NodePlace now = after != nullptr ? PlaceOf(*after, spec_) : NodePlace{};
    read_nodes_.push_back({node, now.place.has_value()});
    if (at == place_of_node_.end() || at->first != name) at = place_of_node_.lower_bound(name);
    const bool known = at != place_of_node_.end() && at->first == name;
    const bool was_used = known && at->second.place;
    if (was_used != now.place.has_value()) came_or_went_.insert(name);
    moved_ |= was_used ? now.place != at->second.place : now.place.has_value();
    if (now.warnings.empty()) {
      warned_.erase(name);
    } else {
      warned_.insert(name);
    }
    if (after == nullptr) {
      if (known) at = place_of_node_.erase(at);
    } else if (known) {
      (at++)->second = std::move(now);
    } else {
      place_of_node_.emplace_hint(at, name, std::move(now));
    }
  });
  nodes_ = nodes;
}

std::vector<HostPlace> HostIndex::Missing(const api::Gang& gang) const {
  std::vector<HostPlace> missing;
  ForEachPromise(gang.status, [&](const api::AssignmentEntry& entry) {
    if (entry.fabric_pod.empty() || entry.segment.empty()) return;
    const auto at = place_of_node_.find(entry.host);
    if (at != place_of_node_.end() && at->second.place) return;
    missing.push_back({entry.host, entry.fabric_pod, entry.segment, {}, {}, /*has_node=*/false});
    if (entry.domain != entry.host) missing.back().domain = entry.domain;
  });
  return missing;
}

void HostIndex::ReadPromises(const ObjectTable<api::Gang>& gangs) {
  const auto note = [this](const api::Gang& gang, std::vector<HostPlace> now) {
    NamespacedName key{gang.metadata.namespace_name, gang.metadata.name};
    const auto at = missing_.find(key);
    moved_ |= at == missing_.end() ? !now.empty() : at->second != now;
    if (at != missing_.end()) missing_.erase(at);
    if (!now.empty()) missing_.emplace(std::move(key), std::move(now));
  };
  const bool first = gangs_.empty();
  ObjectTable<api::Gang>::Differences(gangs_, gangs, [&](const auto& before, const auto& after) {
    if (after != nullptr) {
      note(*after, Missing(*after));
    } else {
      note(*before, {});
    }
  });
  gangs_ = gangs;
  if (first || came_or_went_.empty()) return;
  for (const auto& gang : gangs) {
    bool concerned = false;
    ForEachPromise(gang->status, [&](const api::AssignmentEntry& slot) {
      concerned |= came_or_went_.count(slot.host) != 0;
    });
    if (concerned) note(*gang, Missing(*gang));
  }
}

std::vector<HostPlace> HostIndex::CollectPlaces() {
  std::vector<HostPlace> hosts;
  hosts.reserve(place_of_node_.size());
  for (const auto& [name, node] : place_of_node_) {
    if (node.place) hosts.push_back(*node.place);
  }
  DropRepeatedAddresses(hosts);
  if (missing_.empty()) return hosts;
  std::map<std::string, HostPlace> promised;
  for (const auto& [gang, places] : missing_) {
    for (const HostPlace& place : places) promised.emplace(place.name, place);
  }
  for (auto& [name, place] : promised) hosts.push_back(std::move(place));
  std::sort(hosts.begin(), hosts.end(),
            [](const HostPlace& a, const HostPlace& b) { return a.name < b.name; });
  return hosts;
}

// Two Nodes with one address would take each other's paths: neither gets any.
void HostIndex::DropRepeatedAddresses(std::vector<HostPlace>& hosts) {
  std::vector<std::pair<IpAddress, std::size_t>> owners;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    for (const IpAddress& address : hosts[h].nic_addresses) owners.push_back({address, h});
  }
  std::sort(owners.begin(), owners.end());
  std::set<std::size_t> repeated;
  for (std::size_t i = 1; i < owners.size(); ++i) {
    if (owners[i].first != owners[i - 1].first) continue;
    repeated.insert({owners[i].second, owners[i - 1].second});
  }
  address_warnings_.clear();
  for (std::size_t h : repeated) {
    hosts[h].nic_addresses.clear();
    hosts[h].address_problem =
        StrCat("Node ", hosts[h].name, ": metadata.annotations[\"", api::kNicAddressesAnnotation,
               "\"]: has an address that another NIC has, too");
    address_warnings_.push_back(hosts[h].address_problem + "; give every NIC its own");
  }
}

// Makes places and network again. False when they would be what they are.
bool HostIndex::Renumber(bool other_fabric) {
  std::vector<HostPlace> hosts = CollectPlaces();
  if (!other_fabric && hosts == hosts_) return false;
  network_warnings_.clear();
  absl::StatusOr<fabric::Places> places = fabric::Places::Build(hosts);
  if (!places.ok()) {
    network_warnings_.push_back(MessageOf(places.status()));
    places = fabric::Places::Build({});
  }
  places_ = std::make_shared<const fabric::Places>(*std::move(places));
  hosts_ = std::move(hosts);
  network_ = nullptr;
  if (fabric_ != nullptr) {
    for (std::string& warning : PlaceContradictions(*places_, spec_)) {
      network_warnings_.push_back(std::move(warning));
    }
    absl::StatusOr<fabric::Network> network = fabric::Network::Build(spec_, places_);
    if (network.ok()) {
      network_ = std::make_shared<const fabric::Network>(*std::move(network));
      for (std::string& warning : UnknownSwitches(*network_)) {
        network_warnings_.push_back(std::move(warning));
      }
    } else {
      network_warnings_.push_back(MessageOf(network.status()));
    }
  }
  return true;
}

// Facts come from the Node alone. A host that is new has none, or one that was read in this Update.
void HostIndex::MoveHosts(const std::vector<HostId>& to) {
  gpu_models_differ_ = true;
  const auto count = static_cast<std::size_t>(places_->num_hosts());
  const HostFacts unknown = FactsWithoutNode();
  std::vector<placement::HostState> states(count, unknown.state);
  std::vector<std::uint8_t> may_lose_ranks(count, unknown.may_lose_ranks ? 1 : 0);
  std::vector<std::shared_ptr<const api::Node>> nodes(count);
  for (std::size_t h = 0; h < to.size(); ++h) {
    if (!to[h].valid()) continue;
    states[to[h].index()] = states_[h];
    may_lose_ranks[to[h].index()] = may_lose_ranks_[h];
    nodes[to[h].index()] = std::move(node_of_host_[h]);
  }
  std::map<HostId, HostFacts> noted;
  for (auto& [host, facts] : noted_) {
    const HostId moved = to[host.index()];
    if (moved.valid()) noted.emplace(moved, std::move(facts));
  }
  states_ = std::move(states);
  may_lose_ranks_ = std::move(may_lose_ranks);
  node_of_host_ = std::move(nodes);
  noted_ = std::move(noted);
}

// Hosts, Nodes and their places all ascend by name.
void HostIndex::FillAll() {
  gpu_models_differ_ = true;
  const auto count = static_cast<std::size_t>(places_->num_hosts());
  states_.assign(count, {});
  may_lose_ranks_.assign(count, 0);
  node_of_host_.assign(count, nullptr);
  noted_.clear();
  auto node = nodes_.begin();
  auto place = place_of_node_.begin();
  for (HostId host : places_->by_name()) {
    const std::string& name = places_->name(host);
    while (node != nodes_.end() && (*node)->metadata.name < name) ++node;
    while (place != place_of_node_.end() && place->first < name) ++place;
    const bool usable =
        place != place_of_node_.end() && place->first == name && place->second.place;
    FillHost(host, usable ? *node : nullptr);
  }
}

// `node`: null when it is gone or not used.
void HostIndex::FillHost(HostId host, std::shared_ptr<const api::Node> node) {
  HostFacts facts = node != nullptr ? FactsOf(*node, spec_) : FactsWithoutNode();
  node_of_host_[host.index()] = std::move(node);
  SetState(host, facts.state);
  may_lose_ranks_[host.index()] = facts.may_lose_ranks ? 1 : 0;
  noted_.erase(host);
  if (!facts.down_ports.empty() || !facts.warnings.empty()) noted_.emplace(host, std::move(facts));
}

void HostIndex::SetState(HostId host, placement::HostState state) {
  placement::HostState& known = states_[host.index()];
  if (!gpu_models_differ_) {
    const std::string_view model = GpuModelOf(node_of_host_[host.index()].get());
    const auto at = std::lower_bound(gpu_models_->begin(), gpu_models_->end(), model);
    const bool is_known = at != gpu_models_->end() && *at == model;
    if (known.gpus > 0) gpu_models_differ_ |= --hosts_of_model_[known.gpu_model] == 0;
    if (state.gpus > 0 && is_known) {
      state.gpu_model = static_cast<std::uint8_t>(at - gpu_models_->begin());
      ++hosts_of_model_[state.gpu_model];
    }
    gpu_models_differ_ |= state.gpus > 0 && !is_known;
  }
  known = state;
}

void HostIndex::ReadGpuModels() {
  constexpr std::size_t kMaxModels = 255;
  std::set<std::string_view> names;
  for (const HostId host : places_->hosts()) {
    if (states_[host.index()].gpus == 0) continue;
    names.insert(GpuModelOf(node_of_host_[host.index()].get()));
  }
  std::vector<std::string> models(names.begin(), names.end());
  if (models.size() > kMaxModels) models.resize(kMaxModels);
  hosts_of_model_.assign(models.size(), 0);
  for (const HostId host : places_->hosts()) {
    placement::HostState& state = states_[host.index()];
    state.gpu_model = 0;
    if (state.gpus == 0) continue;
    const std::string_view model = GpuModelOf(node_of_host_[host.index()].get());
    const auto at = std::lower_bound(models.begin(), models.end() - 1, model);
    state.gpu_model = static_cast<std::uint8_t>(at - models.begin());
    ++hosts_of_model_[state.gpu_model];
  }
  gpu_models_ = std::make_shared<const std::vector<std::string>>(std::move(models));
  gpu_models_differ_ = false;
}

void HostIndex::MarkCables() {
  cable_down_.clear();
  if (network_ == nullptr) return;
  network_->MarkAbsent(cable_down_);
  for (const auto& [host, facts] : noted_) {
    for (const auto& [rail, port] : facts.down_ports) {
      cable_down_.resize(static_cast<std::size_t>(network_->num_cables()), 0);
      cable_down_[network_->host_cable({host, rail, port}).index()] = 1;
    }
  }
}

std::vector<fabric::SegmentId> HostIndex::LostSegments() const {
  std::vector<fabric::SegmentId> found;
  if (fabric_ == nullptr || fabric_->status.lost_segments.empty()) return found;
  for (const fabric::SegmentId segment : places_->segments()) {
    const std::string& pod = places_->name(places_->fabric_pod_of(segment));
    for (const api::LostSegment& lost : fabric_->status.lost_segments) {
      if (lost.segment == places_->name(segment) && lost.fabric_pod == pod) {
        found.push_back(segment);
        break;
      }
    }
  }
  return found;
}

std::vector<fabric::DomainId> HostIndex::LostDomains() const {
  std::vector<fabric::DomainId> found;
  if (fabric_ == nullptr || fabric_->status.lost_domains.empty()) return found;
  if (!places_->has_domains()) return found;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> lost;
  for (const api::LostDomain& domain : fabric_->status.lost_domains) {
    lost.emplace(domain.fabric_pod, domain.segment, domain.domain);
  }
  for (const fabric::DomainId domain : places_->domains()) {
    const fabric::SegmentId segment = places_->segment_of(domain);
    const std::string& pod = places_->name(places_->fabric_pod_of(segment));
    if (lost.count({pod, places_->name(segment), places_->name(domain)}) != 0) {
      found.push_back(domain);
    }
  }
  return found;
}

void HostIndex::AppendWarnings(std::vector<std::string>& warnings) const {
  const auto append = [&warnings](const std::vector<std::string>& more) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  };
  append(fabric_warnings_);
  for (const std::string& name : warned_) append(place_of_node_.find(name)->second.warnings);
  append(address_warnings_);
  append(network_warnings_);
  for (const auto& [host, facts] : noted_) append(facts.warnings);
}

}  // namespace yardmaster::state
