#include "pkg/netplan/port_plan.h"

#include <algorithm>
#include <utility>

#include "pkg/netplan/network_plan.h"
#include "pkg/repac/path.h"

namespace yardmaster::netplan {

namespace {

using fabric::LinkId;
using fabric::Network;

// Of a flow's bytes: an acknowledgement of some 70 bytes for every packet of 4 KiB.
constexpr double kAckShare = 1.0 / 64;

// For a flow that keeps nothing.
void Clear(repac::FlowPath& path) {
  static const repac::FlowPath kNone;
  path = kNone;
}

void Count(const PathAssignment& path, const repac::FlowPath* previous, NetworkReport& report) {
  if (path.source_port == 0) ++report.unplanned_flows;
  if (previous == nullptr) {
    ++report.new_flows;
  } else {
    ++(previous->source_port == path.source_port ? report.kept_flows : report.changed_flows);
  }
}

// A flow all of whose choices are sprayed.
const char* WhyNoPort(const fabric::FabricSpec& spec) {
  return spec.nic_spraying
             ? "the NICs spray packets over paths (spec.host.nicSpraying)"
             : "every switch that has a choice sprays packets (spec.tiers[].spraying)";
}

}  // namespace

// A flow that is to get a port.
struct PortPlan::Want {
  PathAssignment path;
  const FlowSource* source = nullptr;
  const repac::FlowPath* previous = nullptr;
  const Route* route = nullptr;  // that Crux chose; null for an acknowledgement path
  double bytes = 0;              // that PathAssignment::bytes is to be
  bool ack = false;
};

PortPlan::~PortPlan() = default;

PortPlan::PortPlan(const plan::Snapshot& snapshot, const NetworkInput& input,
                   const std::vector<std::uint8_t>& unusable)
    : input_(input), network_(*snapshot.network), unusable_(unusable) {
  const auto hashes = repac::SwitchHashes::Compile(network_, input.mistrusted);
  status_ = hashes.status();
  if (!hashes.ok()) return;
  forwarding_ = std::make_unique<repac::ForwardingModel>(network_, *hashes, DownCables(snapshot),
                                                         repac::SprayedChoice::kFirst);
  options_.avoid = input.avoid;
  options_.exclude = input.exclude;
  std::sort(options_.exclude.begin(), options_.exclude.end());
}

bool PortPlan::Whole(std::span<const LinkId> links) const {
  return !links.empty() && std::none_of(links.begin(), links.end(), [this](LinkId link) {
    return unusable_[Network::cable_of(link).index()] != 0;
  });
}

fabric::LinkPath PortPlan::Predict(const FlowSource& flow, std::uint16_t port) const {
  if (port == 0) return {};
  auto path = repac::PredictPath(*forwarding_, flow.from, flow.to, port);
  if (!path.ok() || !path->predictable) return {};
  return std::move(path->links);
}

std::int32_t PortPlan::Keep(const FlowSource& flow, const repac::FlowPath& previous,
                            repac::FlowPath& path) const {
  std::int32_t candidate = -1;
  const auto fits = [&](std::uint16_t port, std::uint16_t alternate,
                        const fabric::LinkPath& links) {
    candidate = Whole(links) ? flow.CandidateOf(links) : -1;
    if (candidate < 0) return false;
    if (port != 0) path = {port, alternate, links, port, links};
    return true;
  };
  if (fits(previous.home_port, previous.alternate_port, previous.home_links)) return candidate;
  if (fits(previous.source_port, previous.alternate_port,
           previous.links.empty() ? Predict(flow, previous.source_port) : previous.links)) {
    if (path.planned() && previous.home_links.empty()) path.home_port = previous.port_at_home();
    return candidate;
  }
  if (fits(previous.alternate_port, 0, Predict(flow, previous.alternate_port))) return candidate;
  // A flow that has one path stays on it with any port.
  return flow.candidates == 1 ? 0 : -1;
}

bool PortPlan::Excluded(const FlowSource& flow) const {
  const auto out = [this](fabric::HostId host, int rail) {
    return std::binary_search(options_.exclude.begin(), options_.exclude.end(),
                              repac::Nic{host, rail});
  };
  return out(flow.from.host, flow.from.rail) || out(flow.to.host, flow.to.rail);
}

std::int32_t PortPlan::AddFlow(const JobFlows& job, const FlowSource& source,
                               const repac::FlowPath* previous, bool ack, int ports) {
  const workload::TrafficDemand& connection =
      job.connections[static_cast<std::size_t>(source.connection)];
  Want& want = wants_.emplace_back();
  want.source = &source;
  want.previous = previous;
  want.ack = ack;
  want.bytes = ack ? 0 : connection.bytes / ports;
  PathAssignment& path = want.path;
  path.connection = static_cast<int>(wants_.size()) - 1;
  path.src = path.home_src = source.from;
  path.dst = source.to;
  path.bytes = connection.bytes * (ack ? kAckShare : 1);
  path.job = job.job;
  path.from_rank = ack ? connection.to_rank : connection.from_rank;
  path.to_rank = ack ? connection.from_rank : connection.to_rank;
  path.key = source.key();
  path.sprayed = source.sprayed != Sprayed::kNo;
  if (source.sprayed == Sprayed::kWholly) {
    path.reason = WhyNoPort(network_.spec());
    return 0;
  }
  if (previous == nullptr) return source.candidates == 1 ? 0 : -1;
  const std::int32_t candidate = Keep(source, *previous, path);
  if (Excluded(source)) Clear(path);
  return candidate;
}

std::vector<std::int32_t> PortPlan::Add(const JobFlows& job, const PreviousJob* previous) {
  static const FlowFinder::Flows kNone;
  const FlowFinder::Flows& known = previous != nullptr ? previous->flows : kNone;
  std::vector<int> ports_of(job.connections.size(), 0);
  for (const FlowSource& flow : job.flows) ++ports_of[static_cast<std::size_t>(flow.connection)];
  std::vector<std::int32_t> kept;
  kept.reserve(job.flows.size());
  FlowFinder flows(known);
  for (const FlowSource& flow : job.flows) {
    const int ports = ports_of[static_cast<std::size_t>(flow.connection)];
    kept.push_back(AddFlow(job, flow, flows.Find(flow.key()), false, ports));
  }
  if (!input_.ports) {
    wants_.clear();
    return kept;
  }
  FlowFinder acks(known);
  for (const FlowSource& ack : job.ack_paths) {
    AddFlow(job, ack, acks.Find(ack.key()), true, 1);
  }
  return kept;
}

void PortPlan::Choose(const std::vector<JobFlows>& jobs, const crux::Solution& kept,
                      const crux::Solution& chosen) {
  auto want = wants_.begin();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<std::int32_t>& before = kept.jobs[j].paths;
    for (std::size_t f = 0; f < jobs[j].flows.size(); ++f, ++want) {
      const std::int32_t path = chosen.jobs[j].paths[f];
      want->route = &jobs[j].flows[f].route(path);
      if (want->source->sprayed == Sprayed::kWholly) continue;
      if (before.empty() || before[f] != path) Clear(want->path);
    }
    want += static_cast<std::ptrdiff_t>(jobs[j].ack_paths.size());
  }
}

// Each flow is a connection of its own that is to leave its ToR by the uplink that Crux chose.
void PortPlan::FindPorts() {
  std::vector<repac::NicConnection> wishes;
  std::vector<repac::PlannedFlow*> flows;
  wishes.reserve(wants_.size());
  flows.reserve(wants_.size());
  for (Want& want : wants_) {
    const FlowSource& source = *want.source;
    repac::NicConnection& wish = wishes.emplace_back();
    wish.from = {source.from.host, source.from.rail};
    wish.to = {source.to.host, source.to.rail};
    wish.both_directions = false;
    wish.bytes = want.path.bytes;
    wish.plane = network_.plane_of(source.from);
    if (source.sprayed == Sprayed::kWholly) continue;
    if (want.route != nullptr && !want.route->empty()) {
      // Where switches spray, the hashes that choose may lie behind the first.
      const bool whole = source.sprayed == Sprayed::kPartly;
      wish.via.assign(want.route->begin(), whole ? want.route->end() : want.route->begin() + 1);
    }
    flows.push_back(&want.path);
  }
  repac::Replan(flows, wishes, *forwarding_, options_);
  // Flows for which no port takes the uplink, or none is left, once more without that wish.
  bool again = false;
  for (const repac::PlannedFlow* flow : flows) {
    repac::NicConnection& wish = wishes[static_cast<std::size_t>(flow->connection)];
    if (flow->planned() || wish.via.empty()) continue;
    wish.via.clear();
    again = true;
  }
  if (again) repac::Replan(flows, wishes, *forwarding_, options_);
}

void PortPlan::Run(const std::vector<JobFlows>& jobs, const crux::Solution& kept,
                   const crux::Solution& chosen, NetworkPlan& plan) {
  Choose(jobs, kept, chosen);
  FindPorts();
  const auto acks = static_cast<std::size_t>(
      std::count_if(wants_.begin(), wants_.end(), [](const Want& want) { return want.ack; }));
  plan.paths.reserve(wants_.size() - acks);
  plan.ack_paths.reserve(acks);
  for (Want& want : wants_) {
    Finish(want, plan.report);
    (want.ack ? plan.ack_paths : plan.paths).push_back(std::move(want.path));
  }
}

// Fills the remaining fields of a flow whose port is final, and counts it.
void PortPlan::Finish(Want& want, NetworkReport& report) const {
  const FlowSource& source = *want.source;
  PathAssignment& path = want.path;
  path.bytes = want.bytes;
  if (!want.ack) Count(path, want.previous, report);
  if (!path.planned() && source.sprayed != Sprayed::kWholly) {
    path.src = source.from;
    path.dst = source.to;
    path.wanted_links = {Network::up(network_.host_cable(source.from))};
    if (want.route != nullptr) {
      path.wanted_links.insert(path.wanted_links.end(), want.route->begin(), want.route->end());
    }
    path.wanted_links.push_back(Network::down(network_.host_cable(source.to)));
  }
  path.home_port = 0;
  path.home_links.clear();
  if (want.previous == nullptr) return;
  const fabric::LinkPath& home = want.previous->links_at_home();
  const std::uint16_t port = want.previous->port_at_home();
  if (port == 0 || home.empty()) return;
  if (path.links == home) {
    // The group it hashes in has another size now; with the old size comes the old port.
    if (path.source_port != port) path.home_port = port;
  } else if (!path.planned() || !Whole(home)) {
    // Forced move: keep the original home path.
    path.home_port = port;
    path.home_links = home;
  }
}

}  // namespace yardmaster::netplan
