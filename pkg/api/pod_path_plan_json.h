// The rails of a path plan as JSON: one text for the annotation and for the agent's plan file.
// Thread safety: a pure function.
#pragma once

#include "nlohmann/json.hpp"

#include "pkg/api/pod_path_plan.h"

namespace yardmaster::api {

// The array "rails" that pod_path_plan.h describes.
nlohmann::ordered_json EncodeRails(const PodPathPlan& plan);

}  // namespace yardmaster::api
