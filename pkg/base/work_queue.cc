#include "pkg/base/work_queue.h"

#include <algorithm>
#include <chrono>

namespace yardmaster {

namespace {
constexpr std::int64_t kFirstRetryMs = 50;
constexpr std::int64_t kLastRetryMs = 30'000;
constexpr int kMaxDoublings = 10;
// Ready keys between two pieces of background work that are due, for queues with few consumers.
constexpr int kReadyBetween = 3;

// Sets the due time of `key`, if it is earlier than the one it has. Whether it did.
bool DueEarlier(const std::string& key, std::int64_t due,
                std::set<std::pair<std::int64_t, std::string>>& keys,
                std::map<std::string, std::int64_t>& times) {
  const auto [it, inserted] = times.emplace(key, due);
  if (!inserted) {
    if (it->second <= due) return false;
    keys.erase({it->second, key});
    it->second = due;
  }
  keys.emplace(due, key);
  return true;
}
}  // namespace

void WorkQueue::PushReadyLocked(const std::string& key) {
  ReadyKeys& keys = ready_.At(GroupOf(key));
  (first_.erase(key) != 0 ? keys.first : keys.others).push_back(key);
  wake_.notify_one();
}

void WorkQueue::AddLocked(const std::string& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  if (const auto delayed = delayed_due_.extract(key)) delayed_.erase({delayed.mapped(), key});
  if (processing_.count(key) == 0) PushReadyLocked(key);
}

void WorkQueue::Add(const std::string& key) {
  MutexLock lock(mutex_);
  AddLocked(key);
}

void WorkQueue::AddFirst(const std::string& key) {
  MutexLock lock(mutex_);
  if (shut_down_) return;
  if (processing_.count(key) != 0 || dirty_.count(key) == 0) {
    first_.insert(key);
    return AddLocked(key);
  }
  ReadyKeys& keys = ready_.At(GroupOf(key));
  if (std::erase(keys.others, key) != 0) keys.first.push_back(key);
}

void WorkQueue::AddAfter(const std::string& key, std::int64_t delay_ms) {
  MutexLock lock(mutex_);
  if (delay_ms <= 0) return AddLocked(key);
  if (shut_down_) return;
  DueEarlier(key, clock_.SteadyMs() + delay_ms, delayed_, delayed_due_);
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
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const std::string key = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    delayed_due_.erase(key);
    AddLocked(key);
  }
}

void WorkQueue::AddBackground(const std::string& key, std::int64_t due_in_ms) {
  MutexLock lock(mutex_);
  if (shut_down_) return;
  const std::int64_t due = clock_.SteadyMs() + due_in_ms;
  if (DueEarlier(key, due, background_.At(GroupOf(key)), background_due_)) wake_.notify_one();
}

std::string WorkQueue::TakeReadyLocked() {
  const std::string group = ready_.turns.front();
  ReadyKeys& waiting = ready_.things.find(group)->second;
  std::deque<std::string>& keys = waiting.first.empty() ? waiting.others : waiting.first;
  std::string key = std::move(keys.front());
  keys.pop_front();
  ready_.EndTurn(group);
  return key;
}

void WorkQueue::PostponeReadyLocked(const std::string& key) {
  const std::string group(GroupOf(key));
  ReadyKeys& keys = ready_.At(group);
  std::erase(keys.others, key);
  if (std::erase(keys.first, key) != 0) first_.insert(key);
  ready_.DropIfEmpty(group);
}

std::optional<std::string> WorkQueue::TakeBackgroundLocked() {
  const bool keys_are_ready = !ready_.empty();
  if (keys_are_ready && (!in_background_.empty() || since_background_ < kReadyBetween)) {
    return std::nullopt;
  }
  const std::int64_t now = clock_.SteadyMs();
  for (const std::string& group : background_.turns) {
    DueKeys& keys = background_.things.find(group)->second;
    for (auto at = keys.begin(); at != keys.end(); ++at) {
      if (keys_are_ready && at->first > now) break;
      if (processing_.count(at->second) != 0) continue;
      std::string taken = at->second;
      keys.erase(at);
      background_due_.erase(taken);
      background_.EndTurn(std::string(group));
      // Ready as well: no second consumer has it meanwhile.
      if (dirty_.count(taken) != 0) PostponeReadyLocked(taken);
      since_background_ = 0;
      return taken;
    }
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
      std::string key = TakeReadyLocked();
      dirty_.erase(key);
      processing_.insert(key);
      return key;
    }
    if (shut_down_) return std::nullopt;
    if (delayed_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const std::int64_t wait_ms = delayed_.begin()->first - clock_.SteadyMs();
    wake_.wait_for(lock, std::chrono::milliseconds(std::max<std::int64_t>(1, wait_ms)));
  }
}

void WorkQueue::Done(const std::string& key) {
  MutexLock lock(mutex_);
  processing_.erase(key);
  in_background_.erase(key);
  if (dirty_.count(key) != 0) {
    PushReadyLocked(key);
  } else if (background_due_.count(key) != 0) {
    wake_.notify_one();
  }
}

void WorkQueue::ShutDown() {
  MutexLock lock(mutex_);
  shut_down_ = true;
  delayed_.clear();
  delayed_due_.clear();
  background_ = {};
  background_due_.clear();
  wake_.notify_all();
}

std::size_t WorkQueue::Depth() const {
  MutexLock lock(mutex_);
  std::size_t depth = background_due_.size();
  for (const auto& [group, keys] : ready_.things) depth += keys.size();
  return depth;
}

}  // namespace yardmaster
