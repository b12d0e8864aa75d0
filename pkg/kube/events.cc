#include "pkg/kube/events.h"

#include <algorithm>
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

bool EventRecorder::MakeRoom(const std::string& ns) {
  if (queued_ < queue_size_) return true;
  ++dropped_;
  const auto most = std::max_element(
      queue_.things.begin(), queue_.things.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const auto own = queue_.things.find(ns);
  const std::size_t has = own == queue_.things.end() ? 0 : own->second.size();
  if (most == queue_.things.end() || has + 1 >= most->second.size()) return false;
  most->second.pop_back();
  --queued_;
  return true;
}

void EventRecorder::Record(EventRecord event) {
  const std::string ns = event.regarding.ns;
  MutexLock lock(mutex_);
  if (!MakeRoom(ns)) return;
  queue_.At(ns).push_back({std::move(event), timing_.clock.WallMs()});
  ++queued_;
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
  const std::string ns = queue_.turns.front();
  std::deque<Queued>& events = queue_.At(ns);
  const Queued queued = std::move(events.front());
  events.pop_front();
  queue_.EndTurn(ns);
  --queued_;
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
  dropped_ += static_cast<std::int64_t>(queued_);
  queue_ = {};
  queued_ = 0;
  changed_.notify_all();
}

absl::Status EventRecorder::Write(const Queued& queued, std::stop_token stop) {
  absl::Status status;
  for (int tries = 1; tries <= kMaxEventTries; ++tries) {
    status = Contain([&] { return writer_.Write(queued.event, queued.wall_ms); });
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
