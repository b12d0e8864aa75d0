// What holds a host or a pod, since when, and why it is as it is: `why HOST`, `explain node/NAME`,
// `explain pod/NAME`. Pure. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// Label and text, in the order to print.
using Description = std::vector<std::pair<std::string, std::string>>;

// Errors: NotFound that names what is near.
absl::StatusOr<Description> DescribeHost(const state::ClusterState& cluster,
                                         const std::string& host, std::int64_t now_ms);
absl::StatusOr<Description> DescribePod(const state::ClusterState& cluster,
                                        const std::string& namespace_name, const std::string& pod,
                                        std::int64_t now_ms);

// "3 minutes ago"; "-" for 0.
std::string Ago(std::int64_t then_ms, std::int64_t now_ms);

}  // namespace yardmaster::cli
