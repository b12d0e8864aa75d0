#include "pkg/agent/ports/rail_order.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "pkg/agent/ports/host_files.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

namespace fs = std::filesystem;

// The bridges above a device and the device itself, root first; empty when it is not on the bus.
std::vector<std::string> PathOnBus(const std::string& link) {
  std::error_code error;
  const fs::path path = fs::canonical(link, error);
  if (error) return {};
  std::vector<std::string> parts = Split(path.string(), '/');
  const auto root = std::find_if(parts.begin(), parts.end(), [](const std::string& part) {
    return part.rfind("pci", 0) == 0 && part.find(':') != std::string::npos;
  });
  parts.erase(parts.begin(), root);
  return parts;
}

// Display and processing accelerators of NVIDIA and AMD, in the order of their addresses.
std::vector<std::vector<std::string>> Gpus(const std::string& sysfs_root) {
  const std::string folder = StrCat(sysfs_root, "/bus/pci/devices");
  const std::vector<std::string> addresses = NamesIn(folder);
  std::vector<std::vector<std::string>> gpus;
  for (const std::string& address : addresses) {
    const std::string device = StrCat(folder, "/", address);
    const std::string vendor = FirstLine(StrCat(device, "/vendor")).value_or("");
    const std::string kind = FirstLine(StrCat(device, "/class")).value_or("").substr(0, 6);
    const bool nvidia = vendor == "0x10de" && (kind == "0x0302" || kind == "0x0300");
    const bool amd = vendor == "0x1002" && (kind == "0x0380" || kind == "0x1200");
    if (!nvidia && !amd) continue;
    std::vector<std::string> path = PathOnBus(device);
    if (!path.empty()) gpus.push_back(std::move(path));
  }
  return gpus;
}

std::size_t Shared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

bool NaturalLess(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    return std::tuple(name.substr(0, digits),
                      ParseNumber<std::int64_t>(std::string_view(name).substr(digits)).value_or(-1),
                      name);
  };
  return key(a) < key(b);
}

std::vector<std::string> RailDevices(const std::string& sysfs_root) {
  const std::string folder = StrCat(sysfs_root, "/class/infiniband");
  std::vector<std::string> devices = NamesIn(folder);
  std::sort(devices.begin(), devices.end(), NaturalLess);
  const std::vector<std::vector<std::string>> gpus = Gpus(sysfs_root);
  if (gpus.empty() || devices.size() < gpus.size()) return devices;

  struct Pair {
    std::size_t shared, gpu, device;
  };
  std::vector<Pair> pairs;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto path = PathOnBus(StrCat(folder, "/", devices[d], "/device"));
    for (std::size_t g = 0; g < gpus.size(); ++g) pairs.push_back({Shared(path, gpus[g]), g, d});
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.shared, a.gpu, a.device) < std::tie(a.shared, b.gpu, b.device);
  });
  std::vector<std::string> rails(gpus.size());
  std::vector<bool> used(devices.size(), false);
  for (const Pair& pair : pairs) {
    if (used[pair.device] || !rails[pair.gpu].empty()) continue;
    used[pair.device] = true;
    rails[pair.gpu] = devices[pair.device];
  }
  return rails;
}

}  // namespace yardmaster::agent
