#include "pkg/base/testing/heap_meter.h"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace yardmaster {
namespace {

std::atomic<std::int64_t> bytes_now{0}, bytes_most{0};

void* Count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = bytes_now.fetch_add(size) + size;
  std::int64_t most = bytes_most.load();
  while (now > most && !bytes_most.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void Release(void* memory) {
  if (memory == nullptr) return;
  bytes_now.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

}  // namespace

HeapMeter::HeapMeter() : begin_(bytes_now.load()) { bytes_most.store(begin_); }
std::int64_t HeapMeter::held() const { return bytes_now.load() - begin_; }
std::int64_t HeapMeter::peak() const { return bytes_most.load() - begin_; }

}  // namespace yardmaster

// The other forms of the standard library call these.
void* operator new(std::size_t size) { return yardmaster::Count(std::malloc(size)); }
// But with a sanitizer, which has a form of its own for each.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size);
  return memory == nullptr ? nullptr : yardmaster::Count(memory);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return yardmaster::Count(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void operator delete(void* memory) noexcept { yardmaster::Release(memory); }
void operator delete(void* memory, std::size_t) noexcept { yardmaster::Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { yardmaster::Release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  yardmaster::Release(memory);
}
