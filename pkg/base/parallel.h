// Runs independent pieces of blocking work on a few threads, the caller's among them, and waits for
// all of them. If pieces throw, one of their exceptions is thrown to the caller after all pieces
// have ended. Thread safety: the work function is called from several threads concurrently.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace yardmaster {

// Calls work(i) for every i in [0, count), on at most `threads` threads at a time; a `threads` of 0
// means 1. The work should block rather than compute.
template <typename Work>
void ParallelFor(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::once_flag failed;
  std::exception_ptr failure;
  auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        std::call_once(failed, [&] { failure = std::current_exception(); });
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t t = 1; t < std::min(threads, count); ++t) pool.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace yardmaster
