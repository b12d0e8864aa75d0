// std::mutex with clang's thread-safety annotations. A member that a mutex guards says so by
// ABSL_GUARDED_BY(mutex_), a function that needs it held by ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_),
// and `make thread-safety` fails when the code does otherwise. Other compilers ignore the
// annotations.
//
// Why not absl::Mutex: a Debian package of it is not built for ThreadSanitizer, which then reports
// false races.
//
// The predicate of a wait is a function of its own to the analysis:
//
//   MutexLock lock(mutex_);
//   changed_.wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; });
//
// Thread safety: as std::mutex and std::unique_lock.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace yardmaster {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Locks a Mutex and unlocks it at the end of its scope; unlock() and lock() may be called in
// between.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // REQUIRES: the lock is not held.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.lock();
    held_ = true;
  }
  // REQUIRES: the lock is held.
  void unlock() ABSL_UNLOCK_FUNCTION() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Waits with a MutexLock.
using CondVar = std::condition_variable_any;

}  // namespace yardmaster
