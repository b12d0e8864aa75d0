// Decides whether the pods of a template request GPUs and therefore have a rank. Pods of an owner
// that request none, such as a head or an initializer, belong to no gang.
//
// Thread safety: pure function.
#pragma once

#include <optional>

#include "pkg/json/json_view.h"

namespace yardmaster::gather {

// True if the template requests GPUs, by containers or by resource claims. nullopt: the template
// has no containers.
std::optional<bool> AsksForGpus(JsonView pod_template);

}  // namespace yardmaster::gather
