#include "pkg/kube/http_exchange.h"

#include <utility>

#include "absl/status/statusor.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::kube {

void HttpExchange::PutHead(HttpResponse head) {
  MutexLock lock(mutex_);
  head_ = std::move(head);
  changed_.notify_all();
}

HttpExchange::PutResult HttpExchange::Put(const char* data, std::size_t size,
                                          std::function<void()> resume) {
  MutexLock lock(mutex_);
  if (left_) return PutResult::kRefuse;
  // In this order: `size` may be absurd.
  if (size > max_bytes_ || total_bytes_ > max_bytes_ - size) {
    if (!end_) {
      end_ = MarkTooLarge(
          absl::DataLossError(StrCat("an answer of more than ", max_bytes_, " bytes")));
    }
    changed_.notify_all();
    return PutResult::kRefuse;
  }
  bytes_.append(data, size);
  changed_.notify_all();
  // A stream may last for ever; only what has not been taken counts for it.
  if (high_water_bytes_ == 0) total_bytes_ += size;
  if (high_water_bytes_ == 0 || bytes_.size() < high_water_bytes_) return PutResult::kGoOn;
  resume_ = std::move(resume);
  return PutResult::kWait;
}

void HttpExchange::End(absl::Status status) {
  MutexLock lock(mutex_);
  if (!end_) end_ = std::move(status);
  changed_.notify_all();
}

absl::StatusOr<HttpResponse> HttpExchange::WaitForHead(SteadyTime deadline, std::stop_token stop) {
  MutexLock lock(mutex_);
  YM_RETURN_IF_ERROR(
      WaitLocked(lock, deadline, stop, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return head_.has_value() || end_.has_value();
      }));
  if (head_) return *head_;
  return end_->ok() ? absl::UnavailableError("the server gave no answer") : *end_;
}

absl::Status HttpExchange::Take(SteadyTime deadline, std::stop_token stop, Taken& taken) {
  std::function<void()> resume;
  taken.bytes.clear();
  taken.end.reset();
  {
    MutexLock lock(mutex_);
    YM_RETURN_IF_ERROR(
        WaitLocked(lock, deadline, stop, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return !bytes_.empty() || end_.has_value();
        }));
    taken.bytes.swap(bytes_);
    taken.end = end_;
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
  return absl::OkStatus();
}

void HttpExchange::Leave() {
  std::function<void()> resume;
  {
    MutexLock lock(mutex_);
    left_ = true;
    bytes_.clear();
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

bool HttpExchange::Ended() {
  MutexLock lock(mutex_);
  return end_.has_value();
}

void HttpExchange::WaitForEnd(std::chrono::milliseconds timeout) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, timeout,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return end_.has_value(); });
}

absl::Status HttpExchange::WaitLocked(MutexLock& lock, SteadyTime deadline, std::stop_token stop,
                                      const std::function<bool()>& ready) {
  const bool is_ready = changed_.wait_until(lock, stop, deadline, ready);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  if (!is_ready) return absl::DeadlineExceededError("no answer in time");
  return absl::OkStatus();
}

absl::StatusOr<bool> LineSplitter::Push(std::string_view bytes, const Transport::OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t piece = end == std::string_view::npos ? bytes.size() : end;
    if (rest_.size() + piece > max_line_bytes_) {
      return absl::DataLossError(StrCat("a line of more than ", max_line_bytes_, " bytes"));
    }
    if (end == std::string_view::npos) {
      rest_.append(bytes);
      return true;
    }
    bool go_on = true;
    if (rest_.empty()) {
      go_on = on_line(bytes.substr(0, end));
    } else {
      rest_.append(bytes.substr(0, end));
      go_on = on_line(rest_);
      rest_.clear();
    }
    if (!go_on) return false;
    bytes.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace yardmaster::kube
