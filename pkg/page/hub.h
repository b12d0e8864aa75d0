// Serves the frames that one thread makes to browsers.
//
//   GET /             the page; GET /app.js, /app.css: its files
//   GET /api/events   server-sent events: answers with the change from the frame in Last-Event-ID
//                     (all of the newest frame without one) as soon as there is a newer frame, or
//                     with nothing new after `hold_ms`, and ends. EventSource asks again by itself,
//                     so that no response is endless and the server's limits hold for every one. At
//                     most `waiters` requests are held: for one more, the oldest of the address
//                     with most of them is told that there is nothing new.
//   GET /api/frames   [[ID, TIME_MS], ...] of the frames that are kept, oldest first
//   GET /api/frame?id=N[&from=M]   one of them, as a change
//   GET /api/paths?job=NS/GANG     a path of each rank of a job, of the newest frame
//
// Everything is read-only. Responses forbid scripts, styles and connections from elsewhere.
//
// Thread safety: all methods from any thread, but AddRoutes before the server starts. Lifetime: the
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
  // Below the server's handler deadline and the idle time of proxies.
  std::int64_t hold_ms = 15'000;
  // Less than the server's connections: the rest serve what does not wait.
  std::size_t waiters = 64;
  // A browser that has sent no request for so long is treated as gone.
  std::int64_t watched_ms = 40'000;
};

class Hub {
 public:
  // Frames are numbered from the wall time on, apart from those of other replicas.
  explicit Hub(const Clock& clock, HubOptions options = {})
      : clock_(clock), options_(options), history_(options.history, clock.WallMs()) {}

  void AddRoutes(http::Router& router);

  // Takes the newest blocks; requests that wait are answered if they differ from the last ones.
  void Publish(Blocks blocks, std::shared_ptr<const NetworkPicture> picture);
  // Answers requests that have waited long enough. Call it every second.
  void Tick();
  // Whether a browser has asked for events lately.
  bool watched() const;
  // Frames and bytes that are kept, for metrics.
  std::size_t frames() const;
  std::size_t bytes() const;

 private:
  struct Waiter {
    std::int64_t from = 0;  // 0: nothing yet
    std::int64_t until_ms = 0;
    std::string address;
    http::Done done;
  };

  // Takes one of the requests that wait out of them, if they are too many.
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
