// The links inside hosts, beside those of a network: PCIe below the CPU and NVLink between GPUs.
//
// Model (the paper's testbed, its section 6): `gpus_per_switch` GPUs and the NICs nearest to them
// hang below one PCIe switch. A GPU reaches its NIC through that switch (its own link to the
// switch, then the NIC's), a NIC of another switch through the CPU as well. GPUs of a host reach
// each other by NVLink where there is one, else by PCIe: through their switch, or from switch to
// CPU to switch. Every connection is two links, one per direction. The switch behind NVLink blocks
// nothing, and memory, disks and the link between two CPU sockets are left out.
//
// Links are numbered after the network's. Invariant: paths use no link twice. Thread safety:
// immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::sim {

struct HostSpec {
  std::int32_t gpus = 8;
  std::int32_t nics = 4;
  std::int32_t gpus_per_switch = 2;
  double pcie_gbps = 252;     // one direction of 16 lanes of generation 4
  double nvlink_gbps = 2400;  // of a GPU, one direction (A100: 600 GB/s both ways); 0: no NVLink
};

// The hosts of a fabric: its GPUs, NICs and NVLink; PCIe of 16 lanes of the first generation from
// the fourth on that carries a NIC; below a switch the GPUs of one NIC, but no fewer than two.
HostSpec HostSpecOf(const fabric::FabricSpec& fabric);

class HostLinks {
 public:
  // `first_link`: how many links the network has.
  HostLinks(const HostSpec& spec, std::int32_t hosts, std::int32_t first_link);

  const HostSpec& spec() const { return spec_; }
  void AppendTo(std::vector<crux::Link>& links) const;

  // The NIC nearest to a GPU.
  std::int32_t NicOf(std::int32_t gpu) const;
  // Each appends the links of a fixed path to `path`, in order.
  void ToNic(std::int32_t host, std::int32_t gpu, std::int32_t nic,
             std::vector<std::int32_t>& path) const;
  void FromNic(std::int32_t host, std::int32_t nic, std::int32_t gpu,
               std::vector<std::int32_t>& path) const;
  // REQUIRES: from != to.
  void Between(std::int32_t host, std::int32_t from, std::int32_t to,
               std::vector<std::int32_t>& path) const;

 private:
  // Towards the CPU (or out of the GPU), and away from it.
  enum Direction : std::int32_t { kUp = 0, kDown = 1 };
  enum class Kind : std::int32_t { kGpu, kNic, kSwitch, kNvlink };
  std::int32_t Id(std::int32_t host, Kind kind, std::int32_t index, Direction direction) const;
  std::int32_t SwitchOfGpu(std::int32_t gpu) const { return gpu / spec_.gpus_per_switch; }
  std::int32_t SwitchOfNic(std::int32_t nic) const;

  const HostSpec spec_;
  const std::int32_t hosts_;
  const std::int32_t first_link_;
  const std::int32_t switches_;
};

}  // namespace yardmaster::sim
