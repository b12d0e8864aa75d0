// The frames of the last hour, within a bound of memory.
//
// The newest frames are kept as they come; older ones are thinned out to one per `spacing_ms`, and
// dropped once they are older than `span_ms` or all frames exceed `max_bytes`. The newest frame is
// always kept.
//
// Cost: Add is O(blocks * log blocks) and a comparison of the texts, amortized; memory is that of
// distinct texts plus O(blocks) a frame. Thread safety:
// none; frames handed out are immutable and outlive the history.
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
  std::size_t max_bytes = 64u << 20;  // of texts and of frames' tables
  std::size_t fresh_frames = 8;       // the newest are not thinned out
};

class FrameHistory {
 public:
  using FramePtr = std::shared_ptr<const Frame>;

  // Ids count from `first_id`; give every process another, so that the ids of a browser that comes
  // from another replica are unknown.
  explicit FrameHistory(HistoryOptions options = {}, std::int64_t first_id = 1)
      : options_(options), last_id_(first_id - 1) {}

  // Takes the blocks as the newest frame, unless they equal the newest one's. Returns whether a
  // frame was added. Times must not go back; one that does is taken as the newest frame's.
  bool Add(std::int64_t time_ms, Blocks blocks);
  // Null when there is none (any more).
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
  std::unordered_map<const std::string*, int> uses_;  // frames that hold a text
  std::size_t bytes_ = 0;
};

}  // namespace yardmaster::page
