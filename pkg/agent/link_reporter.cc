#include "pkg/agent/link_reporter.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

std::string LinkReporter::RootOf(const std::string& node) const {
  if (options_.folders == FolderPerNode::kNo) return options_.sysfs_root;
  return StrCat(options_.sysfs_root, "/", node);
}

std::vector<absl::Status> LinkReporter::Poll(std::int64_t steady_ms,
                                             const std::vector<std::string>& names,
                                             const std::optional<FabricView>& fabric) {
  std::vector<absl::Status> errors;
  Seen seen;
  for (const std::string& name : names) {
    Node& node = nodes_.try_emplace(name, options_.times).first->second;
    if (auto status = PollNode(steady_ms, name, node, fabric, seen); !status.ok()) {
      ++failures_;
      errors.push_back(Annotate(status, StrCat("node ", name)));
    }
  }
  const MutexLock lock(mutex_);
  seen_ = std::move(seen);
  return errors;
}

void LinkReporter::Forget(const std::string& node) {
  const auto at = nodes_.find(node);
  if (at != nodes_.end()) at->second.written.reset();
}

std::vector<rpc::LinkStatus> LinkReporter::links() const {
  const MutexLock lock(mutex_);
  return seen_.links;
}

std::vector<LinkReporter::PortReading> LinkReporter::ReadCounters() const {
  Seen seen;
  {
    const MutexLock lock(mutex_);
    seen = seen_;
  }
  std::vector<PortReading> readings;
  for (std::size_t i = 0; i < seen.ports.size(); ++i) {
    const rpc::LinkStatus& link = seen.links[i];
    readings.push_back(
        {link.node, link.device, ReadPortCounters(RootOf(link.node), seen.ports[i])});
  }
  return readings;
}

absl::Status LinkReporter::PollNode(std::int64_t steady_ms, const std::string& name, Node& node,
                                    const std::optional<FabricView>& fabric, Seen& seen) {
  const std::string root = RootOf(name);
  if (node.ports.empty()) YM_RETURN_IF_ERROR(FindPorts(root, fabric, node));
  if (node.ports.empty()) return absl::OkStatus();
  std::vector<PortState> states;
  for (const LocalNicPort& port : node.ports) {
    const bool up = HasLink(root, port);
    states.push_back({{port.rail, port.port}, up});
    seen.links.push_back({name, port.rail, port.port, port.device(), up});
    seen.ports.push_back(port);
  }
  std::vector<PortKey> down = node.debouncer.Observe(steady_ms, states);
  const std::string text = api::EncodeDownPorts(down);
  if (node.down != down) {
    node.down = std::move(down);
    if (on_down_) on_down_(name, *node.down);
  }
  return node.written == text ? absl::OkStatus() : WriteDownPorts(name, node, text);
}

absl::Status LinkReporter::FindPorts(const std::string& root,
                                     const std::optional<FabricView>& fabric, Node& node) const {
  std::error_code ignored;
  if (!std::filesystem::is_directory(StrCat(root, "/class"), ignored)) return absl::OkStatus();
  if (!options_.ports.empty()) {
    node.ports = options_.ports;
    return absl::OkStatus();
  }
  std::vector<LocalNicPort> found = DiscoverNicPorts(root);
  if (found.empty() || !fabric.has_value()) return absl::OkStatus();
  const int expected = fabric->rails * fabric->nic_ports;
  if (static_cast<int>(found.size()) != expected) {
    return absl::FailedPreconditionError(
        StrCat("found ", Count(static_cast<std::int64_t>(found.size()), "RDMA port"),
               " where Fabric ", fabric->name, " has ", expected, " (", fabric->rails, " rails of ",
               fabric->nic_ports, "); say which is which with --nic-ports-file"));
  }
  node.ports = std::move(found);
  return absl::OkStatus();
}

absl::Status LinkReporter::WriteDownPorts(const std::string& name, Node& node,
                                          const std::string& text) {
  nlohmann::json value = text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  YM_RETURN_IF_ERROR(AnnotateNode(client_, name, {{api::kDownPortsAnnotation, std::move(value)}}));
  node.written = text;
  ++writes_;
  return absl::OkStatus();
}

}  // namespace yardmaster::agent
