#include "pkg/page/frame_history.h"

#include <algorithm>
#include <utility>

namespace yardmaster::page {

namespace {

// What a frame costs besides its texts: a map node and a key for each block.
std::size_t TableBytes(const Frame& frame) { return frame.blocks.size() * 128; }

}  // namespace

bool FrameHistory::Add(std::int64_t time_ms, Blocks blocks) {
  if (const FramePtr latest = Latest()) {
    ShareTexts(latest->blocks, blocks);
    if (SameTexts(latest->blocks, blocks)) return false;
    time_ms = std::max(time_ms, latest->time_ms);
  }
  frames_.push_back(std::make_shared<const Frame>(Frame{++last_id_, time_ms, std::move(blocks)}));
  Count(*frames_.back());
  ThinOut();
  while (frames_.size() > 1 &&
         (bytes_ > options_.max_bytes || frames_.front()->time_ms < time_ms - options_.span_ms)) {
    Remove(0);
  }
  return true;
}

FrameHistory::FramePtr FrameHistory::Find(std::int64_t id) const {
  const auto at = std::lower_bound(frames_.begin(), frames_.end(), id,
                                   [](const FramePtr& f, std::int64_t i) { return f->id < i; });
  return at != frames_.end() && (*at)->id == id ? *at : nullptr;
}

void FrameHistory::Count(const Frame& frame) {
  bytes_ += TableBytes(frame);
  for (const auto& [key, text] : frame.blocks) {
    if (++uses_[text.get()] == 1) bytes_ += text->size();
  }
}

void FrameHistory::Remove(std::size_t at) {
  const Frame& frame = *frames_[at];
  bytes_ -= TableBytes(frame);
  for (const auto& [key, text] : frame.blocks) {
    const auto use = uses_.find(text.get());
    if (--use->second > 0) continue;
    bytes_ -= text->size();
    uses_.erase(use);
  }
  frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(at));
}

// The frame that has just left the fresh ones stays only if it is far enough from the one before
// it.
void FrameHistory::ThinOut() {
  if (frames_.size() <= options_.fresh_frames + 1) return;
  const std::size_t at = frames_.size() - options_.fresh_frames - 1;
  if (frames_[at]->time_ms - frames_[at - 1]->time_ms < options_.spacing_ms) Remove(at);
}

}  // namespace yardmaster::page
