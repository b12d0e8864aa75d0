#include "pkg/kube/resource.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

constexpr const char* kOwnGroup = "yardmaster.dev";
constexpr const char* kOwnVersion = "v1alpha1";

// Names come from users' objects: none of them may turn into another path.
absl::Status CheckSegment(std::string_view what, std::string_view segment) {
  if (segment == "." || segment == ".." || segment.find_first_of("/%") != std::string_view::npos) {
    return FieldError(what, StrCat("\"", segment, "\" cannot be part of a path"),
                      "use a Kubernetes name: lower-case letters, digits, '-' and '.'");
  }
  return absl::OkStatus();
}

}  // namespace

std::string Resource::ApiVersion() const {
  return group.empty() ? version : StrCat(group, "/", version);
}

std::string Resource::GroupResource() const {
  return group.empty() ? plural : StrCat(plural, ".", group);
}

Resource Pods() { return {"", "v1", "pods", "Pod", true}; }
Resource Nodes() { return {"", "v1", "nodes", "Node", false}; }
Resource Services() { return {"", "v1", "services", "Service", true}; }
Resource Events() { return {"events.k8s.io", "v1", "events", "Event", true}; }
Resource Leases() { return {"coordination.k8s.io", "v1", "leases", "Lease", true}; }
Resource PodDisruptionBudgets() {
  return {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};
}
Resource Fabrics() { return {kOwnGroup, kOwnVersion, "fabrics", "Fabric", false}; }
Resource TrainingJobs() { return {kOwnGroup, kOwnVersion, "trainingjobs", "TrainingJob", true}; }
Resource Gangs() { return {kOwnGroup, kOwnVersion, "gangs", "Gang", true}; }
Resource CapacityPools() {
  return {kOwnGroup, kOwnVersion, "capacitypools", "CapacityPool", false};
}
Resource Namespaces() { return {"", "v1", "namespaces", "Namespace", false}; }
Resource PodTemplates() { return {"", "v1", "podtemplates", "PodTemplate", true}; }
Resource ProvisioningRequests() {
  return {"autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", true};
}
Resource NodeClaims() { return {"karpenter.sh", "v1", "nodeclaims", "NodeClaim", false}; }

Resource ComputeDomains() {
  return {"resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain", true};
}

namespace {

constexpr char kDeviceGroup[] = "resource.k8s.io";

}  // namespace

Resource ResourceSlices() { return {kDeviceGroup, "v1", "resourceslices", "ResourceSlice", false}; }
Resource DeviceClasses() { return {kDeviceGroup, "v1", "deviceclasses", "DeviceClass", false}; }
Resource ResourceClaims() { return {kDeviceGroup, "v1", "resourceclaims", "ResourceClaim", true}; }
Resource ResourceClaimTemplates() {
  return {kDeviceGroup, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", true};
}

absl::StatusOr<std::string> CollectionPath(const Target& target) {
  const Resource& resource = target.resource;
  std::string path = resource.group.empty()
                         ? StrCat("/api/", resource.version)
                         : StrCat("/apis/", resource.group, "/", resource.version);
  if (!target.ns.empty()) {
    if (!resource.namespaced) {
      return FieldError("namespace", StrCat(resource.GroupResource(), " has no namespaces"),
                        "leave the namespace empty");
    }
    YM_RETURN_IF_ERROR(CheckSegment("namespace", target.ns));
    path.append("/namespaces/").append(PercentEncode(target.ns));
  }
  return path.append("/").append(resource.plural);
}

absl::StatusOr<std::string> ObjectPath(const Target& target) {
  if (target.resource.namespaced && target.ns.empty()) {
    return FieldError("namespace", StrCat(Describe(target), " is in a namespace"), "name it");
  }
  if (target.name.empty()) {
    return FieldError("name", StrCat("one of ", Describe(target), " is meant"), "name it");
  }
  YM_RETURN_IF_ERROR(CheckSegment("name", target.name));
  YM_ASSIGN_OR_RETURN(std::string path, CollectionPath(target));
  path.append("/").append(PercentEncode(target.name));
  if (!target.subresource.empty()) path.append("/").append(PercentEncode(target.subresource));
  return path;
}

std::string Describe(const Target& target) {
  std::string text = target.resource.GroupResource();
  if (!target.ns.empty() || !target.name.empty()) text.push_back(' ');
  text.append(target.ns);
  if (!target.ns.empty() && !target.name.empty()) text.push_back('/');
  text.append(target.name);
  if (!target.subresource.empty()) text.append(StrCat(" (", target.subresource, ")"));
  return text;
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

}  // namespace yardmaster::kube
