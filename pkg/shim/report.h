// Report records for the agent what a shim did: it appends one line of JSON per event to a file of
// this process in the folder YARDMASTER_SHIM_STATUS. pkg/agent/plans/shim_report.h reads it.
//
//   {"event":"connected","pid":7,"device":"mlx5_0","port":1,"qp":291,"peer":"10.0.0.9",
//    "ordinal":0,"planned":49321,"actual":49321,"class":192,"plane":0,"how":"label","why":""}
//
//   - A line is one write(2) to a file opened with O_APPEND, so lines of threads and forked
//     children are not mixed.
//   - The first line that would exceed kMaxBytes is replaced by {"event":"full"}; later lines are
//     dropped. A forked child inherits its parent's count and then counts alone, so the file may
//     become larger.
//   - Errors are not reported: without a folder, or on a full disk, lines are dropped.
//
// Thread safety: Write from any thread, after Open.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pkg/shim/plan.h"

namespace yardmaster::shim {

struct ReportEvent {
  const char* event = "";
  const char* device = "";
  int device_port = 0;
  std::uint32_t queue_pair = 0;
  Address peer;
  int ordinal = -1;
  int planned = 0;         // UDP or TCP source port; 0: none
  int actual = 0;          // 0: unknown
  int traffic_class = -1;  // of the connection
  int plane = -1;
  const char* how = "";  // label, udp-sport, bind
  const char* why = "";  // reason for what was not done
};

class Report {
 public:
  static constexpr std::size_t kMaxBytes = 1024 * 1024;

  constexpr Report() = default;
  // `folder`: an absolute path; otherwise nothing is written. `name`: the first part of the file's
  // name.
  void Open(const char* folder, const char* name);
  void Write(const ReportEvent& event);

 private:
  int fd_ = -1;
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace yardmaster::shim
