#include "pkg/api/pod_manifest.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr char kRequiredTerms[] = "requiredDuringSchedulingIgnoredDuringExecution";

// The fields of the object that are none of `known`.
OpaqueFields ReadOthers(FieldReader& in, std::initializer_list<std::string_view> known = {}) {
  OpaqueFields out;
  in.ForEachField([&](std::string_view key, JsonView value) {
    if (std::find(known.begin(), known.end(), key) == known.end()) out.emplace(key, value.ToJson());
  });
  return out;
}

std::vector<KeyedEntry> ReadKeyed(FieldReader& in, std::string_view list, const char* key) {
  std::vector<KeyedEntry> out;
  for (FieldReader& entry : in.Objects(list)) {
    std::string name = entry.RequiredString(key);
    if (!name.empty()) out.push_back({std::move(name), ReadOthers(entry)});
  }
  return out;
}

std::vector<json> ReadEntries(FieldReader& in, std::string_view list) {
  std::vector<json> out;
  for (FieldReader& entry : in.Objects(list)) out.emplace_back(ReadOthers(entry));
  return out;
}

ContainerManifest ReadContainer(FieldReader& in) {
  ContainerManifest out;
  out.env = ReadKeyed(in, "env", "name");
  out.volume_mounts = ReadKeyed(in, "volumeMounts", "mountPath");
  FieldReader resources = in.Object("resources");
  FieldReader limits = resources.Object("limits");
  FieldReader requests = resources.Object("requests");
  out.limits = ReadOthers(limits);
  out.requests = ReadOthers(requests);
  out.claims = ReadKeyed(resources, "claims", "name");
  out.resources = ReadOthers(resources, {"limits", "requests", "claims"});
  FieldReader lifecycle = in.Object("lifecycle");
  out.lifecycle = ReadOthers(lifecycle);
  out.fields = ReadOthers(in, {"env", "volumeMounts", "resources", "lifecycle"});
  return out;
}

std::vector<ContainerManifest> ReadContainers(FieldReader& spec, std::string_view list) {
  std::vector<ContainerManifest> out;
  for (FieldReader& container : spec.Objects(list)) out.push_back(ReadContainer(container));
  return out;
}

void ReadAffinity(FieldReader affinity, PodManifest& out) {
  FieldReader node_affinity = affinity.Object("nodeAffinity");
  FieldReader required = node_affinity.Object(kRequiredTerms);
  if (required.present()) {
    out.node_terms.emplace();
    for (FieldReader& term : required.Objects("nodeSelectorTerms")) {
      out.node_terms->push_back(
          {ReadEntries(term, "matchExpressions"), ReadEntries(term, "matchFields")});
    }
  }
  out.node_affinity = ReadOthers(node_affinity, {kRequiredTerms});
  out.affinity = ReadOthers(affinity, {"nodeAffinity"});
}

void ReadSpec(FieldReader spec, PodManifest& out) {
  out.containers = ReadContainers(spec, "containers");
  out.init_containers = ReadContainers(spec, "initContainers");
  out.volumes = ReadKeyed(spec, "volumes", "name");
  out.resource_claims = ReadKeyed(spec, "resourceClaims", "name");
  out.scheduling_gates = ReadEntries(spec, "schedulingGates");
  out.tolerations = ReadEntries(spec, "tolerations");
  out.node_selector = spec.StringMap("nodeSelector");
  ReadAffinity(spec.Object("affinity"), out);
  out.host_network = spec.Bool("hostNetwork", false);
  out.dns_policy = spec.String("dnsPolicy");
  out.restart_policy = spec.String("restartPolicy");
  out.priority_class = spec.String("priorityClassName");
  if (spec.has("terminationGracePeriodSeconds")) {
    out.grace_seconds =
        spec.Int64("terminationGracePeriodSeconds", 0, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max());
  }
  out.spec = ReadOthers(
      spec, {"containers", "initContainers", "volumes", "resourceClaims", "schedulingGates",
             "tolerations", "nodeSelector", "affinity", "hostNetwork", "dnsPolicy", "restartPolicy",
             "priorityClassName", "terminationGracePeriodSeconds"});
}

template <typename T>
void Put(OpaqueFields& object, const char* key, const T& value) {
  if (!value.empty()) object[key] = value;
}

void PutKeyed(OpaqueFields& object, const char* key, const std::vector<KeyedEntry>& list) {
  if (list.empty()) return;
  json& out = object[key] = json::array();
  for (const KeyedEntry& entry : list) out.push_back(entry.entry);
}

OpaqueFields EncodeContainer(const ContainerManifest& container) {
  OpaqueFields out = container.fields;
  PutKeyed(out, "env", container.env);
  PutKeyed(out, "volumeMounts", container.volume_mounts);
  OpaqueFields resources = container.resources;
  Put(resources, "limits", container.limits);
  Put(resources, "requests", container.requests);
  PutKeyed(resources, "claims", container.claims);
  Put(out, "resources", resources);
  Put(out, "lifecycle", container.lifecycle);
  return out;
}

void PutContainers(OpaqueFields& spec, const char* key,
                   const std::vector<ContainerManifest>& containers) {
  if (containers.empty()) return;
  json& out = spec[key] = json::array();
  for (const ContainerManifest& container : containers) out.push_back(EncodeContainer(container));
}

OpaqueFields EncodeAffinity(const PodManifest& pod) {
  OpaqueFields node_affinity = pod.node_affinity;
  if (pod.node_terms) {
    json terms = json::array();
    for (const NodeTermManifest& term : *pod.node_terms) {
      OpaqueFields out;
      Put(out, "matchExpressions", term.expressions);
      Put(out, "matchFields", term.fields);
      terms.emplace_back(std::move(out));
    }
    node_affinity[kRequiredTerms] = {{"nodeSelectorTerms", std::move(terms)}};
  }
  OpaqueFields affinity = pod.affinity;
  Put(affinity, "nodeAffinity", node_affinity);
  return affinity;
}

}  // namespace

bool HasKey(const std::vector<KeyedEntry>& list, std::string_view key) {
  return std::any_of(list.begin(), list.end(),
                     [&](const KeyedEntry& entry) { return entry.key == key; });
}

bool ContainerManifest::AsksFor(const std::string& resource) const {
  return limits.count(resource) != 0 || requests.count(resource) != 0;
}

void ContainerManifest::AddEnv(const std::string& name, const std::string& value) {
  if (!HasKey(env, name)) env.push_back({name, {{"name", name}, {"value", value}}});
}

void ContainerManifest::AddMount(const std::string& volume, const std::string& path,
                                 bool read_only) {
  if (HasKey(volume_mounts, path)) return;
  volume_mounts.push_back({path, {{"name", volume}, {"mountPath", path}, {"readOnly", read_only}}});
}

void PodManifest::AddVolume(const std::string& name, json volume) {
  if (!HasKey(volumes, name)) volumes.push_back({name, std::move(volume)});
}

void PodManifest::AddClaim(const std::string& name, const std::string& claim_template) {
  resource_claims.push_back(
      {name, {{"name", name}, {"resourceClaimTemplateName", claim_template}}});
  for (ContainerManifest& container : containers) {
    container.claims.push_back({name, {{"name", name}}});
  }
}

PodManifest ReadPodManifest(FieldReader& object, std::string_view key) {
  PodManifest out;
  FieldReader pod = object.OpenObject(key);
  FieldReader metadata = pod.Object("metadata");
  out.labels = metadata.StringMap("labels");
  out.annotations = metadata.StringMap("annotations");
  out.metadata = ReadOthers(metadata, {"labels", "annotations"});
  ReadSpec(pod.Object("spec"), out);
  out.other = ReadOthers(pod, {"metadata", "spec"});
  return out;
}

json EncodePodManifest(const PodManifest& pod) {
  OpaqueFields metadata = pod.metadata;
  Put(metadata, "labels", pod.labels);
  Put(metadata, "annotations", pod.annotations);
  OpaqueFields spec = pod.spec;
  PutContainers(spec, "containers", pod.containers);
  PutContainers(spec, "initContainers", pod.init_containers);
  PutKeyed(spec, "volumes", pod.volumes);
  PutKeyed(spec, "resourceClaims", pod.resource_claims);
  Put(spec, "schedulingGates", pod.scheduling_gates);
  Put(spec, "tolerations", pod.tolerations);
  Put(spec, "nodeSelector", pod.node_selector);
  Put(spec, "affinity", EncodeAffinity(pod));
  if (pod.host_network) spec["hostNetwork"] = true;
  Put(spec, "dnsPolicy", pod.dns_policy);
  Put(spec, "restartPolicy", pod.restart_policy);
  Put(spec, "priorityClassName", pod.priority_class);
  if (pod.grace_seconds) spec["terminationGracePeriodSeconds"] = *pod.grace_seconds;
  OpaqueFields out = pod.other;
  Put(out, "metadata", metadata);
  Put(out, "spec", spec);
  return out;
}

}  // namespace yardmaster::api
