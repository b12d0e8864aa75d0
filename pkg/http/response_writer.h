// A response as bytes for the wire. Framing headers come from here alone, and a header that could
// split the response is refused. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/http/message.h"

namespace yardmaster::http {

struct ResponseOptions {
  // The request was HEAD: the headers of the full answer, no body.
  bool head = false;
  bool keep_alive = true;
  // The request was HTTP/1.0, whose clients must be told of keep-alive.
  bool http10 = false;
  // Seconds since the epoch, for the Date header.
  std::int64_t now_s = 0;
};

// The status line and headers, and the body, which is the response's own and not copied.
struct WireResponse {
  std::string head;
  std::string body;
};

// A status outside 200..599, or a header with characters no header may hold, becomes a 500: those
// are the handler's mistakes and must not reach the client as they are.
WireResponse WriteResponse(Response response, const ResponseOptions& options);

// "Tue, 02 Jan 2024 03:04:05 GMT".
std::string HttpDate(std::int64_t now_s);

}  // namespace yardmaster::http
