// A CapacityPool as people write it: one offer, hosts of eight GPUs, Nodes with the label "pool".
// TESTONLY. Thread safety: pure functions.
#pragma once

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"

namespace yardmaster::op {

// Hosts come by NodeClaims.
inline nlohmann::json ScaledByClaims() {
  return {{"nodeClassRef", {{"group", "g"}, {"kind", "k"}, {"name", "n"}}}};
}
// Hosts come by ProvisioningRequests.
inline nlohmann::json ScaledByRequests() { return {{"provisioningClassName", "c"}}; }

struct PoolParts {
  std::string name;
  std::string price;  // with its currency: "10 USD"
  std::string segment = "s9";
  int max_hosts = 4;
  std::string type = "Spot";
  nlohmann::json scaling = ScaledByClaims();
};

inline nlohmann::json PoolManifest(const PoolParts& pool) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", "CapacityPool"},
          {"metadata", {{"name", pool.name}}},
          {"spec",
           {{"instanceType", "gpu.8x"},
            {"allocatable", {{"cpu", "96"}, {"nvidia.com/gpu", "8"}}},
            {"fabricPod", "p0"},
            {"segment", pool.segment},
            {"nodeLabels", {{"pool", pool.name}}},
            {"offers", nlohmann::json::array({{{"type", pool.type},
                                               {"pricePerHour", pool.price},
                                               {"maxHosts", pool.max_hosts},
                                               {"noticeSeconds", 120}}})},
            {"scaling", pool.scaling}}}};
}

}  // namespace yardmaster::op
