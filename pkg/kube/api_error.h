// From HTTP answers of the API server to absl::Status (the table is at the head of client.h), and
// what a status remembers of the answer behind it. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::kube {

struct ErrorContext {
  std::string verb;  // "GET", "PATCH", ...
  std::string path;
  // A 422 without causes then means that the patch does not fit: FailedPrecondition.
  bool json_patch = false;
  std::int64_t retry_after_ms = 0;
};

// The status for an answer with an HTTP code of 300 or more. `body` is the server's Status object,
// or any text that a proxy in between wrote.
absl::Status StatusFromAnswer(const ErrorContext& context, int http_code, std::string_view body);

// The status for a Status object that came inside a watch (an ERROR event).
absl::Status StatusFromObject(const ErrorContext& context, const nlohmann::json& status_object);

// A Retry-After header as milliseconds; 0 if it is not a number of seconds. Capped at one hour.
std::int64_t ParseRetryAfterMs(std::string_view header);

// Marks a transport error after which the server certainly has not seen the request.
absl::Status MarkNeverSent(absl::Status status);
bool WasNeverSent(const absl::Status& status);
// Marks a transport error for an answer of more bytes than may be taken.
absl::Status MarkTooLarge(absl::Status status);
bool WasTooLarge(const absl::Status& status);
// Marks the result of the last of several tries, of which an earlier one may have taken effect.
absl::Status MarkReplayed(absl::Status status);
bool WasReplayed(const absl::Status& status);

// The server did not answer, or not as it should (5xx): the same call may succeed later.
bool IsTransient(const absl::Status& status);

// The server, or a policy, refuses this write; an immediate retry would be refused, too.
bool IsDenied(const absl::Status& status);

// Of a call that names an object and a precondition on its life (uid): the object does not exist,
// or another one has its name now.
bool IsGone(const absl::Status& status);

// The same status, payloads included, with "<verb> <path>: " before its message.
absl::Status Prefixed(const ErrorContext& context, const absl::Status& status);

}  // namespace yardmaster::kube
