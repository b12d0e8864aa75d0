// Local ports for TCP connections: for gangs whose pods say which ports they listen on (annotation
// yardmaster.dev/socket-ports), ports that take a connection along the links of the planned RoCEv2
// path between the same two NICs. The socket shim in the container binds them (docs/wire.md).
//
// Where the plan has a path for the acknowledgements of the peer, ports whose acknowledgements take
// its links come first among those that suit the way there.
//
// With several NIC ports a rail the kernel's bond chooses the NIC port of a connection, by a rule
// of its own. So a port is used only if it takes the connection along the planned path of every NIC
// port that has one. Where no port does, there is none.
//
// Ports that stand on the pods and still hold are kept; only the others are searched for.
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

// Simultaneous connections from one pod to one port of a peer; the kernel chooses the ports of
// further ones.
inline constexpr int kSocketPortsPerPath = 4;

// What is known of a job that asks for ports.
struct SocketJob {
  std::vector<int> listen_ports;             // that its pods listen on, all together
  std::map<int, api::PodPathPlan> standing;  // what its pods carry, by rank
};
using SocketJobs = std::map<plan::JobId, SocketJob>;

// Adds PeerPaths::tcp to the plans of these jobs, to the first entry of each peer. `mistrusted`:
// roles whose hash is not used. Returns what could not be done, for people; empty: nothing.
std::vector<std::string> AddSocketPorts(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const SocketJobs& jobs,
                                        const std::map<std::string, std::string>& mistrusted,
                                        std::vector<GangNetwork>& networks);

// Of each member, by rank; adds what cannot be read to `problems`. Without listen_ports: the job
// asks for none.
SocketJob SocketJobOf(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                      std::vector<std::string>& problems);

}  // namespace yardmaster::op
