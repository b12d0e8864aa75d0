#include "pkg/http/stats.h"

#include <iterator>

namespace yardmaster::http {

namespace {

// In the order of the enumeration.
constexpr std::string_view kNames[] = {
    "connection_limit", "peer_limit",       "handshake_rate",    "evicted",        "not_trusted",
    "accept_error",     "handshake_failed", "handshake_timeout", "header_timeout", "body_timeout",
    "handler_timeout",  "write_timeout",    "malformed",         "too_large",      "method",
    "body_memory",      "handler_dropped",  "handler_threw",     "internal_error"};
static_assert(std::size(kNames) == kRejections);

}  // namespace

std::string_view NameOf(Rejection reason) { return kNames[static_cast<std::size_t>(reason)]; }

ServerStats StatsCounters::Read() const {
  ServerStats stats;
  stats.accepted_connections = accepted_.load(std::memory_order_relaxed);
  stats.requests = requests_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kRejections; ++i) {
    stats.rejected[i] = rejected_[i].load(std::memory_order_relaxed);
  }
  return stats;
}

}  // namespace yardmaster::http
