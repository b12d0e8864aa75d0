// Hub serves frames to browsers. One thread publishes them.
//
//   GET /             the page; GET /app.js, /app.css: its files
//   GET /api/events   server-sent events. Answers with the change from the frame in Last-Event-ID
//                     (with all of the newest frame if it is missing) as soon as a newer frame
//                     exists, or with nothing after `hold_ms`, and ends. EventSource repeats the
//                     request, so no response is endless and the server's limits apply to each.
//                     At most `waiters` requests are held. If there is one more, the oldest of the
//                     address with the most is answered with nothing.
//   GET /api/frames   [[ID, TIME_MS], ...] of the stored frames, oldest first
//   GET /api/frame?id=N[&from=M]   one of them, as a change
//   GET /api/paths?job=NS/GANG     a path of each rank of a job, of the newest frame
//
// All requests are read-only. Responses forbid scripts, styles and connections from other origins.
//
// Thread safety: all methods from any thread; AddRoutes before the server starts. Lifetimes: the
// hub outlives the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/http/message.h"
#include "pkg/http/router.h"
#include "pkg/page/frame.h"
#include "pkg/page/frame_history.h"
#include "pkg/page/network_picture.h"

namespace yardmaster::page {

struct HubOptions {
  HistoryOptions history;
  // Must be less than the server's handler deadline and the idle timeout of proxies.
  std::int64_t hold_ms = 15'000;
  // Must be less than the server's connections: the others serve requests that do not wait.
  std::size_t waiters = 64;
  // A browser that has not sent a request for this time counts as gone.
  std::int64_t watched_ms = 40'000;
};

class Hub {
 public:
  // Frame ids start at the wall time, so that they differ from those of other replicas.
  explicit Hub(const Clock& clock, HubOptions options = {})
      : clock_(clock), options_(options), history_(options.history, clock.WallMs()) {}

  void AddRoutes(http::Router& router);

  // Publishes the newest blocks. If they differ from the previous ones, waiting requests are
  // answered.
  void Publish(Blocks blocks, std::shared_ptr<const NetworkPicture> picture);
  // Answers requests that have waited for `hold_ms`. The caller calls it every second.
  void Tick();
  // Whether a browser has requested events within `watched_ms`.
  bool watched() const;
  // Number of frames and their bytes, for metrics.
  std::size_t frames() const;
  std::size_t bytes() const;

 private:
  struct Waiter {
    std::int64_t from = 0;  // 0: nothing yet
    std::int64_t until_ms = 0;
    std::string address;
    http::Done done;
  };

  // Removes one of the waiting requests if there are too many.
  std::optional<Waiter> TakeSurplus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void HandleEvents(const http::Request& request, http::Done done);
  http::Response HandleFrames() const;
  http::Response HandleFrame(const http::Request& request) const;
  http::Response HandlePaths(const http::Request& request) const;

  const Clock& clock_;
  const HubOptions options_;
  mutable Mutex mutex_;
  FrameHistory history_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const NetworkPicture> picture_ ABSL_GUARDED_BY(mutex_);
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::int64_t> last_asked_ms_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::page
