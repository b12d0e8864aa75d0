#include "pkg/agent/link_reporter.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

// More than any NIC table can name.
constexpr int kMaxRails = 64;
constexpr int kMaxPorts = 16;

}  // namespace

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
    Node& node = nodes_.try_emplace(name, options_).first->second;
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
  if (at == nodes_.end()) return;
  at->second.written_down.reset();
  at->second.written_lossy.reset();
}

std::vector<rpc::LinkStatus> LinkReporter::links() const {
  const MutexLock lock(mutex_);
  return seen_.links;
}

std::vector<LinkReporter::PortLoss> LinkReporter::lossy() const {
  const MutexLock lock(mutex_);
  return seen_.lossy;
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
  FindLoss(steady_ms, name, node, seen);
  const Texts texts{api::EncodeDownPorts(down), api::EncodeLossyPorts(node.lossy)};
  if (node.down != down) {
    node.down = std::move(down);
    if (on_down_) on_down_(name, *node.down);
  }
  return WritePorts(steady_ms, name, node, texts);
}

void LinkReporter::FindLoss(std::int64_t steady_ms, const std::string& name, Node& node,
                            Seen& seen) const {
  if (options_.loss.share > 0 && steady_ms >= node.next_loss_ms) {
    node.next_loss_ms = steady_ms + options_.loss.interval_ms;
    std::vector<LossFinder::Sample> samples;
    const std::string root = RootOf(name);
    const auto rdma_ports = RdmaPortsByNetworkDevice(root);
    for (const LocalNicPort& port : node.ports) {
      samples.push_back(
          {{port.rail, port.port}, port.device(), ReadPortFrames(root, port, rdma_ports)});
    }
    node.lossy = node.finder.Observe(steady_ms, samples);
  }
  for (const api::LossyPort& lossy : node.lossy) {
    const auto port =
        std::find_if(node.ports.begin(), node.ports.end(),
                     [&](const LocalNicPort& p) { return PortKey(p.rail, p.port) == lossy.key; });
    seen.lossy.push_back({name, port->device(), lossy.per_million});
  }
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

absl::Status LinkReporter::WritePorts(std::int64_t steady_ms, const std::string& name, Node& node,
                                      const Texts& texts) {
  const bool down = node.written_down != texts.down;
  const bool lossy =
      node.adopted && node.written_lossy != texts.lossy && steady_ms >= node.next_lossy_write_ms;
  if (!down && !lossy) return absl::OkStatus();
  const auto value = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  nlohmann::json annotations = {{api::kDownPortsAnnotation, value(texts.down)}};
  if (lossy) annotations[api::kLossyPortsAnnotation] = value(texts.lossy);
  absl::StatusOr<nlohmann::json> written = AnnotateNode(client_, name, annotations);
  absl::Status refused;
  if (lossy && kube::IsDenied(written.status())) {
    refused = written.status();
    node.next_lossy_write_ms = steady_ms + options_.loss.interval_ms;
    if (!down) return refused;
    annotations.erase(api::kLossyPortsAnnotation);
    written = AnnotateNode(client_, name, annotations);
  }
  YM_RETURN_IF_ERROR(written.status());
  ++writes_;
  node.written_down = texts.down;
  if (lossy && refused.ok()) node.written_lossy = texts.lossy;
  if (!node.adopted) {
    const nlohmann::json metadata = written->value("metadata", nlohmann::json::object());
    const nlohmann::json now = metadata.value("annotations", nlohmann::json::object());
    node.written_lossy = now.value(api::kLossyPortsAnnotation, "");
    node.finder.Adopt(api::DecodeLossyPorts(*node.written_lossy, kMaxRails, kMaxPorts).ports);
    node.next_loss_ms = std::numeric_limits<std::int64_t>::min();
    node.adopted = true;
  }
  return refused;
}

}  // namespace yardmaster::agent
