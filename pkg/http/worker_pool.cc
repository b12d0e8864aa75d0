#include "pkg/http/worker_pool.h"

#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace yardmaster::http {

WorkerPool::WorkerPool(int threads, int niceness) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, niceness] { Run(niceness); });
}

void WorkerPool::Submit(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  tasks_.push_back(std::move(task));
  lock.unlock();
  wake_.notify_one();
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;  // destroyed after the lock is free
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::Run(int niceness) {
  // On Linux a thread has a niceness of its own. Without it everything works, a flood costs more.
  if (niceness > 0) ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness);
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      wake_.wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopped_ || !tasks_.empty();
      });
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace yardmaster::http
