// Which NIC ports lose packets while their links are up, by what their own receive side counts.
//
// A dirty optic or a bad cable damages frames. The receiver of the frame discards and counts it; a
// RoCE sender then goes back to the lost packet, and a collective waits for it. Of the counters
//
//   damaged on arrival   class/net/<if>/statistics/{rx_crc_errors,rx_frame_errors} (802.3
//                        aFrameCheckSequenceErrors, aAlignmentErrors), of InfiniBand
//                        counters/port_rcv_errors instead: frames that were bad when they came
//                        to this port, by the optics, the cable or the switch's sender. Judged
//                        here.
//   the other direction  is counted by the switch's port, which no agent reads.
//   some path loses      hw_counters/{out_of_sequence,packet_seq_err,implied_nak_seq_err,
//                        local_ack_timeout_err,roce_slow_restart}: packets that others did not get
//                        or that came late, anywhere between two NICs; NICs and switches that
//                        spread packets reorder them as well. Exported, not judged.
//   no buffer            rx_missed_errors, rnr_nak_retry_err, out_of_buffer: the host is slow.
//   repaired             symbol_error, link_error_recovery: errors of lanes, not packets.
//
// (Linux: include/uapi/linux/if_link.h, Documentation/ABI/stable/sysfs-class-infiniband; NVIDIA:
// "Understanding mlx5 Linux Counters and Status Parameters".)
//
// Method: the share of damaged frames in intervals of some seconds. In production this share is
// stable over time and independent of the load (Zhuo et al., SIGCOMM'17), whereas congestion,
// training of a link and a touched cable pass. A port loses packets when kBadIntervals of its last
// kIntervals with traffic, within kWindowMs, have at least `share`. It is clean again when none has
// had a tenth of that for `clean_ms`; since a port that is avoided has hardly any traffic to show
// it, that time doubles when the port is soon found again, up to `max_clean_ms`.
//
// An interval counts only when the same counters were read at both ends, none went backwards (a
// driver was loaded again, a counter of 32 bits began anew), and it is not much longer than
// intended. Others neither accuse a port nor clear it. Another device in its place begins anew.
//
// Thread safety: none; one thread owns it. Determinism: depends on the calls alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/ports/port_counters.h"
#include "pkg/api/nic_annotations.h"

namespace yardmaster::agent {

struct LossLimits {
  // Of the frames that arrive, damaged. 400 Gb/s carry 12 million packets of 4 KiB a second. 0: no
  // port is found.
  double share = 1e-4;
  std::int64_t interval_ms = 5'000;
  std::int64_t clean_ms = 120'000;
  std::int64_t max_clean_ms = 7'200'000;
};

class LossFinder {
 public:
  static constexpr std::size_t kIntervals = 6;
  static constexpr int kBadIntervals = 4;
  static constexpr std::int64_t kWindowMs = 300'000;
  // Fewer damaged frames of an interval are chance, and fewer frames show nothing.
  static constexpr double kMinDamaged = 10;
  static constexpr double kMinFrames = 200;

  struct Sample {
    api::NicPortKey key;
    std::string device;
    PortFrames frames;
  };

  explicit LossFinder(LossLimits limits) : limits_(limits) {}

  // The ports of these that lose packets, ascending, each with the share at which it was found.
  // REQUIRES: times do not go back.
  std::vector<api::LossyPort> Observe(std::int64_t steady_ms, const std::vector<Sample>& samples);

  // Ports that an earlier process has found.
  void Adopt(const std::vector<api::LossyPort>& ports);

 private:
  struct Reading {
    std::int64_t steady_ms = 0;
    PortFrames frames;
  };
  struct Interval {
    std::int64_t end_ms = 0;
    double damaged = 0;
    double frames = 0;  // damaged ones included
    bool bad = false;
  };
  struct Port {
    std::string device;  // empty: not seen yet
    std::optional<Reading> last;
    std::deque<Interval> intervals;  // with traffic, while it is not lossy
    int per_million = 0;             // 0: it is not lossy
    std::int64_t clean_for_ms = 0;   // while it is
    std::int64_t needed_ms = 0;      // that clean_for_ms has to reach
    std::int64_t cleared_ms = -1;    // when it last did
  };

  void Judge(std::int64_t steady_ms, const PortFrames& frames, Port& port) const;
  void Find(const Interval& interval, Port& port) const;

  const LossLimits limits_;
  std::map<api::NicPortKey, Port> ports_;
};

}  // namespace yardmaster::agent
