// The client's half of pkg/rpc/conversion.h: what a program on a host reads and writes. TESTONLY.
// Thread safety: pure functions.
#pragma once

#include "pkg/rpc/agent.pb.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::rpc {

// A state this version does not know reads as kSyncing: it is on the way to something.
AgentStatus FromProto(const agent::v1::StatusResponse& response);

agent::v1::IterationReport ToProto(const IterationReport& report);

}  // namespace yardmaster::rpc
