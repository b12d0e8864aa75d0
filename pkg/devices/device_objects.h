// The slice of resource.k8s.io that counts devices: what a driver publishes (ResourceSlice), what a
// cluster calls it (DeviceClass), and what pods ask for and hold (ResourceClaim,
// ResourceClaimTemplate). Objects of v1, v1beta2 and v1beta1 read alike.
//
// Invariants: names of attributes and capacities are qualified, "gpu.nvidia.com/type"; the driver
// is the domain of those that name none. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/metadata.h"
#include "pkg/devices/device_selector.h"

namespace yardmaster::devices {

// Counters of one set of a pool: how many there are, or how many a device takes.
struct CounterSet {
  std::string name;
  std::map<std::string, std::int64_t> amounts;
  bool operator==(const CounterSet&) const = default;
};

struct SliceDevice {
  std::string name;
  DeviceTraits traits;
  std::vector<CounterSet> takes;  // while it is held; empty: nothing but itself
  std::string node_name;          // where each device names its own node
  bool tainted = false;           // no pod without a toleration may have it
  bool operator==(const SliceDevice&) const = default;
};

struct ResourceSlice {
  api::ObjectMeta metadata;
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;  // of the pool
  int slices = 1;               // of the pool in this generation
  std::string node_name;        // empty: not of one node alone
  // Its devices are of no one node: a selector or all nodes.
  bool on_many_nodes = false;
  std::vector<CounterSet> counters;
  std::vector<SliceDevice> devices;
  bool operator==(const ResourceSlice&) const = default;
};

struct DeviceClass {
  api::ObjectMeta metadata;
  std::vector<DeviceSelector> selectors;
  std::string extended_resource;  // by which pods may ask for its devices, too; or empty
  bool operator==(const DeviceClass&) const = default;
};

// What one request of a claim asks for, or one of its alternatives.
struct DeviceRequest {
  std::string name;  // of an alternative "request/alternative", as allocations name it
  std::string device_class;
  std::vector<DeviceSelector> selectors;
  std::int64_t count = 1;
  bool all = false;    // every device of the host that matches, instead of `count`
  bool admin = false;  // looks at devices that others hold, and holds none
  bool operator==(const DeviceRequest&) const = default;
};

struct ClaimSpec {
  // The first of the alternatives that fits; mostly there is one.
  std::vector<std::vector<DeviceRequest>> requests;
  bool operator==(const ClaimSpec&) const = default;
};

struct HeldDevice {
  std::string request;
  std::string driver;
  std::string pool;
  std::string device;
  bool operator==(const HeldDevice&) const = default;
};

struct ResourceClaim {
  api::ObjectMeta metadata;
  ClaimSpec spec;
  bool allocated = false;
  std::vector<HeldDevice> held;  // without those of admin access
  bool operator==(const ResourceClaim&) const = default;
};

struct ResourceClaimTemplate {
  api::ObjectMeta metadata;
  ClaimSpec spec;
  bool operator==(const ResourceClaimTemplate&) const = default;
};

// Other fields are ignored. Errors: InvalidArgument naming each wrong field.
absl::StatusOr<ResourceSlice> DecodeResourceSlice(JsonView object);
absl::StatusOr<DeviceClass> DecodeDeviceClass(JsonView object);
absl::StatusOr<ResourceClaim> DecodeResourceClaim(JsonView object);
absl::StatusOr<ResourceClaimTemplate> DecodeResourceClaimTemplate(JsonView object);

}  // namespace yardmaster::devices
