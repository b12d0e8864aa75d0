// Plans local ports for TCP connections. For gangs whose pods name the ports on which they listen
// (annotation yardmaster.dev/socket-ports), it finds ports that send a connection along the links
// of the planned RoCEv2 path between the same two NICs. The socket shim in the container binds them
// (docs/wire.md).
//
//   - If the plan has a path for the peer's acknowledgements, ports whose acknowledgements also
//     take it are preferred.
//   - With several NIC ports per rail, the kernel's bond chooses the NIC port of a connection by
//     its own rule. So a port is used only if it sends the connection along the planned path of
//     every NIC port that has one. If no port does, none is planned.
//   - Ports on the pods that are still right are kept; only the others are searched for.
//
// Thread safety: pure functions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/operator/network/network_annotations.h"

namespace yardmaster::op {

// Ports for simultaneous connections from one pod to one port of a peer; the kernel chooses the
// ports of further connections.
inline constexpr int kSocketPortsPerPath = 4;

// A job that requests ports.
struct SocketJob {
  std::vector<int> listen_ports;             // ports on which its pods listen, all together
  std::map<int, api::PodPathPlan> standing;  // path plans on its pods, by rank
};
using SocketJobs = std::map<plan::JobId, SocketJob>;

// Adds PeerPaths::tcp to the plans of these jobs, in the first entry of each peer. `mistrusted`:
// roles whose hash is not used. Returns what could not be done, as text; empty: all was done.
std::vector<std::string> AddSocketPorts(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const SocketJobs& jobs,
                                        const std::map<std::string, std::string>& mistrusted,
                                        std::vector<GangNetwork>& networks);

// Reads the annotations of all members, by rank. Adds what cannot be parsed to `problems`. Without
// listen_ports the job requests no ports.
SocketJob SocketJobOf(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                      std::vector<std::string>& problems);

}  // namespace yardmaster::op
