// Resource maps of Kubernetes ({"cpu": "96", "memory": "1Ti"}) from and to amounts. Thread safety:
// pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

// Cpu is counted in thousandths, everything else in whole units, both rounded up.
std::int64_t ReadAmount(FieldReader& resources, std::string_view name);
// Every entry of the map; amounts of 0 are left out.
workload::ResourceList ReadResources(FieldReader& resources);
// The same with amounts of 0, for objects of any number of names: O(n log n). The fields do not count as read.
workload::ResourceList ReadAmounts(const FieldReader& resources);
// What reads back equal.
nlohmann::json EncodeResources(const workload::ResourceList& resources);

}  // namespace yardmaster::api
