// Limits the rate at which TLS handshakes begin. Each costs a signature, so a flood of handshakes
// would take the time of all clients' requests. There is one token bucket per address and one for
// all addresses together.
//
// An address from which a client was authenticated within the last kKnownMs does not use the common
// bucket, so a flood from many addresses cannot keep kube-scheduler from reconnecting. The server
// runs the handshakes of such addresses on other threads than those of unknown addresses.
//
// Complexity: O(1) amortised; at most kAddresses are remembered. Deterministic: the caller passes
// the time. Thread safety: all methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "pkg/base/mutex.h"
#include "pkg/base/token_bucket.h"

namespace yardmaster::http {

struct HandshakeRates {
  // Handshakes per second from one address, and the maximum burst. Raise it if many clients share
  // an address (a proxy).
  double per_peer = 64;
  double per_peer_burst = 256;
  // From all unknown addresses together.
  double in_all = 512;
  double in_all_burst = 512;
};

class HandshakeLimiter {
 public:
  static constexpr std::size_t kAddresses = 8192;
  static constexpr std::int64_t kKnownMs = 600'000;

  explicit HandshakeLimiter(HandshakeRates rates)
      : rates_(rates), all_(rates.in_all, rates.in_all_burst) {}

  enum class Verdict { kRefused, kAdmitted, kKnown };

  // Takes a token of each bucket; none if the handshake is refused. REQUIRES: `now_ms` does not
  // decrease.
  Verdict Admit(const std::string& address, std::int64_t now_ms);
  // Marks an address as known: a client there was authenticated by an accepted certificate.
  void Know(const std::string& address, std::int64_t now_ms);

 private:
  struct Peer {
    TokenBucket bucket;
    std::int64_t known_until_ms = INT64_MIN;
  };

  Peer& PeerAt(const std::string& address, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HandshakeRates rates_;
  Mutex mutex_;
  TokenBucket all_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::http
