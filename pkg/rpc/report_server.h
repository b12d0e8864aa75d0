// ReportServer is the operator's side of reports.proto: it accepts streams of agents and passes
// their reports to a sink.
//
//   auto server = ReportServer::Start(options, authenticate, sink);
//   (*server)->SetServing(true);   // this replica leads
//   ...
//   (*server)->SetServing(false);  // it does not: ends every stream and rejects new ones
//
//   - A stream is for one node: the one that `authenticate` reads from its token. A report that
//     names another node ends the stream.
//   - A node has one stream: a newer one ends the older.
//   - Limits: `max_streams`; 64 KiB per message; a burst of kReportBurst reports, then
//     kReportsPerSecond. A stream that exceeds a limit is ended.
//   - At most one report of a stream is read at a time. The receipt is sent after the sink has
//     processed the report.
//
// Thread safety: SetServing, port and stats from any thread; Stop from one. The sink is called on
// gRPC's threads, one call at a time and with the server's lock held: it must not call the server.
// `authenticate` is called on the server's own threads, several at once, and may block. Lifetimes:
// the clock, and what these functions refer to, outlive Stop.
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
  std::string address;  // ":9443": all addresses of IPv4 and IPv6; port 0: the kernel chooses
  TlsFiles tls;         // all three files; none on loopback only
  int max_streams = 20'000;
  // The server closes a connection after this time, plus or minus a tenth. Its agent then connects
  // again, with its present certificate.
  int max_connection_age_ms = 3'600'000;
  int keepalive_ms = 10'000;
  int keepalive_timeout_ms = 5'000;
  unsigned tls_reload_seconds = 10;
  int authenticator_threads = 4;
};

class ReportServer {
 public:
  // Returns the node of a token. Errors are sent to the agent as UNAUTHENTICATED. If empty, the
  // node is taken from the first report: for tests and benchmarks.
  using Authenticate = std::function<absl::StatusOr<std::string>(const std::string& token)>;
  struct Sink {
    // A report of the node: all its ports that are down.
    std::function<void(const std::string& node, const std::vector<api::NicPortKey>& down)> reported;
    // The node's stream has ended after at least one report, and no newer one has replaced it.
    std::function<void(const std::string& node)> ended;
  };
  struct Stats {
    std::int64_t streams = 0;  // open streams with a report
    std::int64_t reports = 0;
    std::int64_t refused = 0;  // streams ended because of their reports or identity
  };

  // Starts the server, which rejects streams until SetServing(true). Errors: InvalidArgument for
  // invalid options, Unavailable if the address cannot be bound or a file cannot be read.
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
