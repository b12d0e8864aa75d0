// A Transport that plays a script: each request takes the next answer. Without one left, unary
// requests get 500, or after Hang wait for their stop, and streams wait for their stop.
// Thread safety: all methods from any thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/kube/transport.h"

namespace yardmaster::kube {

class FakeTransport final : public Transport {
 public:
  struct StreamScript {
    std::vector<std::string> lines;
    absl::Status end;  // how it ends after the lines
  };

  void Answer(absl::StatusOr<HttpResponse> response);
  void Answer(int code, std::string body, std::map<std::string, std::string> headers = {});
  void Hang();
  // Answer of the next stream: 200 with these lines, or the response alone.
  void AnswerStream(StreamScript script);
  void AnswerStream(absl::StatusOr<HttpResponse> response);

  absl::StatusOr<HttpResponse> Unary(const HttpRequest& request, std::int64_t deadline_ms,
                                     std::stop_token stop) override;
  absl::StatusOr<HttpResponse> Stream(const HttpRequest& request, const StreamDeadlines& deadlines,
                                      std::stop_token stop, const OnLine& on_line) override;
  void DropConnections() override;

  std::vector<HttpRequest> requests() const;
  std::vector<std::int64_t> deadlines() const;
  int drops() const;
  // Blocks until `count` requests have come.
  void WaitForRequests(std::size_t count);

 private:
  struct Scripted {
    absl::StatusOr<HttpResponse> response;
    StreamScript stream;
  };
  void Record(const HttpRequest& request, std::int64_t deadline_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<absl::StatusOr<HttpResponse>> answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<Scripted> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::int64_t> deadlines_ ABSL_GUARDED_BY(mutex_);
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  int drops_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::kube
