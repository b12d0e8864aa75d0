// Asks an agent as a program on its host does. Connecting is lazy: the first call fails if no agent
// answers. TESTONLY. Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pkg/base/status.h"
#include "pkg/rpc/agent_status.h"
#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

class AgentClient {
 public:
  // `target`: "unix:/run/yardmaster/agent.sock" or "host:port". `tls`: our certificate and key and
  // the authority of the agent's; all empty for none. Errors: FailedPrecondition when a file cannot
  // be read.
  static absl::StatusOr<std::unique_ptr<AgentClient>> Create(const std::string& target,
                                                             const TlsFiles& tls = {});
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  // Errors: Unavailable without an answer, DeadlineExceeded after `timeout_ms`.
  absl::StatusOr<AgentStatus> Status(const StatusFilter& filter, std::int64_t timeout_ms) const;
  // Hands in what a pod measured. Errors: InvalidArgument and NotFound from the agent; as above.
  absl::Status Report(const IterationReport& report, std::int64_t timeout_ms) const;
  // Whether the agent says that it serves. Errors as above.
  absl::StatusOr<bool> Serving(std::int64_t timeout_ms) const;

 private:
  class Impl;
  explicit AgentClient(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::rpc
