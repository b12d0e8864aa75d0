// Counts the bytes of the heap, so that a test can bound what a value keeps and what a call takes.
// A program that links it has operator new and delete of its own: malloc's, counted.
// Thread safety: all threads are counted; one meter at a time is used.
#pragma once

#include <cstdint>

namespace yardmaster {

class HeapMeter {
 public:
  // Counts from here.
  HeapMeter();
  // Bytes that are allocated now, above those at the beginning.
  std::int64_t held() const;
  // The most that held() has been.
  std::int64_t peak() const;

 private:
  const std::int64_t begin_;
};

}  // namespace yardmaster
