#include "pkg/operator/network/previous_network_reader.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using fabric::HostId;

// The rail of a host's NIC with that address; `usual` where the address says nothing.
int RailOf(const fabric::Network& network, HostId host, const std::string& address, int usual) {
  for (int i = 0; i < network.spec().rails; ++i) {
    const int rail = (usual + i) % network.spec().rails;
    if (network.nic_address(host, rail).ToString() == address) return rail;
  }
  return usual;
}

// The NIC ports that the peer's source ports belong to, in order: those of the plane that are up,
// or all of them where the plan is from before one was lost.
std::vector<int> PortsOf(const plan::Snapshot& snapshot, const fabric::NicPort& nic,
                         const api::PeerPaths& peer) {
  const fabric::Network& network = *snapshot.network;
  std::vector<int> all;
  std::vector<int> up;
  for (int port = peer.plane; port < network.spec().nic_ports; port += network.spec().planes) {
    const std::size_t cable = network.host_cable({nic.host, nic.rail, port}).index();
    all.push_back(port);
    if (snapshot.cable_down.empty() || snapshot.cable_down[cable] == 0) up.push_back(port);
  }
  return peer.source_ports.size() == up.size() ? up : all;
}

void AddFlows(const plan::Snapshot& snapshot, const api::PodPathPlan& paths, HostId from,
              netplan::PreviousJob& job) {
  const fabric::Network& network = *snapshot.network;
  const fabric::FabricSpec& spec = network.spec();
  for (const api::RailPaths& rail : paths.rails) {
    if (rail.rail >= spec.rails) continue;
    for (const api::PeerPaths& peer : rail.peers) {
      const HostId to = snapshot.places->FindHost(peer.host);
      if (!to.valid() || peer.plane >= spec.planes) continue;
      const int to_rail = RailOf(network, to, peer.address, rail.rail);
      const std::vector<int> ports = PortsOf(snapshot, {from, rail.rail, 0}, peer);
      for (std::size_t i = 0; i < std::min(ports.size(), peer.source_ports.size()); ++i) {
        const int port = ports[i];
        repac::FlowPath& flow = job.flows[{from, rail.rail, port, to, to_rail}];
        flow.source_port = peer.source_ports[i];
        if (i < peer.alternate_ports.size()) flow.alternate_port = peer.alternate_ports[i];
      }
    }
  }
}

// Whether the paths on the pod begin at that host: it is bound there, or they were made for the
// places that its gang has now.
bool BeginsAt(const api::Pod& pod, const std::string& host, const api::Gang& gang) {
  if (!pod.node_name.empty()) return pod.node_name == host;
  const auto made_for = api::Find(pod.metadata.annotations, api::kNetworkGenerationAnnotation);
  return made_for && *made_for == StrCat(gang.status.plan_generation);
}

}  // namespace

netplan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot,
                                             const state::ObjectTable<api::Gang>& gangs,
                                             const PodsByGang& pods) {
  netplan::PreviousNetwork out;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto gang = gangs.Find(state.job.key);
    if (!state.assignment || gang == nullptr || !gang->status.network) continue;
    const api::NetworkStatus& network = *gang->status.network;
    netplan::PreviousJob& job = out[state.job.key];
    job.level = network.level;
    if (network.intensity > 0 && network.priority > 0) {
      job.correction = network.priority / network.intensity;
    }
    const auto members = pods.find(state.job.key.text());
    if (members == pods.end()) continue;
    for (const auto& [rank, pod] : members->second) {
      const auto& hosts = state.assignment->host_of_rank;
      if (rank < 0 || static_cast<std::size_t>(rank) >= hosts.size()) continue;
      const HostId host = hosts[static_cast<std::size_t>(rank)];
      const auto text = api::Find(pod->metadata.annotations, api::kPathPlanAnnotation);
      if (!text || !host.valid()) continue;
      if (!BeginsAt(*pod, snapshot.places->name(host), *gang)) continue;
      const auto paths = api::DecodePathPlan(*text);
      if (paths.ok()) AddFlows(snapshot, *paths, host, job);
    }
  }
  return out;
}

}  // namespace yardmaster::op
