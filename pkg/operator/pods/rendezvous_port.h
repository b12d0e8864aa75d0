// Where rank 0 of a job listens for the others (MASTER_PORT).
//
// Pods on the cluster's network have an address of their own and use kMasterPort. Pods with
// hostNetwork share the host's ports, so each such job has a port of its own among all jobs of the
// cluster: it begins with one that follows from the job's uid and takes the next free one. The
// choice is kept in status.rendezvousPort.
//
// Thread safety: pure function.
#pragma once

#include <set>
#include <string>

namespace yardmaster::op {

inline constexpr int kMasterPort = 29500;
inline constexpr int kFirstHostPort = 20'000;
inline constexpr int kHostPorts = 10'000;

// `taken`: ports of other jobs. If all are taken, the one that follows from the uid.
int ChooseHostPort(const std::string& uid, const std::set<int>& taken);

}  // namespace yardmaster::op
