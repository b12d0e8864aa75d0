// Accepts connections on one address. When descriptors run out it waits 100 ms and tries again
// instead of spinning. Thread safety: Close and AcceptWaitingAndClose from any thread. The
// callbacks run one at a time: on the loop, and on the caller's thread during
// AcceptWaitingAndClose. Lifetime: keeps itself alive until closed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/base/unique_fd.h"
#include "pkg/http/event_loop.h"

namespace yardmaster::http {

struct Accepted {
  UniqueFd fd;
  bool ipv6 = false;
  std::string address;  // "10.0.0.7"
  std::string remote;   // "10.0.0.7:40312", "[fd00::7]:40312"
};

class Listener {
 public:
  struct Callbacks {
    std::function<void(Accepted)> on_accept;
    std::function<void()> on_error;
  };

  // Bound and listening; accepts only after Start. InvalidArgument when `address` is not an IP
  // address, Unavailable when it cannot be listened on; both name what is wrong.
  static absl::StatusOr<std::shared_ptr<Listener>> Open(std::shared_ptr<EventLoop> loop,
                                                        const std::string& address, int port,
                                                        Callbacks callbacks);
  virtual ~Listener() = default;
  virtual int port() const = 0;
  virtual void Start() = 0;
  // No callback starts after this returns. Not from within a callback. The kernel resets the
  // connections that wait to be accepted.
  virtual void Close() = 0;
  // As Close, but first accepts the waiting connections, 4,096 at most.
  virtual void AcceptWaitingAndClose() = 0;
};

}  // namespace yardmaster::http
