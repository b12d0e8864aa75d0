// Threads that run handlers, so that one that waits holds up no I/O. The queue needs no bound of
// its own: a connection has one request at a time, and connections are bounded. Thread safety:
// Submit from any thread; Stop once, from a thread that is no worker.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "pkg/base/mutex.h"

namespace yardmaster::http {

class WorkerPool {
 public:
  // `niceness`: how far the threads stand back behind others of the process, 0 to 19.
  explicit WorkerPool(int threads, int niceness = 0);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() { Stop(); }

  // `task` must not throw. Dropped without running after Stop.
  void Submit(std::function<void()> task);
  // Drops what has not begun, waits for what has.
  void Stop();

 private:
  void Run(int niceness);

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace yardmaster::http
