// How many TLS handshakes are begun: each costs a signature, so a flood of them would take the time
// of all clients' requests. One bucket of tokens per address and one for all addresses together.
//
// Addresses from which a client was authenticated in the last kKnownMs do not draw on the common
// bucket, so that a flood from many addresses cannot keep kube-scheduler from coming back. The
// server runs their handshakes on other threads than those of unknown addresses.
//
// Complexity: O(1) amortised; at most kAddresses are remembered. Deterministic: the caller gives
// the time.
// Thread safety: all methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "pkg/base/mutex.h"
#include "pkg/base/token_bucket.h"

namespace yardmaster::http {

struct HandshakeRates {
  // Handshakes per second, and how many at once after a pause. From one address; raise it when many
  // clients share an address (a proxy).
  double per_peer = 64;
  double per_peer_burst = 256;
  // From all addresses together without those that are known.
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

  // Takes a token of each bucket, or, refused, none. `now_ms` never goes back.
  Verdict Admit(const std::string& address, std::int64_t now_ms);
  // A client there has given a certificate that may come in.
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
