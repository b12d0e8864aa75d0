// The pod annotation yardmaster.dev/connections: whether the pod's connections have their planned
// ports, as the shims in its containers say. Written by the agent, read by the operator, which
// makes the Gang's condition ConnectionsSteered of it.
//
//   {"version":1,"steered":16,"unsteered":2,"unplanned":0,"why":"refused by the device"}
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::api {

inline constexpr char kConnectionsAnnotation[] = "yardmaster.dev/connections";
// True: every planned connection that is known has its port.
inline constexpr char kConnectionsSteeredCondition[] = "ConnectionsSteered";

struct ConnectionReport {
  int steered = 0;    // connections that have the planned port
  int unsteered = 0;  // planned ones that have not
  int unplanned = 0;  // connections that the plan does not have
  std::string why;    // the most frequent reason of the others; at most kMaxWhyBytes
  bool operator==(const ConnectionReport&) const = default;
};

inline constexpr std::size_t kMaxWhyBytes = 200;
inline constexpr int kMaxReportedConnections = 10'000'000;

std::string EncodeConnectionReport(const ConnectionReport& report);
// Errors: InvalidArgument.
absl::StatusOr<ConnectionReport> DecodeConnectionReport(std::string_view text);

}  // namespace yardmaster::api
