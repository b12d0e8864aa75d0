#include "pkg/state/node_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

std::string NodeField(const api::Node& node, std::string_view map, std::string_view key) {
  return StrCat("Node ", node.metadata.name, ": metadata.", api::JoinPath(map, key));
}

// Fills the addresses of the Node's NICs, or says why they are not known.
void ReadNicAddresses(const api::Node& node, int rails, fabric::HostPlace& place,
                      std::vector<std::string>& warnings) {
  const auto text = api::Find(node.metadata.annotations, api::kNicAddressesAnnotation);
  if (!text || text->empty()) return;
  auto addresses = api::DecodeNicAddresses(*text, rails);
  if (addresses.ok()) {
    place.nic_addresses = *std::move(addresses);
    return;
  }
  place.address_problem = StrCat(NodeField(node, "annotations", api::kNicAddressesAnnotation), ": ",
                                 MessageOf(addresses.status()));
  warnings.push_back(place.address_problem + "; the host gets no path plans until it is");
}

// The most ports (rail, port) that one rail has.
std::uint8_t PortsOfOneNic(const std::set<api::NicPortKey>& ports) {
  std::map<int, int> of_rail;
  int most = 0;
  for (const auto& [rail, port] : ports) most = std::max(most, ++of_rail[rail]);
  return static_cast<std::uint8_t>(std::min(most, 255));
}

// Far more than any host has, and far from overflow in sums.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

// Whether the node lists its resources: with a kubelet it always does.
bool IsDescribed(const api::Node& node) {
  return workload::AmountOf(node.allocatable, "cpu") > 0 ||
         workload::AmountOf(node.allocatable, "memory") > 0 ||
         workload::AmountOf(node.allocatable, "pods") > 0;
}

bool IsHealthTaint(const api::Taint& taint) {
  return taint.key.rfind("node.kubernetes.io/", 0) == 0 || taint.key == api::kQuarantinedKey;
}

bool IsOurTaint(const api::Taint& taint) {
  return taint.key == api::kBackupKey || taint.key == api::kPromisedKey;
}

}  // namespace

std::string DomainOf(const api::Node& node, const fabric::ScaleUp& scale_up) {
  std::vector<std::string> labels = {scale_up.label};
  labels.insert(labels.end(), scale_up.more_labels.begin(), scale_up.more_labels.end());
  for (const std::string& label : labels) {
    const auto value = api::Find(node.metadata.labels, label.c_str());
    if (value && !value->empty()) return std::string(*value);
  }
  return "";
}

NodePlace PlaceOf(const api::Node& node, const fabric::FabricSpec& spec) {
  NodePlace out;
  const auto pod = api::Find(node.metadata.labels, spec.fabric_pod_label.c_str());
  const auto segment = api::Find(node.metadata.labels, spec.segment_label.c_str());
  if (pod && segment && !pod->empty() && !segment->empty()) {
    out.place =
        fabric::HostPlace{node.metadata.name, std::string(*pod), std::string(*segment), {}, {}};
    out.place->domain = DomainOf(node, spec.scale_up);
    ReadNicAddresses(node, spec.rails, *out.place, out.warnings);
  } else if (workload::AmountOf(node.allocatable, spec.gpu_resource) > 0) {
    const std::string& missing = pod && !pod->empty() ? spec.segment_label : spec.fabric_pod_label;
    out.warnings.push_back(StrCat(NodeField(node, "labels", missing),
                                  ": is missing, the node is not used; label it with its place"));
  }
  return out;
}

HostFacts FactsOf(const api::Node& node, const fabric::FabricSpec& spec) {
  HostFacts out;
  out.state.gpus = static_cast<std::int16_t>(
      std::min<std::int64_t>(workload::AmountOf(node.allocatable, spec.gpu_resource), 1024));
  out.state.free_gpus = out.state.gpus;
  out.state.backup = node.backup();
  if (node.ready == std::optional<bool>(false) || node.metadata.deleted_ms) {
    out.state.unavailable = placement::Unavailability::kNotReady;
  } else if (node.unschedulable) {
    out.state.unavailable = placement::Unavailability::kCordoned;
  }
  out.may_lose_ranks =
      out.state.unavailable == placement::Unavailability::kNotReady || IsEvicted(node, {});
  std::set<api::NicPortKey> impaired;
  const auto warn = [&](const char* annotation, const api::UnreadableParts& unreadable,
                        const char* form) {
    const std::string field = NodeField(node, "annotations", annotation);
    for (const std::string& part : unreadable.first) {
      out.warnings.push_back(StrCat(field, ": \"", part,
                                    "\" is not a NIC port of this fabric; write ", form,
                                    ", comma separated"));
    }
    if (const std::size_t more = unreadable.count - unreadable.first.size(); more > 0) {
      out.warnings.push_back(StrCat(field, ": ", more, " more parts are not; write ", form));
    }
  };
  if (const auto text = api::Find(node.metadata.annotations, api::kDownPortsAnnotation)) {
    api::DownPorts down = api::DecodeDownPorts(*text, spec.rails, spec.nic_ports);
    impaired.insert(down.ports.begin(), down.ports.end());
    out.down_ports = std::move(down.ports);
    warn(api::kDownPortsAnnotation, down.unreadable, "r<rail>p<port>");
  }
  if (const auto text = api::Find(node.metadata.annotations, api::kLossyPortsAnnotation)) {
    const api::LossyPorts lossy = api::DecodeLossyPorts(*text, spec.rails, spec.nic_ports);
    for (const api::LossyPort& port : lossy.ports) impaired.insert(port.key);
    warn(api::kLossyPortsAnnotation, lossy.unreadable, "r<rail>p<port>=<frames of a million>");
  }
  out.state.degraded = PortsOfOneNic(impaired);
  return out;
}

bool IsOfEveryNode(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "pods" ||
         resource == "ephemeral-storage";
}

std::int64_t AllocatableOf(const api::Node& node, std::string_view resource) {
  if (const std::int64_t room = api::RoomForExclusive(resource)) return room;
  if (IsDescribed(node) || !IsOfEveryNode(resource)) {
    return workload::AmountOf(node.allocatable, resource);
  }
  return kUnlimited;
}

HostFacts FactsWithoutNode() {
  return {{0, 0, placement::Unavailability::kNotReady, false, false, 0, -1}, true, {}, {}};
}

bool IsUnhealthy(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [](const api::Taint& taint) {
    return IsHealthTaint(taint) && taint.effect != api::TaintEffect::kPreferNoSchedule;
  });
}

bool IsRepelled(const api::Node& node, const std::vector<api::Toleration>& tolerations) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return !IsOurTaint(taint) && !IsHealthTaint(taint) && !api::Tolerates(tolerations, taint);
  });
}

bool IsEvicted(const api::Node& node, const std::vector<api::Toleration>& tolerations) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return taint.effect == api::TaintEffect::kNoExecute && !IsOurTaint(taint) &&
           !api::Tolerates(tolerations, taint);
  });
}

}  // namespace yardmaster::state
