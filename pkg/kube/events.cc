#include "pkg/kube/events.h"

#include <chrono>
#include <utility>

#include "pkg/base/run_once.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::kube {
namespace {

constexpr int kMaxEventTries = 4;
// How often open series are looked at.
constexpr std::chrono::seconds kPoll{1};

bool WorthAnotherTry(const absl::Status& status) {
  return IsTransient(status) || absl::IsResourceExhausted(status);
}

}  // namespace

EventRecorder::EventRecorder(Client& client, EventWriterOptions options, Timing timing,
                             std::size_t queue_size)
    : timing_(timing),
      queue_size_(queue_size),
      writer_(client, std::move(options), timing.clock, timing.seed),
      backoff_(timing.seed + 1),
      thread_([this](std::stop_token stop) { Run(stop); }) {}

EventRecorder::~EventRecorder() {
  thread_.request_stop();
  thread_.join();
}

void EventRecorder::Record(EventRecord event) {
  MutexLock lock(mutex_);
  if (queue_.size() >= queue_size_) {
    ++dropped_;
    return;
  }
  queue_.push_back({std::move(event), timing_.clock.WallMs()});
  changed_.notify_all();
}

void EventRecorder::Flush() {
  MutexLock lock(mutex_);
  changed_.wait(
      lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty() && !writing_; });
}

std::int64_t EventRecorder::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

void EventRecorder::Run(std::stop_token stop) {
  absl::Status written;
  while (!stop.stop_requested()) {
    WriteNext(stop, written);
    // What fails here comes again; a count that is late by a second or an hour is still a count.
    if (!stop.stop_requested()) Contain([&] { return writer_.WriteDue(); }).IgnoreError();
  }
  const std::int64_t deadline_ms = timing_.clock.SteadyMs() + kLastWritesMs;
  bool more = true;
  while (more && !IsTransient(written) && timing_.clock.SteadyMs() < deadline_ms) {
    more = WriteNext(stop, written);
  }
  DropQueue();
  if (!IsTransient(written)) Contain([&] { writer_.WriteOpen(deadline_ms); }).IgnoreError();
}

bool EventRecorder::WriteNext(std::stop_token stop, absl::Status& written) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, stop, kPoll,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !queue_.empty(); });
  if (queue_.empty()) return false;
  const Queued queued = std::move(queue_.front());
  queue_.pop_front();
  writing_ = true;
  lock.unlock();
  written = Write(queued, stop);
  lock.lock();
  writing_ = false;
  changed_.notify_all();
  return true;
}

void EventRecorder::DropQueue() {
  MutexLock lock(mutex_);
  dropped_ += static_cast<std::int64_t>(queue_.size());
  queue_.clear();
  changed_.notify_all();
}

absl::Status EventRecorder::Write(const Queued& queued, std::stop_token stop) {
  absl::Status status;
  for (int tries = 1; tries <= kMaxEventTries; ++tries) {
    status = Contain([&] { return writer_.Take(queued.event, queued.wall_ms); });
    if (status.ok()) backoff_.Reset();
    if (!WorthAnotherTry(status)) break;
    const std::int64_t delay_ms = std::max(backoff_.NextMs(), RetryAfterMs(status));
    if (stop.stop_requested() || !timing_.sleeper.Sleep(delay_ms, stop)) break;
  }
  if (status.ok()) return status;
  MutexLock lock(mutex_);
  ++dropped_;
  return status;
}

}  // namespace yardmaster::kube
