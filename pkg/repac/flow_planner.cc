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

}  // namespace

bool FlowPlanner::Forbidden(LinkId link, const Siblings& siblings) const {
  return ledger_.avoided(Network::cable_of(link)) ||
         (!siblings.empty() && Contains(siblings, link));
}

// The destination's port that a flow from `src` is predicted towards: any of its plane.
NicPort FlowPlanner::PlaneTwin(const NicPort& src, const PlannedFlow& flow) const {
  return {flow.dst.host, flow.dst.rail, network_.plane_of(src)};
}

// The source NIC's ports that may be used with their loads, least loaded first; ties alternate from
// path to path.
std::vector<std::pair<double, NicPort>> FlowPlanner::SourcePorts(const PlannedFlow& flow) const {
  const int ports = network_.spec().nic_ports;
  const NicConnection& connection = ledger_.connection_of(flow);
  std::vector<std::pair<double, NicPort>> ranked;
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
    if (arrives) ranked.emplace_back(load, src);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return ranked;
}

const FlowPlanner::Tails& FlowPlanner::TailsOf(const Group& group, const NicPort& dst) {
  if (const auto found = tails_.find(&group); found != tails_.end()) return found->second;
  Tails tails;
  tails.begin.push_back(0);
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    fabric::Walk(network_, group.slots[slot], [&](SwitchId at, LinkId came_by) {
      if (network_.tier_of(at) == 0 && Network::is_down(came_by)) return LinkId();
      const Group& next = world_.group(at, Network::is_down(came_by), dst);
      if (!next.forced()) return LinkId();
      tails.links.push_back(next.slots[0]);
      return next.slots[0];
    });
    tails.begin.push_back(static_cast<int>(tails.links.size()));
  }
  return tails_.emplace(&group, std::move(tails)).first->second;
}

// The link by which a slot is judged: with a LAG inside its least loaded.
LinkId FlowPlanner::FirstLink(const Group& group, std::size_t slot) const {
  if (group.lags.empty()) return group.slots[slot];
  return *std::min_element(
      group.lags[slot].begin(), group.lags[slot].end(),
      [this](LinkId a, LinkId b) { return ledger_.bytes(a) < ledger_.bytes(b); });
}

// What must follow the slot costs, or nothing if that is forbidden.
std::optional<FlowPlanner::TailCost> FlowPlanner::TailOf(const Tails& tails, std::size_t slot,
                                                         const Siblings& siblings) const {
  TailCost cost;
  for (int i = tails.begin[slot]; i < tails.begin[slot + 1]; ++i) {
    const LinkId link = tails.links[static_cast<std::size_t>(i)];
    if (Forbidden(link, siblings)) return std::nullopt;
    cost.fullest = std::max(cost.fullest, ledger_.bytes(link));
    cost.sum += ledger_.bytes(link);
  }
  return cost;
}

std::optional<FlowPlanner::Slot> FlowPlanner::BestSlot(const Group& group, const NicPort& dst,
                                                       const Siblings& siblings,
                                                       const std::vector<char>& tried) {
  const Tails& tails = TailsOf(group, dst);
  std::optional<Slot> best;
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    if (!tried.empty() && tried[slot] != 0) continue;
    const LinkId first = FirstLink(group, slot);
    const double load = ledger_.bytes(first);
    if ((best && load > best->load) || Forbidden(first, siblings)) continue;
    const auto tail = TailOf(tails, slot, siblings);
    if (!tail || (best && load == best->load && !(*tail < best->tail))) continue;
    best = Slot{static_cast<int>(slot), load, *tail};
  }
  return best;
}

// The cost of all links between switches behind the first, or nothing if one of them is forbidden.
std::optional<FlowPlanner::TailCost> FlowPlanner::CostOf(std::span<const LinkId> links,
                                                         const Siblings& siblings) const {
  TailCost cost;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (Forbidden(links[i], siblings)) return std::nullopt;
    if (i < 2) continue;
    const double load = ledger_.bytes(links[i]);
    cost.fullest = std::max(cost.fullest, load);
    cost.sum += load;
  }
  return cost;
}

std::vector<char> FlowPlanner::EqualSlots(const Group& group, const NicPort& dst,
                                          const Siblings& siblings, const Slot& best) {
  const Tails& tails = TailsOf(group, dst);
  std::vector<char> equal(group.slots.size());
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    const LinkId first = FirstLink(group, slot);
    if (ledger_.bytes(first) > best.load || Forbidden(first, siblings)) continue;
    const auto tail = TailOf(tails, slot, siblings);
    equal[slot] = tail && !(best.tail < *tail) ? 1 : 0;
  }
  return equal;
}

bool FlowPlanner::TakeSlots(PlannedFlow& flow, const NicPort& src, const Group& group,
                            const std::vector<char>& slots, const Siblings& siblings) {
  const NicPort dst = PlaneTwin(src, flow);
  const UsedPorts& used = ledger_.PortsBetween(flow);
  Packet packet = world_.PacketOf(src, dst, kSourcePortBase);
  packet.ingress_port = world_.ingress_port(Network::up(network_.host_cable(src)));
  std::vector<PortFunction> functions;
  const bool chosen = group.slots.size() > 1;
  if (chosen) functions.push_back(group.hash->OverPorts(packet));
  std::optional<TailCost> best;
  LinkPath best_links;
  NicPort best_dst;
  std::uint16_t best_port = 0;
  int candidates = candidates_;
  std::string reason;
  WalkPorts(functions, StartPort(src, dst, flow.path), [&](std::uint16_t port, const auto& values) {
    if (chosen && slots[group.SlotOf(values[0])] == 0) return false;
    if (std::binary_search(used.begin(), used.end(), port)) return false;
    auto path = PredictPath(world_, src, dst, port);
    if (!path.ok() || !path->predictable) {
      reason = path.ok() ? path->reason : MessageOf(path.status());
      return true;
    }
    const auto cost = CostOf(path->links, siblings);
    if (cost && (!best || *cost < *best)) {
      best = cost;
      best_port = port;
      best_links = std::move(path->links);
      best_dst = network_.nic_port_of(Network::cable_of(best_links.back()));
    }
    // Nothing is chosen behind the first switch: the next port would take the same path.
    const bool decided = std::all_of(path->hops.begin() + 1, path->hops.end(),
                                     [](const PathHop& hop) { return hop.members == 1; });
    return decided || --candidates <= 0 || (best && best->fullest == 0);
  });
  if (!best) {
    if (!reason.empty()) flow.reason = reason;
    return false;
  }
  flow.src = src;
  flow.dst = best_dst;
  flow.source_port = best_port;
  flow.links = std::move(best_links);
  flow.reason.clear();
  return true;
}

bool FlowPlanner::PlanFrom(PlannedFlow& flow, const NicPort& src, const Siblings& siblings) {
  const NicPort dst = PlaneTwin(src, flow);
  if (auto reason = world_.WhyUnknown(src, dst)) {
    flow.reason = *std::move(reason);
    return false;
  }
  const Group& group = world_.group(network_.tor(src), false, dst);
  if (group.unreachable()) {
    flow.reason = StrCat("plane ", network_.plane_of(src), " does not reach the destination");
    return false;
  }
  if (group.slots.size() > 1 && (!group.hash->predictable() || !group.blocked.empty())) {
    flow.reason = StrCat(network_.name(network_.tor(src)), ": ",
                         group.hash->predictable() ? group.blocked : group.hash->reason());
    return false;
  }
  flow.reason = siblings.empty() ? "no link is left that works" : "no disjoint path is left";
  std::vector<char> tried(group.slots.size());
  while (const auto best = BestSlot(group, dst, siblings, tried)) {
    std::vector<char> slots = EqualSlots(group, dst, siblings, *best);
    bool any_new = false;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = slots[i] != 0 && tried[i] == 0 ? 1 : 0;
      tried[i] |= slots[i];
      any_new |= slots[i] != 0;
    }
    if (!any_new) return false;
    if (TakeSlots(flow, src, group, slots, siblings)) return true;
  }
  return false;
}

void FlowPlanner::PlanFresh(PlannedFlow& flow) {
  const Siblings& siblings = ledger_.SiblingLinks(flow);
  flow.source_port = flow.alternate_port = 0;
  flow.links.clear();
  flow.reason = "no port of the two NICs is up in a common plane";
  for (const auto& [load, src] : SourcePorts(flow)) {
    if (PlanFrom(flow, src, siblings)) return;
  }
}

bool FlowPlanner::PlanAlong(PlannedFlow& flow, const NicPort& src, std::span<const LinkId> links) {
  const NicPort dst = PlaneTwin(src, flow);
  const auto targets = TargetsOf(world_, src, dst, links);
  if (!targets.ok()) {
    flow.reason = MessageOf(targets.status());
    return false;
  }
  const Group& group = world_.group(network_.tor(src), false, dst);
  if (links.size() == 1 && group.preset.empty() && group.lags.empty()) {
    std::vector<char> slots(group.slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = group.slots[i] == links[0] ? 1 : 0;
    if (TakeSlots(flow, src, group, slots, ledger_.SiblingLinks(flow))) return true;
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
  auto path = PredictPath(world_, src, PlaneTwin(src, flow), port);
  if (!path.ok() || !path->predictable) {
    flow.reason = path.ok() ? path->reason : MessageOf(path.status());
    return false;
  }
  const Siblings& siblings = ledger_.SiblingLinks(flow);
  if (std::any_of(path->links.begin(), path->links.end(),
                  [&](LinkId link) { return Forbidden(link, siblings); })) {
    flow.reason = siblings.empty() ? "no link is left that works" : "no disjoint path is left";
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
  Siblings siblings;
  for (LinkId link : flow.links) {
    if (!network_.is_host_cable(Network::cable_of(link))) siblings.push_back(link);
  }
  if (siblings.empty()) return;  // one switch: nothing to go round
  PlannedFlow other = flow;
  other.path += 1 << 10;  // another starting point
  if (PlanFrom(other, flow.src, siblings)) flow.alternate_port = other.source_port;
}

bool FlowPlanner::AlternateWorks(const PlannedFlow& flow) const {
  if (flow.alternate_port == 0) return false;
  const auto good = [&](LinkId link) {
    const CableId cable = Network::cable_of(link);
    if (ledger_.avoided(cable)) return false;
    return network_.is_host_cable(cable) || !Contains(flow.links, link);
  };
  return good(Network::up(network_.host_cable(flow.src))) &&
         WalkPath(world_, flow.src, PlaneTwin(flow.src, flow), flow.alternate_port, good);
}

}  // namespace yardmaster::repac
