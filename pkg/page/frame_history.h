// FrameHistory keeps the frames of the last hour, within a memory limit.
//
//   - The newest frames are kept unchanged; older ones are thinned out to one per `spacing_ms`.
//   - Frames are dropped when they are older than `span_ms`, or when all frames exceed `max_bytes`.
//   - The newest frame is always kept.
//
// Complexity: Add is O(blocks * log blocks) and a comparison of the texts, amortized. Memory: the
// distinct texts plus O(blocks) per frame. Thread safety: one thread; frames are immutable and may
// outlive the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "pkg/page/frame.h"

namespace yardmaster::page {

struct HistoryOptions {
  std::int64_t span_ms = 3'600'000;
  std::int64_t spacing_ms = 10'000;
  std::size_t max_bytes = 64u << 20;  // texts and tables of the frames
  std::size_t fresh_frames = 8;       // number of newest frames that are not thinned out
};

class FrameHistory {
 public:
  using FramePtr = std::shared_ptr<const Frame>;

  // Ids start at `first_id`. It should differ between processes, so that the ids of another replica
  // are unknown.
  explicit FrameHistory(HistoryOptions options = {}, std::int64_t first_id = 1)
      : options_(options), last_id_(first_id - 1) {}

  // Adds the blocks as the newest frame, unless they equal those of the newest one. Returns whether
  // a frame was added. A time before that of the newest frame is replaced by the latter.
  bool Add(std::int64_t time_ms, Blocks blocks);
  // Returns null if the frame does not exist or was dropped.
  FramePtr Find(std::int64_t id) const;
  FramePtr Latest() const { return frames_.empty() ? nullptr : frames_.back(); }
  // Oldest first.
  const std::deque<FramePtr>& frames() const { return frames_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void Count(const Frame& frame);
  void Remove(std::size_t at);
  void ThinOut();

  HistoryOptions options_;
  std::deque<FramePtr> frames_;
  std::int64_t last_id_;
  std::unordered_map<const std::string*, int> uses_;  // number of frames by text
  std::size_t bytes_ = 0;
};

}  // namespace yardmaster::page
