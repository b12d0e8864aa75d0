#include "pkg/netplan/flow_problem.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::netplan {

using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;
using workload::TrafficDemand;

int FlowSource::CandidateOf(std::span<const LinkId> links) const {
  if (links.size() < 2 || candidates == 0) return -1;
  if (sprayed != Sprayed::kNo) {
    const std::span<const LinkId> between = links.subspan(1, links.size() - 2);
    for (int i = 0; i < candidates; ++i) {
      if (std::ranges::equal(route(i), between)) return i;
    }
    return -1;
  }
  if (routes->front().empty()) return links.size() == 2 ? 0 : -1;
  if (candidates == static_cast<int>(routes->size())) {
    // Every route is one, in the routes' order from where this host begins.
    const auto at = std::lower_bound(routes->begin(), routes->end(), links[1],
                                     [](const Route& way, LinkId link) { return way[0] < link; });
    if (at == routes->end() || at->front() != links[1]) return -1;
    const int begin = from.host.value % candidates;
    return (static_cast<int>(at - routes->begin()) - begin + candidates) % candidates;
  }
  for (int i = 0; i < candidates; ++i) {
    if (route(i)[0] == links[1]) return i;
  }
  return -1;
}

double LoneSeconds(const std::vector<TrafficDemand>& connections, const fabric::FabricSpec& spec) {
  absl::flat_hash_map<std::pair<fabric::HostId, int>, double> sent;
  double most = 0;
  for (const TrafficDemand& c : connections) {
    double& bytes = sent[{c.from_host, c.from_rail}];
    bytes += c.bytes;
    most = std::max(most, bytes);
  }
  return most / (1e9 / 8 * spec.nic_gbps * spec.nic_ports);
}

FlowProblem::FlowProblem(const Network& network, const std::vector<std::uint8_t>& unusable,
                         int max_candidates, LinkNumbers numbers,
                         std::vector<fabric::CableId> lossy)
    : network_(network),
      max_candidates_(max_candidates),
      lossy_(std::move(lossy)),
      routes_(network, unusable) {
  const auto links = static_cast<std::size_t>(network.num_links());
  if (numbers.number.size() == links) {
    dense_ = std::move(numbers.number);
    problem_.links = std::move(numbers.links);
  } else {
    dense_.assign(links, -1);
  }
  if (Spreading::Needed(network.spec())) spreading_.emplace(network, unusable);
  bundle_of_number_.assign(problem_.links.size(), -1);
}

LinkNumbers FlowProblem::TakeLinkNumbers() {
  return {std::move(dense_), std::move(problem_.links)};
}

void FlowProblem::AddJob(plan::JobId id, const workload::Job& job,
                         const std::vector<fabric::HostId>& host_of_rank) {
  JobFlows mine;
  mine.job = id;
  mine.connections =
      workload::ConnectionsOf(job, host_of_rank, network_.spec().rails, &network_.places());
  const workload::Profile profile = workload::CompleteProfile(job);
  crux::ContendingJob out;
  out.id = job.key.text();
  out.gpus = static_cast<int>(job.gpus());
  out.flop_per_iteration = profile.flop_per_iteration;
  out.compute_seconds = profile.compute_seconds;
  out.communication_start = profile.communication_start;
  const std::size_t ports = static_cast<std::size_t>(network_.spec().nic_ports);
  mine.flows.reserve(mine.connections.size() * ports);
  out.flows.reserve(mine.connections.size() * ports);
  for (std::size_t c = 0; c < mine.connections.size(); ++c) {
    if (network_.spec().nic_spraying) {
      AddSprayed(static_cast<int>(c), mine, out);
    } else {
      AddFlows(static_cast<int>(c), mine, out);
    }
  }
  AddAckPaths(mine);
  const double by_bytes = LoneSeconds(mine.connections, network_.spec());
  if (profile.communication_seconds > 0 && by_bytes > 0) {
    for (crux::Flow& flow : out.flows) flow.bytes *= profile.communication_seconds / by_bytes;
  }
  jobs_.push_back(std::move(mine));
  problem_.jobs.push_back(std::move(out));
}

bool FlowProblem::UsesLossyPort(const FlowSource& source) const {
  return std::ranges::any_of(std::array{source.from, source.to}, [this](const NicPort& port) {
    return std::binary_search(lossy_.begin(), lossy_.end(), network_.host_cable(port));
  });
}

// The ports that have a way there share the connection's bytes, those that lose packets only among
// themselves.
void FlowProblem::AddFlows(int connection, JobFlows& mine, crux::ContendingJob& out) {
  const TrafficDemand& c = mine.connections[static_cast<std::size_t>(connection)];
  std::vector<FlowSource> sources;
  for (int port = 0; port < network_.spec().nic_ports; ++port) {
    FlowSource source;
    source.connection = connection;
    source.from = {c.from_host, c.from_rail, port};
    const NicPort wanted{c.to_host, c.to_rail, port};
    if (!routes_.Usable(source.from) || !routes_.Arrival(wanted, source.to)) continue;
    const bool near = network_.tor(source.from) == network_.tor(source.to);
    if (spreading_ && !near) {
      const Spreading::Ways& ways = spreading_->Between(source.from, source.to);
      source.routes = &ways.routes;
      source.sprayed = ways.hashed ? Sprayed::kPartly : Sprayed::kWholly;
    } else {
      source.routes = &routes_.Between(source.from, source.to);
    }
    source.candidates =
        static_cast<int>(std::min<std::size_t>(source.routes->size(), max_candidates_));
    if (source.candidates > 0) sources.push_back(source);
  }
  const auto lossy = [this](const FlowSource& source) { return UsesLossyPort(source); };
  if (!lossy_.empty() && !std::ranges::all_of(sources, lossy)) std::erase_if(sources, lossy);
  std::vector<std::int32_t> path;
  for (const FlowSource& source : sources) {
    crux::Flow flow;
    flow.id = StrCat(out.flows.size());
    flow.bytes = c.bytes / static_cast<double>(sources.size());
    flow.ring = source.from.rail * network_.spec().nic_ports + source.from.port;
    if (source.sprayed != Sprayed::kNo) {
      AddCandidates(source, spreading_->Between(source.from, source.to), flow.paths);
      out.flows.push_back(std::move(flow));
      mine.flows.push_back(source);
      continue;
    }
    flow.paths.Reserve(static_cast<std::size_t>(source.candidates),
                       static_cast<std::size_t>(source.candidates) * (source.route(0).size() + 2));
    const std::int32_t first = Dense(Network::up(network_.host_cable(source.from)));
    std::int32_t last = -1;
    std::vector<std::vector<std::int32_t>>& ways = ways_[source.routes];
    ways.resize(source.routes->size());
    for (int i = 0; i < source.candidates; ++i) {
      const std::size_t route = source.route_index(i);
      std::vector<std::int32_t>& way = ways[route];
      if (way.empty()) {
        for (LinkId link : (*source.routes)[route]) way.push_back(Dense(link));
      }
      if (last < 0) last = Dense(Network::down(network_.host_cable(source.to)));
      path.resize(way.size() + 2);
      path.front() = first;
      std::copy(way.begin(), way.end(), path.begin() + 1);
      path.back() = last;
      flow.paths.Add(path);
    }
    out.flows.push_back(std::move(flow));
    mine.flows.push_back(source);
  }
}

void FlowProblem::AddCandidates(const FlowSource& source, const Spreading::Ways& ways,
                                crux::PathList& paths) {
  std::vector<std::int32_t> path;
  std::vector<double> shares;
  for (int i = 0; i < source.candidates; ++i) {
    path = {Dense(Network::up(network_.host_cable(source.from)))};
    shares = {1};
    for (const Spreading::Part& part : ways.parts[source.route_index(i)]) {
      path.push_back(Number(part.bundle));
      shares.push_back(part.share);
    }
    path.push_back(Dense(Network::down(network_.host_cable(source.to))));
    shares.push_back(1);
    paths.Add(path, shares);
  }
}

// One flow from NIC to NIC, over all ports.
void FlowProblem::AddSprayed(int connection, JobFlows& mine, crux::ContendingJob& out) {
  const TrafficDemand& c = mine.connections[static_cast<std::size_t>(connection)];
  FlowSource source;
  source.connection = connection;
  source.from = {c.from_host, c.from_rail, 0};
  source.to = {c.to_host, c.to_rail, 0};
  source.routes = &one_route_;
  source.candidates = 1;
  source.sprayed = Sprayed::kWholly;
  std::vector<std::int32_t> path;
  std::vector<double> shares;
  for (const Spreading::Part& part : spreading_->BetweenNics(source.from, source.to)) {
    path.push_back(Number(part.bundle));
    shares.push_back(part.share);
  }
  if (path.empty()) return;
  crux::Flow flow;
  flow.id = StrCat(out.flows.size());
  flow.bytes = c.bytes;
  flow.ring = source.from.rail;
  flow.paths.Add(path, shares);
  out.flows.push_back(std::move(flow));
  mine.flows.push_back(source);
}

SprayedLoads FlowProblem::LoadsOfSprayed(const crux::Solution& solution) const {
  SprayedLoads out;
  if (!spreading_) return out;
  std::vector<std::int32_t> bundle(problem_.links.size(), -1);  // in `out`, by number
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    std::vector<double> flows_of(jobs_[j].connections.size(), 0);
    for (const FlowSource& flow : jobs_[j].flows) ++flows_of[flow.connection];
    std::map<std::int32_t, double> bytes;
    for (std::size_t f = 0; f < jobs_[j].flows.size(); ++f) {
      const FlowSource& flow = jobs_[j].flows[f];
      if (flow.sprayed == Sprayed::kNo) continue;
      const auto at = static_cast<std::size_t>(flow.connection);
      const double sent = jobs_[j].connections[at].bytes / flows_of[at];
      problem_.jobs[j].flows[f].paths.Each(
          solution.jobs[j].paths[f],
          [&](std::int32_t number, double share) { bytes[number] += sent * share; });
    }
    for (const auto& [number, sent] : bytes) {
      std::int32_t& at = bundle[number];
      if (at < 0) {
        at = static_cast<std::int32_t>(out.bundles.size());
        out.bundles.push_back(LinksOf(number));
      }
      out.loads.push_back({jobs_[j].job, at, sent});
    }
  }
  return out;
}

void FlowProblem::AddAckPaths(JobFlows& mine) {
  std::vector<FlowKey> sent;
  sent.reserve(mine.flows.size());
  for (const FlowSource& flow : mine.flows) sent.push_back(flow.key());
  std::sort(sent.begin(), sent.end());
  int connection = -1;
  std::size_t of_connection = 0;  // where the connection's acknowledgement paths begin
  for (const FlowSource& flow : mine.flows) {
    if (flow.sprayed == Sprayed::kWholly) continue;  // no port is planned either way
    if (flow.connection != connection) {
      connection = flow.connection;
      of_connection = mine.ack_paths.size();
    }
    FlowSource ack;
    ack.connection = connection;
    ack.from = flow.to;
    ack.to = flow.from;
    if (std::binary_search(sent.begin(), sent.end(), ack.key())) continue;
    // Where both ports of a NIC send to one port, one acknowledgement path serves both.
    const bool served = std::any_of(
        mine.ack_paths.begin() + static_cast<std::ptrdiff_t>(of_connection), mine.ack_paths.end(),
        [&ack](const FlowSource& other) { return other.from == ack.from; });
    if (served) continue;
    ack.routes = &routes_.Between(ack.from, ack.to);
    ack.candidates = static_cast<int>(ack.routes->size());
    if (ack.candidates > 0) mine.ack_paths.push_back(ack);
  }
}

// A bundle has the number of its first link, whose speed is then that of all of them.
std::int32_t FlowProblem::Number(std::int32_t bundle) {
  const Spreading::Bundle& links = spreading_->bundle(bundle);
  const std::int32_t at = Dense(links.links.front());
  const auto number = static_cast<std::size_t>(at);
  if (bundle_of_number_[number] != bundle) {
    bundle_of_number_[number] = bundle;
    problem_.links[number].gbps = links.gbps;
  }
  return at;
}

std::vector<LinkId> FlowProblem::LinksOf(std::int32_t number) const {
  const std::int32_t bundle = bundle_of_number_[static_cast<std::size_t>(number)];
  if (bundle >= 0) return spreading_->bundle(bundle).links;
  return {LinkId(*ParseNumber<std::int32_t>(problem_.links[static_cast<std::size_t>(number)].id))};
}

std::int32_t FlowProblem::Dense(LinkId link) {
  std::int32_t& at = dense_[link.index()];
  if (at < 0) {
    at = static_cast<std::int32_t>(problem_.links.size());
    problem_.links.push_back({StrCat(link.value), network_.gbps(link)});
    bundle_of_number_.push_back(-1);
  }
  return at;
}

}  // namespace yardmaster::netplan
