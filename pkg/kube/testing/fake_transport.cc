#include "pkg/kube/testing/fake_transport.h"

#include <utility>

namespace yardmaster::kube {

void FakeTransport::Answer(absl::StatusOr<HttpResponse> response) {
  MutexLock lock(mutex_);
  answers_.push_back(std::move(response));
}

void FakeTransport::Answer(int code, std::string body, std::map<std::string, std::string> headers) {
  Answer(HttpResponse{code, std::move(headers), std::move(body)});
}

void FakeTransport::Hang() {
  MutexLock lock(mutex_);
  hangs_ = true;
}

void FakeTransport::AnswerStream(StreamScript script) {
  MutexLock lock(mutex_);
  streams_.push_back({HttpResponse{200, {}, ""}, std::move(script)});
  changed_.notify_all();
}

void FakeTransport::AnswerStream(absl::StatusOr<HttpResponse> response) {
  MutexLock lock(mutex_);
  streams_.push_back({std::move(response), {}});
  changed_.notify_all();
}

absl::StatusOr<HttpResponse> FakeTransport::Unary(const HttpRequest& request,
                                                  std::int64_t deadline_ms, std::stop_token stop) {
  MutexLock lock(mutex_);
  Record(request, deadline_ms);
  if (answers_.empty() && hangs_) {
    changed_.wait(lock, stop, [] { return false; });
    return absl::CancelledError("stopped");
  }
  if (answers_.empty()) return HttpResponse{500, {}, "nothing scripted"};
  absl::StatusOr<HttpResponse> answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

absl::StatusOr<HttpResponse> FakeTransport::Stream(const HttpRequest& request,
                                                   const StreamDeadlines& deadlines,
                                                   std::stop_token stop, const OnLine& on_line) {
  Scripted scripted;
  {
    MutexLock lock(mutex_);
    Record(request, deadlines.total_ms);
    changed_.wait(lock, stop,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !streams_.empty(); });
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    scripted = std::move(streams_.front());
    streams_.pop_front();
  }
  for (const std::string& line : scripted.stream.lines) {
    if (!on_line(line)) return scripted.response;
  }
  if (!scripted.stream.end.ok()) return scripted.stream.end;
  return scripted.response;
}

void FakeTransport::DropConnections() {
  MutexLock lock(mutex_);
  ++drops_;
}

std::vector<HttpRequest> FakeTransport::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

std::vector<std::int64_t> FakeTransport::deadlines() const {
  MutexLock lock(mutex_);
  return deadlines_;
}

int FakeTransport::drops() const {
  MutexLock lock(mutex_);
  return drops_;
}

void FakeTransport::WaitForRequests(std::size_t count) {
  MutexLock lock(mutex_);
  changed_.wait(lock,
                [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requests_.size() >= count; });
}

void FakeTransport::Record(const HttpRequest& request, std::int64_t deadline_ms) {
  requests_.push_back(request);
  deadlines_.push_back(deadline_ms);
  changed_.notify_all();
}

}  // namespace yardmaster::kube
