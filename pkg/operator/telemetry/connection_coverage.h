// Computes the Gang's condition ConnectionsSteered from the connection reports that agents write on
// its pods (api/connection_report.h).
//
//   True   Steered     every reported connection that has a plan uses its planned port
//   False  Unsteered   some connections do not; the message counts them and gives the reason from
//                      the pod with the most of them
//
// Thread safety: pure function. Complexity: linear in the members.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "pkg/api/condition.h"
#include "pkg/api/pod.h"

namespace yardmaster::op {

// `members`: by rank. Returns nullopt if no pod reports a planned connection. Reports that cannot
// be read are ignored.
std::optional<api::Condition> ConnectionsSteered(
    const std::map<int, std::shared_ptr<const api::Pod>>& members, std::int64_t generation);

}  // namespace yardmaster::op
