// Assigns RDMA devices to rails by their position on the PCI bus: rail i is the NIC nearest to GPU
// i. GPUs are in the order of their PCI addresses, as in NVML and CUDA.
//
// Two devices are nearer the more bridges they share, counted from the root. Pairs are formed
// nearest first; among equals by the lower GPU, then by the device name (mlx5_2 before mlx5_10).
// Remaining NICs (storage, management) are no rails. If the tree has no GPUs, or fewer NICs than
// GPUs, all devices are rails in the order of their names.
//
// Thread safety: functions without state; they read the file system.
#pragma once

#include <string>
#include <vector>

namespace yardmaster::agent {

// The devices of <sysfs_root>/class/infiniband in the order of their rails.
std::vector<std::string> RailDevices(const std::string& sysfs_root);

// "mlx5_2" before "mlx5_10".
bool NaturalLess(const std::string& a, const std::string& b);

}  // namespace yardmaster::agent
