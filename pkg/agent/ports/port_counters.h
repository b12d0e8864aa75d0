// What the kernel counts on a NIC port besides its bytes: speed, errors, waiting for pause frames,
// congestion.
//
// From sysfs: class/net/<interface>/{speed,carrier_changes,statistics/*} of a network device,
// class/infiniband/<device>/ports/<port>/{rate,counters/*,hw_counters/*} of a port of an RDMA
// device. What a driver does not have is left out.
//
// Thread safety: a function without state; it reads the file system.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pkg/agent/ports/local_nic_port.h"

namespace yardmaster::agent {

struct PortCounters {
  std::optional<double> speed_gbps;
  // By event: "symbol-error", "link-down", "receive-error", "send-discard", "pause-wait", ...
  std::map<std::string, std::uint64_t> events;
  bool operator==(const PortCounters&) const = default;
};

PortCounters ReadPortCounters(const std::string& sysfs_root, const LocalNicPort& port);

// Frames that came to a port, ever; nullopt: the counter is not there, or has reached its end.
struct PortFrames {
  // Of Ethernet rx_crc_errors and rx_frame_errors of the network device, of InfiniBand the port's
  // port_rcv_errors, which has 16 bits on some devices and stops at their end. Drivers have that
  // counter for RoCE as well; there it does not count what the wire damages.
  std::array<std::optional<std::uint64_t>, 3> damaged;
  // Of Ethernet rx_packets of the network device, and port_rcv_packets of the RDMA port: the
  // kernel's network device does not count RDMA packets. Where the ports of a NIC are bonded, its
  // RDMA packets count at each of them. Neither where a part of what the wire carries is not
  // counted: the RDMA port has no such counter, or the NIC has virtual functions (sriov_numvfs).
  std::array<std::optional<std::uint64_t>, 2> received;
  bool operator==(const PortFrames&) const = default;
};

// Of a port of an RDMA device the network device is that of its first GID (gid_attrs/ndevs/0); of a
// network device the RDMA port is the one whose first GID is the device's or its bond's.
PortFrames ReadPortFrames(const std::string& sysfs_root, const LocalNicPort& port);

}  // namespace yardmaster::agent
