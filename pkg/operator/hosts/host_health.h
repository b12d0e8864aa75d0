// Decides which hosts are lost or faulty, and limits how many of them the operator acts on.
//
// A host is lost once its Node has been NotReady, or gone, without a pause for the grace period of
// the caller. A Node that cannot be decoded is unknown and never lost. The source of these reports
// may itself be faulty, so the number of hosts is limited:
//   1. Full disruption: while at least `disruption_hosts` Nodes and more than `disruption_share` of
//      all Nodes are not Ready, or all of several are, no host is treated as lost.
//   2. At one time at most max(segment_hosts, segment_share) hosts of a segment and
//      max(fabric_hosts, fabric_share) of all hosts are lost; and max(per_minute, per_minute_share
//      of all) become lost in a minute. A host no longer counts once its Node is Ready again.
//   3. A segment that is lost as a whole (segment_loss.h) is one fault. At most `loss.segments` are
//      acted on at a time, and none during full disruption, for which the hosts of the segment
//      itself do not count. Its hosts then count in no other limit. All of them, including Ready
//      ones, are lost from when the Fabric's status names the segment, because the extender reads
//      it there. Until then none of its bad hosts is lost alone. Without a Fabric no segment is
//      lost. The same holds for domains, with `loss.domains` and `loss.domain_share`; if the whole
//      segment of a domain looks lost, only the segment counts.
//   4. Pods can name any host. A host without a Node since this process started counts in none of
//      these limits; together such hosts have the limits of one segment and of all hosts.
//
// A faulty host is Ready and has a fault (node_faults.h) that has lasted for the fault's own time.
// With action Drain or Replace it is treated as lost although its kubelet answers, within the same
// limits. For full disruption it counts as not Ready.
//
// A host may slow a job down (held_back.h). For that job alone it is like a faulty host, after the
// grace of held_back.h, if the job is to leave it. Hosts that jobs left for this reason count in
// limit 2 until they slow no job down.
//
// A rented host that is gone does not count, because it was given back. Any other host that is gone
// counts as not Ready for an hour.
//
// Times are measured by the caller's steady clock. Restart resets them: a new leader counts only
// the time that it observed itself.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/operator/hosts/held_back.h"
#include "pkg/operator/hosts/host_verdict.h"
#include "pkg/operator/hosts/node_faults.h"
#include "pkg/operator/hosts/segment_loss.h"

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
  SegmentLossLimits loss = {};
  BandwidthLossLimits bandwidth = {};
  SlowHostLimits slow = {};
};

class HostHealth {
 public:
  enum class Report { kReady, kNotReady, kUnknown, kGone };

  explicit HostHealth(HostLossLimits limits = {}) : limits_(limits) {}

  // Records the state of a Node as the watch has it; call for every change of every Node. True if
  // the report differs from the last one. An empty `segment` keeps the known segment and domain;
  // otherwise an empty `domain` means that the host has none. With kGone `rented` is ignored.
  bool Observe(const std::string& host, const std::string& segment, Report report,
               std::int64_t now_ms, bool rented = false, const std::string& domain = "");
  // Records the faults of a Node as the watch has it. True if they differ from the last ones.
  bool ObserveFaults(const std::string& host, const std::vector<NodeFault>& faults,
                     std::int64_t now_ms);
  // Resets all times and all counts of the limits.
  void Restart(std::int64_t now_ms);
  // Assesses one host. A host that was never observed is treated as gone since the first call for
  // it.
  HostVerdict Assess(const std::string& host, std::int64_t grace_ms, std::int64_t now_ms);
  // Records the jobs that a host slows down. Returns those for which something changed.
  std::vector<std::string> ObserveHeldBack(HeldBackByJob jobs, std::int64_t now_ms);
  // Assesses `host` for a job (a key of HeldBackByJob) that it slows down; Assess does not cover
  // this. `why_stays` is called at most once and must not call this object.
  HostVerdict AssessHeldBack(const std::string& job, const std::string& host,
                             const WhyStays& why_stays, std::int64_t now_ms);
  const BandwidthLossLimits& bandwidth_limits() const { return limits_.bandwidth; }
  const SlowHostLimits& slow_limits() const { return limits_.slow; }
  // Return the segments, or domains, that are not up, by name. One that has looked lost for long
  // enough is lost from then on.
  std::vector<SegmentVerdict> AssessSegments(std::int64_t now_ms);
  std::vector<SegmentVerdict> AssessDomains(std::int64_t now_ms);
  // Records what the Fabric's status reports as lost. The hosts of a lost segment or domain that it
  // does not name are not lost.
  void SetLostInStatus(const std::set<std::string>& segments, const std::set<std::string>& domains);
  void SetFabricExists(bool exists);
  // Returns the hosts of lost segments and domains, by name.
  std::vector<std::string> HostsOfLostPlaces();

 private:
  struct Host;
  // A segment or a domain.
  struct Place {
    std::string name;
    bool is_domain = false;
    std::set<const Host*> hosts;
    int bad = 0;  // hosts that are not Ready, gone or faulty
    bool lost = false;
    bool lost_in_status = false;  // the Fabric's status says so
    std::int64_t since_ms = 0;    // lost
  };
  struct HeldBackSince {
    HeldBack found;
    std::int64_t since_ms = 0;
  };
  struct Fault {
    FaultAction action = FaultAction::kIgnore;
    std::int64_t after_ms = 0;
    std::int64_t since_ms = 0;
  };
  struct Host {
    Place* segment = nullptr;
    Place* domain = nullptr;
    Report report = Report::kReady;
    bool rented = false;
    bool had_node = false;
    std::int64_t since_ms = 0;  // not Ready or gone since then
    bool lost = false;          // counted by the limits
    std::map<std::string, Fault> faults;
    bool drained = false;  // for a fault; counted by the limits
  };

  static bool IsBad(const Host& host) {
    return host.report == Report::kNotReady || host.report == Report::kGone;
  }
  static bool IsFaulty(const Host& host);
  static bool IsSick(const Host& host) { return IsBad(host) || IsFaulty(host); }
  static bool InLostPlace(const Host& host) {
    return (host.segment != nullptr && host.segment->lost) ||
           (host.domain != nullptr && host.domain->lost);
  }
  // False if the host is rented and was given back, or has been gone for long.
  static bool Counts(const Host& host, std::int64_t now_ms);
  static std::string ReclaimOf(const Host& host);
  // Returns the gravest fault that has lasted long enough, and when to ask again for the others.
  static HostVerdict FaultOf(const Host& host, std::int64_t now_ms);
  // When the host went bad; for a fault, shifted so that the segment's grace ends no earlier than
  // the fault's own time.
  std::int64_t OnsetMs(const Host& host) const;
  static void Leave(Place*& place, const Host& host);
  static void Enter(std::map<std::string, Place>& places, const std::string& name, bool is_domain,
                    Place* Host::*place, Host& host);
  // Drops hosts that have been gone for long, except `kept`.
  void ForgetGone(const Host& kept, std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void CountSick(const Host& host, bool was_sick);
  HostVerdict AssessHost(Host& host, std::int64_t grace_ms, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  HostVerdict AssessFaults(Host& host, std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullopt: the segment or domain has no part in the state of the host.
  std::optional<HostVerdict> AssessWith(Place& place, const Host& host, std::int64_t grace_ms,
                                        std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `lose`: a place that has looked lost for long enough becomes lost; else it is reported as
  // suspected.
  SegmentVerdict AssessPlace(Place& place, bool lose, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if the segment of its hosts is not up.
  bool SegmentIsDown(const Place& domain, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Return the limit that is reached; empty: the host, segment or domain may be lost, too.
  std::string LimitReached(const Host& assessed, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PlaceLimitReached(const Place& place, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HostLossLimits limits_;
  Mutex mutex_;
  bool fabric_exists_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::string, Place> segments_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Place> domains_ ABSL_GUARDED_BY(mutex_);  // without those that have no host
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, HeldBackSince> held_back_ ABSL_GUARDED_BY(mutex_);  // by job
  std::set<std::string> left_
      ABSL_GUARDED_BY(mutex_);  // hosts that jobs left because they were slowed down
  std::deque<std::int64_t> granted_ms_ ABSL_GUARDED_BY(mutex_);  // hosts lost in the last minute
};

}  // namespace yardmaster::op
