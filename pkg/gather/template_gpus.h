// Whether the pods of a template ask for GPUs, and so have a rank: those of an owner that do not,
// such as a head or an initializer, are in no gang.
//
// Thread safety: a pure function.
#pragma once

#include <optional>

#include "pkg/json/json_view.h"

namespace yardmaster::gather {

// By containers or by resource claims. nullopt: the template has no containers.
std::optional<bool> AsksForGpus(JsonView pod_template);

}  // namespace yardmaster::gather
