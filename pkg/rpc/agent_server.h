// AgentServer is the gRPC server of an agent: it serves Status, ReportIterations and grpc.health.v1
// on unix sockets and, if configured, on TCP with mutual TLS.
//
//   auto server = AgentServer::Start(options, [&] { return applier.Status(); });
//   (*server)->SetServing(true);   // once the caches are filled
//   ...
//   (*server)->SetServing(false);  // on SIGTERM
//   (*server)->Stop(2'000);
//
//   - A unix socket has mode 0660. An existing socket file of the same name is replaced.
//   - TCP without TLS is allowed on loopback only, because the status names pods of all tenants.
//   - Without a report sink, reports are answered with UNIMPLEMENTED.
//
// Thread safety: SetServing and port from any thread; Stop from one. gRPC calls status source and
// report sink on several threads at once. Lifetimes: status source and report sink outlive Stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/rpc/agent_status.h"
#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

struct AgentServerOptions {
  // "unix:/run/yardmaster/agent.sock", "127.0.0.1:8082", "[::]:8082"; with port 0 the kernel
  // chooses one. At least one address.
  std::vector<std::string> addresses;
  TlsFiles tls;  // for TCP; all three files or none
};

class AgentServer {
 public:
  using StatusSource = std::function<AgentStatus()>;
  // Receives a report. Errors are returned to the caller: InvalidArgument, NotFound,
  // ResourceExhausted.
  using ReportSink = std::function<absl::Status(const IterationReport&)>;

  // Starts listening. The health service reports NOT_SERVING until SetServing(true). Errors:
  // InvalidArgument for invalid options, Unavailable if an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<AgentServer>> Start(const AgentServerOptions& options,
                                                            StatusSource source,
                                                            ReportSink sink = {});
  ~AgentServer();  // calls Stop(0)
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  // Has no effect after Stop.
  void SetServing(bool serving);
  // Returns the port of the i-th address of the options; 0 for a unix socket.
  int port(std::size_t i) const;
  // Rejects new calls, waits `timeout_ms` for running ones, then cancels them.
  void Stop(std::int64_t timeout_ms);

 private:
  class Impl;
  explicit AgentServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::rpc
