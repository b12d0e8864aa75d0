#include "pkg/http/stats.h"

namespace yardmaster::http {

std::string_view NameOf(Rejection reason) {
  switch (reason) {
    case Rejection::kConnectionLimit:
      return "connection_limit";
    case Rejection::kPeerLimit:
      return "peer_limit";
    case Rejection::kHandshakeRate:
      return "handshake_rate";
    case Rejection::kEvicted:
      return "evicted";
    case Rejection::kNotTrusted:
      return "not_trusted";
    case Rejection::kAcceptError:
      return "accept_error";
    case Rejection::kHandshakeFailed:
      return "handshake_failed";
    case Rejection::kHandshakeTimeout:
      return "handshake_timeout";
    case Rejection::kHeaderTimeout:
      return "header_timeout";
    case Rejection::kBodyTimeout:
      return "body_timeout";
    case Rejection::kHandlerTimeout:
      return "handler_timeout";
    case Rejection::kWriteTimeout:
      return "write_timeout";
    case Rejection::kMalformed:
      return "malformed";
    case Rejection::kTooLarge:
      return "too_large";
    case Rejection::kMethod:
      return "method";
    case Rejection::kBodyMemory:
      return "body_memory";
    case Rejection::kHandlerDropped:
      return "handler_dropped";
    case Rejection::kHandlerThrew:
      return "handler_threw";
    case Rejection::kInternalError:
      return "internal_error";
  }
  return "unknown";
}

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
