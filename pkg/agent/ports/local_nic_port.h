// Maps port p of the NIC of rail r to a device of the operating system.
//
// A file defines the map (YAML):
//
//   ports:
//   - {rail: 0, port: 0, interface: eth2}                  # a network device
//   - {rail: 0, port: 1, interface: eth3}
//   - {rail: 1, port: 0, rdmaDevice: mlx5_1, rdmaPort: 1}   # a port of an RDMA device
//
// Without a file the RDMA devices, in the order of rail_order.h, are the rails, and their ports are
// the ports. Discovery cannot detect a missing NIC, so its result is used only if it finds as many
// ports as the fabric has.
//
// Thread safety: values and functions without state; they read the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::agent {

struct LocalNicPort {
  int rail = 0;
  int port = 0;
  // Either a network device, or a port of an RDMA device.
  std::string interface;
  std::string rdma_device;
  int rdma_port = 0;

  // For example "eth2", "mlx5_0/1".
  std::string device() const;
  bool operator==(const LocalNicPort&) const = default;
};

// In the order of rail and port. Errors: InvalidArgument naming every wrong field; a place given
// twice is one.
absl::StatusOr<std::vector<LocalNicPort>> ParseNicPorts(std::string_view yaml,
                                                        std::string_view file);

// The same from the file of --nic-ports-file; none for an empty path.
absl::StatusOr<std::vector<LocalNicPort>> ReadNicPortsFile(const std::string& path);

// From <sysfs_root>/class/infiniband. Empty when there is nothing.
std::vector<LocalNicPort> DiscoverNicPorts(const std::string& sysfs_root);

// Returns `table` if it is not empty. Else returns the discovered ports, if they are as many as
// `expected` (rails x ports of the Fabric); with another number the rail of a device is unknown,
// and the result is empty.
std::vector<LocalNicPort> HostNicPorts(const std::string& sysfs_root,
                                       const std::vector<LocalNicPort>& table, int expected);

// True if the port has a link: class/net/<interface>/operstate is "up" (or "unknown", for drivers
// that cannot tell), or class/infiniband/<device>/ports/<port>/state is ACTIVE. False if the device
// does not exist.
bool HasLink(const std::string& sysfs_root, const LocalNicPort& port);

}  // namespace yardmaster::agent
