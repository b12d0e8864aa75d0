#include "pkg/http/handshake_limiter.h"

#include <algorithm>

namespace yardmaster::http {

HandshakeLimiter::HandshakeLimiter(HandshakeRates rates) : rates_(rates) {
  all_.tokens = rates.in_all_burst;
}

bool HandshakeLimiter::Take(double rate, double burst, std::int64_t now_ms, Bucket& bucket) {
  const double earned = static_cast<double>(now_ms - bucket.filled_ms) * rate / 1000.0;
  bucket.tokens = std::min(burst, bucket.tokens + earned);
  bucket.filled_ms = now_ms;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// A full table forgets the addresses that are not known. If all are known, it forgets them all.
HandshakeLimiter::Bucket& HandshakeLimiter::BucketOf(const std::string& address,
                                                     std::int64_t now_ms) {
  const auto at = peers_.find(address);
  if (at != peers_.end()) return at->second;
  if (peers_.size() >= kAddresses) {
    std::erase_if(peers_, [&](const auto& peer) { return peer.second.known_until_ms < now_ms; });
    if (peers_.size() >= kAddresses) peers_.clear();
  }
  Bucket& bucket = peers_[address];
  bucket.tokens = rates_.per_peer_burst;
  bucket.filled_ms = now_ms;
  return bucket;
}

HandshakeLimiter::Verdict HandshakeLimiter::Admit(const std::string& address, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  Bucket& peer = BucketOf(address, now_ms);
  if (!Take(rates_.per_peer, rates_.per_peer_burst, now_ms, peer)) return Verdict::kRefused;
  if (peer.known_until_ms >= now_ms) return Verdict::kKnown;
  const bool admitted = Take(rates_.in_all, rates_.in_all_burst, now_ms, all_);
  return admitted ? Verdict::kAdmitted : Verdict::kRefused;
}

void HandshakeLimiter::Know(const std::string& address, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  BucketOf(address, now_ms).known_until_ms = now_ms + kKnownMs;
}

}  // namespace yardmaster::http
