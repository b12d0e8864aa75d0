// Files of a host that the agent reads: the table of NIC ports, the link states and counters of
// sysfs, and the default class of configfs. For all bytes, reading ends, a table that is read has
// every place once, what was found in configfs is put back, and a cgroup is throttled in no more
// periods than it ran.
//
// The input up to the first byte 0 is the table, the rest the content of every file.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>

#include "pkg/agent/plans/default_class.h"
#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/agent/ports/port_counters.h"
#include "pkg/agent/ports/rail_order.h"
#include "pkg/agent/profiles/cpu_throttle.h"
#include "pkg/agent/profiles/traffic_meter.h"
#include "pkg/base/strings.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file
namespace fs = std::filesystem;

void Write(const std::string& path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void CheckTable(std::string_view table) {
  const auto ports = agent::ParseNicPorts(table, "table");
  if (!ports.ok()) {
    if (ports.status().message().empty()) std::abort();
    return;
  }
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const agent::LocalNicPort& port = (*ports)[i];
    if (port.interface.empty() == port.rdma_device.empty()) std::abort();
    if (i > 0 &&
        std::pair((*ports)[i - 1].rail, (*ports)[i - 1].port) >= std::pair(port.rail, port.port)) {
      std::abort();
    }
  }
}

void CheckSysfs(const std::string& root, std::string_view content) {
  const agent::LocalNicPort network{0, 0, "eth2", "", 0};
  const agent::LocalNicPort rdma{1, 0, "", "mlx5_1", 1};
  Write(root + "/class/net/eth2/operstate", content);
  Write(root + "/class/net/eth2/statistics/tx_bytes", content);
  Write(root + "/class/infiniband/mlx5_1/ports/1/state", content);
  Write(root + "/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data", content);
  Write(root + "/class/net/eth2/speed", content);
  Write(root + "/class/infiniband/mlx5_1/ports/1/rate", content);
  for (const agent::LocalNicPort& port : {network, rdma}) {
    (void)agent::HasLink(root, port);
    (void)agent::ReadSentBytes(root, port);
    const auto speed = agent::ReadPortCounters(root, port).speed_gbps;
    if (speed && !(*speed > 0 && std::isfinite(*speed))) std::abort();
  }
  if (agent::DiscoverNicPorts(root).size() != 1 || agent::RailDevices(root).size() != 1) {
    std::abort();
  }
}

void CheckDefaultClass(const std::string& root, std::string_view content) {
  const std::string line(content.substr(0, content.find('\n')));
  const std::string file = root + "/rdma_cm/mlx5_1/ports/1/default_roce_tos";
  const std::string state = root + "/default-class";
  Write(file, "0\n");
  // What an earlier agent left behind, as it may be after a full disk.
  Write(state, content);
  agent::DefaultClass damaged(root, state);
  (void)damaged.Restore();
  fs::remove(state);
  Write(file, StrCat(line, "\n"));
  agent::DefaultClass fresh(root, state);
  const auto before = ParseNumber<int>(line);
  const bool readable = before && *before >= 0 && *before <= 255;
  if (fresh.Apply({{1, 0, "", "mlx5_1", 1}}, 104).ok() != readable) std::abort();
  if (ReadAll(file) != (readable ? "104\n" : StrCat(line, "\n"))) std::abort();
  // Another process restores.
  agent::DefaultClass next(root, state);
  if (!next.Restore().ok() || ReadAll(file) != StrCat(line, "\n")) std::abort();
}

// The content is the earlier file of the pod and, from its middle on, the later one.
void CheckThrottle(const std::string& root, std::string_view content) {
  const std::string uid = "0f5a2c1e-1111-4222-8333-944445555666";
  const auto counters = agent::ParseCpuStat(content);
  if (counters && (counters->periods < counters->throttled || counters->throttled < 0 ||
                   counters->usage_us < 0)) {
    std::abort();
  }
  const std::string file = StrCat(root, "/fs/cgroup/kubepods/pod", uid, "/cpu.stat");
  agent::CpuThrottle throttle(root + "/fs/cgroup");
  Write(file, content.substr(0, content.size() / 2));
  (void)throttle.Fraction(0, uid);
  Write(file, content.substr(content.size() / 2));
  const auto fraction = throttle.Fraction(agent::CpuThrottle::kSampleMs, uid);
  if (fraction && !(*fraction >= 0 && *fraction <= 1)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string root =
      StrCat(fs::temp_directory_path().string(), "/host-files-fuzz-", ::getpid());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(text.find('\0'), text.size());
  CheckTable(text.substr(0, split));
  if (split == size) return 0;
  CheckSysfs(root, text.substr(split + 1));
  CheckDefaultClass(root, text.substr(split + 1));
  CheckThrottle(root, text.substr(split + 1));
  return 0;
}
