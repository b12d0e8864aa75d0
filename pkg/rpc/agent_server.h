// The gRPC side of an agent: its Status and ReportIterations calls and grpc.health.v1, on unix
// sockets and, on request, on TCP with mutual TLS.
//
//   auto server = AgentServer::Start(options, [&] { return applier.Status(); });
//   (*server)->SetServing(true);   // once the caches are filled
//   ...
//   (*server)->SetServing(false);  // on SIGTERM
//   (*server)->Stop(2'000);
//
// A unix socket is made for its owner and group (mode 0660); an old socket file of the same name is
// replaced. TCP without TLS is refused except on loopback: the status names pods of every tenant.
//
// Thread safety: SetServing and port from any thread; Stop from one. Status source and report
// sink are called on several of gRPC's threads concurrently, and must outlive Stop. Without a sink
// reports are answered with UNIMPLEMENTED.
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
  // "unix:/run/yardmaster/agent.sock", "127.0.0.1:8082", "[::]:8082"; port 0 lets the kernel
  // choose. At least one.
  std::vector<std::string> addresses;
  TlsFiles tls;  // for TCP; all three or none
};

class AgentServer {
 public:
  using StatusSource = std::function<AgentStatus()>;
  // Takes a report. Errors go back to the caller: InvalidArgument, NotFound, ResourceExhausted.
  using ReportSink = std::function<absl::Status(const IterationReport&)>;

  // Listens when it returns; the health service says NOT_SERVING until SetServing(true). Errors:
  // InvalidArgument for options that cannot work, Unavailable when an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<AgentServer>> Start(const AgentServerOptions& options,
                                                            StatusSource source,
                                                            ReportSink sink = {});
  ~AgentServer();  // as Stop(0)
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  // Does nothing after Stop.
  void SetServing(bool serving);
  // Of the i-th address, in the order given; 0 for a unix socket.
  int port(std::size_t i) const;
  // Takes no new call, lets running ones end for `timeout_ms`, then cuts them.
  void Stop(std::int64_t timeout_ms);

 private:
  class Impl;
  explicit AgentServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::rpc
