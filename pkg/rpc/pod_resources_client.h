// PodResourcesClient asks kubelet which devices it gave to which pods, by the PodResources service
// (v1) on a unix socket of the node (/var/lib/kubelet/pod-resources/kubelet.sock). It connects on
// the first call.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::rpc {

// The devices of all containers of a pod.
struct PodDevices {
  struct Device {
    std::string resource;  // "nvidia.com/mlnxnics"
    std::string id;        // the device plugin's name: a PCI address, a UUID
    bool operator==(const Device&) const = default;
  };
  std::string pod_namespace;
  std::string pod_name;
  std::vector<Device> devices;
  bool operator==(const PodDevices&) const = default;
};

class PodResourcesClient {
 public:
  explicit PodResourcesClient(const std::string& socket);
  ~PodResourcesClient();
  PodResourcesClient(const PodResourcesClient&) = delete;
  PodResourcesClient& operator=(const PodResourcesClient&) = delete;

  // Returns every pod that has devices. Errors: Unavailable if kubelet does not answer,
  // DeadlineExceeded after `timeout_ms`, otherwise those of kubelet.
  absl::StatusOr<std::vector<PodDevices>> List(std::int64_t timeout_ms) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// Parses a ListPodResourcesResponse. Errors: InvalidArgument.
absl::StatusOr<std::vector<PodDevices>> ParsePodResources(std::string_view bytes);

}  // namespace yardmaster::rpc
