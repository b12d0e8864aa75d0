// ReportStream is an agent's stream of reports to the operator (reports.proto): it connects, stays
// connected, and sends the newest state of the node.
//
//   ReportStream stream(options, clock);
//   stream.Report({{0, 1}});     // from now on: port 1 of rail 0 is down
//   stream.Step();               // connects when it is time; call it every few hundred ms
//
//   - The newest state wins: a report is sent after the receipt of the previous one, with all
//     changes since then. After a disconnection the newest state is sent again.
//   - Every attempt reads the certificates and the token again and opens a new connection. So a
//     Service distributes attempts over replicas, and replaced files are used from the next attempt
//     on.
//   - The wait between attempts starts at `first_retry_ms` and doubles up to `max_retry_ms`. Each
//     wait is random, between half and all of it.
//
// Thread safety: all methods from any thread. Lifetimes: the clock outlives the stream; Stop and
// the destructor wait until the last attempt has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/nic_annotations.h"
#include "pkg/base/clock.h"
#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

struct ReportStreamOptions {
  std::string target;  // "yardmaster-operator.yardmaster-system.svc:9443"
  TlsFiles tls;
  std::string token_file;  // empty: no token
  std::string node;
  std::uint64_t seed = 0;  // for the jitter; should differ between nodes
  std::int64_t first_retry_ms = 250;
  std::int64_t max_retry_ms = 30'000;
  // A connection without traffic for `keepalive_ms` is pinged. It is closed if the answer takes
  // longer than `keepalive_timeout_ms`.
  int keepalive_ms = 10'000;
  int keepalive_timeout_ms = 5'000;
};

class ReportStream {
 public:
  struct Stats {
    bool connected = false;  // the operator confirmed a report on the present stream
    std::int64_t confirmed = 0;
    std::int64_t broken = 0;  // attempts and streams that ended
    std::string last_error;   // of the last one that ended
  };

  ReportStream(ReportStreamOptions options, const Clock& clock);
  ~ReportStream();
  ReportStream(const ReportStream&) = delete;
  ReportStream& operator=(const ReportStream&) = delete;

  void Report(std::vector<api::NicPortKey> down_ports);
  // Has no effect before the first Report.
  void Step();
  Stats stats() const;
  // Ends the stream. Step has no effect afterwards.
  void Stop();

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace yardmaster::rpc
