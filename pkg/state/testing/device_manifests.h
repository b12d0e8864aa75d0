// Objects of resource.k8s.io for tests, as a driver of GPUs and a cluster have them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/state/device_tables.h"

namespace yardmaster::state {

inline constexpr char kTestDriver[] = "gpu.nvidia.com";

template <typename T>
void Put(ObjectTable<T>& table, T object) {
  table.Put(std::make_shared<const T>(std::move(object)));
}

inline devices::ResourceSlice SliceOfGpus(const std::string& node, int gpus,
                                          std::int64_t generation = 1) {
  devices::ResourceSlice slice;
  slice.metadata.name = StrCat(node, "-gpus");
  slice.driver = kTestDriver;
  slice.pool = slice.node_name = node;
  slice.generation = generation;
  for (int i = 0; i < gpus; ++i) {
    slice.devices.push_back({StrCat("gpu-", i),
                             {kTestDriver,
                              {{"gpu.nvidia.com/type", {std::string("gpu")}}},
                              {{"gpu.nvidia.com/memory", std::int64_t{i < 4 ? 40 : 80} << 30}}},
                             {},
                             "",
                             false});
  }
  return slice;
}

inline devices::DeviceClass ClassOf(const std::string& name, const std::string& expression,
                                    const std::string& extended_resource = "") {
  devices::DeviceClass device_class;
  device_class.metadata.name = name;
  if (!expression.empty()) {
    device_class.selectors.push_back(devices::DeviceSelector::Parse(expression));
  }
  device_class.extended_resource = extended_resource;
  return device_class;
}

inline devices::DeviceRequest RequestOf(const std::string& device_class, std::int64_t count) {
  devices::DeviceRequest request;
  request.name = "g";
  request.device_class = device_class;
  request.count = count;
  return request;
}

inline devices::ResourceClaimTemplate TemplateOf(const std::string& name,
                                                 devices::DeviceRequest request) {
  devices::ResourceClaimTemplate out;
  out.metadata.namespace_name = "team";
  out.metadata.name = name;
  out.spec.requests = {{std::move(request)}};
  return out;
}

// With the GPUs of these numbers on the node; none: not allocated.
inline devices::ResourceClaim ClaimOf(const std::string& name, devices::DeviceRequest request,
                                      const std::string& node = "",
                                      const std::vector<int>& gpus = {}) {
  devices::ResourceClaim out;
  out.metadata.namespace_name = "team";
  out.metadata.name = name;
  out.allocated = !gpus.empty();
  for (int gpu : gpus) {
    out.held.push_back({request.name, kTestDriver, node, StrCat("gpu-", gpu)});
  }
  out.spec.requests = {{std::move(request)}};
  return out;
}

}  // namespace yardmaster::state
