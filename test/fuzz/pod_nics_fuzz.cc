// What other programs of a node say about the devices of pods: kubelet's answer and Multus'
// annotation. For all bytes, reading ends, and every port that is found is one of the host's
// devices.
//
// The input up to the first byte 0 is kubelet's answer, the rest the annotation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include "pkg/agent/plans/pod_nics.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/pod_resources_client.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

// A host with two devices of one port each.
std::string SysfsRoot() {
  namespace fs = std::filesystem;
  const std::string root =
      StrCat(fs::temp_directory_path().string(), "/pod-nics-fuzz-", ::getpid());
  for (const char* device : {"mlx5_0", "mlx5_1"}) {
    fs::create_directories(StrCat(root, "/class/infiniband/", device, "/ports/1"));
  }
  return root;
}

void Check(const std::string& root, const agent::PodClaim& claim) {
  for (const agent::PodNics& pod : agent::NicsOfPods(root, {claim}, {})) {
    for (const agent::LocalNicPort& port : pod.ports) {
      const bool known = port.rdma_device == "mlx5_0" || port.rdma_device == "mlx5_1";
      if (!known || port.rail < 0 || port.rail > 1 || port.rdma_port != 1) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string root = SysfsRoot();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(text.find('\0'), text.size());
  agent::PodClaim claim{"u", {}, std::string(text.substr(split)), false};
  // Protobuf has bytes 0, so the whole input is tried as well.
  for (const std::string_view answer : {text.substr(0, split), text}) {
    const auto pods = rpc::ParsePodResources(answer);
    if (!pods.ok()) continue;
    for (const rpc::PodDevices& pod : *pods) {
      for (const auto& device : pod.devices) claim.kubelet_devices.push_back(device.id);
    }
  }
  Check(root, claim);
  claim.kubelet_devices.clear();
  if (split < size) claim.multus_status = std::string(text.substr(split + 1));
  Check(root, claim);
  return 0;
}
