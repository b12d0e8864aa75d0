// Which hosts are lost, and how many of them may be acted on.
//
// A host is lost once its Node has been NotReady, or gone, for a grace period without a pause. A
// Node that cannot be decoded is unknown and never lost. Because what reports hosts as lost may
// itself be broken, destruction is bounded:
//   1. Full disruption: while at least `disruption_hosts` Nodes and more than `disruption_share` of
//      all are not Ready, or all of several are, no host counts as lost.
//   2. At most max(segment_hosts, segment_share) hosts of a segment, max(fabric_hosts,
//      fabric_share) of all, and max(per_minute, per_minute_share of all) a minute are lost at one
//      time. A host is released from these counts when its Node is Ready again.
//
// Times are measured by the caller's steady clock. They begin anew with Restart: a process that
// begins to lead trusts no time it did not observe itself.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "pkg/base/mutex.h"

namespace yardmaster::op {

struct HostLossLimits {
  double disruption_share = 0.2;
  int disruption_hosts = 3;
  double segment_share = 0.25;
  int segment_hosts = 2;
  double fabric_share = 0.1;
  int fabric_hosts = 3;
  double per_minute_share = 0.01;
  int per_minute = 4;
};

enum class HostState {
  kHealthy,   // or unknown
  kNotReady,  // not long enough
  kHeld,      // long enough, but a limit forbids acting on it
  kLost
};

struct HostVerdict {
  HostState state = HostState::kHealthy;
  std::int64_t again_ms = 0;  // kNotReady, kHeld: ask again after this time
  std::string reason;         // kHeld
};

class HostHealth {
 public:
  enum class Report { kReady, kNotReady, kUnknown, kGone };

  explicit HostHealth(HostLossLimits limits = {}) : limits_(limits) {}

  // The state of a Node as the watch has it; call for every change of every Node. True when the
  // report differs from the one before.
  bool Observe(const std::string& host, const std::string& segment, Report report,
               std::int64_t now_ms);
  // All times and all counts of what may be acted on begin anew.
  void Restart(std::int64_t now_ms);
  // A host that was never observed counts as gone since the first question.
  HostVerdict Judge(const std::string& host, std::int64_t grace_ms, std::int64_t now_ms);

 private:
  struct Host {
    std::string segment;
    Report report = Report::kReady;
    std::int64_t since_ms = 0;  // not Ready or gone
    bool lost = false;          // counted by the limits
  };

  static bool IsBad(const Host& host) {
    return host.report == Report::kNotReady || host.report == Report::kGone;
  }
  // Empty: one more host may be lost.
  std::string LimitReached(const std::string& segment, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HostLossLimits limits_;
  Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::int64_t> granted_ms_ ABSL_GUARDED_BY(mutex_);  // of the last minute
};

}  // namespace yardmaster::op
