// TopReader reads what `top` shows of a cluster, its jobs and their load of the network, repeatedly
// over one connection.
//
// Each Read lists all objects. A warning is printed when it first occurs, not again while it
// persists.
//
// Lifetimes: the clock outlives the reader. Thread safety: that of the client.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/cli/connect.h"
#include "pkg/page/network_picture.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::cli {

struct TopLoad {
  plan::Snapshot snapshot;
  page::NetworkPicture picture;
};

class TopReader {
 public:
  // The time of a Read is that of the connection plus the time since this call.
  TopReader(ClusterConnection connection, const Clock& clock);

  // Errors: those of the client.
  absl::StatusOr<TopLoad> Read(std::ostream& err);

 private:
  ClusterConnection connection_;
  const Clock& clock_;
  const std::int64_t start_ms_;   // steady
  std::set<std::string> warned_;  // lines of the previous Read
};

}  // namespace yardmaster::cli
