#include "pkg/devices/device_objects.h"

#include <utility>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace yardmaster::devices {

namespace {

using api::FieldReader;

// The API server takes fewer of each.
constexpr int kMaxEntries = 256;
constexpr std::size_t kMaxDevices = 1024;
constexpr std::int64_t kMaxCount = 1 << 20;

// Of claims and slices no label is read, and of the annotations none.
const api::KeptMetadata& KeptOfDevices() {
  static const api::KeptMetadata kKept{[](std::string_view) { return std::size_t{0}; },
                                       [](std::string_view) { return false; }, 0};
  return kKept;
}

std::string Qualified(const std::string& driver, const std::string& name) {
  return name.find('/') != std::string::npos ? name : StrCat(driver, "/", name);
}

TraitValue ReadTrait(FieldReader& value) {
  if (value.has("bool")) return {value.Bool("bool", false)};
  if (value.has("int")) return {value.Int64("int", 0, INT64_MIN, INT64_MAX)};
  if (value.has("string")) return {value.String("string")};
  return {};
}

DeviceTraits ReadTraits(FieldReader& device, const std::string& driver) {
  DeviceTraits out;
  out.driver = driver;
  for (auto& [name, value] : device.Members("attributes", kMaxEntries)) {
    out.attributes.emplace(Qualified(driver, name), ReadTrait(value));
  }
  for (auto& [name, value] : device.Members("capacity", kMaxEntries)) {
    out.capacity.emplace(Qualified(driver, name), api::ReadQuantity(value, "value"));
  }
  return out;
}

std::map<std::string, std::int64_t> ReadCounters(FieldReader& set) {
  std::map<std::string, std::int64_t> out;
  for (auto& [name, value] : set.Members("counters", kMaxEntries)) {
    out.emplace(name, api::ReadQuantity(value, "value"));
  }
  return out;
}

bool IsTainted(FieldReader& device) {
  for (FieldReader& taint : device.Objects("taints")) {
    const std::string effect = taint.String("effect");
    if (effect == "NoSchedule" || effect == "NoExecute") return true;
  }
  return false;
}

// Before v1beta2 what a device is stands one level deeper.
SliceDevice ReadDevice(FieldReader& entry, const std::string& driver, bool& on_many_nodes) {
  FieldReader basic = entry.OpenObject("basic");
  FieldReader& in = basic.present() ? basic : entry;
  SliceDevice out;
  out.name = entry.RequiredString("name");
  out.traits = ReadTraits(in, driver);
  for (FieldReader& set : in.Objects("consumesCounters")) {
    out.takes.push_back({set.String("counterSet"), ReadCounters(set)});
  }
  out.node_name = in.String("nodeName");
  on_many_nodes |= in.has("nodeSelector") || in.Bool("allNodes", false);
  out.tainted = IsTainted(in);
  return out;
}

std::vector<DeviceSelector> ReadSelectors(FieldReader& in) {
  std::vector<DeviceSelector> out;
  for (FieldReader& selector : in.Objects("selectors")) {
    if (out.size() == kMaxEntries) break;
    out.push_back(DeviceSelector::Parse(selector.OpenObject("cel").String("expression")));
  }
  return out;
}

DeviceRequest ReadRequest(FieldReader& in, std::string name) {
  DeviceRequest out;
  out.name = std::move(name);
  out.device_class = in.String("deviceClassName");
  out.selectors = ReadSelectors(in);
  out.count = in.Int64("count", 1, 0, kMaxCount);
  out.all = in.String("allocationMode") == "All";
  out.admin = in.Bool("adminAccess", false);
  return out;
}

// v1beta1 has the only alternative's fields in the request itself.
ClaimSpec ReadClaimSpec(FieldReader& spec) {
  ClaimSpec out;
  FieldReader of_devices = spec.OpenObject("devices");
  for (FieldReader& request : of_devices.Objects("requests")) {
    if (out.requests.size() == kMaxEntries) break;
    const std::string name = request.String("name");
    std::vector<DeviceRequest> alternatives;
    for (FieldReader& alternative : request.Objects("firstAvailable")) {
      if (alternatives.size() == kMaxEntries) break;
      alternatives.push_back(
          ReadRequest(alternative, StrCat(name, "/", alternative.String("name"))));
    }
    if (alternatives.empty()) {
      FieldReader exactly = request.OpenObject("exactly");
      alternatives.push_back(ReadRequest(exactly.present() ? exactly : request, name));
    }
    out.requests.push_back(std::move(alternatives));
  }
  return out;
}

}  // namespace

absl::StatusOr<ResourceSlice> DecodeResourceSlice(JsonView object) {
  api::FieldErrors errors;
  FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  ResourceSlice out;
  out.metadata = ReadMetadata(in, api::Namespaced::kNo, &KeptOfDevices());
  FieldReader spec = in.Object("spec");
  out.driver = spec.RequiredString("driver");
  FieldReader pool = spec.OpenObject("pool");
  out.pool = pool.RequiredString("name");
  out.generation = pool.Int64("generation", 0, 0, INT64_MAX);
  out.slices = pool.Int("resourceSliceCount", 1, 1, INT32_MAX);
  out.node_name = spec.String("nodeName");
  out.on_many_nodes = spec.has("nodeSelector") || spec.Bool("allNodes", false);
  for (FieldReader& set : spec.Objects("sharedCounters")) {
    out.counters.push_back({set.String("name"), ReadCounters(set)});
  }
  for (FieldReader& device : spec.Objects("devices")) {
    if (out.devices.size() == kMaxDevices) break;
    out.devices.push_back(ReadDevice(device, out.driver, out.on_many_nodes));
  }
  if (!errors.empty()) return errors.status();
  return out;
}

absl::StatusOr<DeviceClass> DecodeDeviceClass(JsonView object) {
  api::FieldErrors errors;
  FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  DeviceClass out;
  out.metadata = ReadMetadata(in, api::Namespaced::kNo, &KeptOfDevices());
  FieldReader spec = in.Object("spec");
  out.selectors = ReadSelectors(spec);
  out.extended_resource = spec.String("extendedResourceName");
  if (!errors.empty()) return errors.status();
  return out;
}

absl::StatusOr<ResourceClaim> DecodeResourceClaim(JsonView object) {
  api::FieldErrors errors;
  FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  ResourceClaim out;
  out.metadata = ReadMetadata(in, api::Namespaced::kYes, &KeptOfDevices());
  FieldReader spec = in.Object("spec");
  out.spec = ReadClaimSpec(spec);
  FieldReader allocation = in.OpenObject("status").OpenObject("allocation");
  out.allocated = allocation.present();
  for (FieldReader& result : allocation.OpenObject("devices").Objects("results")) {
    if (out.held.size() == kMaxDevices) break;
    if (result.Bool("adminAccess", false)) continue;
    out.held.push_back({result.String("request"), result.String("driver"), result.String("pool"),
                        result.String("device")});
  }
  if (!errors.empty()) return errors.status();
  return out;
}

absl::StatusOr<ResourceClaimTemplate> DecodeResourceClaimTemplate(JsonView object) {
  api::FieldErrors errors;
  FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  ResourceClaimTemplate out;
  out.metadata = ReadMetadata(in, api::Namespaced::kYes, &KeptOfDevices());
  FieldReader spec = in.Object("spec");
  FieldReader of_claim = spec.OpenObject("spec");
  out.spec = ReadClaimSpec(of_claim);
  if (!errors.empty()) return errors.status();
  return out;
}

}  // namespace yardmaster::devices
