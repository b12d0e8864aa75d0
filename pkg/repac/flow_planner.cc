#include "pkg/repac/flow_planner.h"

#include <algorithm>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/repac/path.h"
#include "pkg/repac/port_search.h"

namespace yardmaster::repac {

namespace {

using fabric::Network;

// Spreads the starting points of searches; any fixed mixing does.
std::uint16_t StartPort(const NicPort& src, const NicPort& dst, int path) {
  auto mix = static_cast<std::uint32_t>(src.host.value) * 0x9E3779B1u;
  mix = (mix ^ static_cast<std::uint32_t>(dst.host.value)) * 0x85EBCA77u;
  mix = (mix ^ static_cast<std::uint32_t>(src.rail * 64 + dst.rail + path * 4096)) * 0xC2B2AE3Du;
  return static_cast<std::uint16_t>(kSourcePortBase | (mix >> 18));
}

bool Contains(std::span<const LinkId> links, LinkId link) {
  return std::find(links.begin(), links.end(), link) != links.end();
}

const char* NoLinkLeft(std::span<const LinkId> forbidden) {
  return forbidden.empty() ? "no link is left that works" : "no disjoint path is left";
}

}  // namespace

bool FlowPlanner::Forbidden(LinkId link, ForbiddenLinks forbidden) const {
  return ledger_.avoided(Network::cable_of(link)) ||
         (!forbidden.empty() && Contains(forbidden, link));
}

// The destination's port that a flow from `src` is predicted towards: any of its plane.
NicPort FlowPlanner::DestinationPortInPlane(const NicPort& src, const PlannedFlow& flow) const {
  return {flow.dst.host, flow.dst.rail, network_.plane_of(src)};
}

// The source NIC's ports that may be used with their loads, least loaded first; ties alternate from
// path to path.
FlowPlanner::Ranked FlowPlanner::SourcePorts(const PlannedFlow& flow) const {
  const int ports = network_.spec().nic_ports;
  const NicConnection& connection = ledger_.connection_of(flow);
  Ranked ranked;
  for (int i = 0; i < ports; ++i) {
    const NicPort src{flow.src.host, flow.src.rail, (flow.connection + flow.path + i) % ports};
    const int plane = network_.plane_of(src);
    if (connection.plane >= 0 && connection.plane != plane) continue;
    const CableId cable = network_.host_cable(src);
    if (!ledger_.usable(cable)) continue;
    double load = ledger_.bytes(Network::up(cable));
    bool arrives = false;
    for (int p = plane; p < ports; p += network_.spec().planes) {
      const CableId end = network_.host_cable({flow.dst.host, flow.dst.rail, p});
      if (!ledger_.usable(end)) continue;
      arrives = true;
      load = std::max(load, ledger_.bytes(Network::down(end)));
    }
    if (!arrives) continue;
    const auto at = std::find_if(ranked.begin(), ranked.end(),
                                 [load](const auto& r) { return load < r.first; });
    ranked.emplace(at, load, src);
  }
  return ranked;
}

const FlowPlanner::Tails& FlowPlanner::TailsOf(const Group& group, const NicPort& dst) {
  if (const auto found = tails_.find(&group); found != tails_.end()) return found->second;
  Tails tails;
  for (const LinkId slot : group.slots) {
    Tail tail;
    tail.begin = tails.links.size();
    fabric::Walk(network_, slot, [&](SwitchId at, LinkId came_by) {
      if (network_.tier_of(at) == 0 && Network::is_down(came_by)) {
        tail.tor = at;
        return LinkId();
      }
      const Group& next = forwarding_.group(at, Network::is_down(came_by), dst);
      if (!next.forced()) {
        tail.chosen = true;
        return LinkId();
      }
      tails.links.push_back(next.slots[0]);
      return next.slots[0];
    });
    tail.end = tails.links.size();
    tails.slots.push_back(tail);
  }
  return tails_.emplace(&group, std::move(tails)).first->second;
}

// The link by which a slot is rated: with a LAG inside its least loaded.
LinkId FlowPlanner::FirstLink(const Group& group, std::size_t slot) const {
  if (group.lags.empty()) return group.slots[slot];
  return *std::min_element(
      group.lags[slot].begin(), group.lags[slot].end(),
      [this](LinkId a, LinkId b) { return ledger_.bytes(a) < ledger_.bytes(b); });
}

// nullopt if one of the links is forbidden.
std::optional<FlowPlanner::TailCost> FlowPlanner::CostOfTail(const Tails& tails, const Tail& tail,
                                                             ForbiddenLinks forbidden) const {
  TailCost cost;
  for (const LinkId link : tails.Of(tail)) {
    if (Forbidden(link, forbidden)) return std::nullopt;
    cost.fullest = std::max(cost.fullest, ledger_.bytes(link));
    cost.sum += ledger_.bytes(link);
  }
  return cost;
}

bool FlowPlanner::NextSlots(const Group& group, const Tails& tails, ForbiddenLinks forbidden) {
  double least = 0;
  TailCost cheapest;
  best_.clear();
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    if (tried_[slot] != 0) continue;
    const LinkId first = FirstLink(group, slot);
    const double load = ledger_.bytes(first);
    if ((!best_.empty() && load > least) || Forbidden(first, forbidden)) continue;
    const auto cost = CostOfTail(tails, tails.slots[slot], forbidden);
    if (!cost) continue;
    if (best_.empty() || load < least || *cost < cheapest) {
      best_.clear();
      least = load;
      cheapest = *cost;
    } else if (cheapest < *cost) {
      continue;
    }
    best_.push_back(slot);
  }
  wanted_.assign(group.slots.size(), 0);
  for (const std::size_t slot : best_) wanted_[slot] = tried_[slot] = 1;
  return !best_.empty();
}

// The cost of all links between switches behind the first, or nullopt if a link is forbidden.
std::optional<FlowPlanner::TailCost> FlowPlanner::CostOf(std::span<const LinkId> links,
                                                         ForbiddenLinks forbidden) const {
  TailCost cost;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (Forbidden(links[i], forbidden)) return std::nullopt;
    if (i < 2) continue;
    const double load = ledger_.bytes(links[i]);
    cost.fullest = std::max(cost.fullest, load);
    cost.sum += load;
  }
  return cost;
}

bool FlowPlanner::FirstHopDeterminesPath(const Group& group, const NicPort& src,
                                         const NicPort& dst) const {
  return group.preset.empty() && group.lags.empty() && !group.unreachable() &&
         group.predictable() && !(src.host == dst.host && src.rail == dst.rail) &&
         !forwarding_.is_down(network_.host_cable(src)) && !forwarding_.WhyUnknown(src, dst);
}

LinkPath FlowPlanner::PathOver(const Group& group, const Tails& tails, std::size_t slot,
                               const NicPort& src, const NicPort& dst) const {
  const Tail& tail = tails.slots[slot];
  LinkPath links;
  if (tail.chosen) return links;
  LinkId last;
  if (tail.tor.valid()) {
    last = forwarding_.Delivery(tail.tor, dst);
    if (!last.valid()) return links;
  }
  links = {Network::up(network_.host_cable(src)), group.slots[slot]};
  const std::span<const LinkId> between = tails.Of(tail);
  links.insert(links.end(), between.begin(), between.end());
  if (last.valid()) links.push_back(last);
  return links;
}

bool FlowPlanner::ChooseSlots(PlannedFlow& flow, const NicPort& src, const Group& group,
                              const Tails& tails, ForbiddenLinks forbidden) {
  const NicPort dst = DestinationPortInPlane(src, flow);
  const UsedPorts& used = ledger_.PortsBetween(flow);
  Packet packet = forwarding_.PacketOf(src, dst, kSourcePortBase);
  packet.ingress_port = forwarding_.ingress_port(Network::up(network_.host_cable(src)));
  const bool chosen = group.slots.size() > 1;
  const PortFunction function = chosen ? group.hash->OverPorts(packet) : PortFunction();
  const std::span<const PortFunction> functions(&function, chosen ? 1 : 0);
  const MemberChoice choice(group.slots.size(), group.thresholds);
  const bool plain = FirstHopDeterminesPath(group, src, dst);
  std::optional<TailCost> best;
  LinkPath best_links;
  std::uint16_t best_port = 0;
  int candidates = candidates_;
  std::string reason;
  const auto consider = [&](std::uint16_t port, LinkPath& links) {
    const auto cost = CostOf(links, forbidden);
    if (!cost || (best && !(*cost < *best))) return;
    best = cost;
    best_port = port;
    best_links = std::move(links);
  };
  WalkPorts(functions, StartPort(src, dst, flow.path), [&](std::uint16_t port, const auto& values) {
    const std::size_t slot = chosen ? choice(values[0]) : 0;
    if (chosen && wanted_[slot] == 0) return false;
    if (std::binary_search(used.begin(), used.end(), port)) return false;
    // Nothing is chosen behind the first switch: the next port would take the same path.
    if (plain) {
      LinkPath links = PathOver(group, tails, slot, src, dst);
      if (!links.empty()) {
        consider(port, links);
        return true;
      }
    }
    auto path = PredictPath(forwarding_, src, dst, port);
    if (!path.ok() || !path->predictable) {
      reason = path.ok() ? path->reason : MessageOf(path.status());
      return true;
    }
    consider(port, path->links);
    const bool decided = std::all_of(path->hops.begin() + 1, path->hops.end(),
                                     [](const PathHop& hop) { return hop.members == 1; });
    return decided || --candidates <= 0 || (best && best->fullest == 0);
  });
  if (!best) {
    if (!reason.empty()) flow.reason = reason;
    return false;
  }
  flow.src = src;
  flow.dst = network_.nic_port_of(Network::cable_of(best_links.back()));
  flow.source_port = best_port;
  flow.links = std::move(best_links);
  flow.reason.clear();
  return true;
}

bool FlowPlanner::PlanFrom(PlannedFlow& flow, const NicPort& src, ForbiddenLinks forbidden) {
  const NicPort dst = DestinationPortInPlane(src, flow);
  if (auto reason = forwarding_.WhyUnknown(src, dst)) {
    flow.reason = *std::move(reason);
    return false;
  }
  const Group& group = forwarding_.group(network_.tor(src), false, dst);
  if (group.unreachable()) {
    flow.reason = StrCat("plane ", network_.plane_of(src), " does not reach the destination");
    return false;
  }
  if (!group.predictable()) {
    flow.reason = StrCat(network_.shown(network_.tor(src)), ": ",
                         group.hash->predictable() ? group.blocked : group.hash->reason());
    return false;
  }
  flow.reason.clear();
  tried_.assign(group.slots.size(), 0);
  const Tails& tails = TailsOf(group, dst);
  while (NextSlots(group, tails, forbidden)) {
    if (ChooseSlots(flow, src, group, tails, forbidden)) return true;
  }
  if (flow.reason.empty()) flow.reason = NoLinkLeft(forbidden);
  return false;
}

void FlowPlanner::PlanFresh(PlannedFlow& flow) {
  const ForbiddenLinks forbidden = ledger_.LinksOfOtherPaths(flow);
  flow.source_port = flow.alternate_port = 0;
  flow.links.clear();
  flow.reason.clear();
  for (const auto& [load, src] : SourcePorts(flow)) {
    if (PlanFrom(flow, src, forbidden)) return;
  }
  if (flow.reason.empty()) flow.reason = "no port of the two NICs is up in a common plane";
}

bool FlowPlanner::PlanAlong(PlannedFlow& flow, const NicPort& src, std::span<const LinkId> links) {
  const NicPort dst = DestinationPortInPlane(src, flow);
  const Group& group = forwarding_.group(network_.tor(src), false, dst);
  if (links.size() == 1 && FirstHopDeterminesPath(group, src, dst) &&
      Contains(group.slots, links[0])) {
    wanted_.assign(group.slots.size(), 0);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (group.slots[i] == links[0]) wanted_[i] = 1;
    }
    const Tails& tails = TailsOf(group, dst);
    if (ChooseSlots(flow, src, group, tails, ledger_.LinksOfOtherPaths(flow))) return true;
  }
  const auto targets = TargetsOf(forwarding_, src, dst, links);
  if (!targets.ok()) {
    flow.reason = MessageOf(targets.status());
    return false;
  }
  const auto port = FindPort(*targets, ledger_.PortsBetween(flow), StartPort(src, dst, flow.path));
  if (!port.ok()) {
    flow.reason = MessageOf(port.status());
    return false;
  }
  return PlanBy(flow, src, *port);
}

bool FlowPlanner::PlanBy(PlannedFlow& flow, const NicPort& src, std::uint16_t port) {
  if (ledger_.Taken(flow, port)) {
    flow.reason = "the port is taken";
    return false;
  }
  auto path = PredictPath(forwarding_, src, DestinationPortInPlane(src, flow), port);
  if (!path.ok() || !path->predictable) {
    flow.reason = path.ok() ? path->reason : MessageOf(path.status());
    return false;
  }
  const ForbiddenLinks forbidden = ledger_.LinksOfOtherPaths(flow);
  if (std::any_of(path->links.begin(), path->links.end(),
                  [&](LinkId link) { return Forbidden(link, forbidden); })) {
    flow.reason = NoLinkLeft(forbidden);
    return false;
  }
  flow.src = src;
  flow.dst = network_.nic_port_of(Network::cable_of(path->links.back()));
  flow.source_port = port;
  flow.links = std::move(path->links);
  flow.reason.clear();
  return true;
}

void FlowPlanner::FindAlternate(PlannedFlow& flow) {
  flow.alternate_port = 0;
  LinkPath own;
  for (LinkId link : flow.links) {
    if (!network_.is_host_cable(Network::cable_of(link))) own.push_back(link);
  }
  if (own.empty()) return;  // one switch: nothing to go round
  PlannedFlow other = flow;
  other.path += 1 << 10;  // another starting point
  if (PlanFrom(other, flow.src, own)) flow.alternate_port = other.source_port;
}

LinkPath FlowPlanner::PathOf(const NicPort& src, const NicPort& dst, std::uint16_t port) {
  const Group& group = forwarding_.group(network_.tor(src), false, dst);
  if (FirstHopDeterminesPath(group, src, dst)) {
    std::size_t slot = 0;
    if (group.slots.size() > 1) {
      Packet packet = forwarding_.PacketOf(src, dst, port);
      packet.ingress_port = forwarding_.ingress_port(Network::up(network_.host_cable(src)));
      slot = group.SlotOf(group.hash->Hash(packet));
    }
    LinkPath links = PathOver(group, TailsOf(group, dst), slot, src, dst);
    if (!links.empty()) return links;
  }
  LinkPath links = {Network::up(network_.host_cable(src))};
  const bool arrives = WalkPath(forwarding_, src, dst, port, [&links](LinkId link) {
    links.push_back(link);
    return true;
  });
  return arrives ? links : LinkPath();
}

bool FlowPlanner::AlternateWorks(const PlannedFlow& flow) {
  if (flow.alternate_port == 0) return false;
  const LinkPath path =
      PathOf(flow.src, DestinationPortInPlane(flow.src, flow), flow.alternate_port);
  return !path.empty() && std::all_of(path.begin(), path.end(), [&](LinkId link) {
    const CableId cable = Network::cable_of(link);
    return !ledger_.avoided(cable) &&
           (network_.is_host_cable(cable) || !Contains(flow.links, link));
  });
}

}  // namespace yardmaster::repac
