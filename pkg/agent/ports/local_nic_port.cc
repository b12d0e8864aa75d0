#include "pkg/agent/ports/local_nic_port.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "pkg/agent/ports/host_files.h"
#include "pkg/agent/ports/rail_order.h"
#include "pkg/agent/ports/text_source.h"
#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::agent {

namespace {

constexpr int kMaxRail = 63;
constexpr int kMaxPort = 15;
constexpr std::size_t kMaxDeviceName = 64;

// Linux names of devices have no slash; "." and ".." are the only dangerous ones left.
bool SafeDevice(const std::string& name) {
  return !name.empty() && name.size() <= kMaxDeviceName && name != "." && name != ".." &&
         name.find('/') == std::string::npos;
}

std::vector<std::string> NaturalNamesIn(const std::string& folder) {
  std::vector<std::string> names = NamesIn(folder);
  std::sort(names.begin(), names.end(), NaturalLess);
  return names;
}

LocalNicPort ReadPort(api::FieldReader& in) {
  LocalNicPort port;
  port.rail = in.Int("rail", 0, 0, kMaxRail);
  port.port = in.Int("port", 0, 0, kMaxPort);
  port.interface = in.String("interface");
  port.rdma_device = in.String("rdmaDevice");
  port.rdma_port = in.Int("rdmaPort", 1, 1, kMaxPort);
  if (port.rdma_device.empty()) port.rdma_port = 0;
  return port;
}

}  // namespace

std::string LocalNicPort::device() const {
  return interface.empty() ? StrCat(rdma_device, "/", rdma_port) : interface;
}

absl::StatusOr<std::vector<LocalNicPort>> ParseNicPorts(std::string_view yaml,
                                                        std::string_view file) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json root, config::ParseYaml(yaml, file));
  api::FieldErrors errors;
  api::FieldReader in(&root, "", api::UnknownFields::kReject, &errors);
  std::vector<LocalNicPort> ports;
  for (api::FieldReader& entry : in.Objects("ports")) {
    LocalNicPort port = ReadPort(entry);
    entry.Close();
    const std::string& device = port.interface.empty() ? port.rdma_device : port.interface;
    if (port.interface.empty() == port.rdma_device.empty() || !SafeDevice(device)) {
      errors.Add(entry.path(), "does not name one device",
                 "give either interface or rdmaDevice, a name without a slash");
    }
    ports.push_back(std::move(port));
  }
  in.Close();
  if (ports.empty() && errors.empty()) {
    errors.Add("ports", "is empty", "list the NIC ports, or leave the file out");
  }
  const auto place = [](const LocalNicPort& p) { return std::tie(p.rail, p.port); };
  std::sort(ports.begin(), ports.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  for (std::size_t i = 1; i < ports.size(); ++i) {
    if (place(ports[i - 1]) == place(ports[i])) {
      errors.Add("ports", StrCat("rail ", ports[i].rail, " port ", ports[i].port, " stands twice"),
                 "name one device for each port");
    }
  }
  if (auto status = errors.status(); !status.ok()) return Annotate(status, file);
  return ports;
}

absl::StatusOr<std::vector<LocalNicPort>> ReadNicPortsFile(const std::string& path) {
  if (path.empty()) return std::vector<LocalNicPort>();
  const auto text = ReadTextFile(path, TextLimits());
  if (!text.ok()) {
    return FieldError("--nic-ports-file", MessageOf(text.status()),
                      "give a readable YAML file, or leave the flag out for discovery");
  }
  return ParseNicPorts(*text, path);
}

std::vector<LocalNicPort> DiscoverNicPorts(const std::string& sysfs_root) {
  const std::string folder = StrCat(sysfs_root, "/class/infiniband");
  std::vector<LocalNicPort> ports;
  int rail = 0;
  for (const std::string& device : RailDevices(sysfs_root)) {
    int port = 0;
    for (const std::string& name : NaturalNamesIn(StrCat(folder, "/", device, "/ports"))) {
      const std::optional<int> number = ParseNumber<int>(name);
      if (number.has_value()) ports.push_back({rail, port++, "", device, *number});
    }
    ++rail;
  }
  return ports;
}

std::vector<LocalNicPort> HostNicPorts(const std::string& sysfs_root,
                                       const std::vector<LocalNicPort>& table, int expected) {
  if (!table.empty()) return table;
  std::vector<LocalNicPort> found = DiscoverNicPorts(sysfs_root);
  return static_cast<int>(found.size()) == expected ? found : std::vector<LocalNicPort>();
}

bool HasLink(const std::string& sysfs_root, const LocalNicPort& port) {
  if (!port.interface.empty()) {
    const auto state = FirstLine(StrCat(sysfs_root, "/class/net/", port.interface, "/operstate"));
    return state == "up" || state == "unknown";
  }
  const auto state = FirstLine(StrCat(sysfs_root, "/class/infiniband/", port.rdma_device, "/ports/",
                                      port.rdma_port, "/state"));
  return state.has_value() && state->find("ACTIVE") != std::string::npos &&
         state->find("ACTIVE_DEFER") == std::string::npos;
}

}  // namespace yardmaster::agent
