// Local ports for TCP connections: for gangs whose pods say which ports they listen on (annotation
// yardmaster.dev/socket-ports), ports that take a connection along the links of the planned RoCEv2 path between the
// same two NICs. The socket shim in the container binds them (docs/wire.md).
//
// A path back is planned as well where the peer answers: among the ports that suit the way there, those whose answers take
// the answering path's links come first.
//
// Only where a rail has one NIC port: on a bond the kernel chooses the port by a hash of its own. Pure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/operator/network_annotations.h"

namespace yardmaster::op {

// Simultaneous connections from one pod to one port of a peer; the kernel chooses the ports of further ones.
inline constexpr int kSocketPortsPerPath = 4;

// By index into Snapshot::jobs: the ports that a job's pods listen on, all together.
using SocketPorts = std::map<int, std::vector<int>>;

// Adds PeerPaths::tcp to the plans of these jobs. `mistrusted`: roles whose hash is not used.
// Returns what could not be done, for people; empty: nothing.
std::vector<std::string> AddSocketPorts(const netplan::NetworkPlan& plan,
                                        const plan::Snapshot& snapshot, const SocketPorts& wanted,
                                        const std::map<std::string, std::string>& mistrusted,
                                        std::vector<GangNetwork>& networks);

// Of each member, by rank; adds what cannot be read to `problems`.
std::vector<int> SocketPortsOf(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                               std::vector<std::string>& problems);

}  // namespace yardmaster::op
