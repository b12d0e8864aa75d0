#include "bench/cluster_load/cloud_prototypes.h"

#include <initializer_list>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

using nlohmann::json;

constexpr char kTime[] = "2026-01-02T03:04:05Z";

// What server-side tracking says of every field of `value`.
json FieldsOf(const json& value) {
  json fields = json::object();
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) fields["f:" + key] = FieldsOf(inner);
  } else if (value.is_array()) {
    for (const json& item : value) {
      if (!item.is_object()) continue;
      for (const char* key : {"name", "type", "uid", "containerPort", "ip"}) {
        if (!item.contains(key)) continue;
        fields[StrCat("k:{\"", key, "\":", item[key].dump(), "}")] = FieldsOf(item);
        fields[StrCat("k:{\"", key, "\":", item[key].dump(), "}")]["."] = json::object();
        break;
      }
    }
  }
  return fields;
}

void AddManagedFields(json& object, const char* creator) {
  json body = object;
  body["metadata"].erase("name");
  body["metadata"].erase("uid");
  body["metadata"].erase("resourceVersion");
  json status = {{"status", body["status"]}};
  body.erase("status");
  auto entry = [](const char* manager, const json& fields, const char* subresource) {
    json out = {{"manager", manager}, {"operation", "Update"},    {"apiVersion", "v1"},
                {"time", kTime},      {"fieldsType", "FieldsV1"}, {"fieldsV1", FieldsOf(fields)}};
    if (*subresource != 0) out["subresource"] = subresource;
    return out;
  };
  object["metadata"]["managedFields"] =
      json::array({entry(creator, body, ""), entry("kubelet", status, "status")});
}

json Probe(const char* path) {
  return {{"httpGet", {{"path", path}, {"port", 8080}, {"scheme", "HTTP"}}},
          {"initialDelaySeconds", 5},
          {"periodSeconds", 10},
          {"timeoutSeconds", 1},
          {"successThreshold", 1},
          {"failureThreshold", 3}};
}

json Container(const char* name, int variables, const json& resources) {
  json env = json::array();
  for (int i = 0; i < variables; ++i) {
    env.push_back({{"name", StrCat("SERVICE_SETTING_", i)},
                   {"value", StrCat("https://service-", i, ".internal.example.com:8443/v1")}});
  }
  return {
      {"name", name},
      {"image",
       "registry.example.com/team/service@sha256:"
       "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
      {"args", {"--listen=:8080", "--log-format=json"}},
      {"env", env},
      {"ports", json::array({{{"containerPort", 8080}, {"name", "http"}, {"protocol", "TCP"}}})},
      {"resources", resources},
      {"livenessProbe", Probe("/healthz")},
      {"readinessProbe", Probe("/readyz")},
      {"volumeMounts", json::array({{{"mountPath", "/var/run/secrets/kubernetes.io/serviceaccount"},
                                     {"name", "kube-api-access"},
                                     {"readOnly", true}}})},
      {"terminationMessagePath", "/dev/termination-log"},
      {"terminationMessagePolicy", "File"},
      {"imagePullPolicy", "IfNotPresent"}};
}

json Conditions(std::initializer_list<const char*> types, const char* ready) {
  json out = json::array();
  for (const char* type : types) {
    const bool is_ready = std::string_view(type) == ready;
    out.push_back({{"type", type},
                   {"status", is_ready || *ready == 'P' ? "True" : "False"},
                   {"reason", StrCat("KubeletHas", type)},
                   {"message", StrCat("kubelet is posting status of ", type)},
                   {"lastHeartbeatTime", kTime},
                   {"lastTransitionTime", kTime}});
  }
  return out;
}

// Holes: 0 name, 1 uid, 2 version, 3 node, 4 address.
json PodPrototype(const char* ns, const json& labels, const json& annotations, const json& owner,
                  const json& resources, int variables) {
  json pod = {
      {"metadata",
       {{"name", "@0@"},
        {"generateName", "generated-"},
        {"namespace", ns},
        {"uid", "@1@"},
        {"resourceVersion", "@2@"},
        {"creationTimestamp", kTime},
        {"labels", labels},
        {"annotations", annotations},
        {"ownerReferences", json::array({owner})}}},
      {"spec",
       {{"nodeName", "@3@"},
        {"containers", json::array({Container("main", variables, resources),
                                    Container("proxy", 2, json::object())})},
        {"volumes", json::array({{{"name", "kube-api-access"},
                                  {"projected",
                                   {{"defaultMode", 420},
                                    {"sources", json::array({{{"serviceAccountToken",
                                                               {{"expirationSeconds", 3607},
                                                                {"path", "token"}}}}})}}}}})},
        {"restartPolicy", "Always"},
        {"terminationGracePeriodSeconds", 30},
        {"dnsPolicy", "ClusterFirst"},
        {"serviceAccountName", "default"},
        {"schedulerName", "default-scheduler"},
        {"priority", 0},
        {"preemptionPolicy", "PreemptLowerPriority"},
        {"securityContext", json::object()},
        {"tolerations", json::array({{{"key", "node.kubernetes.io/not-ready"},
                                      {"operator", "Exists"},
                                      {"effect", "NoExecute"},
                                      {"tolerationSeconds", 300}},
                                     {{"key", "node.kubernetes.io/unreachable"},
                                      {"operator", "Exists"},
                                      {"effect", "NoExecute"},
                                      {"tolerationSeconds", 300}},
                                     {{"key", api::kPromisedKey}, {"operator", "Exists"}}})}}},
      {"status",
       {{"phase", "Running"},
        {"hostIP", "@4@"},
        {"podIP", "@4@"},
        {"podIPs", json::array({{{"ip", "@4@"}}})},
        {"startTime", kTime},
        {"qosClass", "Burstable"},
        {"conditions", Conditions({"PodReadyToStartContainers", "Initialized", "Ready",
                                   "ContainersReady", "PodScheduled"},
                                  "P")},
        {"containerStatuses",
         json::array({{{"name", "main"},
                       {"ready", true},
                       {"restartCount", 0},
                       {"containerID", "containerd://@1@@1@"},
                       {"imageID",
                        "registry.example.com/team/service@sha256:"
                        "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202"},
                       {"state", {{"running", {{"startedAt", kTime}}}}}}})}}}};
  AddManagedFields(pod, "kube-controller-manager");
  return pod;
}

}  // namespace

json GangPodPrototype() {
  return PodPrototype("team", {{api::kJobLabel, "@5@"}, {api::kRankLabel, "@6@"}, {"team", "llm"}},
                      {{api::kSlotAnnotation, "@7@"}},
                      {{"apiVersion", api::kGroupVersion},
                       {"kind", "TrainingJob"},
                       {"name", "@5@"},
                       {"uid", "job-@5@"},
                       {"controller", true},
                       {"blockOwnerDeletion", true}},
                      {{"limits", {{api::kGpuResource, "8"}, {"memory", "1Ti"}}},
                       {"requests", {{api::kGpuResource, "8"}, {"cpu", "96"}, {"memory", "1Ti"}}}},
                      12);
}

json OtherPodPrototype() {
  return PodPrototype(
      "web",
      {{"app.kubernetes.io/name", "@6@"},
       {"app.kubernetes.io/instance", "@6@-production"},
       {"app.kubernetes.io/managed-by", "Helm"},
       {"app.kubernetes.io/version", "1.24.3"},
       {"helm.sh/chart", "service-4.1.2"},
       {"pod-template-hash", "@5@"},
       {"topology.kubernetes.io/region", "eu-central-1"}},
      {{"checksum/config", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
       {"prometheus.io/scrape", "true"},
       {"prometheus.io/port", "8080"},
       {"kubectl.kubernetes.io/restartedAt", kTime}},
      {{"apiVersion", "apps/v1"},
       {"kind", "ReplicaSet"},
       {"name", "@6@-@5@"},
       {"uid", "@5@-2222-4000-8000-000000000000"},
       {"controller", true},
       {"blockOwnerDeletion", true}},
      {{"limits", {{"memory", "512Mi"}}}, {"requests", {{"cpu", "100m"}, {"memory", "256Mi"}}}},
      11);
}

json NodePrototype(bool backup, bool promised) {
  json images = json::array();
  for (int i = 0; i < 17; ++i) {
    images.push_back({{"names",
                       {StrCat("registry.example.com/team/image-", i, "@sha256:",
                               "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f111612", i),
                        StrCat("registry.example.com/team/image-", i, ":v1.", i, ".0")}},
                      {"sizeBytes", 123456789 + i}});
  }
  json resources = {{"cpu", "192"},
                    {"memory", "2113458812Ki"},
                    {"pods", "250"},
                    {api::kGpuResource, "8"},
                    {"hugepages-1Gi", "0"},
                    {"hugepages-2Mi", "0"},
                    {"ephemeral-storage", "7324516345"},
                    {"rdma/hca", "64"}};
  json taints = json::array();
  if (backup) {
    taints.push_back({{"key", api::kBackupKey}, {"value", "true"}, {"effect", "NoSchedule"}});
  }
  if (promised) {
    taints.push_back({{"key", api::kPromisedKey}, {"value", "@7@"}, {"effect", "NoSchedule"}});
  }
  json labels = {{"kubernetes.io/hostname", "@0@"},
                 {api::kFabricPodLabel, "@3@"},
                 {api::kSegmentLabel, "@4@"},
                 {"beta.kubernetes.io/arch", "amd64"},
                 {"beta.kubernetes.io/instance-type", "gpu.h100.8x"},
                 {"beta.kubernetes.io/os", "linux"},
                 {"kubernetes.io/arch", "amd64"},
                 {"kubernetes.io/os", "linux"},
                 {"node.kubernetes.io/instance-type", "gpu.h100.8x"},
                 {"nvidia.com/cuda.driver-version.full", "550.54.15"},
                 {"nvidia.com/gpu.count", "8"},
                 {"nvidia.com/gpu.memory", "81559"},
                 {"nvidia.com/gpu.present", "true"},
                 {api::kGpuModelLabel, "NVIDIA-H100-80GB-HBM3"},
                 {"topology.kubernetes.io/region", "eu-central-1"},
                 {"topology.kubernetes.io/zone", "eu-central-1a"}};
  if (backup) labels[api::kBackupKey] = "true";
  json node = {
      {"metadata",
       {{"name", "@0@"},
        {"uid", "@1@"},
        {"resourceVersion", "@2@"},
        {"creationTimestamp", kTime},
        {"labels", labels},
        {"annotations",
         {{api::kNicAddressesAnnotation, "@6@"},
          {"csi.volume.kubernetes.io/nodeid",
           "{\"block.csi.example.com\":\"i-0123456789abcdef0\"}"},
          {"node.alpha.kubernetes.io/ttl", "0"},
          {"volumes.kubernetes.io/controller-managed-attach-detach", "true"}}}}},
      {"spec",
       {{"podCIDR", "10.1.0.0/24"},
        {"podCIDRs", {"10.1.0.0/24"}},
        {"providerID", "cloud:///eu-central-1a/@0@"},
        {"taints", taints}}},
      {"status",
       {{"capacity", resources},
        {"allocatable", resources},
        {"addresses", json::array({{{"type", "InternalIP"}, {"address", "@5@"}},
                                   {{"type", "Hostname"}, {"address", "@0@"}}})},
        {"conditions", Conditions({"MemoryPressure", "DiskPressure", "PIDPressure", "Ready",
                                   "NetworkUnavailable", "KernelDeadlock", "GpuUnhealthy"},
                                  "Ready")},
        {"daemonEndpoints", {{"kubeletEndpoint", {{"Port", 10250}}}}},
        {"images", images},
        {"nodeInfo",
         {{"architecture", "amd64"},
          {"bootID", "@1@"},
          {"containerRuntimeVersion", "containerd://1.7.22"},
          {"kernelVersion", "6.1.0-26-cloud-amd64"},
          {"kubeletVersion", "v1.34.1"},
          {"machineID", "@1@"},
          {"operatingSystem", "linux"},
          {"osImage", "Debian GNU/Linux 12 (bookworm)"}}}}}};
  AddManagedFields(node, "cloud-controller-manager");
  return node;
}

}  // namespace yardmaster::bench
