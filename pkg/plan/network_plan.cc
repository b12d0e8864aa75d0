#include "pkg/plan/network_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/crux/decide.h"
#include "pkg/plan/routes.h"
#include "pkg/repac/path_planner.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using fabric::LinkId;
using fabric::NicPort;
using workload::Connection;

// One flow of the Crux problem: the part of a connection that leaves by one NIC port.
struct FlowSource {
  int connection = 0;
  NicPort from;
  NicPort to;
  std::vector<const Route*> candidates;
};

struct JobFlows {
  int plan_index = 0;  // into Plan::jobs
  std::vector<Connection> connections;
  std::vector<FlowSource> flows;
};

class NetworkPlanner {
 public:
  NetworkPlanner(const Snapshot& snapshot, const PlanOptions& options, Plan& plan)
      : snapshot_(snapshot),
        network_(*snapshot.network),
        options_(options),
        plan_(plan),
        routes_(*snapshot.network, snapshot.cable_down) {}

  void Run() {
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
      if (plan_.jobs[i].gang.outcome == placement::Outcome::kPlaced) AddJob(static_cast<int>(i));
    }
    crux::Options options;
    options.seed = options_.seed;
    const fabric::NetworkLevels& levels = network_.spec().levels;
    options.reserved_levels.assign(levels.reserved.begin(), levels.reserved.end());
    problem_.levels = levels.count;
    const auto solution = crux::Decide(problem_, crux::Policy::kCrux, options);
    // Only a Fabric whose levels are all reserved gets here; then nobody is given one.
    if (!solution.ok()) return;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const crux::JobDecision& decision = solution->jobs[j];
      plan_.jobs[static_cast<std::size_t>(jobs_[j].plan_index)].network = {
          problem_.jobs[j].flop_per_iteration, decision.communication_seconds, decision.intensity,
          decision.priority, decision.level};
    }
    if (options_.paths) PlanPorts(*solution);
  }

 private:
  const JobState& StateOf(const JobPlan& job) const {
    return snapshot_.jobs[static_cast<std::size_t>(job.job)];
  }

  void AddJob(int plan_index) {
    const JobPlan& planned = plan_.jobs[static_cast<std::size_t>(plan_index)];
    const workload::Job& job = StateOf(planned).job;
    JobFlows mine;
    mine.plan_index = plan_index;
    mine.connections =
        workload::ConnectionsOf(job, planned.gang.host_of_rank, network_.spec().rails);
    const workload::Profile profile = workload::CompleteProfile(job);
    crux::Job out;
    out.id = job.key.text();
    out.gpus = job.workers * job.gpus_per_worker;
    out.flop_per_iteration = profile.flop_per_iteration;
    out.compute_seconds = profile.compute_seconds;
    out.communication_start = profile.communication_start;
    for (std::size_t c = 0; c < mine.connections.size(); ++c) {
      AddFlows(static_cast<int>(c), mine, out);
    }
    jobs_.push_back(std::move(mine));
    problem_.jobs.push_back(std::move(out));
  }

  // The ports that have a way there share the connection's bytes.
  void AddFlows(int connection, JobFlows& mine, crux::Job& out) {
    const Connection& c = mine.connections[static_cast<std::size_t>(connection)];
    std::vector<FlowSource> sources;
    for (int port = 0; port < network_.spec().nic_ports; ++port) {
      FlowSource source;
      source.connection = connection;
      source.from = {c.from_host, c.from_rail, port};
      const NicPort wanted{c.to_host, c.to_rail, port};
      if (!routes_.Usable(source.from) || !routes_.Arrival(wanted, source.to)) continue;
      source.candidates = Window(routes_.Between(source.from, source.to), c.from_host.value);
      if (!source.candidates.empty()) sources.push_back(std::move(source));
    }
    for (FlowSource& source : sources) {
      crux::Flow flow;
      flow.id = StrCat(out.flows.size());
      flow.bytes = c.bytes / static_cast<double>(sources.size());
      for (const Route* route : source.candidates) {
        std::vector<std::int32_t> path = {
            Dense(fabric::Network::up(network_.host_cable(source.from)))};
        for (LinkId link : *route) path.push_back(Dense(link));
        path.push_back(Dense(fabric::Network::down(network_.host_cable(source.to))));
        flow.paths.Add(path);
      }
      out.flows.push_back(std::move(flow));
      mine.flows.push_back(std::move(source));
    }
  }

  static std::vector<const Route*> Window(const std::vector<Route>& all, int start) {
    std::vector<const Route*> some;
    const std::size_t count = std::min<std::size_t>(all.size(), kMostCandidates);
    for (std::size_t i = 0; i < count; ++i) {
      // Evenly over all of them, shifted by the host.
      const std::size_t at =
          (static_cast<std::size_t>(start) + i * all.size() / count) % all.size();
      some.push_back(&all[at]);
    }
    return some;
  }

  std::int32_t Dense(LinkId link) {
    auto [at, is_new] = dense_.emplace(link, static_cast<std::int32_t>(problem_.links.size()));
    if (is_new) problem_.links.push_back({StrCat(link.value), network_.gbps(link)});
    return at->second;
  }

  // Every flow as a connection of its own that must leave its ToR by the uplink that Crux chose;
  // those for which no port does that, or none is left, once more without that wish.
  void PlanPorts(const crux::Solution& solution) {
    const auto hashes = repac::SwitchHashes::Compile(network_);
    if (!hashes.ok()) return;
    std::vector<fabric::CableId> down;
    for (std::size_t c = 0; c < snapshot_.cable_down.size(); ++c) {
      if (snapshot_.cable_down[c]) down.push_back(fabric::CableId(static_cast<std::int32_t>(c)));
    }
    const repac::PathWorld world(network_, *hashes, down);
    std::vector<repac::Connection> wanted;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (std::size_t f = 0; f < jobs_[j].flows.size(); ++f) {
        wanted.push_back(Wish(jobs_[j], f, solution.jobs[j].paths[f]));
      }
    }
    repac::PathPlan ports = repac::PlanPaths(wanted, world, {});
    bool again = false;
    for (const repac::Flow& flow : ports.flows) {
      repac::Connection& connection = wanted[static_cast<std::size_t>(flow.connection)];
      if (flow.planned() || connection.via.empty()) continue;
      connection.via.clear();
      again = true;
    }
    if (again) ports = repac::PlanPaths(wanted, world, {});
    Record(ports);
  }

  repac::Connection Wish(const JobFlows& job, std::size_t f, std::int32_t path) const {
    const FlowSource& source = job.flows[f];
    repac::Connection wish;
    wish.from = {source.from.host, source.from.rail};
    wish.to = {source.to.host, source.to.rail};
    wish.both_directions = false;
    wish.bytes = job.connections[static_cast<std::size_t>(source.connection)].bytes;
    wish.plane = network_.plane_of(source.from);
    const Route& route = *source.candidates[static_cast<std::size_t>(path)];
    if (!route.empty()) wish.via = {route[0]};
    return wish;
  }

  void Record(const repac::PathPlan& ports) {
    std::size_t at = 0;
    for (const JobFlows& job : jobs_) {
      for (const FlowSource& source : job.flows) {
        const repac::Flow& flow = ports.flows[at++];
        const Connection& c = job.connections[static_cast<std::size_t>(source.connection)];
        PathAssignment path;
        path.job = plan_.jobs[static_cast<std::size_t>(job.plan_index)].job;
        path.from_rank = c.from_rank;
        path.to_rank = c.to_rank;
        path.from = flow.planned() ? flow.src : source.from;
        path.to = flow.planned() ? flow.dst : source.to;
        path.source_port = flow.source_port;
        path.links = flow.links;
        plan_.paths.push_back(std::move(path));
      }
    }
  }

  const Snapshot& snapshot_;
  const fabric::Network& network_;
  const PlanOptions& options_;
  Plan& plan_;
  Routes routes_;
  crux::Problem problem_;
  std::vector<JobFlows> jobs_;
  std::map<LinkId, std::int32_t> dense_;
};

// How long the busiest NIC of a job sends in an iteration: its communication without contention.
double LoneSeconds(const std::vector<Connection>& connections, const fabric::FabricSpec& spec) {
  std::map<std::pair<HostId, int>, double> sent;
  double most = 0;
  for (const Connection& c : connections) {
    double& bytes = sent[{c.from_host, c.from_rail}];
    bytes += c.bytes;
    most = std::max(most, bytes);
  }
  return most / (1e9 / 8 * spec.nic_gbps * spec.nic_ports);
}

}  // namespace

void PlanNetwork(const Snapshot& snapshot, const PlanOptions& options, Plan& plan) {
  NetworkPlanner(snapshot, options, plan).Run();
}

std::vector<double> PredictedUplinkLoad(const Snapshot& snapshot) {
  std::vector<double> load(static_cast<std::size_t>(snapshot.places->num_segments()), 0);
  if (!snapshot.network) return load;
  const fabric::FabricSpec& spec = snapshot.network->spec();
  for (const JobState& state : snapshot.jobs) {
    if (!state.assignment) continue;
    const auto connections =
        workload::ConnectionsOf(state.job, state.assignment->host_of_rank, spec.rails);
    const double seconds = LoneSeconds(connections, spec);
    if (seconds <= 0) continue;
    const workload::Profile profile = workload::CompleteProfile(state.job);
    const double weight =
        profile.flop_per_iteration / seconds / std::max(profile.compute_seconds, seconds);
    for (const Connection& c : connections) {
      const fabric::SegmentId from = snapshot.places->segment_of(c.from_host);
      const fabric::SegmentId to = snapshot.places->segment_of(c.to_host);
      if (from == to && c.from_rail == c.to_rail) continue;
      load[from.index()] += c.bytes * weight;
      load[to.index()] += c.bytes * weight;
    }
  }
  return load;
}

}  // namespace yardmaster::plan
