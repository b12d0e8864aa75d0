// One replica's hold on a coordination.k8s.io Lease: the state machine of leader election without a
// thread. LeaderElector (lease.h) calls Tick in a loop.
//
// Why two replicas never both believe they lead, as long as their clocks run at about the same
// speed (they need not show the same time):
//   1. The holder trusts its hold only until `renew_deadline` after it BEGAN its last successful
//      write, by its own steady clock.
//   2. Another takes over only when it has seen no change of the record for `lease_duration`, which
//      is longer, by its own steady clock; and its write names the version it saw.
// And for writes that are on their way while the hold is lost there is the fencing token: the
// record's leaseTransitions, which grows with every new hold, also of the same replica. (It starts
// again if somebody deletes the Lease object; grant that verb to nobody.)
//
// Thread safety: Tick and Release from one thread; the readers from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

struct LeaseOptions {
  std::string ns = {};
  std::string name = {};
  // Who holds it: unique per process, e.g. "<host>_<random>".
  std::string identity = {};
  std::int64_t lease_duration_ms = 15'000;
  std::int64_t renew_deadline_ms = 10'000;
  std::int64_t retry_period_ms = 2'000;
};

// InvalidArgument unless lease_duration > renew_deadline > 1.2 * retry_period and the names are
// set.
absl::Status ValidateLeaseOptions(const LeaseOptions& options);

class LeaseLock {
 public:
  // `client` and `clock` must outlive the lock. REQUIRES: ValidateLeaseOptions(options).ok().
  LeaseLock(Client& client, LeaseOptions options, const Clock& clock);

  // One try to take or renew the lease. Not OK: the API server did not answer as hoped; IsLeader
  // tells whether the hold is still good.
  absl::Status Tick();
  // Gives the lease up, so that another need not wait. Best effort.
  absl::Status Release();

  // By the clock, at this instant.
  bool IsLeader() const;
  // Token of the present hold; 0 when not leader.
  std::int64_t FencingToken() const;
  // Steady time at which the present hold ends by itself.
  std::int64_t ValidUntilMs() const { return valid_until_ms_.load(); }
  // Identity in the last record seen; empty if none or released.
  std::string Holder() const;

 private:
  absl::Status AcquireOrRenew(std::int64_t started_ms);
  absl::Status Write(const nlohmann::json& base, std::int64_t transitions, bool renewal,
                     std::int64_t started_ms);
  void Observe(const nlohmann::json& lease);
  bool HeldByOther(const nlohmann::json& lease) const;
  void SetHold(std::int64_t token, std::int64_t valid_until_ms);
  Target target() const { return {Leases(), options_.ns, options_.name}; }

  Client& client_;
  const LeaseOptions options_;
  const Clock& clock_;

  // The hold. The token is 0 exactly when this replica does not lead, deadlines apart.
  std::atomic<std::int64_t> token_{0};
  std::atomic<std::int64_t> valid_until_ms_{0};

  // Tick's own.
  std::string acquire_time_;
  ObjectPtr lease_;  // the record as last seen; null: never
  std::int64_t observed_at_ms_ = 0;

  mutable std::mutex mutex_;
  std::string holder_;
};

}  // namespace yardmaster::kube
