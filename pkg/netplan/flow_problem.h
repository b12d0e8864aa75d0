// Placed jobs' traffic as a Crux problem on a fabric: which flows there are, which uplinks each may
// take, and what that means in links.
//
// A connection between two NICs is one flow per NIC port that has a way there, so that both planes
// carry half. A flow's candidates are the uplinks of its ToR whose way is up (all of them up to
// max_candidates, else so many spread over them), begun elsewhere for every host; where later
// switches have a choice of their own, the candidate takes one of them for the load estimate.
// Flows of a job that leave by one rail and NIC port are taken for one ring, which moves as one.
// A flow whose receiver sends nothing to the sender's NIC has an acknowledgement path of its own:
// that of the acknowledgements of its queue pair, which are no part of the load that Crux counts.
// A port that loses packets, at either end, carries a connection only where no other has a way.
// What is sprayed has no path of its own (spreading.h): NICs that spray make one flow of a
// connection, whose one candidate loads all links of all planes; switches that spray make
// candidates of the choices that other switches' hashes leave. Links that are loaded alike are one
// link of the problem then.
// Where a job's communication time was measured, the bytes of its flows are scaled alike, so that
// alone on a whole network they take that time: what a job asks of a link is then measured too.
// Links keep the numbers that `numbers` gives them, unless it is of a network with another number
// of links; then it is ignored. Deterministic. Thread safety: none while jobs are added. Lifetimes:
// network and `unusable` must outlive the problem; FlowSource::routes points into it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "pkg/crux/problem.h"
#include "pkg/netplan/network_decisions.h"
#include "pkg/netplan/network_memory.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/netplan/routes.h"
#include "pkg/netplan/spreading.h"
#include "pkg/plan/snapshot.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::netplan {

// Whether switches or NICs spray packets of a flow: all of its choices, or some beside hashes.
enum class Sprayed { kNo, kPartly, kWholly };

// One flow of the Crux problem: the part of a connection that leaves by one NIC port, or all of it
// where NICs spray.
struct FlowSource {
  int connection = 0;
  fabric::NicPort from;
  fabric::NicPort to;
  const std::vector<Route>* routes = nullptr;
  int candidates = 0;
  Sprayed sprayed = Sprayed::kNo;

  FlowKey key() const { return {from.host, from.rail, from.port, to.host, to.rail}; }
  // REQUIRES: 0 <= candidate < candidates.
  std::size_t route_index(int candidate) const {
    const auto count = static_cast<std::uint32_t>(routes->size());
    const auto all = static_cast<std::uint32_t>(candidates);
    const auto at = static_cast<std::uint32_t>(candidate);
    const std::uint32_t step = all == count ? at : at * count / all;
    return (static_cast<std::uint32_t>(from.host.value) + step) % count;
  }
  const Route& route(int candidate) const { return (*routes)[route_index(candidate)]; }
  // The candidate that a path from NIC to NIC takes at its first switch, or, where switches spray,
  // at all of them; -1: none.
  int CandidateOf(std::span<const fabric::LinkId> links) const;
};

struct JobFlows {
  plan::JobId job;
  std::vector<workload::TrafficDemand> connections;
  std::vector<FlowSource> flows;      // as in the Crux job
  std::vector<FlowSource> ack_paths;  // from a flow's receiver to its sender
};

// How long the busiest NIC of a job sends in an iteration: its communication without contention, by
// its bytes.
double LoneSeconds(const std::vector<workload::TrafficDemand>& connections,
                   const fabric::FabricSpec& spec);

class FlowProblem {
 public:
  // `lossy`: ascending (NetworkInput::lossy).
  FlowProblem(const fabric::Network& network, const std::vector<std::uint8_t>& unusable,
              int max_candidates, LinkNumbers numbers = {},
              std::vector<fabric::CableId> lossy = {});

  void AddJob(plan::JobId id, const workload::Job& job,
              const std::vector<fabric::HostId>& host_of_rank);

  crux::Problem& problem() { return problem_; }
  const std::vector<JobFlows>& jobs() const { return jobs_; }
  // For the next problem of this network. Afterwards the problem has no links, and AddJob must not
  // be called.
  LinkNumbers TakeLinkNumbers();
  // What sprayed flows put on links. REQUIRES: the problem has its links.
  SprayedLoads LoadsOfSprayed(const crux::Solution& solution) const;

 private:
  void AddFlows(int connection, JobFlows& mine, crux::ContendingJob& out);
  void AddSprayed(int connection, JobFlows& mine, crux::ContendingJob& out);
  void AddCandidates(const FlowSource& source, const Spreading::Ways& ways, crux::PathList& paths);
  std::int32_t Number(std::int32_t bundle);
  std::vector<fabric::LinkId> LinksOf(std::int32_t number) const;
  void AddAckPaths(JobFlows& mine);
  std::int32_t Dense(fabric::LinkId link);
  bool UsesLossyPort(const FlowSource& source) const;

  const fabric::Network& network_;
  const int max_candidates_;
  const std::vector<fabric::CableId> lossy_;
  Routes routes_;
  std::optional<Spreading> spreading_;                          // where something sprays
  const std::vector<Route> one_route_ = std::vector<Route>(1);  // of flows that NICs spray
  crux::Problem problem_;
  std::vector<JobFlows> jobs_;
  std::vector<std::int32_t> dense_;  // by link, of bundles by their first; -1: not used yet
  std::vector<std::int32_t> bundle_of_number_;  // of the problem's links; -1: one link
  // The routes of a pair of ToRs by link number, where they were used already.
  absl::flat_hash_map<const std::vector<Route>*, std::vector<std::vector<std::int32_t>>> ways_;
};

}  // namespace yardmaster::netplan
