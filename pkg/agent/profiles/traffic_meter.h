// Measures the iterations of the job on a host from its NICs' byte counters
// (iteration_estimator.h), for jobs that report nothing themselves.
//
//   meter.Add(steady_ms, {bytes sent by each NIC port, in total});   // about every interval_ms
//   report = meter.Measure();                                        // about every minute
//
// Readings may come at uneven times: the counters are interpolated. A counter that decreases (a
// driver was reloaded) or a gap of more than ten intervals restarts the window.
//
// Thread safety: one thread. Determinism: depends only on the calls.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/agent/profiles/iteration_estimator.h"
#include "pkg/api/profile_report.h"

namespace yardmaster::agent {

struct TrafficOptions {
  std::int64_t interval_ms = 50;
  std::int64_t window_ms = 120'000;
  // An estimate with a larger error, as a share of the iteration, is discarded.
  double max_error = 0.03;
};

class TrafficMeter {
 public:
  // `ports`: the port of each counter.
  TrafficMeter(std::vector<LocalNicPort> ports, TrafficOptions options)
      : ports_(std::move(ports)), options_(options) {}

  const std::vector<LocalNicPort>& ports() const { return ports_; }
  // One counter for each port, in their order.
  void Add(std::int64_t steady_ms, std::vector<std::uint64_t> sent_bytes);
  // Returns iteration and communication seconds, and bytes by rail, of the window. nullopt while it
  // is not full or shows no clear period. Starts a new window after a result.
  std::optional<api::ProfileReport> Measure();

 private:
  struct Reading {
    std::int64_t steady_ms = 0;
    std::vector<std::uint64_t> sent_bytes;
    double total = 0;
  };

  std::vector<double> Intervals() const;

  const std::vector<LocalNicPort> ports_;
  const TrafficOptions options_;
  std::deque<Reading> readings_;
};

// Returns the bytes that the port has sent, from class/net/<interface>/statistics/tx_bytes or, in
// units of four bytes, class/infiniband/<device>/ports/<port>/counters/port_xmit_data. nullopt if
// it cannot be read.
std::optional<std::uint64_t> ReadSentBytes(const std::string& sysfs_root, const LocalNicPort& port);

}  // namespace yardmaster::agent
