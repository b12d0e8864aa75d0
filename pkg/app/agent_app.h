// Builds and runs yardmaster-agent: agent::Agent with a client, events, probes and metrics.
//
//   informers   -> plan loop     pods of the node and the Fabric
//   plan loop   -> plan files    one thread; events about plans that are not applied
//   link thread -> API server    the Node's down-ports annotation
//
// Thread safety: one thread calls Run.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

#include "pkg/agent/agent.h"
#include "pkg/app/runtime.h"

namespace yardmaster::app {

struct AgentAppOptions {
  CommonOptions common;
  agent::AgentOptions agent;
  // If set, the process creates the folders on the host for this user id and exits.
  std::optional<std::uint32_t> prepare_folders_for;
};

// Runs until SIGTERM or SIGINT, or only creates the folders. Errors: what could not be started,
// with the flag.
absl::Status RunAgent(const AgentAppOptions& options);

// Parses flags and runs. Returns the exit code of the process.
int AgentMain(int argc, char** argv);

}  // namespace yardmaster::app
