// Resource maps of Kubernetes ({"cpu": "96", "memory": "1Ti"}) from and to amounts. Thread safety:
// pure functions.
#pragma once

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

// Every entry of the map; amounts of 0 are left out. Cpu is counted in thousandths, everything else
// in whole units, both rounded up. O(n log n) in the names, where unknown fields are no errors.
workload::ResourceList ReadResources(FieldReader& resources);
// The same with amounts of 0. The fields do not count as read.
workload::ResourceList ReadAmounts(const FieldReader& resources);
// What reads back equal.
nlohmann::json EncodeResources(const workload::ResourceList& resources);

}  // namespace yardmaster::api
