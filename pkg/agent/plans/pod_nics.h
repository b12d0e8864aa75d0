// Which NIC ports a pod has: those of the RDMA devices that kubelet's device manager gave it
// (PodResources), else those that Multus' status annotation names, else all of the host's for a pod
// in the host's network, if it is the only such pod and no pod has a device of its own.
//
// A device is known by its PCI address or its name. A virtual function belongs to the rail of its
// physical one. A user who may write a pod can write the annotation: a device that kubelet gave to
// a pod is not taken from it, one that two annotations claim belongs to neither pod, and names lead
// nowhere outside of the folders of devices.
//
// Thread safety: functions without state; they read the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/agent/ports/local_nic_port.h"

namespace yardmaster::agent {

// What is known of one pod.
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

// PCI addresses and RDMA device names of the network-status annotation, in its order; entries
// that cannot be read are left out.
std::vector<std::string> MultusDevices(std::string_view status);

// In the order of `claims`. `host_ports`: all of the host.
std::vector<PodNics> NicsOfPods(const std::string& sysfs_root, const std::vector<PodClaim>& claims,
                                const std::vector<LocalNicPort>& host_ports);

}  // namespace yardmaster::agent
