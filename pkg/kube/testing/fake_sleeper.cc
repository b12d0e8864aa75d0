#include "pkg/kube/testing/fake_sleeper.h"

namespace yardmaster::kube {

bool FakeSleeper::Sleep(std::int64_t ms, std::stop_token stop) {
  MutexLock lock(mutex_);
  slept_.push_back(ms);
  if (mode_ == Mode::kAdvance) {
    clock_.Advance(ms);
    return !stop.stop_requested();
  }
  auto due = due_.insert(clock_.SteadyMs() + ms);
  changed_.notify_all();
  changed_.wait(lock, stop,
                [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return clock_.SteadyMs() >= *due; });
  due_.erase(due);
  return !stop.stop_requested();
}

void FakeSleeper::Advance(std::int64_t ms) {
  MutexLock lock(mutex_);
  clock_.Advance(ms);
  changed_.notify_all();
}

void FakeSleeper::WaitForSleepers(std::size_t count) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return due_.size() >= count && *due_.begin() > clock_.SteadyMs();
  });
}

std::vector<std::int64_t> FakeSleeper::slept() const {
  MutexLock lock(mutex_);
  return slept_;
}

}  // namespace yardmaster::kube
