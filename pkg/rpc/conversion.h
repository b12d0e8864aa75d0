// Converts the values of this folder to the messages that are sent, and messages of agent.proto and
// reports.proto that come in to values. Only the sources of this folder include it, so that no
// other folder includes generated headers.
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

// The ports that are down, in order, each once. Errors: InvalidArgument for a rail or port outside
// 0 to 255.
absl::StatusOr<std::vector<api::NicPortKey>> FromProto(const reports::v1::NodeReport& report);

// The part of `status` that the filter lets through, in the order agent.proto promises.
AgentStatus Filtered(AgentStatus status, const StatusFilter& filter);

}  // namespace yardmaster::rpc
