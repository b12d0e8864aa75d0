// Whether a gang's connections have their planned ports: the condition ConnectionsSteered of the
// Gang, from what agents report on its pods (api/connection_report.h).
//
//   True   Steered     every planned connection that is reported has its port
//   False  Unsteered   some have not; the message counts them and gives the reason that the pod
//                      with the most of them reports
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "pkg/api/condition.h"
#include "pkg/api/pod.h"

namespace yardmaster::op {

// By rank. nullopt: no pod reports a planned connection. An annotation that cannot be read counts
// for nothing.
std::optional<api::Condition> ConnectionsSteered(
    const std::map<int, std::shared_ptr<const api::Pod>>& members, std::int64_t generation);

}  // namespace yardmaster::op
