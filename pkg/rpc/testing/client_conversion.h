// Converts between values and messages on the client's side (the counterpart of
// pkg/rpc/conversion.h). For tests only.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/rpc/agent.pb.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::rpc {

// A state that this version does not know becomes kSyncing.
AgentStatus FromProto(const agent::v1::StatusResponse& response);

agent::v1::IterationReport ToProto(const IterationReport& report);

}  // namespace yardmaster::rpc
