// One HTTP exchange with the API server. A Transport neither retries nor interprets what it
// carries: RestClient does, and adds the Authorization header. Tests use FakeTransport.
//
// Errors: Unavailable (no connection, connection lost; see WasNeverSent in api_error.h),
// DeadlineExceeded, Cancelled, DataLoss (a line or body beyond the limits), InvalidArgument (a
// target that is not a URI), and those of Credentials::Tls. An answer of any HTTP code is OK.
// Thread safety: all methods from any thread, at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yardmaster::kube {

struct HttpRequest {
  std::string method;
  // Encoded, beginning with a slash, with the query if any.
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // A longer body of an answer to Unary is not taken: DataLoss, marked as too large (api_error.h).
  // The API server keeps objects below 1.5 MiB.
  std::size_t max_answer_bytes = std::size_t{16} << 20;
};

struct HttpResponse {
  int code = 0;
  // Names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;

  std::string Header(const std::string& lower_case_name) const {
    auto it = headers.find(lower_case_name);
    return it == headers.end() ? "" : it->second;
  }
};

struct StreamDeadlines {
  // From the request to the end.
  std::int64_t total_ms;
  // Without a byte.
  std::int64_t idle_ms;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual absl::StatusOr<HttpResponse> Unary(const HttpRequest& request, std::int64_t deadline_ms,
                                             std::stop_token stop) = 0;

  // Calls `on_line` on the calling thread with every line (without its end) of an answer with code
  // 200, until it returns false or the answer ends; then the response has no body. Another code
  // comes back as in Unary. Unavailable if the answer ends within a line.
  using OnLine = std::function<bool(std::string_view line)>;
  virtual absl::StatusOr<HttpResponse> Stream(const HttpRequest& request,
                                              const StreamDeadlines& deadlines,
                                              std::stop_token stop, const OnLine& on_line) = 0;

  // Later requests use new connections: credentials of the old ones were refused.
  virtual void DropConnections() = 0;
};

}  // namespace yardmaster::kube
