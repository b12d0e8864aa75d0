#include "pkg/http/options.h"

#include <string_view>
#include <utility>

#include "pkg/base/status.h"

namespace yardmaster::http {
namespace {

absl::Status CheckDeadlines(const Deadlines& deadlines) {
  const std::pair<std::string_view, std::int64_t> all[] = {
      {"deadlines.handshake_ms", deadlines.handshake_ms},
      {"deadlines.header_ms", deadlines.header_ms},
      {"deadlines.body_ms", deadlines.body_ms},
      {"deadlines.handler_ms", deadlines.handler_ms},
      {"deadlines.write_ms", deadlines.write_ms},
      {"deadlines.idle_ms", deadlines.idle_ms},
      {"deadlines.drain_idle_ms", deadlines.drain_idle_ms},
      {"deadlines.linger_ms", deadlines.linger_ms},
  };
  for (const auto& [name, value] : all) {
    if (value <= 0) return FieldError(name, "is not positive", "give milliseconds above 0");
  }
  return absl::OkStatus();
}

absl::Status CheckLimits(const Limits& limits) {
  if (limits.header_bytes < 256 || limits.header_bytes > 1024 * 1024) {
    return FieldError("limits.header_bytes", "is outside 256 B to 1 MiB", "use 16384");
  }
  if (limits.total_body_bytes < limits.body_bytes) {
    return FieldError("limits.total_body_bytes", "is below limits.body_bytes",
                      "allow at least one request of full size");
  }
  if (limits.connections < 1) {
    return FieldError("limits.connections", "is below 1", "allow at least one connection");
  }
  if (limits.connections_per_peer < 1) {
    return FieldError("limits.connections_per_peer", "is below 1", "allow at least one connection");
  }
  if (limits.reserved_connections < 0) {
    return FieldError("limits.reserved_connections", "is below 0", "use 0 to reserve none");
  }
  if (limits.handshakes.per_peer <= 0 || limits.handshakes.per_peer_burst < 1 ||
      limits.handshakes.in_all <= 0 || limits.handshakes.in_all_burst < 1) {
    return FieldError("limits.handshakes", "admits none",
                      "give rates above 0 and bursts of 1 or more");
  }
  if (limits.methods.empty()) {
    return FieldError("limits.methods", "is empty", "allow at least GET");
  }
  for (const std::string& method : limits.methods) {
    if (method == "TRACE" || method == "CONNECT") {
      return FieldError("limits.methods", method + " is never served", "leave it out");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const ServerOptions& options) {
  if (options.port < 0 || options.port > 65535) {
    return FieldError("port", "is outside 0 to 65535", "use 0 to let the kernel choose");
  }
  if (options.io_threads < 1 || options.io_threads > 256) {
    return FieldError("io_threads", "is outside 1 to 256", "use one per core");
  }
  YM_RETURN_IF_ERROR(CheckLimits(options.limits));
  return CheckDeadlines(options.deadlines);
}

}  // namespace yardmaster::http
