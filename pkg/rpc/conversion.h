// Converts values of this folder to messages, and messages of agent.proto and reports.proto to
// values. Only sources of this folder include this header, so that no other folder includes
// generated headers.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/nic_annotations.h"
#include "pkg/rpc/agent.pb.h"
#include "pkg/rpc/agent_status.h"
#include "pkg/rpc/reports.pb.h"

namespace yardmaster::rpc {

agent::v1::StatusResponse ToProto(const AgentStatus& status);

IterationReport FromProto(const agent::v1::IterationReport& report);

// Returns the ports that are down, ascending, without duplicates. Errors: InvalidArgument for a
// rail or port outside 0 to 255.
absl::StatusOr<std::vector<api::NicPortKey>> FromProto(const reports::v1::NodeReport& report);

// Returns the part of `status` that the filter selects, in the order that agent.proto defines.
AgentStatus Filtered(AgentStatus status, const StatusFilter& filter);

}  // namespace yardmaster::rpc
