// Observes what the host's NIC ports are plugged into, from an LLDP daemon (lldp.h), and builds the
// document for the Node (neighbour_names.h). A failed read keeps the former result.
//
// Thread safety: Step from one thread; the others from any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/agent/ports/neighbour_names.h"
#include "pkg/agent/ports/text_source.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

struct NeighbourOptions {
  std::string file;     // output of lldpcli; set either file or command
  std::string command;  // a command that prints the output
  std::optional<NeighbourNames> names;
  std::string node;  // the host's name in the Fabric
  std::string sysfs_root;
  std::int64_t interval_ms = 30'000;
  TextLimits limits;
};

class NeighbourObserver {
 public:
  // `ports`: those of the host; empty while unknown.
  NeighbourObserver(NeighbourOptions options, std::function<std::vector<LocalNicPort>()> ports)
      : options_(std::move(options)), ports_(std::move(ports)) {}

  // Reads if a read is due; blocks for as long as the limits allow.
  void Step(std::int64_t steady_ms);

  std::vector<PortNeighbour> seen() const;
  // nullopt: nothing was read.
  std::optional<std::string> document() const;
  // Returns the last read's error, or reports ports whose neighbour the table does not know.
  absl::Status problem() const;
  std::int64_t reads() const;
  std::int64_t failures() const;

 private:
  const NeighbourOptions options_;
  const std::function<std::vector<LocalNicPort>()> ports_;
  std::int64_t next_ms_ = 0;  // the stepping thread's
  mutable Mutex mutex_;
  std::vector<PortNeighbour> seen_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> document_ ABSL_GUARDED_BY(mutex_);
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
  std::int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::agent
