#include "pkg/agent/ports/port_counters.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "pkg/agent/ports/host_files.h"
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
    {"statistics/tx_dropped", "send-discard"}, {"statistics/rx_missed_errors", "receive-missed"},
};
constexpr Counter kRdmaPort[] = {
    {"counters/symbol_error", "symbol-error"},
    {"counters/link_downed", "link-down"},
    {"counters/port_rcv_errors", "receive-error"},
    {"counters/port_xmit_discards", "send-discard"},
    {"counters/port_xmit_wait", "pause-wait"},
    {"counters/link_error_recovery", "link-recovery"},
    {"hw_counters/out_of_sequence", "out-of-sequence"},
    {"hw_counters/packet_seq_err", "sequence-nak"},
    {"hw_counters/implied_nak_seq_err", "implied-nak"},
    {"hw_counters/local_ack_timeout_err", "ack-timeout"},
    {"hw_counters/rnr_nak_retry_err", "receiver-not-ready"},
    {"hw_counters/roce_slow_restart", "slow-restart"},
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

// A name that may be a part of a path.
bool IsDeviceName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Whether a PCI device has virtual functions, whose packets it does not count as its own.
bool HasFunctions(const std::string& device) {
  return ReadNumber<int>(device + "sriov_numvfs").value_or(0) > 0;
}

std::string InfinibandFolder(const std::string& sysfs_root) {
  return StrCat(sysfs_root, "/class/infiniband/");
}

}  // namespace

std::map<std::string, std::string> RdmaPortsByNetworkDevice(const std::string& sysfs_root) {
  std::map<std::string, std::string> folders;
  const std::string devices = InfinibandFolder(sysfs_root);
  for (const std::string& device : NamesIn(devices)) {
    for (const std::string& port : NamesIn(StrCat(devices, device, "/ports"))) {
      std::string folder = StrCat(devices, device, "/ports/", port, "/");
      const auto owner = FirstLine(folder + "gid_attrs/ndevs/0");
      if (owner && IsDeviceName(*owner)) folders.emplace(*owner, std::move(folder));
    }
  }
  return folders;
}

PortFrames ReadPortFrames(const std::string& sysfs_root, const LocalNicPort& port,
                          const std::map<std::string, std::string>& rdma_ports) {
  constexpr std::uint64_t kEnd = 0xffff;
  std::string interface = port.interface;
  std::string rdma;
  if (interface.empty()) {
    rdma = StrCat(InfinibandFolder(sysfs_root), port.rdma_device, "/ports/", port.rdma_port, "/");
    interface = FirstLine(rdma + "gid_attrs/ndevs/0").value_or("");
  } else {
    std::error_code ignored;
    const std::string link = StrCat(sysfs_root, "/class/net/", interface, "/master");
    const std::string bond = std::filesystem::read_symlink(link, ignored).filename();
    for (const std::string& owner : {interface, bond}) {
      if (const auto found = rdma_ports.find(owner); rdma.empty() && found != rdma_ports.end()) {
        rdma = found->second;
      }
    }
  }
  PortFrames frames;
  const bool infiniband = !rdma.empty() && FirstLine(rdma + "link_layer") == "InfiniBand";
  bool divided = !rdma.empty() && HasFunctions(rdma + "../../device/");
  if (infiniband) {
    frames.damaged[2] = ReadNumber<std::uint64_t>(rdma + "counters/port_rcv_errors");
    if (frames.damaged[2] == kEnd) frames.damaged[2].reset();
  } else if (IsDeviceName(interface)) {
    const std::string folder = StrCat(sysfs_root, "/class/net/", interface, "/");
    divided = divided || HasFunctions(folder + "device/");
    frames.damaged[0] = ReadNumber<std::uint64_t>(folder + "statistics/rx_crc_errors");
    frames.damaged[1] = ReadNumber<std::uint64_t>(folder + "statistics/rx_frame_errors");
    frames.received[0] = ReadNumber<std::uint64_t>(folder + "statistics/rx_packets");
  }
  if (!rdma.empty()) {
    frames.received[1] = ReadNumber<std::uint64_t>(rdma + "counters/port_rcv_packets");
  }
  if (divided || (!rdma.empty() && !frames.received[1])) frames.received = {};
  return frames;
}

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
