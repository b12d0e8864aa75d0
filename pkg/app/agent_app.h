// The object graph of yardmaster-agent around agent::Agent: a client, events, probes and metrics.
//
//   informers   -> plan loop     pods of the node and the Fabric
//   plan loop   -> plan files    one thread; events about plans that are not in force
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
  // A user that the folders on the host are made for; the process ends then.
  std::optional<std::uint32_t> prepare_folders_for;
};

// Runs until SIGTERM or SIGINT, or only prepares the folders. Errors: what could not be started,
// naming the flag.
absl::Status RunAgent(const AgentAppOptions& options);

// Parses flags and runs; the exit code of the process.
int AgentMain(int argc, char** argv);

}  // namespace yardmaster::app
