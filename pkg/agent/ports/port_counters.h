// Reads the kernel's counters of a NIC port, except its bytes: speed, errors, pauses, congestion,
// and frames.
//
// The files are in sysfs: class/net/<interface>/{speed,carrier_changes,statistics/*} for a network
// device, class/infiniband/<device>/ports/<port>/{rate,counters/*,hw_counters/*} for a port of an
// RDMA device. Counters that the driver does not have are left out.
//
// Thread safety: functions without state that read the file system.
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

// Total numbers of frames that a port received. nullopt: the counter does not exist or has reached
// its maximum.
struct PortFrames {
  // Ethernet: rx_crc_errors and rx_frame_errors of the network device. InfiniBand: port_rcv_errors,
  // which on some devices has 16 bits and stops at its maximum. For RoCE that counter exists, too,
  // but does not count frames that the wire damages, so it is not used.
  std::array<std::optional<std::uint64_t>, 3> damaged;
  // Ethernet: rx_packets of the network device, which does not count RDMA packets. RDMA:
  // port_rcv_packets. If ports of a NIC are bonded, its RDMA packets count at each of them. Both
  // are nullopt if a part of the packets is not counted: the RDMA port has no such counter, or the
  // NIC has virtual functions (sriov_numvfs).
  std::array<std::optional<std::uint64_t>, 2> received;
  bool operator==(const PortFrames&) const = default;
};

// The folders of RDMA ports in sysfs by their network device, which is that of the first GID
// (gid_attrs/ndevs/0). Reads a file for each RDMA port, so it is called once for all ports.
std::map<std::string, std::string> RdmaPortsByNetworkDevice(const std::string& sysfs_root);

// `rdma_ports`: from RdmaPortsByNetworkDevice. The RDMA port of a network device is the one of the
// device, else the one of its bond.
PortFrames ReadPortFrames(const std::string& sysfs_root, const LocalNicPort& port,
                          const std::map<std::string, std::string>& rdma_ports);

}  // namespace yardmaster::agent
