// What the kernel counts on a NIC port besides its bytes: speed, errors, waiting for pause frames,
// congestion.
//
// From sysfs: class/net/<interface>/{speed,carrier_changes,statistics/*} of a network device,
// class/infiniband/<device>/ports/<port>/{rate,counters/*,hw_counters/*} of a port of an RDMA
// device. What a driver does not have is left out.
//
// Thread safety: a function without state; it reads the file system.
#pragma once

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

}  // namespace yardmaster::agent
