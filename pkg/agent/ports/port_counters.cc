#include "pkg/agent/ports/port_counters.h"

#include <cmath>
#include <fstream>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

struct Counter {
  const char* file;
  const char* event;
};

constexpr Counter kNetworkDevice[] = {
    {"carrier_changes", "carrier-change"},     {"statistics/rx_crc_errors", "symbol-error"},
    {"statistics/rx_errors", "receive-error"}, {"statistics/tx_errors", "send-error"},
    {"statistics/tx_dropped", "send-discard"},
};
constexpr Counter kRdmaPort[] = {
    {"counters/symbol_error", "symbol-error"},
    {"counters/link_downed", "link-down"},
    {"counters/port_rcv_errors", "receive-error"},
    {"counters/port_xmit_discards", "send-discard"},
    {"counters/port_xmit_wait", "pause-wait"},
    {"hw_counters/out_of_sequence", "out-of-sequence"},
    {"hw_counters/local_ack_timeout_err", "ack-timeout"},
    {"hw_counters/np_cnp_sent", "congestion-sent"},
    {"hw_counters/rp_cnp_handled", "congestion-handled"},
};

template <typename Number>
std::optional<Number> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  Number value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

}  // namespace

PortCounters ReadPortCounters(const std::string& sysfs_root, const LocalNicPort& port) {
  PortCounters out;
  const bool network = !port.interface.empty();
  const std::string folder = network ? StrCat(sysfs_root, "/class/net/", port.interface, "/")
                                     : StrCat(sysfs_root, "/class/infiniband/", port.rdma_device,
                                              "/ports/", port.rdma_port, "/");
  // "400 Gb/sec (4X NDR)"; or Mbit/s, -1 without a link.
  const auto speed = ReadNumber<double>(folder + (network ? "speed" : "rate"));
  if (speed && std::isfinite(*speed) && *speed > 0) {
    out.speed_gbps = network ? *speed / 1000 : *speed;
  }
  const auto read = [&](const Counter& counter) {
    if (const auto value = ReadNumber<std::uint64_t>(folder + counter.file)) {
      out.events[counter.event] = *value;
    }
  };
  if (network) {
    for (const Counter& counter : kNetworkDevice) read(counter);
  } else {
    for (const Counter& counter : kRdmaPort) read(counter);
  }
  return out;
}

}  // namespace yardmaster::agent
