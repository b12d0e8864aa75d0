// Reads the NICs of hosts as NVIDIA's NIC configuration operator writes them: NicDevice objects of
// configuration.net.nvidia.com/v1alpha1. If a NicInterfaceNameTemplate matches a NIC, its
// spec.interfaceNameTemplate has the rail of the NIC and the plane of each of its ports. If a rail
// has several NICs, they share the planes of the rail.
//
// SetNics derives rails, planes, ports and spraying of a Fabric from them. The values of most hosts
// are used. Hosts that differ, or whose NICs contradict each other, are reported with the Node and
// the field.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/fabric/spec.h"
#include "pkg/json/json_view.h"

namespace yardmaster::cli {

inline constexpr char kNicDeviceKind[] = "NicDevice";
inline constexpr char kNicDeviceVersion[] = "configuration.net.nvidia.com/v1alpha1";

struct NicDevice {
  std::string name;
  std::string node;
  int rail = -1;                        // -1: no template matches the NIC
  std::vector<int> planes;              // of its ports
  std::vector<std::string> interfaces;  // of its ports, if known
  bool spraying = false;                // multiplaneMode hwplb
};

// Ignores other fields. Errors: InvalidArgument, with each wrong field.
absl::StatusOr<NicDevice> DecodeNicDevice(JsonView object);

// One port in the form of the chart's agent.nicPorts.
struct NicPortValue {
  int rail = 0;
  int port = 0;
  std::string interface;
  bool operator==(const NicPortValue&) const = default;
};

struct NicFindings {
  std::vector<std::string> notes;
  // By rail and port; empty if the interfaces differ between hosts or are not known.
  std::vector<NicPortValue> ports;
};

// Sets rails, planes, ports and spraying of `spec` from the NICs of `hosts` (names of Nodes).
// Without such NICs nothing changes. Errors: InvalidArgument if no host's NICs fit a Fabric, or if
// `spec` has too few ports for them.
absl::StatusOr<NicFindings> SetNics(const std::vector<std::string>& hosts,
                                    const std::vector<NicDevice>& nics, fabric::FabricSpec& spec);

}  // namespace yardmaster::cli
