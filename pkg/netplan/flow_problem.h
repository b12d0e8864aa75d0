// FlowProblem converts the traffic of placed jobs on a fabric into a Crux problem: the flows, the
// candidate uplinks of each flow, and the links of each candidate.
//
//   - A connection between two NICs becomes one flow for each NIC port that has a path, with an
//     equal part of the bytes. So both planes carry half.
//   - The candidates of a flow are the uplinks of its ToR with a usable path: all of them up to
//     `max_candidates`, else that many, spread evenly. Every host starts at another one. If later
//     switches choose, too, the candidate assumes one of their choices for the load estimate.
//   - Flows of a job that leave by the same rail and NIC port form one ring, which moves as a
//     whole.
//   - A flow has an acknowledgement path of its own if its receiver sends nothing to the sender's
//     NIC. It is the path of the acknowledgements of the flow's queue pair. Crux does not count its
//     load.
//   - A port that loses packets, at either end, is used only if no other port has a path.
//   - Sprayed traffic has no single path (spreading.h). If NICs spray, a connection is one flow,
//     whose one candidate loads all links of all planes. If switches spray, the candidates are the
//     choices that the hashes of the other switches leave. Links with equal load are one link of
//     the problem.
//   - If the communication time of a job was measured, the bytes of its flows are scaled so that
//     the job takes that time alone on a whole network.
//   - Links keep the numbers of `numbers`, unless those belong to a network with another number of
//     links.
//
// Determinism: a function of the arguments. Thread safety: one thread. Lifetimes: network and
// `unusable` outlive the problem; FlowSource::routes points into the problem.
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

// Whether switches or NICs spray the packets of a flow: at all choices, or at some of them.
enum class Sprayed { kNo, kPartly, kWholly };

// A flow of the Crux problem: the part of a connection that leaves by one NIC port, or the whole
// connection if NICs spray.
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
  // Returns the candidate that a path from NIC to NIC takes at its first switch, or, if switches
  // spray, at all switches; -1: none.
  int CandidateOf(std::span<const fabric::LinkId> links) const;
};

struct JobFlows {
  plan::JobId job;
  std::vector<workload::TrafficDemand> connections;
  std::vector<FlowSource> flows;      // in the order of the Crux job
  std::vector<FlowSource> ack_paths;  // from a flow's receiver to its sender
};

// Returns how many seconds the busiest NIC of a job sends in an iteration, by its bytes: the
// communication time without contention.
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
  // Returns the numbers for the next problem of this network. Afterwards the problem has no links,
  // and AddJob must not be called.
  LinkNumbers TakeLinkNumbers();
  // Returns the loads of sprayed flows. REQUIRES: TakeLinkNumbers was not called.
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
  std::optional<Spreading> spreading_;                          // set if NICs or switches spray
  const std::vector<Route> one_route_ = std::vector<Route>(1);  // for flows that NICs spray
  crux::Problem problem_;
  std::vector<JobFlows> jobs_;
  std::vector<std::int32_t> dense_;  // by link, for bundles by the first one; -1: not used yet
  std::vector<std::int32_t> bundle_of_number_;  // by link of the problem; -1: one link
  // The routes of a pair of ToRs in numbers of links, if they were used.
  absl::flat_hash_map<const std::vector<Route>*, std::vector<std::vector<std::int32_t>>> ways_;
};

}  // namespace yardmaster::netplan
