#include "simulation/simulator/host_links.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

constexpr double kGeneration4 = 252;  // 16 lanes of 16 GT/s, 128 of 130 bits are data

}  // namespace

HostSpec HostSpecOf(const fabric::FabricSpec& fabric) {
  HostSpec spec;
  spec.gpus = fabric.gpus_per_host;
  spec.nics = fabric.rails;
  spec.gpus_per_switch = std::max(2, (spec.gpus + spec.nics - 1) / std::max(1, spec.nics));
  spec.pcie_gbps = kGeneration4;
  while (spec.pcie_gbps < static_cast<double>(fabric.nic_gbps) * fabric.nic_ports) {
    spec.pcie_gbps *= 2;
  }
  spec.nvlink_gbps = fabric.nvlink_gbps;
  return spec;
}

HostLinks::HostLinks(const HostSpec& spec, std::int32_t hosts, std::int32_t first_link)
    : spec_(spec),
      hosts_(hosts),
      first_link_(first_link),
      switches_((spec.gpus + spec.gpus_per_switch - 1) / spec.gpus_per_switch) {}

std::int32_t HostLinks::Id(std::int32_t host, Kind kind, std::int32_t index,
                           Direction direction) const {
  // In the order of Kind.
  const std::int32_t before[] = {0, spec_.gpus, spec_.gpus + spec_.nics,
                                 spec_.gpus + spec_.nics + switches_};
  const std::int32_t each = before[3] + spec_.gpus;
  const std::int32_t connection = host * each + before[static_cast<std::int32_t>(kind)] + index;
  return first_link_ + 2 * connection + direction;
}

void HostLinks::AppendTo(std::vector<crux::Link>& links) const {
  // What no path uses carries this little, so that a mistake shows.
  constexpr double kUnused = 1e-3;
  const auto add = [&](std::int32_t count, double gbps) {
    for (std::int32_t i = 0; i < 2 * count; ++i) {
      links.push_back({StrCat("l", links.size()), gbps > 0 ? gbps : kUnused});
    }
  };
  for (std::int32_t host = 0; host < hosts_; ++host) {
    add(spec_.gpus + spec_.nics + switches_, spec_.pcie_gbps);
    add(spec_.gpus, spec_.nvlink_gbps);
  }
}

std::int32_t HostLinks::NicOf(std::int32_t gpu) const { return gpu * spec_.nics / spec_.gpus; }

std::int32_t HostLinks::SwitchOfNic(std::int32_t nic) const {
  return SwitchOfGpu(nic * spec_.gpus / spec_.nics);
}

void HostLinks::ToNic(std::int32_t host, std::int32_t gpu, std::int32_t nic,
                      std::vector<std::int32_t>& path) const {
  path.push_back(Id(host, Kind::kGpu, gpu, kUp));
  if (SwitchOfGpu(gpu) != SwitchOfNic(nic)) {
    path.push_back(Id(host, Kind::kSwitch, SwitchOfGpu(gpu), kUp));
    path.push_back(Id(host, Kind::kSwitch, SwitchOfNic(nic), kDown));
  }
  path.push_back(Id(host, Kind::kNic, nic, kDown));
}

void HostLinks::FromNic(std::int32_t host, std::int32_t nic, std::int32_t gpu,
                        std::vector<std::int32_t>& path) const {
  path.push_back(Id(host, Kind::kNic, nic, kUp));
  if (SwitchOfGpu(gpu) != SwitchOfNic(nic)) {
    path.push_back(Id(host, Kind::kSwitch, SwitchOfNic(nic), kUp));
    path.push_back(Id(host, Kind::kSwitch, SwitchOfGpu(gpu), kDown));
  }
  path.push_back(Id(host, Kind::kGpu, gpu, kDown));
}

void HostLinks::Between(std::int32_t host, std::int32_t from, std::int32_t to,
                        std::vector<std::int32_t>& path) const {
  if (spec_.nvlink_gbps > 0) {
    path.push_back(Id(host, Kind::kNvlink, from, kUp));
    path.push_back(Id(host, Kind::kNvlink, to, kDown));
    return;
  }
  path.push_back(Id(host, Kind::kGpu, from, kUp));
  if (SwitchOfGpu(from) != SwitchOfGpu(to)) {
    path.push_back(Id(host, Kind::kSwitch, SwitchOfGpu(from), kUp));
    path.push_back(Id(host, Kind::kSwitch, SwitchOfGpu(to), kDown));
  }
  path.push_back(Id(host, Kind::kGpu, to, kDown));
}

}  // namespace yardmaster::sim
