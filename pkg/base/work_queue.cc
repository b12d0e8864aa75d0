#include "pkg/base/work_queue.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace yardmaster {

namespace {
constexpr std::int64_t kFirstRetryMs = 50;
constexpr std::int64_t kLastRetryMs = 30'000;
constexpr int kMaxDoublings = 10;
// Ready keys between two pieces of background work that are due, for queues with few consumers.
constexpr int kReadyBetween = 3;
}  // namespace

void WorkQueue::AddLocked(const std::string& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  delayed_.erase(key);
  if (processing_.count(key) == 0) {
    ready_.push_back(key);
    wake_.notify_one();
  }
}

void WorkQueue::Add(const std::string& key) {
  MutexLock lock(mutex_);
  AddLocked(key);
}

void WorkQueue::AddAfter(const std::string& key, std::int64_t delay_ms) {
  MutexLock lock(mutex_);
  if (delay_ms <= 0) return AddLocked(key);
  if (shut_down_) return;
  const std::int64_t due = clock_.SteadyMs() + delay_ms;
  auto [it, inserted] = delayed_.emplace(key, due);
  if (!inserted) it->second = std::min(it->second, due);
  wake_.notify_one();
}

void WorkQueue::AddRateLimited(const std::string& key) {
  std::int64_t delay_ms = 0;
  {
    MutexLock lock(mutex_);
    const int failures = std::min(failures_[key]++, kMaxDoublings);
    delay_ms = std::min(kFirstRetryMs << failures, kLastRetryMs);
  }
  AddAfter(key, delay_ms);
}

void WorkQueue::Forget(const std::string& key) {
  MutexLock lock(mutex_);
  failures_.erase(key);
}

void WorkQueue::PromoteDelayedLocked() {
  const std::int64_t now = clock_.SteadyMs();
  std::vector<std::string> due;
  for (const auto& [key, at] : delayed_) {
    if (at <= now) due.push_back(key);
  }
  for (const std::string& key : due) {
    delayed_.erase(key);
    AddLocked(key);
  }
}

void WorkQueue::AddBackground(const std::string& key, std::int64_t due_in_ms) {
  MutexLock lock(mutex_);
  if (shut_down_) return;
  const std::int64_t due = clock_.SteadyMs() + due_in_ms;
  const auto [it, inserted] = background_due_.emplace(key, due);
  if (!inserted) {
    if (it->second <= due) return;
    background_.erase({it->second, key});
    it->second = due;
  }
  background_.emplace(due, key);
  wake_.notify_one();
}

std::optional<std::string> WorkQueue::TakeBackgroundLocked() {
  for (auto at = background_.begin(); at != background_.end(); ++at) {
    const auto& [due, key] = *at;
    const bool waits =
        !ready_.empty() &&
        (!in_background_.empty() || since_background_ < kReadyBetween || due > clock_.SteadyMs());
    if (waits) return std::nullopt;
    if (processing_.count(key) != 0) continue;
    std::string taken = key;
    // Ready as well: it comes back after Done, so that no second consumer has it meanwhile.
    if (dirty_.count(taken) != 0) std::erase(ready_, taken);
    background_.erase(at);
    background_due_.erase(taken);
    since_background_ = 0;
    return taken;
  }
  return std::nullopt;
}

std::optional<std::string> WorkQueue::Get(bool* background) {
  MutexLock lock(mutex_);
  for (;;) {
    PromoteDelayedLocked();
    if (auto key = TakeBackgroundLocked()) {
      if (background != nullptr) *background = true;
      processing_.insert(*key);
      in_background_.insert(*key);
      return key;
    }
    if (!ready_.empty()) {
      if (background != nullptr) *background = false;
      ++since_background_;
      std::string key = std::move(ready_.front());
      ready_.pop_front();
      dirty_.erase(key);
      processing_.insert(key);
      return key;
    }
    if (shut_down_) return std::nullopt;
    if (delayed_.empty()) {
      wake_.wait(lock);
      continue;
    }
    std::int64_t next = delayed_.begin()->second;
    for (const auto& [key, at] : delayed_) next = std::min(next, at);
    wake_.wait_for(lock,
                   std::chrono::milliseconds(std::max<std::int64_t>(1, next - clock_.SteadyMs())));
  }
}

void WorkQueue::Done(const std::string& key) {
  MutexLock lock(mutex_);
  processing_.erase(key);
  in_background_.erase(key);
  if (dirty_.count(key) != 0) {
    ready_.push_back(key);
    wake_.notify_one();
  } else if (background_due_.count(key) != 0) {
    wake_.notify_one();
  }
}

void WorkQueue::ShutDown() {
  MutexLock lock(mutex_);
  shut_down_ = true;
  delayed_.clear();
  background_.clear();
  background_due_.clear();
  wake_.notify_all();
}

std::size_t WorkQueue::Depth() const {
  MutexLock lock(mutex_);
  return ready_.size() + background_.size();
}

}  // namespace yardmaster
