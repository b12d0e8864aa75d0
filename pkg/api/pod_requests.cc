#include "pkg/api/pod_requests.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/api/resource_list.h"
#include "pkg/api/short_hash.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using workload::ResourceList;

constexpr std::string_view kHostPort = "yardmaster.dev/host-port-";
constexpr std::string_view kOnePerHost = "yardmaster.dev/one-per-host-";
constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
// More than a host has addresses.
constexpr std::int64_t kWholePort = 1 << 20;

constexpr std::string_view kKnownGpus[] = {"nvidia.com/gpu",   "amd.com/gpu",
                                           "gpu.intel.com/xe", "gpu.intel.com/i915",
                                           "habana.ai/gaudi",  "huawei.com/Ascend910"};
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";

// Each name may cost a column of numbers over all hosts.
constexpr std::size_t kMaxNames = 64;

bool IsOfEveryHost(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name == kPodsResource ||
         std::find(std::begin(kKnownGpus), std::end(kKnownGpus), name) != std::end(kKnownGpus);
}

// Leaves out what is too much: the last by name, and never what nearly every pod asks for.
void Bound(ResourceList& list, bool& too_many) {
  while (list.size() > kMaxNames) {
    too_many = true;
    auto last = list.end();
    do --last;
    while (IsOfEveryHost(last->name));
    list.erase(last);
  }
}

// The field's resources, which are few enough to be set one by one in another list.
ResourceList ReadBounded(FieldReader& object, std::string_view field, bool& too_many) {
  FieldReader in = object.Object(field);
  ResourceList out = ReadResources(in);
  Bound(out, too_many);
  return out;
}

// A name of ours in a container's `resources` is an extended resource like any other, which no host
// has.
std::string NameOfRequested(const std::string& name) {
  return RoomForExclusive(name) == 0 ? name : StrCat("requests.", name);
}

// Requests of a `resources` block; what only has a limit is requested in full.
ResourceList RequestsIn(FieldReader resources, bool& too_many) {
  ResourceList out;
  for (const char* field : {"limits", "requests"}) {
    FieldReader amounts = resources.Object(field);
    for (const workload::ResourceAmount& entry : ReadAmounts(amounts)) {
      workload::SetAmount(out, NameOfRequested(entry.name), entry.amount);
      Bound(out, too_many);
    }
  }
  return out;
}

// By container: what it holds now, while a resize is under way.
using Actual = std::map<std::string, ResourceList>;

Actual ReadActual(FieldReader& status, const char* list, bool& too_many) {
  Actual out;
  for (FieldReader& container : status.Objects(list)) {
    ResourceList amounts = RequestsIn(container.Object("resources"), too_many);
    workload::RaiseAmounts(amounts, ReadBounded(container, "allocatedResources", too_many));
    if (!amounts.empty()) out.emplace(container.String("name"), std::move(amounts));
  }
  return out;
}

ResourceList RequestsOf(FieldReader& container, const Actual& actual, bool& too_many) {
  ResourceList out = RequestsIn(container.Object("resources"), too_many);
  const auto at = actual.find(container.String("name"));
  if (at != actual.end()) workload::RaiseAmounts(out, at->second);
  Bound(out, too_many);
  return out;
}

ResourceList SumOfContainers(FieldReader& pod_spec, FieldReader& status, bool& too_many) {
  const Actual actual = ReadActual(status, "containerStatuses", too_many);
  const Actual actual_init = ReadActual(status, "initContainerStatuses", too_many);
  ResourceList running;
  for (FieldReader& container : pod_spec.Objects("containers")) {
    workload::AddAmounts(running, RequestsOf(container, actual, too_many));
    Bound(running, too_many);
  }
  ResourceList sidecars;
  ResourceList starting;
  for (FieldReader& container : pod_spec.Objects("initContainers")) {
    ResourceList requests = RequestsOf(container, actual_init, too_many);
    if (container.String("restartPolicy") == "Always") {
      workload::AddAmounts(sidecars, requests);
      Bound(sidecars, too_many);
    } else {
      workload::AddAmounts(requests, sidecars);
      workload::RaiseAmounts(starting, requests);
      Bound(starting, too_many);
    }
  }
  workload::AddAmounts(running, sidecars);
  workload::RaiseAmounts(running, starting);
  return running;
}

// Resources that may be given for the whole pod.
bool MayBeOfPod(std::string_view name) {
  return name == "cpu" || name == "memory" || name.rfind("hugepages-", 0) == 0;
}

void ReplaceByPodLevel(FieldReader& pod_spec, ResourceList& sum, bool& too_many) {
  FieldReader resources = pod_spec.Object("resources");
  const ResourceList of_containers = sum;
  for (const char* field : {"limits", "requests"}) {
    const FieldReader amounts = resources.Object(field);
    const bool limit = field == std::string_view("limits");
    for (const auto& [name, amount] : ReadAmounts(amounts)) {
      // A request that is left out follows the limit only where no container asks for any.
      if (!MayBeOfPod(name) || (limit && workload::AmountOf(of_containers, name) > 0)) continue;
      workload::SetAmount(sum, name, amount);
      Bound(sum, too_many);
    }
  }
}

// A hostPort that the pod asks for twice conflicts with nothing but other pods.
void AddHostPorts(FieldReader& pod_spec, ResourceList& out, bool& too_many) {
  const bool host_network = pod_spec.Bool("hostNetwork", false);
  const auto add = [&](FieldReader& container) {
    for (FieldReader& port : container.Objects("ports")) {
      int number = port.Int("hostPort", 0, 0, 65535);
      if (number == 0 && host_network) number = port.Int("containerPort", 0, 0, 65535);
      if (number == 0) continue;
      std::string protocol = port.String("protocol", "TCP");
      std::transform(protocol.begin(), protocol.end(), protocol.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const std::string name = StrCat(kHostPort, protocol, "-", number);
      const std::string address = port.String("hostIP");
      const bool every = address.empty() || address == "0.0.0.0" || address == "::";
      workload::RaiseAmounts(out, {{name, every ? kWholePort : 1}});
      if (!every) workload::SetAmount(out, StrCat(name, "-", address), kWholePort);
      Bound(out, too_many);
    }
  };
  for (FieldReader& container : pod_spec.Objects("containers")) add(container);
  for (FieldReader& container : pod_spec.Objects("initContainers")) {
    if (container.String("restartPolicy") == "Always") add(container);
  }
}

bool Listed(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Whether a label selector holds for the labels; its text is appended to `text`. One that is left
// out selects nothing.
bool Selects(FieldReader selector, const std::map<std::string, std::string>& labels,
             std::string& text) {
  bool holds = selector.present();
  for (const auto& [key, value] : selector.StringMap("matchLabels")) {
    holds = holds && Find(labels, key.c_str()) == std::string_view(value);
    text += StrCat(" ", key, "=", value);
  }
  for (FieldReader& expression : selector.Objects("matchExpressions")) {
    const std::string key = expression.String("key");
    const std::string op = expression.String("operator");
    const std::vector<std::string> values = expression.Strings("values");
    const auto value = Find(labels, key.c_str());
    const bool listed = value && Listed(values, *value);
    holds = holds && ((op == "In" && listed) || (op == "NotIn" && !listed) ||
                      (op == "Exists" && value) || (op == "DoesNotExist" && !value));
    text += StrCat(" ", key, " ", op, " ", Join(values, ","));
  }
  return holds;
}

// The text of a term that keeps the pod off hosts with another pod of its own kind.
std::optional<std::string> ExclusionOf(FieldReader& term, const ObjectMeta& pod) {
  if (term.String("topologyKey") != kHostnameLabel) return std::nullopt;
  const std::vector<std::string> namespaces = term.Strings("namespaces");
  const FieldReader by_selector = term.Object("namespaceSelector");
  const bool everywhere = by_selector.present() && by_selector.Keys().empty();
  const bool own = everywhere || (namespaces.empty() ? !by_selector.present()
                                                     : Listed(namespaces, pod.namespace_name));
  std::string text = everywhere ? "*" : pod.namespace_name;
  const bool selected = Selects(term.Object("labelSelector"), pod.labels, text);
  if (!own || !selected) return std::nullopt;
  for (const std::string& key : term.Strings("matchLabelKeys")) {
    text += StrCat(" ", key, "=", Find(pod.labels, key.c_str()).value_or(""));
  }
  return text;
}

void AddExclusions(FieldReader& pod_spec, const ObjectMeta& metadata, ResourceList& out,
                   bool& too_many) {
  FieldReader anti_affinity = pod_spec.Object("affinity").Object("podAntiAffinity");
  for (FieldReader& term :
       anti_affinity.Objects("requiredDuringSchedulingIgnoredDuringExecution")) {
    if (const auto text = ExclusionOf(term, metadata)) {
      workload::SetAmount(out, StrCat(kOnePerHost, ShortHash(*text)), 1);
      Bound(out, too_many);
    }
  }
}

}  // namespace

ResourceList ReadPodRequests(FieldReader& pod_spec, FieldReader& status, const ObjectMeta& metadata,
                             bool* readable) {
  const std::int64_t errors_before = pod_spec.errors().added();
  bool too_many = false;
  ResourceList out = SumOfContainers(pod_spec, status, too_many);
  ReplaceByPodLevel(pod_spec, out, too_many);
  workload::AddAmounts(out, ReadBounded(pod_spec, "overhead", too_many));
  workload::SetAmount(out, kPodsResource, 1);
  if (readable != nullptr) *readable = pod_spec.errors().added() == errors_before;
  AddHostPorts(pod_spec, out, too_many);
  AddExclusions(pod_spec, metadata, out, too_many);
  Bound(out, too_many);
  if (too_many) {
    pod_spec.errors().Add(
        pod_spec.PathOf("containers"),
        StrCat("ask for more than ", kMaxNames, " resources, host ports and hosts of their own"),
        "ask for fewer; the last by name are not counted");
  }
  return out;
}

std::int64_t RoomForExclusive(std::string_view name) {
  if (name.rfind(kHostPort, 0) == 0) return kWholePort;
  return name.rfind(kOnePerHost, 0) == 0 ? 1 : 0;
}

std::string GpuResourceOf(const ObjectMeta& metadata, const ResourceList& requests) {
  const auto named = Find(metadata.annotations, kGpuResourceAnnotation);
  if (named && named->find('/') != std::string_view::npos && RoomForExclusive(*named) == 0) {
    return std::string(*named);
  }
  for (std::string_view name : kKnownGpus) {
    if (workload::AmountOf(requests, name) > 0) return std::string(name);
  }
  for (const auto& [name, amount] : requests) {
    if (name.rfind(kMigPrefix, 0) == 0) return name;
  }
  for (const auto& [name, amount] : requests) {
    if (name.starts_with(kDeviceClassPrefix) && name.find("gpu") != std::string::npos) return name;
  }
  return kGpuResource;
}

}  // namespace yardmaster::api
