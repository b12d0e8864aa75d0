// AgentStatus and agent.proto, into each other. Only the sources of this folder include it, so that
// generated headers are included by this folder alone. Thread safety: pure functions.
#pragma once

#include "pkg/rpc/agent.pb.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::rpc {

agent::v1::StatusResponse ToProto(const AgentStatus& status);
// A state this version does not know reads as kSyncing: it is on the way to something.
AgentStatus FromProto(const agent::v1::StatusResponse& response);

agent::v1::IterationReport ToProto(const IterationReport& report);
IterationReport FromProto(const agent::v1::IterationReport& report);

// The part of `status` that the filter lets through, in the order agent.proto promises.
AgentStatus Filtered(AgentStatus status, const StatusFilter& filter);

}  // namespace yardmaster::rpc
