#include "pkg/cli/input/render_fabric.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/api/node.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/network.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

std::string Padded(int number, std::size_t width) {
  const std::string text = StrCat(number);
  return std::string(width > text.size() ? width - text.size() : 0, '0') + text;
}

std::size_t Width(int count, std::size_t least) {
  return std::max(least, StrCat(std::max(count - 1, 0)).size());
}

std::vector<fabric::HostPlace> PlacesOf(const fabric::FabricSpec& spec) {
  std::vector<fabric::HostPlace> hosts;
  const std::size_t pod_width = Width(spec.fabric_pods, 2);
  const std::size_t segment_width = Width(spec.segments_per_fabric_pod, 2);
  const std::size_t domain_width =
      Width(spec.hosts_per_segment / std::max(spec.scale_up.hosts_per_domain, 1) + 1, 2);
  const std::size_t host_width = Width(spec.hosts_per_segment, 3);
  for (int p = 0; p < spec.fabric_pods; ++p) {
    const std::string pod = "p" + Padded(p, pod_width);
    for (int s = 0; s < spec.segments_per_fabric_pod; ++s) {
      const std::string segment = StrCat(pod, "s", Padded(s, segment_width));
      for (int h = 0; h < spec.hosts_per_segment; ++h) {
        hosts.push_back({StrCat(segment, "h", Padded(h, host_width)), pod, segment, {}});
        if (const int size = spec.scale_up.hosts_per_domain; size > 0) {
          hosts.back().domain = StrCat(segment, "d", Padded(h / size, domain_width));
        }
      }
    }
  }
  return hosts;
}

std::string AddressesOf(const fabric::Network& network, fabric::HostId host) {
  std::vector<IpAddress> addresses;
  for (int rail = 0; rail < network.spec().rails; ++rail) {
    addresses.push_back(network.nic_address(host, rail));
  }
  return api::EncodeNicAddresses(addresses);
}

// What a real training host has besides GPUs, so that the scheduler lets pods on.
void AddOrdinaryResources(json& node) {
  for (const char* list : {"capacity", "allocatable"}) {
    json& resources = node["status"][list];
    resources["cpu"] = "192";
    resources["memory"] = "2Ti";
    resources["pods"] = "110";
  }
}

// The last ones of each domain, or of each segment.
bool IsBackup(const fabric::FabricSpec& spec, int host_of_segment) {
  const fabric::ScaleUp& scale_up = spec.scale_up;
  if (scale_up.hosts_per_domain == 0 || scale_up.backup_hosts_per_domain == 0) {
    return host_of_segment >= spec.hosts_per_segment - spec.backup.hosts_per_segment;
  }
  return host_of_segment % scale_up.hosts_per_domain >=
         scale_up.hosts_per_domain - scale_up.backup_hosts_per_domain;
}

json NodeOf(const fabric::Network& network, fabric::HostId host, bool backup) {
  const fabric::FabricSpec& spec = network.spec();
  const fabric::Places& places = network.places();
  api::Node node;
  node.metadata.name = places.name(host);
  node.metadata.labels = {{"kubernetes.io/hostname", node.metadata.name},
                          {spec.fabric_pod_label, places.name(places.fabric_pod_of(host))},
                          {spec.segment_label, places.name(places.segment_of(host))}};
  if (places.has_domains()) {
    node.metadata.labels[spec.scale_up.label] = places.name(places.domain_of(host));
  }
  node.metadata.annotations = {{api::kNicAddressesAnnotation, AddressesOf(network, host)},
                               {"kwok.x-k8s.io/node", "fake"}};
  if (backup) {
    node.metadata.labels[api::kBackupKey] = "true";
    node.taints = {{api::kBackupKey, "true", api::TaintEffect::kNoSchedule}};
  }
  node.ready = true;
  workload::SetAmount(node.allocatable, spec.gpu_resource, spec.gpus_per_host);
  json out = api::EncodeNode(node);
  AddOrdinaryResources(out);
  return out;
}

}  // namespace

absl::StatusOr<api::Fabric> Resize(api::Fabric fabric, const RenderSize& size) {
  fabric::FabricSpec& spec = fabric.spec;
  const int hosts_before = spec.hosts_per_segment;
  spec.fabric_pods = size.fabric_pods.value_or(spec.fabric_pods);
  spec.segments_per_fabric_pod = size.segments.value_or(spec.segments_per_fabric_pod);
  spec.hosts_per_segment = size.hosts.value_or(spec.hosts_per_segment);
  fabric::ScaleUp& scale_up = spec.scale_up;
  if (size.domains) {
    if (scale_up.hosts_per_domain == 0) {
      return FieldError("spec.scaleUp.hostsPerDomain", "is not given",
                        "use a Fabric that has domains, or leave out --domains");
    }
    spec.hosts_per_segment = *size.domains * scale_up.hosts_per_domain;
    if (size.hosts.value_or(spec.hosts_per_segment) != spec.hosts_per_segment) {
      return FieldError("--hosts",
                        StrCat("is ", *size.hosts, ", and ", Count(*size.domains, "domain"),
                               " have ", spec.hosts_per_segment),
                        "leave it out");
    }
  }
  if (size.backup_hosts) {
    spec.backup.hosts_per_segment = *size.backup_hosts;
    scale_up.backup_hosts_per_domain = 0;
  } else if (scale_up.hosts_per_domain > 0 && scale_up.backup_hosts_per_domain > 0) {
    spec.backup.hosts_per_segment =
        spec.hosts_per_segment / scale_up.hosts_per_domain * scale_up.backup_hosts_per_domain;
  } else if (spec.hosts_per_segment < hosts_before) {
    spec.backup.hosts_per_segment = static_cast<int>(
        std::int64_t{1} * spec.backup.hosts_per_segment * spec.hosts_per_segment / hosts_before);
  }
  YM_RETURN_IF_ERROR(fabric::Validate(spec));
  if (spec.fabric_pods > 1 && spec.tiers.back().scope != fabric::Scope::kFabric) {
    return FieldError("spec.size.fabricPods",
                      StrCat(spec.fabric_pods, " fabric pods and no tier of scope Fabric"),
                      "add a core tier, or use one fabric pod");
  }
  return fabric;
}

absl::StatusOr<std::vector<json>> RenderFabric(const api::Fabric& fabric) {
  YM_ASSIGN_OR_RETURN(fabric::Places built, fabric::Places::Build(PlacesOf(fabric.spec)));
  auto places = std::make_shared<const fabric::Places>(std::move(built));
  fabric::FabricSpec spec = fabric.spec;
  // The rendered Nodes state the addresses of their NICs, whatever the Fabric states.
  if (spec.addressing.base.empty()) spec.addressing.base = "10.0.0.0";
  YM_ASSIGN_OR_RETURN(const fabric::Network network, fabric::Network::Build(spec, places));
  std::vector<json> out = {api::EncodeFabric(fabric)};
  for (fabric::SegmentId segment : places->segments()) {
    const auto hosts = places->hosts_of(segment);
    for (int h = 0; h < hosts.size(); ++h) {
      out.push_back(NodeOf(network, hosts[h], IsBackup(fabric.spec, h)));
    }
  }
  return out;
}

}  // namespace yardmaster::cli
