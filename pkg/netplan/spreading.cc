#include "pkg/netplan/spreading.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>

namespace yardmaster::netplan {

using fabric::CableId;
using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;
using fabric::SwitchId;

namespace {

// Of all planes without a lost cable, in place of their numbers.
constexpr int kWholePlanes = -2;

// Whether no switch that hashes has more than one way, whatever the destination: every tier below
// the highest sprays, and a switch of the highest has one link towards a ToR or sprays, too.
bool EveryChoiceSprays(const fabric::FabricSpec& spec) {
  const int top = static_cast<int>(spec.tiers.size()) - 1;
  for (int tier = 0; tier < top; ++tier) {
    if (!fabric::Sprays(spec, tier)) return false;
  }
  if (top == 0 || fabric::Sprays(spec, top)) return true;
  const auto upper = static_cast<std::size_t>(top);
  return fabric::LinksPerPair(spec, top) == 1 &&
         spec.tiers[upper - 1].switches <= spec.tiers[upper].stripes;
}

}  // namespace

// One question for the ways to a NIC port.
struct Spreading::Walk {
  NicPort to;
  SwitchId target;  // its ToR
  std::size_t way = 0;
  // Of the switches that hash and come first: how many links they choose among.
  std::size_t choices = 1;
  int chosen_at = std::numeric_limits<int>::max();  // depth
  std::map<SwitchId, std::vector<Onward>> known;
  std::map<std::int32_t, double> parts;
};

bool Spreading::Needed(const fabric::FabricSpec& spec) {
  return spec.nic_spraying || std::any_of(spec.tiers.begin(), spec.tiers.end(),
                                          [](const fabric::Tier& tier) { return tier.spraying; });
}

Spreading::Spreading(const Network& network, const std::vector<std::uint8_t>& unusable)
    : network_(network),
      unusable_(unusable),
      nics_(network, unusable),
      merged_(EveryChoiceSprays(network.spec())),
      damaged_planes_(static_cast<std::size_t>(network.spec().planes), 0),
      lost_(static_cast<std::size_t>(network.num_switches()), 0),
      alone_(lost_.size(), merged_ ? 0 : 1) {
  if (merged_) CountDamage();
  Classify();
}

// Fills damaged_planes_, lost_ and alone_.
void Spreading::CountDamage() {
  const auto lost = std::find_if(unusable_.begin(), unusable_.end(),
                                 [](std::uint8_t value) { return value != 0; });
  if (lost == unusable_.end()) return;
  std::vector<int> cables(lost_.size(), 0);
  for (int c = 0; c < network_.num_cables(); ++c) {
    const CableId cable(c);
    const bool usable = Usable(cable);
    int plane = -1;
    if (network_.is_host_cable(cable)) {
      if (usable) continue;
      plane = network_.plane_of(network_.nic_port_of(cable));
    } else {
      const SwitchId lower = network_.switch_port_of(cable).id;
      for (const SwitchId end : {lower, network_.far_end(Network::up(cable))}) {
        ++cables[end.index()];
        lost_[end.index()] += usable ? 0 : 1;
      }
      plane = network_.place_of(lower).plane;
    }
    if (usable) continue;
    if (plane >= 0) damaged_planes_[static_cast<std::size_t>(plane)] = 1;
    if (plane < 0) std::fill(damaged_planes_.begin(), damaged_planes_.end(), 1);
  }
  std::map<std::tuple<int, int, int, int>, std::vector<std::pair<int, SwitchId>>> damaged;
  for (int s = 0; s < network_.num_switches(); ++s) {
    const SwitchId id(s);
    if (lost_[id.index()] == 0) continue;
    if (lost_[id.index()] == cables[id.index()]) {
      lost_[id.index()] = std::numeric_limits<int>::max();
      continue;  // no flow meets it
    }
    const fabric::SwitchPlace place = network_.place_of(id);
    damaged[{place.tier, place.place, place.rail, place.plane}].emplace_back(-lost_[id.index()],
                                                                             id);
  }
  for (auto& [place, switches] : damaged) {
    std::sort(switches.begin(), switches.end());
    if (switches.size() > kMostDamaged) switches.resize(kMostDamaged);
    for (const auto& [lost_cables, id] : switches) alone_[id.index()] = 1;
  }
}

int Spreading::PlaneKey(int plane) const {
  if (plane < 0 || !network_.spec().nic_spraying) return plane;
  return damaged_planes_[static_cast<std::size_t>(plane)] != 0 ? plane : kWholePlanes;
}

Spreading::ClassKey Spreading::KeyOf(SwitchId at) const {
  const fabric::SwitchPlace place = network_.place_of(at);
  const int plane = PlaneKey(place.plane);
  // A ToR is where flows begin and end: it stands for nobody but itself in other planes.
  if (place.tier == 0) return {0, place.place, place.rail, plane, place.number, 0, -1};
  const auto& tiers = network_.spec().tiers;
  const auto tier = static_cast<std::size_t>(place.tier);
  int above = 0;
  if (tier + 1 < tiers.size()) {
    above = network_.place_of(network_.upper(at, 0)).number % tiers[tier + 1].stripes;
  }
  return {place.tier,
          place.place,
          place.rail,
          plane,
          place.number % tiers[tier].stripes,
          above,
          alone_[at.index()] != 0 ? at.value : -1};
}

void Spreading::Classify() {
  classes_.reserve(lost_.size());
  std::map<ClassKey, ClassId> known;
  for (int s = 0; s < network_.num_switches(); ++s) {
    const SwitchId id(s);
    ClassId at = static_cast<ClassId>(members_.size());
    if (merged_) at = known.emplace(KeyOf(id), at).first->second;
    if (at == static_cast<ClassId>(members_.size())) {
      members_.emplace_back();
      best_.push_back(id);
    }
    SwitchId& best = best_[static_cast<std::size_t>(at)];
    if (lost_[id.index()] < lost_[best.index()]) best = id;
    members_[static_cast<std::size_t>(at)].push_back(id);
    classes_.push_back(at);
  }
}

SwitchId Spreading::Leading(const Onward& way, Walk& walk) const {
  if (way.to == class_of(walk.target)) return walk.target;
  const SwitchId best = representative(way.to);
  if (!OnwardFrom(best, walk).empty()) return best;
  for (const LinkId link : way.links) {
    const SwitchId other = network_.far_end(link);
    if (other != best && !OnwardFrom(other, walk).empty()) return other;
  }
  return SwitchId();
}

// Into the ToRs, only the one that serves the port counts.
const std::vector<Spreading::Onward>& Spreading::OnwardFrom(SwitchId at, Walk& walk) const {
  const auto [found, fresh] = walk.known.try_emplace(at);
  if (!fresh) return found->second;
  std::vector<Onward> onward;
  for (const LinkId link : network_.next_hops(at, walk.to)) {
    if (!Usable(Network::cable_of(link))) continue;
    const SwitchId next = network_.far_end(link);
    if (!next.valid() || (network_.tier_of(next) == 0 && next != walk.target)) continue;
    const ClassId to = class_of(next);
    if (onward.empty() || onward.back().to != to) {
      const auto same = std::find_if(onward.begin(), onward.end(),
                                     [&](const Onward& other) { return other.to == to; });
      if (same != onward.end()) {
        same->links.push_back(link);
        continue;
      }
      onward.push_back({to, {}, {}});
    }
    onward.back().links.push_back(link);
  }
  for (Onward& way : onward) way.via = Leading(way, walk);
  std::erase_if(onward, [](const Onward& way) { return !way.via.valid(); });
  found->second = std::move(onward);
  return found->second;
}

// Adds to walk.parts what `weight` of the flow puts on links behind `at`.
void Spreading::Spread(SwitchId at, double weight, int depth, Walk& walk) {
  if (at == walk.target) return;
  const std::vector<Onward>& onward = OnwardFrom(at, walk);
  std::size_t links = 0;
  for (const Onward& way : onward) links += way.links.size();
  const bool sprays = merged_ || fabric::Sprays(network_.spec(), network_.tier_of(at));
  std::size_t chosen = 0;
  if (!sprays && links > 0) {
    chosen = walk.way % links;
    if (links > 1 && depth <= walk.chosen_at) {
      walk.choices = depth < walk.chosen_at ? links : std::max(walk.choices, links);
      walk.chosen_at = depth;
    }
  }
  for (const Onward& way : onward) {
    double taken = 0;
    const auto add = [&](std::int32_t bundle, double part) {
      walk.parts[bundle] += part;
      taken += part;
    };
    const auto all = static_cast<double>(links);
    if (sprays && merged_) {
      add(BundleOf(way.links.front()), weight * static_cast<double>(way.links.size()) / all);
    } else if (sprays) {
      for (const LinkId link : way.links) add(BundleOf(link), weight / all);
    } else if (chosen < way.links.size()) {
      add(BundleOf(way.links[chosen]), weight);
      chosen = links;  // taken
    } else if (chosen < links) {
      chosen -= way.links.size();
    }
    if (taken > 0) Spread(way.via, taken, depth + 1, walk);
  }
}

Route Spreading::RouteOf(SwitchId from, Walk& walk) const {
  Route route;
  for (SwitchId at = from; at != walk.target;) {
    const std::vector<Onward>& onward = OnwardFrom(at, walk);
    if (onward.empty()) break;
    std::vector<LinkId> links = onward.front().links;
    if (!fabric::Sprays(network_.spec(), network_.tier_of(at))) {
      for (std::size_t i = 1; i < onward.size(); ++i) {
        links.insert(links.end(), onward[i].links.begin(), onward[i].links.end());
      }
      links = {links[walk.way % links.size()]};
    }
    route.push_back(links.front());
    at = network_.far_end(route.back());
  }
  return route;
}

const Spreading::Ways& Spreading::Between(const NicPort& from, const NicPort& to) {
  const SwitchId source = network_.tor(from);
  std::unique_ptr<Ways>& known = ways_[{source, network_.tor(to)}];
  if (known != nullptr) return *known;
  known = std::make_unique<Ways>();
  Ways& out = *known;
  Walk walk;
  walk.to = to;
  walk.target = network_.tor(to);
  if (source != walk.target && OnwardFrom(source, walk).empty()) return out;
  for (std::size_t choices = 1; walk.way < choices; ++walk.way) {
    walk.parts.clear();
    Spread(source, 1, 0, walk);
    choices = walk.choices;
    out.routes.push_back(RouteOf(source, walk));
    std::vector<Part>& parts = out.parts.emplace_back();
    for (const auto& [bundle, share] : walk.parts) parts.push_back({bundle, share});
  }
  out.hashed = walk.choices > 1;
  return out;
}

std::vector<Spreading::Part> Spreading::BetweenNics(const NicPort& from, const NicPort& to) {
  struct Ends {
    std::vector<LinkId> up;
    std::vector<LinkId> down;
    const Ways* ways = nullptr;
  };
  // By planes that are alike, and by ToR.
  std::map<std::tuple<int, SwitchId, SwitchId>, Ends> ends;
  std::size_t ports = 0;
  for (int port = 0; port < network_.spec().nic_ports; ++port) {
    const NicPort out{from.host, from.rail, port};
    NicPort in;
    if (!nics_.Usable(out) || !nics_.Arrival({to.host, to.rail, port}, in)) continue;
    const auto stands_for = [this](const NicPort& nic) {
      return representative(class_of(network_.tor(nic)));
    };
    Ends& mine = ends[{PlaneKey(network_.plane_of(out)), stands_for(out), stands_for(in)}];
    if (mine.ways == nullptr) mine.ways = &Between(out, in);
    if (mine.ways->routes.empty()) continue;
    mine.up.push_back(Network::up(network_.host_cable(out)));
    mine.down.push_back(Network::down(network_.host_cable(in)));
    ++ports;
  }
  std::map<std::int32_t, double> shares;
  for (const auto& [key, mine] : ends) {
    if (mine.up.empty()) continue;
    const double weight = static_cast<double>(mine.up.size()) / static_cast<double>(ports);
    shares[BundleOfLinks(mine.up)] += weight;
    shares[BundleOfLinks(mine.down)] += weight;
    for (const Part& part : mine.ways->parts.front()) shares[part.bundle] += weight * part.share;
  }
  std::vector<Part> parts;
  parts.reserve(shares.size());
  for (const auto& [bundle, share] : shares) parts.push_back({bundle, share});
  return parts;
}

std::int32_t Spreading::BundleOfLinks(std::vector<LinkId> links) {
  const auto [at, fresh] =
      by_first_link_.try_emplace(links.front(), static_cast<std::int32_t>(bundles_.size()));
  if (!fresh) return at->second;
  Bundle bundle;
  for (const LinkId link : links) bundle.gbps += network_.gbps(link);
  bundle.links = std::move(links);
  bundles_.push_back(std::move(bundle));
  return at->second;
}

std::int32_t Spreading::BundleOf(LinkId link) {
  if (!merged_) return BundleOfLinks({link});
  const SwitchId lower = network_.switch_port_of(Network::cable_of(link)).id;
  const SwitchId upper = network_.far_end(Network::up(Network::cable_of(link)));
  const std::uint64_t key = static_cast<std::uint64_t>(class_of(lower)) << 32 |
                            static_cast<std::uint64_t>(class_of(upper));
  if (!between_classes_.contains(key)) BundleUplinks(class_of(lower));
  return between_classes_.at(key) + (Network::is_down(link) ? 1 : 0);
}

// The bundle of the links down follows that of the links up.
void Spreading::BundleUplinks(ClassId lower) {
  std::map<ClassId, std::vector<LinkId>> up;
  for (const SwitchId from : members_[static_cast<std::size_t>(lower)]) {
    for (int port = 0; port < network_.num_up_ports(from); ++port) {
      const CableId cable = network_.up_cable(from, port);
      if (Usable(cable)) up[class_of(network_.upper(from, port))].push_back(Network::up(cable));
    }
  }
  for (auto& [upper, links] : up) {
    std::vector<LinkId> down;
    for (const LinkId link : links) down.push_back(Network::down(Network::cable_of(link)));
    const std::uint64_t key =
        static_cast<std::uint64_t>(lower) << 32 | static_cast<std::uint64_t>(upper);
    between_classes_.emplace(key, BundleOfLinks(std::move(links)));
    BundleOfLinks(std::move(down));
  }
}

}  // namespace yardmaster::netplan
