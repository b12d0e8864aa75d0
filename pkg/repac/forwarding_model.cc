#include "pkg/repac/forwarding_model.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::repac {

namespace {

absl::StatusOr<SwitchHashes::Pair> CompilePair(const fabric::HashSpec& spec,
                                               const std::string& field) {
  auto hash = HashModel::Compile(spec);
  if (!hash.ok()) return Annotate(hash.status(), field);
  SwitchHashes::Pair pair{*std::move(hash), nullptr,
                          spec.lag == nullptr && spec.group == fabric::GroupRule()};
  if (spec.lag != nullptr) {
    auto lag = HashModel::Compile(*spec.lag);
    if (!lag.ok()) return Annotate(lag.status(), field + ".lag");
    pair.lag = std::make_shared<const HashModel>(*std::move(lag));
  }
  return pair;
}

bool NamesIngressPort(const std::vector<fabric::HashField>& fields) {
  return std::find(fields.begin(), fields.end(), fabric::HashField::kIngressPort) != fields.end();
}

// `name` is not the id of a switch. The error gives the first id as an example.
absl::Status NoSuchSwitch(const fabric::Network& network, const std::string& field,
                          const std::string& name) {
  const std::string own = fabric::OwnName(network.spec(), name);
  if (own == name) {
    return FieldError(field, "there is no such switch",
                      StrCat("use a switch id, for example ", network.name(SwitchId(0))));
  }
  return FieldError(field, StrCat("is what spec.switchNames calls ", own), StrCat("use ", own));
}

}  // namespace

void SwitchHashes::Note(const fabric::HashSpec& spec) {
  uses_ingress_ports_ |= !spec.ingress_ports.empty() || spec.group.preset_by_ingress_port ||
                         NamesIngressPort(spec.fields) ||
                         NamesIngressPort(spec.rtag7.other_fields) ||
                         NamesIngressPort(spec.rtag7.equal_port_fields);
  if (spec.lag != nullptr) Note(*spec.lag);
}

absl::StatusOr<std::shared_ptr<const SwitchHashes>> SwitchHashes::Compile(
    const fabric::Network& network, const std::map<std::string, std::string>& mistrusted) {
  const fabric::FabricSpec& spec = network.spec();
  auto out = std::make_shared<SwitchHashes>();
  for (std::size_t t = 0; t < spec.tiers.size(); ++t) {
    const fabric::Tier& tier = spec.tiers[t];
    const auto found = spec.ecmp_hash.find(tier.role);
    fabric::HashSpec hash;
    if (found != spec.ecmp_hash.end()) hash = found->second;
    if (found == spec.ecmp_hash.end()) {
      hash.reason = StrCat("the Fabric says nothing about the hash of role ", tier.role);
    }
    if (const auto bad = mistrusted.find(tier.role); bad != mistrusted.end()) {
      hash = fabric::HashSpec();
      hash.reason = bad->second;
    }
    if (tier.spraying) {
      hash = fabric::HashSpec();
      hash.reason = StrCat("its switches spray packets over paths (spec.tiers[", t, "].spraying)");
    }
    YM_ASSIGN_OR_RETURN(Pair pair, CompilePair(hash, StrCat("spec.ecmpHash.", tier.role)));
    out->by_tier_.push_back(std::move(pair));
    out->Note(hash);
  }
  if (spec.ecmp_hash_overrides.empty()) return out;
  std::map<std::string, SwitchId> by_name;
  for (int s = 0; s < network.num_switches(); ++s) {
    by_name.emplace(network.name(SwitchId(s)), SwitchId(s));
  }
  for (const auto& [name, hash] : spec.ecmp_hash_overrides) {
    const std::string field = StrCat("spec.ecmpHashOverrides[\"", name, "\"]");
    const auto id = by_name.find(name);
    if (id == by_name.end()) return NoSuchSwitch(network, field, name);
    const fabric::Tier& tier = spec.tiers[static_cast<std::size_t>(network.tier_of(id->second))];
    if (tier.spraying || mistrusted.count(tier.role) != 0) continue;
    YM_ASSIGN_OR_RETURN(Pair pair, CompilePair(hash, field));
    out->overrides_.emplace(id->second, std::move(pair));
    out->Note(hash);
  }
  return out;
}

const SwitchHashes::Pair& SwitchHashes::of(SwitchId id, int tier) const {
  if (!overrides_.empty()) {
    const auto own = overrides_.find(id);
    if (own != overrides_.end()) return own->second;
  }
  return by_tier_[static_cast<std::size_t>(tier)];
}

ForwardingModel::ForwardingModel(const fabric::Network& network,
                                 std::shared_ptr<const SwitchHashes> hashes,
                                 const std::vector<CableId>& down, SprayedChoice sprayed)
    : network_(network),
      hashes_(std::move(hashes)),
      sprayed_(sprayed),
      down_(static_cast<std::size_t>(network.num_cables())) {
  for (CableId cable : down) down_[cable.index()] = 1;
  all_known_ = !network.spec().nic_spraying;
  const fabric::Places& places = network.places();
  for (fabric::HostId host : places.hosts()) {
    all_known_ &= places.address_problem(host).empty() && network.knows_addresses(host) &&
                  network.nic_address(host, 0).v6 == network.nic_address(fabric::HostId(0), 0).v6;
  }
  any_down_ = !down.empty();
  while (num_tors_ < network.num_switches() && network.tier_of(SwitchId(num_tors_)) == 0)
    ++num_tors_;
  if (!hashes_->uses_ingress_ports()) return;
  std::vector<std::uint16_t> next(static_cast<std::size_t>(network.num_switches()), 1);
  down_ports_.resize(down_.size());
  for (int c = 0; c < network.num_cables(); ++c) {
    const SwitchId upper = network.far_end(fabric::Network::up(CableId(c)));
    down_ports_[static_cast<std::size_t>(c)] = next[upper.index()]++;
  }
}

std::uint16_t ForwardingModel::ingress_port(LinkId link) const {
  if (down_ports_.empty()) return 0;
  const CableId cable = fabric::Network::cable_of(link);
  if (!fabric::Network::is_down(link)) return down_ports_[cable.index()];
  const fabric::Network::SwitchPort at = network_.switch_port_of(cable);
  const int tier = network_.tier_of(at.id);
  const int below = network_.spec().tiers[static_cast<std::size_t>(tier)].down_ports;
  return static_cast<std::uint16_t>(below + at.up_port + 1);
}

std::optional<std::string> ForwardingModel::WhyUnknown(const NicPort& src,
                                                       const NicPort& dst) const {
  if (all_known_) return std::nullopt;
  if (network_.spec().nic_spraying) {
    return "the NICs spray packets over paths (spec.host.nicSpraying)";
  }
  const fabric::Places& places = network_.places();
  for (const NicPort& end : {src, dst}) {
    if (!places.address_problem(end.host).empty()) return places.address_problem(end.host);
    if (!network_.knows_addresses(end.host)) {
      return StrCat("Node ", places.name(end.host),
                    ": the addresses of its NICs are not known; name them in the annotation "
                    "yardmaster.dev/nic-addresses, or state spec.addressing.base in the Fabric");
    }
  }
  const IpAddress from = network_.nic_address(src.host, src.rail);
  const IpAddress to = network_.nic_address(dst.host, dst.rail);
  if (from.v6 == to.v6) return std::nullopt;
  return StrCat(places.name(src.host), " has the address ", from.ToString(), " and ",
                places.name(dst.host), " ", to.ToString(), ", which is of another kind");
}

Packet ForwardingModel::PacketOf(const NicPort& src, const NicPort& dst,
                                 std::uint16_t sport) const {
  Packet packet;
  packet.sip = network_.nic_address(src.host, src.rail);
  packet.dip = network_.nic_address(dst.host, dst.rail);
  packet.sport = sport;
  return packet;
}

std::uint64_t ForwardingModel::KeyOf(SwitchId at, bool from_above, const NicPort& dst) const {
  // NICs behind one ToR share groups, except at that ToR and when one of their own cables is down.
  const NicPort first{dst.host, dst.rail, network_.plane_of(dst)};
  bool own = network_.tier_of(at) == 0 && network_.reaches_down(at, dst);
  for (int port = 0; port < network_.spec().nic_ports && any_down_ && !own; ++port) {
    own = is_down(network_.host_cable({dst.host, dst.rail, port}));
  }
  const auto cls = static_cast<std::uint64_t>(
      own ? network_.num_switches() + network_.host_cable(first).value : network_.tor(first).value);
  return static_cast<std::uint64_t>(at.value) << 33 | std::uint64_t{from_above} << 32 | cls;
}

const Group& ForwardingModel::group(SwitchId at, bool from_above, const NicPort& dst) const {
  const std::uint64_t key = KeyOf(at, from_above, dst);
  if (const auto found = cache_.find(key); found != cache_.end()) return *found->second;
  Group built = Build(at, from_above, dst);
  groups_.push_back(std::move(built));
  cache_.emplace(key, &groups_.back());
  return groups_.back();
}

LinkId ForwardingModel::Delivery(SwitchId at, const NicPort& dst) const {
  LinkId found;
  if (!hashes_->of(at, 0).plain) return found;
  const fabric::FabricSpec& spec = network_.spec();
  for (int port = network_.plane_of(dst); port < spec.nic_ports; port += spec.planes) {
    const NicPort nic{dst.host, dst.rail, port};
    const CableId cable = network_.host_cable(nic);
    if (is_down(cable) || network_.tor(nic) != at) continue;
    if (found.valid()) return LinkId();
    found = fabric::Network::down(cable);
  }
  return found;
}

bool ForwardingModel::Leads(LinkId link, const NicPort& dst) const {
  if (!any_down_) return true;
  if (is_down(fabric::Network::cable_of(link))) return false;
  const SwitchId next = network_.far_end(link);
  return !next.valid() || !group(next, fabric::Network::is_down(link), dst).unreachable();
}

std::vector<LinkId> ForwardingModel::UpLinks(SwitchId at) const {
  std::vector<LinkId> links;
  for (int u = 0; u < network_.num_up_ports(at); ++u) {
    links.push_back(fabric::Network::up(network_.up_cable(at, u)));
  }
  return links;
}

Group ForwardingModel::Build(SwitchId at, bool from_above, const NicPort& dst) const {
  const int tier = network_.tier_of(at);
  const bool below = network_.reaches_down(at, dst);
  std::vector<LinkId> all;
  if (below || !from_above) all = network_.next_hops(at, dst);
  std::vector<char> alive;
  for (LinkId link : all) alive.push_back(Leads(link, dst) ? 1 : 0);
  const bool none = std::find(alive.begin(), alive.end(), 1) == alive.end();
  if (none && below && tier == 0 && !from_above) {
    // Around through another ToR of the plane, if it has a cable to the NIC.
    all = UpLinks(at);
    alive.clear();
    for (LinkId link : all) alive.push_back(Leads(link, dst) ? 1 : 0);
  }
  Group group;
  const SwitchHashes::Pair& hashes = hashes_->of(at, tier);
  group.hash = &hashes.hash;
  group.lag_hash = hashes.lag.get();
  FillSlots(all, alive, hashes, group);
  const bool spraying = network_.spec().tiers[static_cast<std::size_t>(tier)].spraying;
  if (spraying && sprayed_ == SprayedChoice::kFirst && group.slots.size() > 1) {
    group.slots.resize(1);
    group.thresholds = {};
  }
  return group;
}

void ForwardingModel::FillSlots(const std::vector<LinkId>& all, const std::vector<char>& alive,
                                const SwitchHashes::Pair& hashes, Group& group) const {
  if (hashes.plain) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (alive[i] != 0) group.slots.push_back(all[i]);
    }
    if (hashes.hash.by_threshold()) group.thresholds = EqualThresholds(group.slots.size());
    return;
  }
  const fabric::GroupRule& rule = hashes.hash.spec().group;
  // Members: links, or neighbours with their parallel links. A member lives while one of its links
  // does.
  std::vector<std::vector<LinkId>> members;
  std::vector<std::vector<LinkId>> living;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool joins = group.lag_hash != nullptr && !members.empty() &&
                       network_.far_end(all[i]) == network_.far_end(members.back().back()) &&
                       network_.far_end(all[i]).valid();
    if (!joins) {
      members.emplace_back();
      living.emplace_back();
    }
    members.back().push_back(all[i]);
    if (alive[i] != 0) living.back().push_back(all[i]);
  }
  const auto add = [&](std::size_t member) {
    group.slots.push_back(living[member][0]);
    if (group.lag_hash != nullptr) group.lags.push_back(living[member]);
  };
  bool lost = false;
  bool table_fits = !rule.resilient_table.empty();
  for (const auto& links : living) lost |= links.empty();
  for (int member : rule.resilient_table) {
    table_fits &= member < static_cast<int>(living.size()) &&
                  !living[static_cast<std::size_t>(member)].empty();
  }
  if (rule.preset_by_ingress_port) {
    for (const auto& links : living) group.preset.push_back(links.empty() ? LinkId() : links[0]);
  }
  if (rule.resilient_buckets > 0 && members.size() > 1 && (table_fits || !lost)) {
    for (int b = 0; b < rule.resilient_buckets; ++b) {
      const auto bucket = static_cast<std::size_t>(b);
      add(table_fits ? static_cast<std::size_t>(rule.resilient_table[bucket])
                     : bucket % members.size());
    }
    return;
  }
  const bool weighted = rule.weights.size() == members.size();
  std::vector<int> shares;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (living[m].empty()) continue;
    shares.push_back(weighted ? rule.weights[m] : 1);
    for (int copy = hashes.hash.by_threshold() ? 1 : shares.back(); copy > 0; --copy) add(m);
  }
  if (hashes.hash.by_threshold()) group.thresholds = ThresholdsOf(shares);
  if (group.slots.size() < 2) return;
  if (rule.resilient_buckets > 0)
    group.blocked = "a resilient group lost a member and no table is known";
  if (!rule.ordered) group.blocked = "the order of the group's members is not fixed";
}

}  // namespace yardmaster::repac
