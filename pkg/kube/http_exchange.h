// The meeting point of one HTTP exchange: the HTTP library's threads put in what arrives, the
// caller's thread takes it out. Internal to http_transport.cc; a class of its own so that its
// hand-over is tested without a network.
//
// The library's side never blocks: beyond `high_water_bytes` not yet taken it gets a continuation
// to wait for instead, which is how a slow reader slows the sender down. Once the caller has left
// (Leave), everything put in is refused, which ends the transfer.
// Thread safety: all methods from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "pkg/base/mutex.h"
#include "pkg/kube/transport.h"

namespace yardmaster::kube {

class HttpExchange {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // `high_water_bytes` 0: Put never asks to wait, and an answer of more than `max_bytes` in all
  // ends with DataLoss. Otherwise the answer may be of any length, and `max_bytes` limits one Put.
  HttpExchange(std::size_t high_water_bytes, std::size_t max_bytes)
      : high_water_bytes_(high_water_bytes), max_bytes_(max_bytes) {}

  // --- The library's side.
  void PutHead(HttpResponse head);
  // What to do after Put.
  enum class PutResult {
    kGoOn,
    kWait,    // Take or Leave calls `resume`, on the caller's thread, when there is room again
    kRefuse,  // too much, or the caller has left
  };
  PutResult Put(const char* data, std::size_t size, std::function<void()> resume);
  // The exchange is over: OK, or why it broke off.
  void End(absl::Status status);

  // --- The caller's side.
  struct Taken {
    std::string bytes;
    // Set once there is nothing more to take.
    std::optional<absl::Status> end;
  };
  // The head of the answer, or why there is none. DeadlineExceeded at `deadline`, Cancelled by
  // `stop`.
  absl::StatusOr<HttpResponse> WaitForHead(SteadyTime deadline, std::stop_token stop);
  // Replaces `taken` by bytes and/or the end, as soon as there is something. The memory of what it
  // held before is used for what arrives next, so a reader that passes the same one again makes the
  // exchange allocate nothing. Errors as WaitForHead's.
  absl::Status Take(SteadyTime deadline, std::stop_token stop, Taken& taken);
  // The caller is not interested any more.
  void Leave();
  bool Ended();
  // Waits for End, `timeout` at most.
  void WaitForEnd(std::chrono::milliseconds timeout);

 private:
  absl::Status WaitLocked(MutexLock& lock, SteadyTime deadline, std::stop_token stop,
                          const std::function<bool()>& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t high_water_bytes_;
  const std::size_t max_bytes_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<HttpResponse> head_ ABSL_GUARDED_BY(mutex_);
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
  std::size_t total_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> resume_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
};

// Cuts a stream of bytes into lines of at most `max_line_bytes`. Not thread-safe.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}
  // Calls `on_line` for every line that is complete now; stops when it returns false. DataLoss when
  // a line is too long. Returns false if on_line did.
  absl::StatusOr<bool> Push(std::string_view bytes, const Transport::OnLine& on_line);
  bool InsideLine() const { return !rest_.empty(); }

 private:
  const std::size_t max_line_bytes_;
  std::string rest_;
};

}  // namespace yardmaster::kube
