// The operator's side of reports.proto: accepts the streams of agents and passes their reports to a
// sink.
//
//   auto server = ReportServer::Start(options, authenticate, sink);
//   (*server)->SetServing(true);   // this replica leads
//   ...
//   (*server)->SetServing(false);  // it does not: ends every stream and refuses new ones
//
// A stream speaks for one node: the one that `authenticate` reads from its token; a report that
// names another ends the stream. One stream a node: a newer one ends the older. Bounds:
// `max_streams`, 64 KiB a message, and kReportBurst reports at once, then kReportsPerSecond; a
// stream that exceeds one is ended. At most one report of a stream is read at a time, and the
// receipt goes out after the sink has it.
//
// Thread safety: SetServing, port and stats from any thread; Stop from one. The sink's functions
// are called on gRPC's threads, one call at a time and with the server's lock held: they must not
// call the server. `authenticate` is called on threads of the server's own, several at once, and
// may block. Lifetimes: the clock, and what these functions refer to, outlive Stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/nic_annotations.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

inline constexpr int kReportBurst = 50;
inline constexpr int kReportsPerSecond = 10;

struct ReportServerOptions {
  std::string address;  // ":9443", every address of both families; port 0 lets the kernel choose
  TlsFiles tls;         // all three; none only on loopback
  int max_streams = 20'000;
  // After this long, give or take a tenth, a connection ends and its agent comes again with the
  // certificate that it has then.
  int max_connection_age_ms = 3'600'000;
  int keepalive_ms = 10'000;
  int keepalive_timeout_ms = 5'000;
  unsigned tls_reload_seconds = 10;
  int authenticator_threads = 4;
};

class ReportServer {
 public:
  // The node of a token. Errors go to the agent as UNAUTHENTICATED. Without it the node is taken
  // from the first report: for tests and benches.
  using Authenticate = std::function<absl::StatusOr<std::string>(const std::string& token)>;
  struct Sink {
    // A report of the node: all of its ports that are down.
    std::function<void(const std::string& node, const std::vector<api::NicPortKey>& down)> reported;
    // The node's stream has ended, after a report at least, and no newer one has replaced it.
    std::function<void(const std::string& node)> ended;
  };
  struct Stats {
    std::int64_t streams = 0;  // open, with a report
    std::int64_t reports = 0;
    std::int64_t refused = 0;  // streams that were ended for what they sent, or for their identity
  };

  // Refuses streams until SetServing(true). Errors: InvalidArgument for options that cannot work,
  // Unavailable when the address cannot be bound or a file cannot be read.
  static absl::StatusOr<std::unique_ptr<ReportServer>> Start(const ReportServerOptions& options,
                                                             const Clock& clock,
                                                             Authenticate authenticate, Sink sink);
  ~ReportServer();
  ReportServer(const ReportServer&) = delete;
  ReportServer& operator=(const ReportServer&) = delete;

  void SetServing(bool serving);
  int port() const;
  Stats stats() const;
  void Stop();

 private:
  class Impl;
  explicit ReportServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster::rpc
