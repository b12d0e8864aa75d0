// Counts of a server's connections and requests. All but open_connections only grow, so they can
// feed Prometheus counters.
// Thread safety: ServerStats is a value; StatsCounters may be used from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace yardmaster::http {

enum class Rejection {
  kConnectionLimit,
  kPeerLimit,
  kHandshakeRate,
  kEvicted,  // made room for a newer connection
  kNotTrusted,
  kAcceptError,
  kHandshakeFailed,
  kHandshakeTimeout,
  kHeaderTimeout,
  kBodyTimeout,
  kHandlerTimeout,
  kWriteTimeout,
  kMalformed,
  kTooLarge,
  kMethod,
  kBodyMemory,
  kHandlerDropped,
  kHandlerThrew,
  kInternalError,
};
inline constexpr std::size_t kRejections = static_cast<std::size_t>(Rejection::kInternalError) + 1;

// "header_timeout", for a metric's label.
std::string_view NameOf(Rejection reason);

struct ServerStats {
  std::int64_t open_connections = 0;
  std::int64_t accepted_connections = 0;
  // Requests that reached a handler.
  std::int64_t requests = 0;
  std::array<std::int64_t, kRejections> rejected{};

  std::int64_t rejections(Rejection reason) const {
    return rejected[static_cast<std::size_t>(reason)];
  }
};

class StatsCounters {
 public:
  void CountAccepted() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void CountRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }
  void Count(Rejection reason) {
    rejected_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  // open_connections is not known here and stays 0.
  ServerStats Read() const;

 private:
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<std::int64_t> requests_{0};
  std::array<std::atomic<std::int64_t>, kRejections> rejected_{};
};

}  // namespace yardmaster::http
