// Leader election: runs a LeaseLock on a thread of its own and calls back when leading begins
// and ends. After a loss it goes on trying; a process that must not go on exits in `stopped`.
//
// Use: lead only while IsLeader() says so at that instant (it turns false by the clock, even while
// the thread is blocked), and put FencingToken() into what is written, so that a late write of
// an earlier hold can be told from a present one. Give it a Client of its own whose calls end
// within half the renew deadline: the callbacks wait for them, and so does Stop.
//
// A candidate tries again after 1 to 2.2 retry periods (at random), earlier when the hold that it
// sees runs out, and with LeaseOptions::watch as soon as the Lease changes. With the watch, a lease
// that was released is taken within a round trip; one whose holder died is taken after the longer
// of the two replicas' `lease_duration`.
//
// Thread safety: all methods from any thread, but Start and Stop not from a callback. Callbacks run
// on the elector's thread, one at a time: started, stopped, started, ...; `failed` also runs on the
// thread that watches the Lease.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>

#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/kube/lease_lock.h"
#include "pkg/kube/timing.h"

namespace yardmaster::kube {

// Any of them may be empty.
struct LeaderCallbacks {
  std::function<void(std::int64_t fencing_token)> started = {};
  std::function<void()> stopped = {};
  // Every try that failed, for logs.
  std::function<void(const absl::Status&)> failed = {};
};

class LeaderElector {
 public:
  // `client` and what `timing` refers to must outlive the elector.
  // REQUIRES: ValidateLeaseOptions(options).ok().
  LeaderElector(Client& client, LeaseOptions options, LeaderCallbacks callbacks, Timing timing);
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // If leading: calls `stopped`, then releases the lease. Returns when the thread has ended.
  void Stop();

  bool IsLeader() const { return lock_.IsLeader(); }
  // 0 when not leader.
  std::int64_t FencingToken() const { return lock_.FencingToken(); }
  // As LeaseLock::RequireTokenAbove.
  void RequireTokenAbove(std::int64_t token) { lock_.RequireTokenAbove(token); }

 private:
  void Run(std::stop_token stop);
  void WatchLease(std::stop_token stop);
  void SleepUntilNextTick(std::stop_token stop);
  void Wake();
  void ReportChanges();
  std::int64_t NextTickMs();

  Client& client_;
  const LeaseOptions options_;
  const LeaderCallbacks callbacks_;
  const Timing timing_;
  LeaseLock lock_;

  // The elector's thread only.
  Random random_;
  std::int64_t reported_token_ = 0;

  Mutex wake_mutex_;
  std::stop_source wake_ ABSL_GUARDED_BY(wake_mutex_);  // ends the sleep before the next tick

  std::jthread thread_;  // last: they use all of the above
  std::jthread watch_thread_;
};

}  // namespace yardmaster::kube
