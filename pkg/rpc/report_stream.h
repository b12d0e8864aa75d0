// An agent's stream of reports to the operator (reports.proto): it connects, stays connected, and
// sends the newest state of the node.
//
//   ReportStream stream(options, clock);
//   stream.Report({{0, 1}});       // from now on: port 1 of rail 0 is down
//   stream.Step();               // connects when it is time; call it every few hundred ms
//
// Latest wins: a report goes out after the receipt of the one before; what changed meanwhile is one
// report. After a break the newest state is sent again. Every try reads the certificates and the
// token again and opens a connection of its own, so a Service spreads tries over replicas, and
// files that were replaced count from the next try on. Tries are apart by `first_retry_ms`, doubled
// up to `max_retry_ms`; each wait is drawn at random between half of that and all of it.
//
// Thread safety: all methods from any thread. Lifetimes: the clock outlives it; Stop and the
// destructor wait until the last try has ended.
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
  std::uint64_t seed = 0;  // of the jitter; give nodes different ones
  std::int64_t first_retry_ms = 250;
  std::int64_t max_retry_ms = 30'000;
  // A connection without traffic for `keepalive_ms` is pinged; it ends when the answer takes longer
  // than `keepalive_timeout_ms`.
  int keepalive_ms = 10'000;
  int keepalive_timeout_ms = 5'000;
};

class ReportStream {
 public:
  struct Stats {
    bool connected = false;  // the operator has confirmed a report on the present stream
    std::int64_t confirmed = 0;
    std::int64_t broken = 0;  // tries and streams that ended
    std::string last_error;   // of the last that ended
  };

  ReportStream(ReportStreamOptions options, const Clock& clock);
  ~ReportStream();
  ReportStream(const ReportStream&) = delete;
  ReportStream& operator=(const ReportStream&) = delete;

  void Report(std::vector<api::NicPortKey> down_ports);
  // Does nothing before the first Report.
  void Step();
  Stats stats() const;
  // Ends the stream; Step does nothing from then on.
  void Stop();

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace yardmaster::rpc
