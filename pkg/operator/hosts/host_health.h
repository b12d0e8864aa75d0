// Which hosts are lost or faulty, and how many of them may be acted on.
//
// A host is lost once its Node has been NotReady, or gone, for a grace period without a pause, to
// each caller after the caller's own. A Node that cannot be decoded is unknown and never lost.
// Because the source of these reports may itself be faulty, the number of hosts that are acted on
// is bounded:
//   1. Full disruption: while at least `disruption_hosts` Nodes and more than `disruption_share` of
//      all are not Ready, or all of several are, no host is treated as lost.
//   2. At most max(segment_hosts, segment_share) hosts of a segment, max(fabric_hosts,
//      fabric_share) of all, and max(per_minute, per_minute_share of all) a minute are lost at one
//      time. A host is released from these counts when its Node is Ready again.
//   3. A segment that is lost as a whole (segment_loss.h) is one fault. At most `loss.segments` are
//      acted on at a time, and none during full disruption, for which the hosts of the segment
//      itself do not count. Its hosts are then in none of the other counts. They are lost together,
//      those that are Ready, too, from when the Fabric's status names the segment, because the
//      extender reads it there. Until then none of its bad hosts is lost alone.
//      Without a Fabric no segment is lost. All of this holds for a domain that is lost as a whole,
//      too, with `loss.domains` and `loss.domain_share` as limits; where its whole segment looks
//      lost, that alone counts.
//   4. Pods can name any host. Hosts that never had a Node since this process began are in none of
//      these counts; of them, as many are lost at one time as of one segment and of all.
//
// A faulty host is Ready and has a fault (node_faults.h) that has held for the fault's own time.
// With action Drain or Replace it is treated as lost, though its kubelet answers, and the limits
// are the same; for full disruption, hosts with such a fault are treated as not Ready.
//
// A host may hold a job back (held_back.h). To that job alone it is then as one with a fault, after
// the grace of such losses, if the job is to leave it. Hosts that are left so are in the counts of
// 2 until they hold no job back.
//
// Rented hosts come and go by intention: one that is gone is not counted at all. Another host that
// is gone is counted as a host that is not Ready for an hour.
//
// Times are measured by the caller's steady clock. They begin again with Restart: a process that
// begins to lead counts only the time that it observed itself.
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

  // The state of a Node as the watch has it; call for every change of every Node. True when the
  // report differs from the one before. An empty `segment` keeps the known one, and the domain;
  // else an empty `domain` says that it has none. With kGone `rented` is ignored.
  bool Observe(const std::string& host, const std::string& segment, Report report,
               std::int64_t now_ms, bool rented = false, const std::string& domain = "");
  // The faults of a Node as the watch has it. True when they differ from those before.
  bool ObserveFaults(const std::string& host, const std::vector<NodeFault>& faults,
                     std::int64_t now_ms);
  // All times and all counts of what may be acted on begin again.
  void Restart(std::int64_t now_ms);
  // A host that was never observed is treated as gone since the first question.
  HostVerdict Assess(const std::string& host, std::int64_t grace_ms, std::int64_t now_ms);
  // The jobs that one host holds back each. The value: those of which something is new.
  std::vector<std::string> ObserveHeldBack(HeldBackByJob jobs, std::int64_t now_ms);
  // What follows for the job (a key of HeldBackByJob) on this host, apart from what Assess says.
  // `why_stays` is called at most once, and calls nothing here.
  HostVerdict AssessHeldBack(const std::string& job, const std::string& host,
                             const WhyStays& why_stays, std::int64_t now_ms);
  const BandwidthLossLimits& bandwidth_limits() const { return limits_.bandwidth; }
  const SlowHostLimits& slow_limits() const { return limits_.slow; }
  // Segments that are not up, by name. One whose time has come is lost from then on.
  std::vector<SegmentVerdict> AssessSegments(std::int64_t now_ms);
  std::vector<SegmentVerdict> AssessDomains(std::int64_t now_ms);
  // What the Fabric's status calls lost. A lost segment, or domain, that is not among it has no
  // lost host.
  void SetLostInStatus(const std::set<std::string>& segments, const std::set<std::string>& domains);
  void SetFabricExists(bool exists);
  // Hosts of lost segments and domains, by name.
  std::vector<std::string> HostsOfLostPlaces();

 private:
  struct Host;
  // A segment or a domain.
  struct Place {
    std::string name;
    bool is_domain = false;
    std::set<const Host*> hosts;
    int bad = 0;  // of them, those that are not Ready, gone or faulty
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
    std::int64_t since_ms = 0;  // not Ready or gone
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
  // False: it is rented and was given back, or has been gone for long.
  static bool Counts(const Host& host, std::int64_t now_ms);
  static std::string ReclaimOf(const Host& host);
  // The gravest fault that has held long enough, and when to ask again for those that have not.
  static HostVerdict FaultOf(const Host& host, std::int64_t now_ms);
  // When it went bad; of a fault, so that it has held for its own time once it has held for the
  // segment's.
  std::int64_t OnsetMs(const Host& host) const;
  static void Leave(Place*& place, const Host& host);
  static void Enter(std::map<std::string, Place>& places, const std::string& name, bool is_domain,
                    Place* Host::*place, Host& host);
  // Drops hosts that have been gone for long, but for `kept`.
  void ForgetGone(const Host& kept, std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void CountSick(const Host& host, bool was_sick);
  HostVerdict AssessHost(Host& host, std::int64_t grace_ms, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  HostVerdict AssessFaults(Host& host, std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullopt: its segment, or domain, has no part in what happened to the host.
  std::optional<HostVerdict> AssessWith(Place& place, const Host& host, std::int64_t grace_ms,
                                        std::int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `lose`: one whose time has come is lost from then on; else it is suspected.
  SegmentVerdict AssessPlace(Place& place, bool lose, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a segment of its hosts is not up.
  bool SegmentIsDown(const Place& domain, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Empty: the host, or segment, or domain, may be lost, too.
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
  std::set<std::string> left_ ABSL_GUARDED_BY(mutex_);  // hosts, by jobs that they held back
  std::deque<std::int64_t> granted_ms_ ABSL_GUARDED_BY(mutex_);  // of the last minute
};

}  // namespace yardmaster::op
