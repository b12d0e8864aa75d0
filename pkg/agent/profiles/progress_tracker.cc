#include "pkg/agent/profiles/progress_tracker.h"

#include <vector>

namespace yardmaster::agent {

namespace {

constexpr std::int64_t kSecondMs = 1'000;
constexpr std::int64_t kTenMs = 10'000;
constexpr std::size_t kTens = 15;
// Counters that were not read for longer say nothing of the time between.
constexpr std::int64_t kUnreadMs = 5'000;
constexpr std::int64_t kPeriodHoldsMs = 600'000;
// Weight of a new gap between reports.
constexpr double kNewGap = 0.1;

}  // namespace

double ProgressTracker::Threshold() const {
  if (highest_.empty()) return 0;
  std::vector<double> sorted(highest_.begin(), highest_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return kCeased * *middle;
}

// Progress until `steady_ms` that began at `begin_ms`.
void ProgressTracker::Advance(std::int64_t steady_ms, std::int64_t begin_ms) {
  if (At(progress_ms_).armed && !discounted_) {
    longest_pause_ms_ = std::max(longest_pause_ms_, begin_ms - QuietSinceMs());
  }
  discounted_ = false;
  progress_ms_ = steady_ms;
}

void ProgressTracker::EndSecond(std::int64_t steady_ms, double bytes_per_second) {
  if (bytes_per_second > Threshold()) {
    Advance(steady_ms, second_begin_ms_);
    ten_highest_ = std::max(ten_highest_, bytes_per_second);
  }
  if (steady_ms - ten_begin_ms_ < kTenMs) return;
  if (ten_highest_ > 0) {
    highest_.push_back(ten_highest_);
    if (highest_.size() > kTens) highest_.pop_front();
  }
  ten_begin_ms_ = steady_ms;
  ten_highest_ = 0;
}

// After a gap in the readings, or counters that went backwards.
void ProgressTracker::Resume(std::int64_t steady_ms, double sent_bytes) {
  const std::int64_t gap_ms = steady_ms - *read_ms_;
  const double sent = sent_bytes - read_bytes_;
  if (sent < 0) {
    if (gap_ms > kUnreadMs) unknown_ms_ = steady_ms;
  } else if (sent * 1000 / static_cast<double>(gap_ms) > Threshold()) {
    Advance(steady_ms, *read_ms_);
  }
}

void ProgressTracker::AddTraffic(std::int64_t steady_ms, double sent_bytes) {
  if (reports_itself_) return;
  if (!read_ms_ || steady_ms - *read_ms_ > kUnreadMs || sent_bytes < read_bytes_) {
    if (read_ms_) {
      Resume(steady_ms, sent_bytes);
    } else {
      progress_ms_ = steady_ms;
    }
    second_begin_ms_ = steady_ms;
    second_begin_bytes_ = sent_bytes;
    ten_begin_ms_ = steady_ms;
    ten_highest_ = 0;
  }
  read_ms_ = steady_ms;
  read_bytes_ = sent_bytes;
  const std::int64_t length_ms = steady_ms - second_begin_ms_;
  if (length_ms < kSecondMs) return;
  EndSecond(steady_ms, (sent_bytes - second_begin_bytes_) * 1000 / static_cast<double>(length_ms));
  second_begin_ms_ = steady_ms;
  second_begin_bytes_ = sent_bytes;
}

void ProgressTracker::AddPeriod(std::int64_t steady_ms, double iteration_seconds) {
  if (reports_itself_) return;
  // It may be that of the processes before, whose traffic is in the window still.
  if (restart_ms_ && (progress_ms_ <= *restart_ms_ || steady_ms - *restart_ms_ < kPeriodWindowMs)) {
    return;
  }
  period_ms_ = steady_ms;
  iteration_ms_ = iteration_seconds * 1000;
}

void ProgressTracker::AddReport(std::int64_t steady_ms) {
  if (!reports_itself_) {
    *this = ProgressTracker();
    reports_itself_ = true;
  } else {
    const auto gap_ms = static_cast<double>(steady_ms - progress_ms_);
    // Pauses are not what is usual.
    report_gap_ms_ =
        reports_ == 1
            ? gap_ms
            : report_gap_ms_ + kNewGap * (std::min(gap_ms, 4 * report_gap_ms_) - report_gap_ms_);
    Advance(steady_ms, steady_ms);
  }
  progress_ms_ = steady_ms;
  reports_ = std::min(reports_ + 1, kMinReports);
}

void ProgressTracker::Restart(std::int64_t steady_ms) {
  restart_ms_ = steady_ms;
  period_ms_.reset();
  reports_ = 0;
  discounted_ = false;
  progress_ms_ = steady_ms;
}

ProgressFacts ProgressTracker::At(std::int64_t steady_ms) const {
  ProgressFacts facts;
  facts.quiet_ms = std::max<std::int64_t>(0, steady_ms - QuietSinceMs());
  facts.progress_known = progress_ms_ >= unknown_ms_;
  facts.longest_pause_ms = longest_pause_ms_;
  if (reports_itself_) {
    facts.armed = reports_ >= kMinReports;
    facts.iteration_ms = static_cast<std::int64_t>(report_gap_ms_);
    return facts;
  }
  facts.armed = read_ms_ && steady_ms - *read_ms_ <= kUnreadMs && period_ms_ &&
                progress_ms_ - *period_ms_ <= kPeriodHoldsMs;
  facts.iteration_ms = static_cast<std::int64_t>(iteration_ms_);
  return facts;
}

}  // namespace yardmaster::agent
