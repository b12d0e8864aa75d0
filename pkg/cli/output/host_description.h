// Describes what holds a host or a pod, since when, and why, for `why HOST`, `explain node/NAME`
// and `explain pod/NAME`.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// Labels and texts, in the order of printing.
using Description = std::vector<std::pair<std::string, std::string>>;

// Errors: NotFound, with similar names.
absl::StatusOr<Description> DescribeHost(const state::ClusterState& cluster,
                                         const std::string& host, std::int64_t now_ms);
absl::StatusOr<Description> DescribePod(const state::ClusterState& cluster,
                                        const std::string& namespace_name, const std::string& pod,
                                        std::int64_t now_ms);

// Returns "3 minutes ago"; "-" for 0.
std::string Ago(std::int64_t then_ms, std::int64_t now_ms);

}  // namespace yardmaster::cli
