#include "pkg/fabric/network.h"

#include <algorithm>
#include <unordered_set>

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

// Many times more than a fabric of 100,000 GPUs has, and few enough for ids of links and arrays by
// cable.
constexpr std::int64_t kMaxSwitches = 10'000'000;
constexpr std::int64_t kMaxCables = 50'000'000;

absl::Status TooLarge(const FabricSpec& spec, std::size_t tier, std::int64_t count,
                      const std::string& what, std::int64_t most) {
  return FieldError(
      StrCat("Fabric ", spec.name, ": spec.tiers[", tier, "]"),
      StrCat("its ", what, " and those of the tiers below, ", count, ", are more than ", most),
      "correct the numbers of switches and ports, or the labels of the Nodes");
}

absl::Status TooManyNicPorts(const FabricSpec& spec, int hosts) {
  return FieldError(StrCat("Fabric ", spec.name, ": spec.host"),
                    StrCat(Count(hosts, "host"), " of ", spec.rails, " NICs with ", spec.nic_ports,
                           " ports each have more than ", kMaxCables, " ports"),
                    "correct rails and nicPorts, or the labels of the Nodes");
}

int NumPlaces(Scope scope, const Places& places) {
  if (scope == Scope::kSegment) return places.num_segments();
  return scope == Scope::kFabricPod ? places.num_fabric_pods() : 1;
}

}  // namespace

absl::StatusOr<Network> Network::Build(FabricSpec spec, std::shared_ptr<const Places> places) {
  YM_RETURN_IF_ERROR(Validate(spec));
  Network net;
  net.spec_ = std::move(spec);
  net.places_ = std::move(places);
  if (!net.spec_.addressing.base.empty()) {
    YM_ASSIGN_OR_RETURN(net.base_address_, IpAddress::Parse(net.spec_.addressing.base));
  }
  // Each of the two is up to 1,000,000: the numbers multiply to more than an int64 holds.
  const std::int64_t ports_per_host = std::int64_t{net.spec_.rails} * net.spec_.nic_ports;
  if (ports_per_host > kMaxCables || ports_per_host * net.places_->num_hosts() > kMaxCables) {
    return TooManyNicPorts(net.spec_, net.places_->num_hosts());
  }
  net.num_host_cables_ = static_cast<int>(ports_per_host * net.places_->num_hosts());
  std::int64_t next_switch = 0;
  std::int64_t next_cable = net.num_host_cables_;
  for (std::size_t t = 0; t < net.spec_.tiers.size(); ++t) {
    const Tier& tier = net.spec_.tiers[t];
    TierIndex index;
    index.places = NumPlaces(tier.scope, *net.places_);
    index.rails_per_group = RailsPerSwitch(net.spec_, static_cast<int>(t));
    index.rails = net.spec_.rails / index.rails_per_group;
    index.planes = tier.per_plane ? net.spec_.planes : 1;
    index.first_switch = static_cast<int>(next_switch);
    index.first_cable = static_cast<int>(next_cable);
    const std::int64_t switches =
        std::int64_t{index.places} * index.rails * index.planes * tier.switches;
    next_switch += switches;
    if (next_switch > kMaxSwitches) {
      return TooLarge(net.spec_, t, next_switch, "switches", kMaxSwitches);
    }
    next_cable += switches * tier.up_ports;
    if (next_cable > kMaxCables) {
      return TooLarge(net.spec_, t, next_cable, "cables", kMaxCables);
    }
    index.num_switches = static_cast<int>(switches);
    net.tiers_.push_back(index);
  }
  net.num_cables_ = static_cast<int>(next_cable);
  YM_RETURN_IF_ERROR(net.CheckSizes());
  net.FindAbsent();
  return net;
}

// A switch of a place without Nodes is no switch of the network.
void Network::FindAbsent() {
  const std::unordered_set<std::string> names(spec_.absent_switches.begin(),
                                              spec_.absent_switches.end());
  std::unordered_set<std::int32_t> absent;
  for (int s = 0; !names.empty() && s < num_switches(); ++s) {
    if (names.contains(name(SwitchId(s)))) absent.insert(s);
  }
  for (int c = 0; !absent.empty() && c < num_cables_; ++c) {
    const CableId cable(c);
    if (absent.contains(far_end(up(cable)).value) ||
        (!is_host_cable(cable) && absent.contains(switch_port_of(cable).id.value))) {
      absent_.push_back(cable);
    }
  }
}

bool Network::exists(CableId cable) const {
  return !std::binary_search(absent_.begin(), absent_.end(), cable);
}

void Network::MarkAbsent(std::vector<std::uint8_t>& down) const {
  if (absent_.empty()) return;
  down.resize(static_cast<std::size_t>(num_cables_), 0);
  for (const CableId cable : absent_) down[cable.index()] = 1;
}

absl::Status Network::CheckSizes() const {
  const Tier& tor = spec_.tiers[0];
  const int per_host = RailsPerSwitch(spec_, 0);
  for (SegmentId segment : places_->segments()) {
    const int hosts = places_->num_nodes_of(segment);
    if (hosts * per_host > tor.down_ports) {
      return FieldError(
          StrCat("Fabric ", spec_.name, ": spec.tiers[0].downPorts"),
          StrCat("segment ", places_->name(segment), " has ", Count(hosts, "host"),
                 " and each of its ", tor.role, " switches ", tor.down_ports, " ports"),
          "correct the segment labels of its Nodes or the Fabric");
    }
  }
  for (std::size_t t = 1; t < spec_.tiers.size(); ++t) {
    const Tier& low = spec_.tiers[t - 1];
    const Tier& high = spec_.tiers[t];
    if (low.scope == high.scope) continue;
    std::vector<int> below(static_cast<std::size_t>(tiers_[t].places));
    for (int place = 0; place < tiers_[t - 1].places; ++place) {
      ++below[static_cast<std::size_t>(ParentPlace(static_cast<int>(t) - 1, place))];
    }
    const int upper = static_cast<int>(t);
    for (int count : below) {
      const std::int64_t cables = std::int64_t{count} * LowerSwitchesPerPlace(spec_, upper) /
                                  high.stripes * LinksPerPair(spec_, upper);
      if (cables > high.down_ports) {
        return FieldError(StrCat("Fabric ", spec_.name, ": spec.tiers[", t, "].downPorts"),
                          StrCat("the Nodes make ", cables, " cables into each ", high.role,
                                 " switch of ", high.down_ports, " ports"),
                          "correct the labels of the Nodes or the Fabric");
      }
    }
  }
  return absl::OkStatus();
}

int Network::ParentPlace(int tier, int place) const {
  const Scope from = spec_.tiers[static_cast<std::size_t>(tier)].scope;
  const Scope to = spec_.tiers[static_cast<std::size_t>(tier) + 1].scope;
  if (from == to) return place;
  if (to == Scope::kFabric) return 0;
  return places_->fabric_pod_of(SegmentId(place)).value;
}

SwitchId Network::IdOf(int tier, int place, int rail, int plane, int number) const {
  const TierIndex& index = tiers_[static_cast<std::size_t>(tier)];
  const int r = index.rails == 1 ? 0 : rail / index.rails_per_group;
  const int p = index.planes == 1 ? 0 : plane;
  const int switches = spec_.tiers[static_cast<std::size_t>(tier)].switches;
  return SwitchId(index.first_switch + ((place * index.rails + r) * index.planes + p) * switches +
                  number);
}

int Network::tier_of(SwitchId id) const {
  int tier = 0;
  while (tier + 1 < num_tiers() &&
         id.value >= tiers_[static_cast<std::size_t>(tier) + 1].first_switch) {
    ++tier;
  }
  return tier;
}

SwitchPlace Network::place_of(SwitchId id) const {
  SwitchPlace place;
  place.tier = tier_of(id);
  const TierIndex& index = tiers_[static_cast<std::size_t>(place.tier)];
  const Tier& tier = spec_.tiers[static_cast<std::size_t>(place.tier)];
  int rest = id.value - index.first_switch;
  place.number = rest % tier.switches;
  rest /= tier.switches;
  if (tier.per_plane) place.plane = rest % index.planes;
  rest /= index.planes;
  if (tier.per_rail) place.rail = rest % index.rails * index.rails_per_group;
  place.place = rest / index.rails;
  return place;
}

SwitchId Network::tor(const NicPort& port) const {
  const int plane = plane_of(port);
  // With one plane the ports of a NIC go to the switches of the group in order.
  const int number = tiers_[0].planes == 1 ? port.port : port.port / spec_.planes;
  return IdOf(0, places_->segment_of(port.host).value, port.rail, plane, number);
}

int Network::WiringIndex(const SwitchPlace& lower) const {
  const auto low = static_cast<std::size_t>(lower.tier);
  const TierIndex& mine = tiers_[low];
  const TierIndex& above = tiers_[low + 1];
  int index = 0;
  if (mine.rails != above.rails) {
    index = lower.rail / mine.rails_per_group % (mine.rails / above.rails);
  }
  if (mine.planes != above.planes) index = index * mine.planes + lower.plane;
  return index * spec_.tiers[low].switches + lower.number;
}

SwitchId Network::upper(SwitchId id, int up_port) const {
  const SwitchPlace low = place_of(id);
  const Tier& high = spec_.tiers[static_cast<std::size_t>(low.tier) + 1];
  const int stripe = WiringIndex(low) % high.stripes;
  const int member = up_port / LinksPerPair(spec_, low.tier + 1);
  return IdOf(low.tier + 1, ParentPlace(low.tier, low.place), low.rail, low.plane,
              stripe + high.stripes * member);
}

CableId Network::host_cable(const NicPort& port) const {
  return CableId((port.host.value * spec_.rails + port.rail) * spec_.nic_ports + port.port);
}

CableId Network::up_cable(SwitchId id, int up_port) const {
  const auto tier = IndexOfTier(id);
  return CableId(tiers_[tier].first_cable +
                 (id.value - tiers_[tier].first_switch) * spec_.tiers[tier].up_ports + up_port);
}

NicPort Network::nic_port_of(CableId cable) const {
  const int nic = cable.value / spec_.nic_ports;
  return {HostId(nic / spec_.rails), nic % spec_.rails, cable.value % spec_.nic_ports};
}

Network::SwitchPort Network::switch_port_of(CableId cable) const {
  std::size_t tier = 0;
  while (tier + 1 < tiers_.size() && cable.value >= tiers_[tier + 1].first_cable) ++tier;
  const int at = cable.value - tiers_[tier].first_cable;
  const int ports = spec_.tiers[tier].up_ports;
  return {SwitchId(tiers_[tier].first_switch + at / ports), at % ports};
}

double Network::gbps(LinkId link) const {
  const CableId cable = cable_of(link);
  if (is_host_cable(cable)) return spec_.nic_gbps;
  return spec_.tiers[IndexOfTier(switch_port_of(cable).id)].up_gbps;
}

bool Network::Covers(int tier, int place, HostId host) const {
  switch (spec_.tiers[static_cast<std::size_t>(tier)].scope) {
    case Scope::kSegment:
      return places_->segment_of(host).value == place;
    case Scope::kFabricPod:
      return places_->fabric_pod_of(host).value == place;
    case Scope::kFabric:
      return true;
  }
  return false;
}

bool Network::reaches_down(SwitchId id, const NicPort& dst) const {
  const SwitchPlace at = place_of(id);
  if (at.plane >= 0 && at.plane != plane_of(dst)) return false;
  const int group = tiers_[static_cast<std::size_t>(at.tier)].rails_per_group;
  if (at.rail >= 0 && at.rail != dst.rail / group * group) return false;
  return Covers(at.tier, at.place, dst.host);
}

std::vector<LinkId> Network::next_hops(SwitchId at, const NicPort& dst) const {
  std::vector<LinkId> hops;
  const SwitchPlace here = place_of(at);
  if (!reaches_down(at, dst)) {
    for (int u = 0; u < num_up_ports(at); ++u) hops.push_back(up(up_cable(at, u)));
    return hops;
  }
  if (here.tier == 0) {
    for (int port = 0; port < spec_.nic_ports; ++port) {
      const NicPort nic{dst.host, dst.rail, port};
      if (tor(nic) == at) hops.push_back(down(host_cable(nic)));
    }
    return hops;
  }
  // Lower switches that lead to dst: same place chain, dst's rail and plane, any number.
  const int low = here.tier - 1;
  const Tier& lower_tier = spec_.tiers[static_cast<std::size_t>(low)];
  const Scope scope = lower_tier.scope;
  const int place = scope == Scope::kSegment     ? places_->segment_of(dst.host).value
                    : scope == Scope::kFabricPod ? places_->fabric_pod_of(dst.host).value
                                                 : 0;
  const int links = LinksPerPair(spec_, here.tier);
  const int stripes = spec_.tiers[static_cast<std::size_t>(here.tier)].stripes;
  const int member = here.number / stripes;
  for (int number = 0; number < lower_tier.switches; ++number) {
    const SwitchId lower = IdOf(low, place, dst.rail, plane_of(dst), number);
    if (WiringIndex(place_of(lower)) % stripes != here.number % stripes) continue;
    for (int i = 0; i < links; ++i) hops.push_back(down(up_cable(lower, member * links + i)));
  }
  return hops;
}

SwitchId Network::far_end(LinkId link) const {
  const CableId cable = cable_of(link);
  if (is_host_cable(cable)) return is_down(link) ? SwitchId() : tor(nic_port_of(cable));
  const SwitchPort port = switch_port_of(cable);
  return is_down(link) ? port.id : upper(port.id, port.up_port);
}

IpAddress Network::nic_address(HostId host, int rail) const {
  const std::vector<IpAddress>& given = places_->nic_addresses(host);
  if (static_cast<std::size_t>(rail) < given.size()) return given[static_cast<std::size_t>(rail)];
  if (!base_address_) return IpAddress();
  return base_address_->Plus(static_cast<std::uint32_t>(host.value * spec_.rails + rail));
}

bool Network::knows_addresses(HostId host) const {
  return base_address_.has_value() ||
         places_->nic_addresses(host).size() >= static_cast<std::size_t>(spec_.rails);
}

std::string Network::name(SwitchId id) const {
  const SwitchPlace at = place_of(id);
  const Tier& tier = spec_.tiers[static_cast<std::size_t>(at.tier)];
  std::string text;
  if (tier.scope == Scope::kSegment) {
    const SegmentId segment(at.place);
    text = StrCat(places_->name(places_->fabric_pod_of(segment)), "/", places_->name(segment), "/");
  } else if (tier.scope == Scope::kFabricPod) {
    text = StrCat(places_->name(FabricPodId(at.place)), "/");
  }
  text += tier.role;
  if (at.rail >= 0) text += StrCat("-r", at.rail);
  if (at.plane >= 0) text += StrCat("-p", at.plane);
  if (tier.switches > 1) text += StrCat("-", at.number);
  return text;
}

std::string Network::name(CableId id) const {
  if (is_host_cable(id)) {
    const NicPort nic = nic_port_of(id);
    return StrCat(places_->name(nic.host), ":r", nic.rail, "p", nic.port);
  }
  const SwitchPort port = switch_port_of(id);
  return StrCat(name(port.id), ":u", port.up_port);
}

std::string Network::name(LinkId id) const {
  return StrCat(name(cable_of(id)), is_down(id) ? ".down" : ".up");
}

SwitchId Network::FindSwitch(std::string_view wanted) const {
  const std::string own = OwnName(spec_, wanted);
  for (int s = 0; s < num_switches(); ++s) {
    if (name(SwitchId(s)) == own) return SwitchId(s);
  }
  return SwitchId();
}

CableId Network::FindCable(std::string_view wanted) const {
  for (std::string_view suffix : {".up", ".down"}) {
    if (wanted.size() > suffix.size() && wanted.substr(wanted.size() - suffix.size()) == suffix) {
      wanted.remove_suffix(suffix.size());
      break;
    }
  }
  const std::size_t colon = wanted.rfind(':');
  if (colon == std::string_view::npos) return CableId();
  const std::string_view owner = wanted.substr(0, colon);
  const std::string_view port = wanted.substr(colon + 1);
  if (!port.empty() && port[0] == 'u') {
    const SwitchId id = FindSwitch(owner);
    auto number = ParseNumber<int>(port.substr(1));
    if (!id.valid() || !number || *number < 0 || *number >= num_up_ports(id)) return CableId();
    return up_cable(id, *number);
  }
  const HostId host = places_->FindHost(owner);
  const std::size_t p = port.find('p');
  if (!host.valid() || port.empty() || port[0] != 'r' || p == std::string_view::npos) {
    return CableId();
  }
  auto rail = ParseNumber<int>(port.substr(1, p - 1));
  auto nic_port = ParseNumber<int>(port.substr(p + 1));
  if (!rail || !nic_port || *rail < 0 || *rail >= spec_.rails || *nic_port < 0 ||
      *nic_port >= spec_.nic_ports) {
    return CableId();
  }
  return host_cable({host, *rail, *nic_port});
}

}  // namespace yardmaster::fabric
