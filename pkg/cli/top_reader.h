// What `top` shows of a cluster: its jobs and what they load the network with, read over one
// connection as often as asked.
//
// Each Read lists all objects. A warning is said when it comes up, not with every Read for which it
// holds. Lifetimes: the clock outlives the reader. Thread safety: as the client.
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
  // The time since now says how much later than the connection a Read is.
  TopReader(ClusterConnection connection, const Clock& clock);

  // Errors: the client's.
  absl::StatusOr<TopLoad> Read(std::ostream& err);

 private:
  ClusterConnection connection_;
  const Clock& clock_;
  const std::int64_t start_ms_;   // steady
  std::set<std::string> warned_;  // lines of the Read before
};

}  // namespace yardmaster::cli
