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
// record's leaseTransitions, which grows with every new hold, also of the same replica. A record
// that was deleted begins above every token that the replica has seen or was given
// (RequireTokenAbove).
//
// Thread safety: Tick, Release and OtherHoldEndsMs from one thread; the others from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

struct LeaseOptions {
  std::string ns = {};
  std::string name = {};
  // The holder's name, unique per process, e.g. "<host>_<random>".
  std::string identity = {};
  std::int64_t lease_duration_ms = 15'000;
  std::int64_t renew_deadline_ms = 10'000;
  std::int64_t retry_period_ms = 2'000;
  // LeaderElector only: watch the Lease, so that a released one is taken immediately.
  bool watch = false;
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
  // Ends a present hold whose token is not greater than `token`, and makes the tokens of later
  // holds greater.
  void RequireTokenAbove(std::int64_t token);
  // Steady time at which the present hold ends by itself.
  std::int64_t ValidUntilMs() const { return valid_until_ms_.load(); }
  // Steady time at which another replica's hold ends unless it is renewed; nullopt if there is
  // none.
  std::optional<std::int64_t> OtherHoldEndsMs() const;

 private:
  absl::Status AcquireOrRenew(std::int64_t started_ms);
  absl::Status Write(const nlohmann::json& base, std::int64_t transitions, bool renewal,
                     std::int64_t started_ms);
  void Observe(const nlohmann::json& lease);
  // Greater than every token that this replica knows of.
  std::int64_t NextToken() const;
  void SetHold(std::int64_t token, std::int64_t valid_until_ms);
  Target target() const { return {Leases(), options_.ns, options_.name}; }

  Client& client_;
  const LeaseOptions options_;
  const Clock& clock_;

  // The hold. A token of 0 means that this replica does not lead. With another token it leads until
  // valid_until_ms_, provided that the token is greater than token_floor_.
  std::atomic<std::int64_t> token_{0};
  std::atomic<std::int64_t> valid_until_ms_{0};

  std::atomic<std::int64_t> token_floor_{0};  // tokens are greater

  // Tick's own.
  std::int64_t highest_seen_ = 0;  // leaseTransitions
  std::string acquire_time_;
  ObjectPtr lease_;  // the record as last seen; null: never
  std::int64_t observed_at_ms_ = 0;
};

}  // namespace yardmaster::kube
