#include "pkg/operator/previous_network_reader.h"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/path_plan.h"
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

void AddFlows(const plan::Snapshot& snapshot, const api::PathPlan& paths, HostId from,
              netplan::PreviousJob& job) {
  const fabric::Network& network = *snapshot.network;
  const fabric::FabricSpec& spec = network.spec();
  for (const api::RailPaths& rail : paths.rails) {
    if (rail.rail >= spec.rails) continue;
    for (const api::PeerPaths& peer : rail.peers) {
      const HostId to = snapshot.places->FindHost(peer.host);
      if (!to.valid() || peer.plane >= spec.planes) continue;
      const int to_rail = RailOf(network, to, peer.address, rail.rail);
      for (std::size_t i = 0; i < peer.source_ports.size(); ++i) {
        // One connection for each NIC port of the plane, in order.
        const int port = peer.plane + static_cast<int>(i) * spec.planes;
        if (port >= spec.nic_ports) break;
        repac::FlowPath& flow = job.flows[{from, rail.rail, port, to, to_rail}];
        flow.source_port = peer.source_ports[i];
        if (i < peer.alternate_ports.size()) flow.alternate_port = peer.alternate_ports[i];
      }
    }
  }
}

// Whether the paths on the pod begin at that host: it is bound there, or they were made for the places that its gang has now.
bool BeginsAt(const api::Pod& pod, const std::string& host, const api::Gang& gang) {
  if (!pod.node_name.empty()) return pod.node_name == host;
  const auto made_for = api::Find(pod.metadata.annotations, api::kNetworkGenerationAnnotation);
  return made_for && *made_for == StrCat(gang.status.plan_generation);
}

}  // namespace

netplan::PreviousNetwork PreviousFromObjects(const plan::Snapshot& snapshot,
                                             const GangsByKey& gangs, const PodsByGang& pods) {
  netplan::PreviousNetwork out;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto gang = gangs.find(state.job.key);
    if (!state.assignment || gang == gangs.end() || !gang->second->status.network) continue;
    const api::NetworkStatus& network = *gang->second->status.network;
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
      if (!BeginsAt(*pod, snapshot.places->name(host), *gang->second)) continue;
      const auto paths = api::DecodePathPlan(*text);
      if (paths.ok()) AddFlows(snapshot, *paths, host, job);
    }
  }
  return out;
}

}  // namespace yardmaster::op
