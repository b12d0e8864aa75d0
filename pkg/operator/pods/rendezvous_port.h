// Chooses the port on which rank 0 of a job listens for the other ranks (MASTER_PORT).
//
// Pods on the cluster network have their own address and use kMasterPort. Pods with hostNetwork
// share the ports of the host, so each such job gets a port that no other job of the cluster has:
// the search starts at a port derived from the job's uid and takes the next free one. The choice is
// stored in status.rendezvousPort.
//
// Thread safety: pure function.
#pragma once

#include <set>
#include <string>

namespace yardmaster::op {

inline constexpr int kMasterPort = 29500;
inline constexpr int kFirstHostPort = 20'000;
inline constexpr int kHostPorts = 10'000;

// `taken`: ports of other jobs. If all are taken, returns the port derived from the uid.
int ChooseHostPort(const std::string& uid, const std::set<int>& taken);

}  // namespace yardmaster::op
