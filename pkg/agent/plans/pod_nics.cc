#include "pkg/agent/plans/pod_nics.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "pkg/agent/ports/host_files.h"
#include "pkg/agent/ports/rail_order.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_view.h"

namespace yardmaster::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxStatusBytes = 64 * 1024;
constexpr std::size_t kMaxDevices = 256;  // of one pod

// One path segment of the characters that devices have in their names.
bool IsDeviceName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == ':' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), fits);
}

// The RDMA device with that PCI address or name; empty: none.
std::string RdmaDevice(const std::string& sysfs_root, const std::string& id) {
  if (!IsDeviceName(id)) return "";
  std::error_code error;
  if (fs::exists(StrCat(sysfs_root, "/class/infiniband/", id), error)) return id;
  const auto names = NamesIn(StrCat(sysfs_root, "/bus/pci/devices/", id, "/infiniband"));
  return names.empty() ? "" : names.front();
}

class Rails {
 public:
  explicit Rails(const std::string& sysfs_root)
      : sysfs_root_(sysfs_root), devices_(RailDevices(sysfs_root)) {}

  // Of a device, or of the physical function behind it; -1: none.
  int Of(const std::string& device) const {
    const int own = Find(device);
    if (own >= 0) return own;
    const auto parents =
        NamesIn(StrCat(sysfs_root_, "/class/infiniband/", device, "/device/physfn/infiniband"));
    return parents.empty() ? -1 : Find(parents.front());
  }

 private:
  int Find(const std::string& device) const {
    const auto at = std::find(devices_.begin(), devices_.end(), device);
    return at == devices_.end() ? -1 : static_cast<int>(at - devices_.begin());
  }

  const std::string& sysfs_root_;
  const std::vector<std::string> devices_;
};

std::vector<LocalNicPort> PortsOf(const std::string& sysfs_root,
                                  const std::set<std::string>& devices, const Rails& rails) {
  std::vector<LocalNicPort> ports;
  for (const std::string& device : devices) {
    const int rail = rails.Of(device);
    if (rail < 0) continue;
    int port = 0;
    for (const std::string& name :
         NamesIn(StrCat(sysfs_root, "/class/infiniband/", device, "/ports"))) {
      const std::optional<int> number = ParseNumber<int>(name);
      if (number.has_value()) ports.push_back({rail, port++, "", device, *number});
    }
  }
  std::sort(ports.begin(), ports.end(), [](const LocalNicPort& a, const LocalNicPort& b) {
    return std::tie(a.rail, a.port, a.rdma_device) < std::tie(b.rail, b.port, b.rdma_device);
  });
  return ports;
}

std::set<std::string> RdmaDevices(const std::string& sysfs_root,
                                  const std::vector<std::string>& ids) {
  std::set<std::string> devices;
  for (std::size_t i = 0; i < std::min(ids.size(), kMaxDevices); ++i) {
    const std::string device = RdmaDevice(sysfs_root, ids[i]);
    if (!device.empty()) devices.insert(device);
  }
  return devices;
}

}  // namespace

std::vector<std::string> MultusDevices(std::string_view status) {
  std::vector<std::string> ids;
  if (status.size() > kMaxStatusBytes) return ids;
  JsonParser parser;
  const auto list = parser.Parse(status);
  if (!list.ok()) return ids;
  list->ForEachElement([&](JsonView network) {
    const JsonView pci = network.At({"device-info", "pci"});
    std::string id = pci["rdma-device"].Text();
    if (!IsDeviceName(id)) id = pci["pci-address"].Text();
    if (IsDeviceName(id) && ids.size() < kMaxDevices) ids.push_back(std::move(id));
  });
  return ids;
}

std::vector<PodNics> NicsOfPods(const std::string& sysfs_root, const std::vector<PodClaim>& claims,
                                const std::vector<LocalNicPort>& host_ports) {
  const Rails rails(sysfs_root);
  std::vector<PodNics> pods;
  std::vector<std::set<std::string>> devices;
  std::map<std::string, int> claimed;
  int in_host_network = 0;
  for (const PodClaim& claim : claims) {
    pods.push_back({claim.pod_uid, NicSource::kNone, {}});
    devices.push_back(RdmaDevices(sysfs_root, claim.kubelet_devices));
    if (!devices.back().empty()) pods.back().source = NicSource::kKubelet;
    for (const std::string& device : devices.back()) ++claimed[device];
    in_host_network += claim.host_network ? 1 : 0;
  }
  const std::map<std::string, int> given = claimed;  // by kubelet
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (pods[i].source == NicSource::kKubelet) continue;
    devices[i] = RdmaDevices(sysfs_root, MultusDevices(claims[i].multus_status));
    std::erase_if(devices[i], [&](const std::string& d) { return given.count(d) > 0; });
    for (const std::string& device : devices[i]) ++claimed[device];
    if (!devices[i].empty()) {
      pods[i].source = NicSource::kMultus;
    } else if (claims[i].host_network) {
      pods[i].source = NicSource::kHost;
    }
  }
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (pods[i].source == NicSource::kHost && in_host_network == 1 && claimed.empty()) {
      pods[i].ports = host_ports;
    }
    std::erase_if(devices[i], [&](const std::string& d) { return claimed[d] > 1; });
    if (!devices[i].empty()) pods[i].ports = PortsOf(sysfs_root, devices[i], rails);
  }
  return pods;
}

}  // namespace yardmaster::agent
