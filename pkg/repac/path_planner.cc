#include "pkg/repac/path_planner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "pkg/base/strings.h"
#include "pkg/repac/path.h"

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

// What a path costs behind its first link: the fullest link, then all together.
struct TailCost {
  double fullest = 0;
  double sum = 0;
  bool operator<(const TailCost& other) const {
    return fullest != other.fullest ? fullest < other.fullest : sum < other.sum;
  }
};

// The links that must follow each slot of a group until something is chosen again or the
// destination's ToR is reached.
struct Tails {
  std::vector<LinkId> links;
  std::vector<int> begin;  // per slot, one more at the end
};

class Planner {
 public:
  Planner(const std::vector<Connection>& connections, const PathWorld& world,
          const PathOptions& options);

  std::vector<Flow> EmptyFlows() const;
  // Adds a flow whose port and links are final to the loads.
  void Commit(const Flow& flow);
  // Marks a port as taken between the flow's two addresses; 0: nothing.
  void Reserve(const Flow& flow, std::uint16_t port);
  void PlanFresh(Flow& flow);
  // Gives the flow its exact links, with any free port.
  bool PlanAlong(Flow& flow, const NicPort& src, const std::vector<LinkId>& links);
  void FindAlternate(Flow& flow);
  bool AlternateWorks(const Flow& flow) const;
  bool IsWhole(const std::vector<LinkId>& links) const;
  bool Excluded(const Connection& connection) const;
  // Whether the port is taken between the flow's two addresses.
  bool Taken(const Flow& flow, std::uint16_t port) const;

 private:
  using Siblings = std::vector<LinkId>;

  const UsedPorts& PortsBetween(const NicPort& a, const NicPort& b) const;
  std::uint64_t PairKey(const NicPort& a, const NicPort& b) const;
  Siblings SiblingLinks(const Flow& flow) const;
  bool Forbidden(LinkId link, const Siblings& siblings) const;
  std::vector<NicPort> SourcePorts(const Flow& flow) const;
  const Tails& TailsOf(const Group& group, const NicPort& dst);
  std::optional<int> BestSlot(const Group& group, const NicPort& dst, const Siblings& siblings,
                              const std::vector<char>& tried);
  bool PlanFrom(Flow& flow, const NicPort& src, const Siblings& siblings);
  bool TakeSlot(Flow& flow, const NicPort& src, const Group& group, int slot,
                const Siblings& siblings);
  std::optional<TailCost> CostOf(const std::vector<LinkId>& links, const Siblings& siblings) const;
  NicPort PlaneTwin(const NicPort& src, const Flow& flow) const;

  const std::vector<Connection>& connections_;
  const PathWorld& world_;
  const Network& network_;
  const PathOptions& options_;
  std::vector<char> avoid_;    // by cable
  std::vector<double> bytes_;  // by link
  std::vector<Nic> excluded_;  // sorted
  absl::flat_hash_map<std::uint64_t, UsedPorts> used_;
  absl::flat_hash_map<const Group*, Tails> tails_;
  // Links between switches of the flows already planned of each (connection, direction).
  absl::flat_hash_map<std::int64_t, Siblings> siblings_;
  const UsedPorts none_;
};

Planner::Planner(const std::vector<Connection>& connections, const PathWorld& world,
                 const PathOptions& options)
    : connections_(connections),
      world_(world),
      network_(world.network()),
      options_(options),
      avoid_(static_cast<std::size_t>(network_.num_cables())),
      bytes_(static_cast<std::size_t>(network_.num_links())),
      excluded_(options.exclude) {
  for (CableId cable : options.avoid) avoid_[cable.index()] = 1;
  std::sort(excluded_.begin(), excluded_.end());
  used_.reserve(connections.size());
  siblings_.reserve(2 * connections.size());
}

std::vector<Flow> Planner::EmptyFlows() const {
  std::vector<Flow> flows;
  for (std::size_t c = 0; c < connections_.size(); ++c) {
    const Connection& connection = connections_[c];
    for (int back = 0; back < (connection.both_directions ? 2 : 1); ++back) {
      for (int path = 0; path < connection.paths; ++path) {
        Flow flow;
        flow.connection = static_cast<int>(c);
        flow.back = back == 1;
        flow.path = path;
        const Nic& from = flow.back ? connection.to : connection.from;
        const Nic& to = flow.back ? connection.from : connection.to;
        flow.src = {from.host, from.rail, 0};
        flow.dst = {to.host, to.rail, 0};
        flow.bytes = connection.bytes / connection.paths;
        flows.push_back(std::move(flow));
      }
    }
  }
  return flows;
}

std::uint64_t Planner::PairKey(const NicPort& a, const NicPort& b) const {
  const auto nic = [this](const NicPort& p) {
    return static_cast<std::uint64_t>(p.host.value * network_.spec().rails + p.rail);
  };
  const std::uint64_t x = nic(a);
  const std::uint64_t y = nic(b);
  return std::min(x, y) << 32 | std::max(x, y);
}

const UsedPorts& Planner::PortsBetween(const NicPort& a, const NicPort& b) const {
  const auto found = used_.find(PairKey(a, b));
  return found == used_.end() ? none_ : found->second;
}

bool Planner::Taken(const Flow& flow, std::uint16_t port) const {
  const UsedPorts& ports = PortsBetween(flow.src, flow.dst);
  return std::binary_search(ports.begin(), ports.end(), port);
}

bool Planner::Excluded(const Connection& connection) const {
  return std::binary_search(excluded_.begin(), excluded_.end(), connection.from) ||
         std::binary_search(excluded_.begin(), excluded_.end(), connection.to);
}

void Planner::Commit(const Flow& flow) {
  for (LinkId link : flow.links) bytes_[link.index()] += flow.bytes;
  if (!flow.planned()) return;
  Reserve(flow, flow.source_port);
  Reserve(flow, flow.alternate_port);
  if (connections_[static_cast<std::size_t>(flow.connection)].paths == 1) return;
  Siblings& siblings = siblings_[2 * std::int64_t{flow.connection} + (flow.back ? 1 : 0)];
  for (LinkId link : flow.links) {
    if (!network_.is_host_cable(Network::cable_of(link))) siblings.push_back(link);
  }
}

void Planner::Reserve(const Flow& flow, std::uint16_t port) {
  if (port == 0) return;
  UsedPorts& ports = used_[PairKey(flow.src, flow.dst)];
  const auto at = std::lower_bound(ports.begin(), ports.end(), port);
  if (at == ports.end() || *at != port) ports.insert(at, port);
}

Planner::Siblings Planner::SiblingLinks(const Flow& flow) const {
  const auto found = siblings_.find(2 * std::int64_t{flow.connection} + (flow.back ? 1 : 0));
  return found == siblings_.end() ? Siblings() : found->second;
}

bool Planner::Forbidden(LinkId link, const Siblings& siblings) const {
  return avoid_[Network::cable_of(link).index()] != 0 ||
         (!siblings.empty() && std::find(siblings.begin(), siblings.end(), link) != siblings.end());
}

bool Planner::IsWhole(const std::vector<LinkId>& links) const {
  return !links.empty() && std::none_of(links.begin(), links.end(), [this](LinkId link) {
    const CableId cable = Network::cable_of(link);
    return avoid_[cable.index()] != 0 || world_.is_down(cable);
  });
}

// The destination's port that a flow from `src` is predicted towards: any of its plane.
NicPort Planner::PlaneTwin(const NicPort& src, const Flow& flow) const {
  return {flow.dst.host, flow.dst.rail, network_.plane_of(src)};
}

// The source NIC's ports that may be used, least loaded first; ties alternate from path to path.
std::vector<NicPort> Planner::SourcePorts(const Flow& flow) const {
  const int ports = network_.spec().nic_ports;
  const Connection& connection = connections_[static_cast<std::size_t>(flow.connection)];
  std::vector<std::pair<double, NicPort>> ranked;
  for (int i = 0; i < ports; ++i) {
    const NicPort src{flow.src.host, flow.src.rail, (flow.connection + flow.path + i) % ports};
    const int plane = network_.plane_of(src);
    if (connection.plane >= 0 && connection.plane != plane) continue;
    const CableId cable = network_.host_cable(src);
    if (world_.is_down(cable) || avoid_[cable.index()] != 0) continue;
    double load = bytes_[Network::up(cable).index()];
    bool arrives = false;
    for (int p = plane; p < ports; p += network_.spec().planes) {
      const CableId end = network_.host_cable({flow.dst.host, flow.dst.rail, p});
      if (world_.is_down(end) || avoid_[end.index()] != 0) continue;
      arrives = true;
      load = std::max(load, bytes_[Network::down(end).index()]);
    }
    if (arrives) ranked.emplace_back(load, src);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NicPort> out;
  for (const auto& [load, src] : ranked) out.push_back(src);
  return out;
}

const Tails& Planner::TailsOf(const Group& group, const NicPort& dst) {
  if (const auto found = tails_.find(&group); found != tails_.end()) return found->second;
  Tails tails;
  tails.begin.push_back(0);
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    LinkId link = group.slots[slot];
    SwitchId at = network_.far_end(link);
    while (at.valid() && !(network_.tier_of(at) == 0 && Network::is_down(link))) {
      const Group& next = world_.group(at, Network::is_down(link), dst);
      if (!next.forced()) break;
      link = next.slots[0];
      tails.links.push_back(link);
      at = network_.far_end(link);
    }
    tails.begin.push_back(static_cast<int>(tails.links.size()));
  }
  return tails_.emplace(&group, std::move(tails)).first->second;
}

std::optional<int> Planner::BestSlot(const Group& group, const NicPort& dst,
                                     const Siblings& siblings, const std::vector<char>& tried) {
  const Tails& tails = TailsOf(group, dst);
  std::optional<int> best;
  double best_load = 0;
  TailCost best_tail;
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    if (!tried.empty() && tried[slot] != 0) continue;
    LinkId first = group.slots[slot];
    if (!group.lags.empty()) {
      first = *std::min_element(
          group.lags[slot].begin(), group.lags[slot].end(),
          [this](LinkId a, LinkId b) { return bytes_[a.index()] < bytes_[b.index()]; });
    }
    const double load = bytes_[first.index()];
    if (best && load > best_load) continue;
    bool good = !Forbidden(first, siblings);
    TailCost tail;
    for (int i = tails.begin[slot]; i < tails.begin[slot + 1] && good; ++i) {
      const LinkId link = tails.links[static_cast<std::size_t>(i)];
      good = !Forbidden(link, siblings);
      tail.fullest = std::max(tail.fullest, bytes_[link.index()]);
      tail.sum += bytes_[link.index()];
    }
    if (!good || (best && load == best_load && !(tail < best_tail))) continue;
    best = static_cast<int>(slot);
    best_load = load;
    best_tail = tail;
  }
  return best;
}

// The cost of all links between switches behind the first, or nothing if one of them is forbidden.
std::optional<TailCost> Planner::CostOf(const std::vector<LinkId>& links,
                                        const Siblings& siblings) const {
  TailCost cost;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (Forbidden(links[i], siblings)) return std::nullopt;
    if (i < 2) continue;
    const double load = bytes_[links[i].index()];
    cost.fullest = std::max(cost.fullest, load);
    cost.sum += load;
  }
  return cost;
}

bool Planner::TakeSlot(Flow& flow, const NicPort& src, const Group& group, int slot,
                       const Siblings& siblings) {
  const NicPort dst = PlaneTwin(src, flow);
  const UsedPorts& used = PortsBetween(flow.src, flow.dst);
  Packet packet = world_.PacketOf(src, dst, kSourcePortBase);
  packet.ingress_port = world_.ingress_port(Network::up(network_.host_cable(src)));
  std::vector<PortFunction> functions;
  const bool chosen = group.slots.size() > 1;
  if (chosen) functions.push_back(group.hash->OverPorts(packet));
  const auto members = static_cast<std::uint32_t>(group.slots.size());
  std::optional<TailCost> best;
  std::vector<LinkId> best_links;
  NicPort best_dst;
  std::uint16_t best_port = 0;
  int candidates = options_.candidates;
  std::string reason;
  WalkPorts(functions, StartPort(src, dst, flow.path), [&](std::uint16_t port, const auto& values) {
    if (chosen && values[0] % members != static_cast<std::uint32_t>(slot)) return false;
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

bool Planner::PlanFrom(Flow& flow, const NicPort& src, const Siblings& siblings) {
  const NicPort dst = PlaneTwin(src, flow);
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
  std::vector<char> tried;
  for (std::size_t i = 0; i < group.slots.size(); ++i) {
    const auto slot = BestSlot(group, dst, siblings, tried);
    if (!slot) return false;
    if (TakeSlot(flow, src, group, *slot, siblings)) return true;
    tried.resize(group.slots.size());
    tried[static_cast<std::size_t>(*slot)] = 1;
  }
  return false;
}

void Planner::PlanFresh(Flow& flow) {
  const Siblings siblings = SiblingLinks(flow);
  flow.source_port = flow.alternate_port = 0;
  flow.links.clear();
  flow.reason = "no port of the two NICs is up in a common plane";
  for (const NicPort& src : SourcePorts(flow)) {
    if (PlanFrom(flow, src, siblings)) return;
  }
}

bool Planner::PlanAlong(Flow& flow, const NicPort& src, const std::vector<LinkId>& links) {
  const NicPort dst = PlaneTwin(src, flow);
  const auto targets = TargetsOf(world_, src, dst, links);
  if (!targets.ok()) {
    flow.reason = MessageOf(targets.status());
    return false;
  }
  const auto port =
      FindPort(*targets, PortsBetween(flow.src, flow.dst), StartPort(src, dst, flow.path));
  if (!port.ok()) {
    flow.reason = MessageOf(port.status());
    return false;
  }
  auto path = PredictPath(world_, src, dst, *port);
  if (!path.ok() || !path->predictable) {
    flow.reason = path.ok() ? path->reason : MessageOf(path.status());
    return false;
  }
  flow.src = src;
  flow.dst = network_.nic_port_of(Network::cable_of(path->links.back()));
  flow.source_port = *port;
  flow.links = std::move(path->links);
  flow.reason.clear();
  return true;
}

void Planner::FindAlternate(Flow& flow) {
  flow.alternate_port = 0;
  Siblings siblings;
  for (LinkId link : flow.links) {
    if (!network_.is_host_cable(Network::cable_of(link))) siblings.push_back(link);
  }
  if (siblings.empty()) return;  // one switch: nothing to go round
  Flow other = flow;
  other.path += 1 << 10;  // another starting point
  if (PlanFrom(other, flow.src, siblings)) flow.alternate_port = other.source_port;
}

bool Planner::AlternateWorks(const Flow& flow) const {
  if (flow.alternate_port == 0) return false;
  const auto good = [&](LinkId link) {
    const CableId cable = Network::cable_of(link);
    if (avoid_[cable.index()] != 0) return false;
    return network_.is_host_cable(cable) ||
           std::find(flow.links.begin(), flow.links.end(), link) == flow.links.end();
  };
  return good(Network::up(network_.host_cable(flow.src))) &&
         WalkPath(world_, flow.src, PlaneTwin(flow.src, flow), flow.alternate_port, good);
}

// The ports of the source NIC that the first link of a given path can follow.
std::vector<NicPort> PortsInto(const Network& network, const Flow& flow, LinkId first) {
  std::vector<NicPort> ports;
  const CableId cable = Network::cable_of(first);
  for (int p = 0; p < network.spec().nic_ports; ++p) {
    const NicPort src{flow.src.host, flow.src.rail, p};
    const bool leaves = network.is_host_cable(cable)
                            ? network.tor(network.nic_port_of(cable)) == network.tor(src)
                            : network.switch_port_of(cable).id == network.tor(src);
    if (leaves) ports.push_back(src);
  }
  return ports;
}

// Flows with given paths, then by size, then by position.
std::vector<int> PlanningOrder(const std::vector<Connection>& connections,
                               const std::vector<Flow>& flows) {
  struct Key {
    bool free = true;
    double bytes = 0;
    bool operator<(const Key& other) const {
      return free != other.free ? !free : bytes > other.bytes;
    }
  };
  std::vector<Key> keys;
  keys.reserve(flows.size());
  for (const Flow& flow : flows) {
    const Connection& connection = connections[static_cast<std::size_t>(flow.connection)];
    keys.push_back({(flow.back ? connection.via_back : connection.via).empty(), flow.bytes});
  }
  std::vector<int> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(keys.begin(), keys.end())) return order;
  std::stable_sort(order.begin(), order.end(), [&keys](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

void PlanOne(const std::vector<Connection>& connections, const PathWorld& world, Planner& planner,
             Flow& flow) {
  const Connection& connection = connections[static_cast<std::size_t>(flow.connection)];
  if (planner.Excluded(connection)) {
    flow.reason = "the NIC is kept out of path plans";
    return;
  }
  const std::vector<LinkId>& via = flow.back ? connection.via_back : connection.via;
  if (via.empty()) {
    planner.PlanFresh(flow);
    return;
  }
  flow.reason = "the given path does not begin at the source's ToR";
  for (const NicPort& src : PortsInto(world.network(), flow, via[0])) {
    if (planner.PlanAlong(flow, src, via)) return;
  }
}

void SetHome(Flow& flow) {
  flow.home_port = flow.source_port;
  flow.home_src = flow.src;
  flow.home_links = flow.links;
}

std::vector<LinkId> Behind(const std::vector<LinkId>& links) {
  return {links.begin() + 1, links.end()};
}

// Whether `port` takes the flow from `src` over exactly these links, all of them whole.
bool Holds(const PathWorld& world, const Planner& planner, const Flow& flow, const NicPort& src,
           std::uint16_t port, const std::vector<LinkId>& links) {
  if (port == 0 || !planner.IsWhole(links) || planner.Taken(flow, port)) return false;
  const NicPort dst{flow.dst.host, flow.dst.rail, world.network().plane_of(src)};
  if (Network::up(world.network().host_cable(src)) != links[0]) return false;
  std::size_t at = 0;
  return WalkPath(world, src, dst, port,
                  [&](LinkId link) { return ++at < links.size() && links[at] == link; }) &&
         at + 1 == links.size();
}

// Keeps the flow's port, or gives it back the one of its home.
bool Keep(const PathWorld& world, const Planner& planner, Flow& flow) {
  if (Holds(world, planner, flow, flow.home_src, flow.home_port, flow.home_links)) {
    flow.src = flow.home_src;
    flow.dst = world.network().nic_port_of(Network::cable_of(flow.home_links.back()));
    flow.source_port = flow.home_port;
    flow.links = flow.home_links;
    flow.reason.clear();
    return true;
  }
  const bool away = flow.links != flow.home_links;
  if (away && planner.IsWhole(flow.home_links)) return false;  // it goes home by another port
  return Holds(world, planner, flow, flow.src, flow.source_port, flow.links);
}

// The same links by another port: those of home, else those it has.
bool Regain(Planner& planner, Flow& flow) {
  if (planner.IsWhole(flow.home_links) &&
      planner.PlanAlong(flow, flow.home_src, Behind(flow.home_links))) {
    return true;
  }
  return planner.IsWhole(flow.links) && planner.PlanAlong(flow, flow.src, Behind(flow.links));
}

bool TakeAlternate(const PathWorld& world, Planner& planner, Flow& flow) {
  if (!planner.AlternateWorks(flow) || planner.Taken(flow, flow.alternate_port)) return false;
  const NicPort dst{flow.dst.host, flow.dst.rail, world.network().plane_of(flow.src)};
  auto path = PredictPath(world, flow.src, dst, flow.alternate_port);
  flow.dst = world.network().nic_port_of(Network::cable_of(path->links.back()));
  flow.source_port = flow.alternate_port;
  flow.links = std::move(path->links);
  flow.alternate_port = 0;
  return true;
}

PathPlan Finish(std::vector<Flow> flows, const PathWorld& world, const PathOptions& options) {
  PathPlan plan;
  plan.flows = std::move(flows);
  plan.fabric_generation = options.fabric_generation;
  plan.expires_ms = options.expires_ms;
  Account(world, plan);
  return plan;
}

}  // namespace

PathPlan PlanPaths(const std::vector<Connection>& connections, const PathWorld& world,
                   const PathOptions& options) {
  Planner planner(connections, world, options);
  std::vector<Flow> flows = planner.EmptyFlows();
  const std::vector<int> order = PlanningOrder(connections, flows);
  for (int i : order) {
    Flow& flow = flows[static_cast<std::size_t>(i)];
    PlanOne(connections, world, planner, flow);
    SetHome(flow);
    planner.Commit(flow);
  }
  if (options.alternates) {
    // After all main paths, so that alternates take what is left and not the other way round.
    for (int i : order) {
      Flow& flow = flows[static_cast<std::size_t>(i)];
      if (!flow.planned()) continue;
      planner.FindAlternate(flow);
      planner.Reserve(flow, flow.alternate_port);
    }
  }
  return Finish(std::move(flows), world, options);
}

PathPlan Replan(const PathPlan& old, const std::vector<Connection>& connections,
                const PathWorld& world, const PathOptions& options) {
  Planner planner(connections, world, options);
  std::vector<Flow> flows = old.flows;
  std::vector<char> settled(flows.size());
  const std::vector<int> order = PlanningOrder(connections, flows);
  // First all that can keep their ports, then all that can keep their links, so that the others see
  // the true loads and take nobody's port.
  for (bool by_port : {true, false}) {
    for (int i : order) {
      const auto at = static_cast<std::size_t>(i);
      Flow& flow = flows[at];
      const Connection& connection = connections[static_cast<std::size_t>(flow.connection)];
      if (settled[at] != 0 || planner.Excluded(connection)) continue;
      settled[at] = by_port ? Keep(world, planner, flow) : Regain(planner, flow);
      if (settled[at] != 0) planner.Commit(flow);
    }
  }
  for (int i : order) {
    const auto at = static_cast<std::size_t>(i);
    Flow& flow = flows[at];
    if (settled[at] != 0) continue;
    const bool never_planned = flow.home_port == 0;
    if (!flow.planned() || !TakeAlternate(world, planner, flow)) {
      flow.source_port = 0;
      flow.links.clear();
      PlanOne(connections, world, planner, flow);
    }
    if (never_planned) SetHome(flow);
    planner.Commit(flow);
  }
  if (options.alternates) {
    for (int i : order) {
      Flow& flow = flows[static_cast<std::size_t>(i)];
      if (!flow.planned() || planner.AlternateWorks(flow)) continue;
      planner.FindAlternate(flow);
      planner.Reserve(flow, flow.alternate_port);
    }
  }
  return Finish(std::move(flows), world, options);
}

}  // namespace yardmaster::repac
