// A server over real sockets, and what tests wait with. For tests only.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "pkg/http/server.h"

namespace yardmaster::http {

using SteadyClock = std::chrono::steady_clock;

inline std::int64_t MsSince(SteadyClock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start).count();
}

// Waits until `condition` holds, up to 10 s.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto start = SteadyClock::now();
  while (!condition()) {
    if (MsSince(start) > 10'000) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline void Echo(Request request, const Done& done) {
  done(TextResponse(200, request.body.empty() ? request.target : request.body));
}

inline ServerOptions Options() {
  ServerOptions options;
  options.bind_address = "127.0.0.1";
  return options;
}

// Short enough to wait for, long enough to be told apart.
inline ServerOptions ShortDeadlines() {
  ServerOptions options = Options();
  options.deadlines = {.handshake_ms = 500,
                       .header_ms = 500,
                       .body_ms = 500,
                       .handler_ms = 500,
                       .write_ms = 500,
                       .idle_ms = 500,
                       .linger_ms = 500};
  return options;
}

class ServerTest : public testing::Test {
 protected:
  void Start(ServerOptions options, Handler handler = Echo) {
    server_ = std::make_unique<Server>(std::move(options), std::move(handler));
    const absl::Status status = server_->Start();
    ASSERT_TRUE(status.ok()) << status;
  }
  int port() const { return server_->port(); }
  std::int64_t rejected(Rejection reason) const { return server_->stats().rejections(reason); }
  bool AllClosed() {
    return Eventually([this] { return server_->stats().open_connections == 0; });
  }

  std::unique_ptr<Server> server_;
};

}  // namespace yardmaster::http
