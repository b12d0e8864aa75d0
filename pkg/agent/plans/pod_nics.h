// Determines the NIC ports of a pod, by the first source that knows them:
//   1. the RDMA devices that kubelet's device manager gave to the pod (PodResources);
//   2. the devices that Multus' status annotation names;
//   3. all ports of the host, for a pod in the host's network, if it is the only such pod and no
//      pod has a device of its own.
//
// A device is identified by its PCI address or its name. A virtual function belongs to the rail of
// its physical function. A user who may write a pod can write the annotation. Therefore a device
// that kubelet gave to a pod is not taken from it, a device that two annotations claim belongs to
// neither pod, and names cannot lead outside of the device folders.
//
// Thread safety: the functions keep no state; they read the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/agent/ports/local_nic_port.h"

namespace yardmaster::agent {

// The devices of one pod, by source.
struct PodClaim {
  std::string pod_uid;
  std::vector<std::string> kubelet_devices;  // ids of all resources; others than NICs are skipped
  std::string multus_status;                 // k8s.v1.cni.cncf.io/network-status; empty: none
  bool host_network = false;
};

enum class NicSource { kNone, kKubelet, kMultus, kHost };

struct PodNics {
  std::string pod_uid;
  NicSource source = NicSource::kNone;
  std::vector<LocalNicPort> ports;  // by rail and port; empty: not known
  bool operator==(const PodNics&) const = default;
};

// Returns PCI addresses and RDMA device names of the network-status annotation, in its order.
// Entries that cannot be parsed are omitted.
std::vector<std::string> MultusDevices(std::string_view status);

// Returns the ports in the order of `claims`. `host_ports`: all ports of the host.
std::vector<PodNics> NicsOfPods(const std::string& sysfs_root, const std::vector<PodClaim>& claims,
                                const std::vector<LocalNicPort>& host_ports);

}  // namespace yardmaster::agent
