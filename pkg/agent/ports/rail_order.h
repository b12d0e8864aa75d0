// Which RDMA device is which rail, by where devices stand on the PCI bus: rail i is the NIC nearest
// to GPU i, where GPUs count in the order of their PCI addresses, as NVML and CUDA count them.
//
// Nearness is the number of bridges that two devices share, counted from the root. Pairs are made
// nearest first; of equally near ones the lower GPU, then the device whose name comes first (mlx5_2
// before mlx5_10). NICs that are left over (storage, management) are not rails. Without GPUs in the
// tree, or with fewer NICs than GPUs, all devices are rails in the order of their names.
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
