#include "test/integration/crd_objects.h"

namespace yardmaster::testing {

using nlohmann::json;

json JobObject() {
  return json::parse(R"({"apiVersion":"yardmaster.dev/v1alpha1","kind":"TrainingJob",
    "metadata":{"name":"job","namespace":"default"},
    "spec":{"workers":16,"gpusPerWorker":8,"parallelism":{"tensor":8,"data":8,"pipeline":2},
            "placement":{"data":{"within":"Segment"}},"template":{}}})");
}

json FabricObject() {
  return json::parse(R"({"apiVersion":"yardmaster.dev/v1alpha1","kind":"Fabric",
    "metadata":{"name":"small"},
    "spec":{"size":{"segmentsPerFabricPod":2,"hostsPerSegment":136},
            "backup":{"hostsPerSegment":8},
            "tiers":[{"role":"tor","perRail":true,"downPorts":136,"downGbps":200,"upPorts":60,
                      "upGbps":400},
                     {"role":"agg","scope":"FabricPod","switches":60,"downPorts":120,
                      "downGbps":400}]}})");
}

json GangObject() {
  return json::parse(R"({"apiVersion":"yardmaster.dev/v1alpha1","kind":"Gang",
    "metadata":{"name":"gang","namespace":"default"},
    "spec":{"owner":{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"u"},"workers":2}})");
}

json PoolObject() {
  return json::parse(R"({"apiVersion":"yardmaster.dev/v1alpha1","kind":"CapacityPool",
    "metadata":{"name":"pool"},
    "spec":{"instanceType":"gpu.8x","allocatable":{"cpu":"96","nvidia.com/gpu":8},
            "fabricPod":"p0","segment":"s0",
            "offers":[{"type":"Spot","pricePerHour":"9.80 USD","maxHosts":4},
                      {"type":"OnDemand","pricePerHour":"32 USD","maxHosts":4}]}})");
}

json RolesNamed(const std::vector<std::string>& names) {
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  json roles = json::array();
  for (const std::string& name : names) roles.push_back({{"name", name}, {"template", pod}});
  return roles;
}

}  // namespace yardmaster::testing
