// An HTTP/1.1 server that may face a network: a limit and a deadline on everything, TLS with
// client certificates, certificates replaced while it runs, and an orderly end.
//
//   http::Server server(options, handler);
//   status = server.SetTls(settings);   // leave out for plain HTTP (probes, metrics)
//   status = server.Start();
//   ...
//   status = server.Drain(20'000);      // on SIGTERM, after readiness has been taken back
//   server.Stop();
//
// Thread safety: SetTls, port and stats from any thread; Start, Drain and Stop from one thread,
// which must not be a handler's. Handlers run on several threads at once.
// Lifetime: what the handler refers to must outlive Stop.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"

#include "pkg/http/message.h"
#include "pkg/http/options.h"
#include "pkg/http/stats.h"

namespace yardmaster::http {

class Server {
 public:
  Server(ServerOptions options, Handler handler);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // as Stop

  // Before Start: the server speaks TLS. After it: connections accepted from now on use the new
  // settings, open ones keep theirs. Settings that cannot serve are refused with the reason, and
  // the last good ones stay. FailedPrecondition on a server that was started without TLS.
  absl::Status SetTls(const TlsSettings& settings);

  // Binds and serves. InvalidArgument for impossible options, Unavailable when the address is
  // taken, FailedPrecondition when called twice.
  absl::Status Start();
  // The port in use, once started.
  int port() const;

  // Takes no connection that comes later, answers the next request of each open one with
  // "Connection: close", closes those that stay idle for Deadlines::drain_idle_ms, and waits up to
  // `timeout_ms` for that. DeadlineExceeded says how many connections are left; Stop cuts them. OK
  // before Start and after Stop.
  absl::Status Drain(std::int64_t timeout_ms);
  // Cuts every connection, waits for running handlers, and ends all threads. May be called again.
  void Stop();

  ServerStats stats() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::http
