// AgentClient calls an agent as a program on its host does. It connects on the first call, which
// fails if no agent answers. For tests only.
//
// Thread safety: all methods from any thread.
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
  // `target`: "unix:/run/yardmaster/agent.sock" or "host:port". `tls`: certificate and key of the
  // client, and the authority of the agent's certificate; all empty: no TLS. Errors:
  // FailedPrecondition if a file cannot be read.
  static absl::StatusOr<std::unique_ptr<AgentClient>> Create(const std::string& target,
                                                             const TlsFiles& tls = {});
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  // Errors: Unavailable without an answer, DeadlineExceeded after `timeout_ms`.
  absl::StatusOr<AgentStatus> Status(const StatusFilter& filter, std::int64_t timeout_ms) const;
  // Sends the measurements of a pod. Errors: InvalidArgument and NotFound of the agent; those of
  // Status.
  absl::Status Report(const IterationReport& report, std::int64_t timeout_ms) const;
  // Whether the agent reports SERVING. Errors: those of Status.
  absl::StatusOr<bool> Serving(std::int64_t timeout_ms) const;

 private:
  class Impl;
  explicit AgentClient(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::rpc
