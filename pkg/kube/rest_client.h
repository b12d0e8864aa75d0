// The Client of a real API server: paths, queries, credentials and retries on top of a Transport.
//
// Retries of one call, within `call_deadline_ms` in all and ten tries at most, with backoff of 0.8
// s doubling to 30 s, jittered:
//   - 429 and 5xx that carry Retry-After: every verb (the server has not begun);
//   - a connection that was never made: every verb;
//   - other 5xx, a lost connection, no answer in time: GET, PUT, DELETE, merge patch; and
//     creating an object by name, see below. Not: generateName, JSON patches, subresource POSTs.
//   - 401: once, without a pause, after reading the credentials again and on a new connection.
// Where the server names a Retry-After, that delay replaces the backoff. A watch is tried again
// only after 401; its caller does the rest.
// The first try of a call sent twice may have taken effect. So after such a retry
//   - AlreadyExists from Create is success when the object on the server has everything that was
//     to be created, and NotFound from Delete is success;
//   - Aborted from Replace may mean one's own first try. Read again, as always on Aborted.
// An error after such a retry says so: WasReplayed (api_error.h).
// (The HTTP library may itself send a request again on a connection that the server has just
// closed, so that any Create can meet its own object. Treat AlreadyExists accordingly.)
//
// The end of a process (Ending). From `begun` on a call has kLastCallMs; one that began before has
// until `over`. The first call that the server does not answer then is the client's last: all
// others end at once, with Cancelled. After `over` no call pauses for another try. So a process
// writes what it has left to a server that answers, and waits neither for one that does not answer
// nor for one that answers with errors alone. A watch ends by its own stop token alone. An exec
// plugin, for which calls wait up to a minute whatever their deadline, is killed at `over`
// (MakeRestClient).
//
// Thread safety: as Client.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/kube/client.h"
#include "pkg/kube/client_config.h"
#include "pkg/kube/credentials.h"
#include "pkg/kube/timing.h"
#include "pkg/kube/transport.h"

namespace yardmaster::kube {

// One try, for metrics.
struct RequestObservation {
  std::string verb;      // HTTP method, or "WATCH"
  std::string resource;  // Resource::GroupResource()
  int code;              // 0: no answer
  std::int64_t duration_ms;
};

inline constexpr std::int64_t kLastCallMs = 2'000;

// Default: the client never ends.
struct Ending {
  std::stop_token begun = {};
  // To be requested kLastCallMs after `begun`.
  std::stop_token over = {};
};

class RestClient final : public Client {
 public:
  using Observer = std::function<void(const RequestObservation&)>;

  // What `timing` refers to must outlive the client. `observer` may be empty; it is called on the
  // caller's thread.
  RestClient(ClientConfig config, std::unique_ptr<Transport> transport,
             std::shared_ptr<Credentials> credentials, Timing timing, Observer observer = {},
             Ending ending = {});

  absl::StatusOr<nlohmann::json> Get(const Target& target) override;
  absl::StatusOr<PageEnd> ReadPage(const Target& target, const ListOptions& options,
                                   const OnObject& on_object) override;
  absl::StatusOr<nlohmann::json> Create(const Target& target, const nlohmann::json& object,
                                        const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Replace(const Target& target, const nlohmann::json& object,
                                         const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Patch(const Target& target, const PatchBody& patch,
                                       const WriteOptions& options) override;
  absl::Status Delete(const Target& target, const DeleteOptions& options) override;
  absl::Status Watch(const Target& target, const WatchOptions& options, std::stop_token stop,
                     const std::function<void(const WatchEvent&)>& on_event) override;

 private:
  struct Operation;
  struct Outcome;

  Outcome Call(const Operation& operation);
  Outcome Try(const Operation& operation, std::int64_t within_ms, const std::stop_token& stop);
  absl::StatusOr<HttpRequest> Build(const Operation& operation);
  // Milliseconds to wait before another try; negative: none.
  static std::int64_t RetryDelayMs(const Operation& operation, const absl::Status& status,
                                   JitteredBackoff& backoff);
  // True once per `reauthorized`, after a 401.
  bool Reauthorize(const absl::Status& status, const HttpRequest& request, bool& reauthorized);
  absl::Status WatchOnce(const Operation& operation, const HttpRequest& request,
                         const StreamDeadlines& deadlines, std::stop_token stop,
                         const std::function<void(const WatchEvent&)>& on_event);
  std::uint64_t NextSeed();
  void Observe(const Operation& operation, std::string verb, int code, std::int64_t started_ms);

  const ClientConfig config_;
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<Credentials> credentials_;
  const Timing timing_;
  const Observer observer_;
  RateLimiter limiter_;
  const Ending ending_;
  std::atomic<bool> gave_up_ = false;  // a last call had no answer
  Mutex random_mutex_;
  Random random_ ABSL_GUARDED_BY(random_mutex_);
};

// A RestClient over HTTPS. Errors: those of ValidateClientConfig. REQUIRES: PrepareProcessForHttp()
// (http_transport.h) has been called first thing in main.
absl::StatusOr<std::unique_ptr<RestClient>> MakeRestClient(const ClientConfig& config,
                                                           Timing timing,
                                                           RestClient::Observer observer = {},
                                                           Ending ending = {});

}  // namespace yardmaster::kube
