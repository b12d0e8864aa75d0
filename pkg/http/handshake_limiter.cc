#include "pkg/http/handshake_limiter.h"

namespace yardmaster::http {

// A full table forgets the addresses that are not known. If all are known, it forgets them all.
HandshakeLimiter::Peer& HandshakeLimiter::PeerAt(const std::string& address, std::int64_t now_ms) {
  const auto at = peers_.find(address);
  if (at != peers_.end()) return at->second;
  if (peers_.size() >= kAddresses) {
    std::erase_if(peers_, [&](const auto& peer) { return peer.second.known_until_ms < now_ms; });
    if (peers_.size() >= kAddresses) peers_.clear();
  }
  return peers_.emplace(address, Peer{{rates_.per_peer, rates_.per_peer_burst}}).first->second;
}

HandshakeLimiter::Verdict HandshakeLimiter::Admit(const std::string& address, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  Peer& peer = PeerAt(address, now_ms);
  const bool known = peer.known_until_ms >= now_ms;
  if (!peer.bucket.Has(now_ms) || (!known && all_.Take(1, now_ms) == 0)) return Verdict::kRefused;
  peer.bucket.Take(1, now_ms);
  return known ? Verdict::kKnown : Verdict::kAdmitted;
}

void HandshakeLimiter::Know(const std::string& address, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  PeerAt(address, now_ms).known_until_ms = now_ms + kKnownMs;
}

}  // namespace yardmaster::http
