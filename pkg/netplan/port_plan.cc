#include "pkg/netplan/port_plan.h"

#include <algorithm>
#include <utility>

#include "pkg/repac/path.h"

namespace yardmaster::netplan {

namespace {

using fabric::CableId;
using fabric::LinkId;
using fabric::Network;

// Of a flow's bytes: an acknowledgement of some 70 bytes for every packet of 4 KiB.
constexpr double kAckShare = 1.0 / 64;

// A flow as a connection of its own that must leave its ToR by the uplink that Crux chose.
repac::NicConnection Wish(const Network& network, const FlowSource& source, double bytes,
                          const Route* route) {
  repac::NicConnection wish;
  wish.from = {source.from.host, source.from.rail};
  wish.to = {source.to.host, source.to.rail};
  wish.both_directions = false;
  wish.bytes = bytes;
  wish.plane = network.plane_of(source.from);
  if (route != nullptr && !route->empty()) wish.via = {route->front()};
  return wish;
}

// What Replan starts from: the flow on what it keeps, or nothing.
repac::PlannedFlow Start(const FlowSource& source, const repac::NicConnection& wish, int connection,
                         const KeptPath* kept) {
  repac::PlannedFlow flow;
  flow.connection = connection;
  flow.src = source.from;
  flow.dst = source.to;
  flow.bytes = wish.bytes;
  if (kept == nullptr || !kept->planned()) return flow;
  static_cast<repac::FlowPath&>(flow) = *kept;
  flow.home_port = kept->port_at_home();
  flow.home_links = kept->links_at_home();
  flow.home_src = source.from;
  return flow;
}

void Count(const PathAssignment& path, const repac::FlowPath* previous, NetworkReport& report) {
  if (path.source_port == 0) ++report.unplanned_flows;
  if (previous == nullptr) {
    ++report.new_flows;
  } else {
    ++(previous->source_port == path.source_port ? report.kept_flows : report.changed_flows);
  }
}

}  // namespace

PortPlan::PortPlan(const plan::Snapshot& snapshot, const NetworkInput& input,
                   const std::vector<std::uint8_t>& unusable)
    : snapshot_(snapshot), input_(input), network_(*snapshot.network), unusable_(unusable) {
  const auto hashes = repac::SwitchHashes::Compile(network_, input.mistrusted);
  status_ = hashes.status();
  if (!hashes.ok()) return;
  std::vector<CableId> down;
  for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
    if (snapshot.cable_down[c] != 0) down.push_back(CableId(static_cast<std::int32_t>(c)));
  }
  forwarding_ = std::make_unique<repac::ForwardingModel>(network_, *hashes, down);
  options_.avoid = input.avoid;
  options_.account = false;
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

KeptPath PortPlan::ReusablePath(const FlowSource& flow, const repac::FlowPath& previous) const {
  KeptPath kept;
  const auto fits = [&](std::uint16_t port, std::uint16_t alternate, fabric::LinkPath links) {
    if (!Whole(links)) return false;
    const int candidate = flow.CandidateOf(links);
    if (candidate < 0) return false;
    kept.source_port = port;
    kept.alternate_port = alternate;
    kept.links = std::move(links);
    kept.candidate = candidate;
    return true;
  };
  if (fits(previous.home_port, previous.alternate_port, previous.home_links)) return kept;
  if (fits(previous.source_port, previous.alternate_port,
           previous.links.empty() ? Predict(flow, previous.source_port) : previous.links)) {
    if (previous.home_links.empty()) kept.home_port = previous.home_port;
    return kept;
  }
  if (fits(previous.alternate_port, 0, Predict(flow, previous.alternate_port))) return kept;
  // The flow has one path, which stays with any port.
  if (flow.candidates == 1) kept.candidate = 0;
  return kept;
}

bool PortPlan::Excluded(const FlowSource& flow) const {
  const auto out = [this](fabric::HostId host, int rail) {
    return std::binary_search(options_.exclude.begin(), options_.exclude.end(),
                              repac::Nic{host, rail});
  };
  return out(flow.from.host, flow.from.rail) || out(flow.to.host, flow.to.rail);
}

const PreviousJob* PortPlan::PreviousOf(const NamespacedName& job) const {
  if (input_.previous == nullptr) return nullptr;
  const auto at = input_.previous->find(job);
  return at == input_.previous->end() ? nullptr : &at->second;
}

// A flow that is to get a port, and its place in the result.
struct PortPlan::Want {
  plan::JobId job;
  const FlowSource* source = nullptr;
  const workload::TrafficDemand* connection = nullptr;
  int ports = 1;                 // NIC ports that share the connection's bytes
  const Route* route = nullptr;  // that Crux chose; null for an answer
  const KeptPath* kept = nullptr;
  const repac::FlowPath* previous = nullptr;
  bool answer = false;
};

std::vector<PortPlan::Want> PortPlan::Wants(const std::vector<JobFlows>& jobs,
                                            const std::vector<std::vector<KeptPath>>& kept,
                                            const crux::Solution& solution) const {
  std::vector<Want> wants;
  std::size_t count = 0;
  for (const JobFlows& job : jobs) count += job.flows.size() + job.ack_paths.size();
  wants.reserve(count);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobFlows& job = jobs[j];
    const auto connection_of = [&job](const FlowSource& source) {
      return &job.connections[static_cast<std::size_t>(source.connection)];
    };
    std::vector<int> ports_of(job.connections.size(), 0);
    for (const FlowSource& flow : job.flows) ++ports_of[static_cast<std::size_t>(flow.connection)];
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      const FlowSource& flow = job.flows[f];
      const int path = solution.jobs[j].paths[f];
      const bool keeps = kept[j][f].candidate == path;
      wants.push_back({job.job, &flow, connection_of(flow),
                       ports_of[static_cast<std::size_t>(flow.connection)], &flow.route(path),
                       keeps ? &kept[j][f] : nullptr, kept[j][f].previous, false});
    }
    const PreviousJob* previous = PreviousOf(snapshot_.jobs[job.job.index()].job.key);
    static const FlowFinder::Flows kNone;
    FlowFinder before(previous != nullptr ? previous->flows : kNone);
    for (const FlowSource& answer : job.ack_paths) {
      wants.push_back({job.job, &answer, connection_of(answer), 1, nullptr, nullptr,
                       before.Find(answer.key()), true});
    }
  }
  return wants;
}

void PortPlan::Run(const std::vector<JobFlows>& jobs,
                   const std::vector<std::vector<KeptPath>>& kept, const crux::Solution& solution,
                   NetworkPlan& plan) const {
  const std::vector<Want> wants = Wants(jobs, kept, solution);
  std::vector<repac::NicConnection> wanted;
  wanted.reserve(wants.size());
  repac::PathPlan ports;
  ports.flows.reserve(wants.size());
  for (const Want& want : wants) {
    const FlowSource& source = *want.source;
    const double bytes = want.connection->bytes * (want.answer ? kAckShare : 1);
    wanted.push_back(Wish(network_, source, bytes, want.route));
    KeptPath of_answer;
    const KeptPath* has = want.kept;
    if (want.answer && want.previous != nullptr) {
      of_answer = ReusablePath(source, *want.previous);
      has = &of_answer;
    }
    if (!options_.exclude.empty() && Excluded(source)) has = nullptr;
    ports.flows.push_back(Start(source, wanted.back(), static_cast<int>(wanted.size()) - 1, has));
  }
  ports = repac::Replan(std::move(ports), wanted, *forwarding_, options_);
  // Flows for which no port takes the uplink, or none is left, once more without that wish.
  bool again = false;
  for (const repac::PlannedFlow& flow : ports.flows) {
    repac::NicConnection& connection = wanted[static_cast<std::size_t>(flow.connection)];
    if (flow.planned() || connection.via.empty()) continue;
    connection.via.clear();
    again = true;
  }
  if (again) ports = repac::Replan(std::move(ports), wanted, *forwarding_, options_);
  const auto answers = static_cast<std::size_t>(
      std::count_if(wants.begin(), wants.end(), [](const Want& want) { return want.answer; }));
  plan.paths.reserve(wants.size() - answers);
  plan.ack_paths.reserve(answers);
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const Want& want = wants[i];
    PathAssignment& path = (want.answer ? plan.ack_paths : plan.paths).emplace_back();
    Record(want, ports.flows[i], path);
    if (!want.answer) Count(path, want.previous, plan.report);
  }
}

void PortPlan::Record(const Want& want, const repac::PlannedFlow& flow,
                      PathAssignment& path) const {
  const FlowSource& source = *want.source;
  path.job = want.job;
  path.from_rank = want.answer ? want.connection->to_rank : want.connection->from_rank;
  path.to_rank = want.answer ? want.connection->from_rank : want.connection->to_rank;
  if (!want.answer) path.bytes = want.connection->bytes / want.ports;
  path.key = source.key();
  path.from = flow.planned() ? flow.src : source.from;
  path.to = flow.planned() ? flow.dst : source.to;
  path.source_port = flow.source_port;
  path.alternate_port = flow.alternate_port;
  path.links = flow.links;  // its home is found below
  path.reason = flow.reason;
  if (!flow.planned()) {
    path.wanted_links = {Network::up(network_.host_cable(source.from))};
    if (want.route != nullptr) {
      path.wanted_links.insert(path.wanted_links.end(), want.route->begin(), want.route->end());
    }
    path.wanted_links.push_back(Network::down(network_.host_cable(source.to)));
  }
  if (want.previous == nullptr) return;
  const fabric::LinkPath& home = want.previous->links_at_home();
  const std::uint16_t port = want.previous->port_at_home();
  if (port == 0 || home.empty()) return;
  if (path.links == home) {
    // The group it hashes in has another size now; with the old size comes the old port.
    if (path.source_port != port) path.home_port = port;
  } else if (!flow.planned() || !Whole(home)) {
    // Forced move: keep the original home path.
    path.home_port = port;
    path.home_links = home;
  }
}

}  // namespace yardmaster::netplan
