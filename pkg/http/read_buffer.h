// Bytes received and not used yet. Grows only when asked and gives its memory back when idle.
// Invariant: begin_ <= end_ <= capacity_. Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace yardmaster::http {

class ReadBuffer {
 public:
  std::string_view data() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Makes room for up to `capacity` bytes in all and returns where to write; space() says how many
  // fit there.
  char* Prepare(std::size_t capacity) {
    const std::size_t held = end_ - begin_;
    if (capacity > capacity_) {
      auto larger = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) std::memcpy(larger.get(), bytes_.get() + begin_, held);
      bytes_ = std::move(larger);
      capacity_ = capacity;
    } else if (begin_ > 0 && held > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
    return bytes_.get() + end_;
  }
  std::size_t space() const { return capacity_ - end_; }
  void Commit(std::size_t bytes) { end_ += bytes; }
  void Consume(std::size_t bytes) { begin_ += bytes; }

  // Frees the memory if it holds nothing and is larger than `capacity`.
  void Shrink(std::size_t capacity) {
    if (!empty() || capacity_ <= capacity) return;
    bytes_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace yardmaster::http
