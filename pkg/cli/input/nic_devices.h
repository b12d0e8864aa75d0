// NICs of hosts as NVIDIA's NIC configuration operator writes them: NicDevice objects of
// configuration.net.nvidia.com/v1alpha1. Where a NicInterfaceNameTemplate matches a NIC, its
// spec.interfaceNameTemplate names the rail of the NIC and the plane of each of its ports. A rail
// may have several NICs, which then have the planes of the rail between them.
//
// A Fabric takes rails, planes, ports and spraying from them (SetNics). Most hosts decide; those
// that differ, or whose NICs contradict each other, are named with the Node and the field.
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
  std::vector<std::string> interfaces;  // of its ports, as far as they are known
  bool spraying = false;                // multiplaneMode hwplb
};

// Other fields are ignored. Errors: InvalidArgument naming each wrong field.
absl::StatusOr<NicDevice> DecodeNicDevice(JsonView object);

// One port as the chart's agent.nicPorts has it.
struct NicPortValue {
  int rail = 0;
  int port = 0;
  std::string interface;
  bool operator==(const NicPortValue&) const = default;
};

struct NicFindings {
  std::vector<std::string> notes;
  // By rail and port; empty where the hosts' interfaces differ or are not known.
  std::vector<NicPortValue> ports;
};

// Sets rails, planes, ports and spraying of `spec` from the NICs of `hosts`, which are names of
// Nodes. Without such NICs nothing changes. Errors: InvalidArgument where no host's NICs can be
// those of a Fabric, or `spec` has too few ports for them.
absl::StatusOr<NicFindings> SetNics(const std::vector<std::string>& hosts,
                                    const std::vector<NicDevice>& nics, fabric::FabricSpec& spec);

}  // namespace yardmaster::cli
