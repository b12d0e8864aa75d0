// The NIC ports that are down by the agents' streams: newer than the Nodes' annotation
// yardmaster.dev/down-ports, which counts for nodes without a stream.
// Thread safety: all methods from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/nic_annotations.h"
#include "pkg/base/mutex.h"
#include "pkg/fabric/network.h"

namespace yardmaster::op {

class LiveLinks {
 public:
  void Put(const std::string& node, std::vector<api::NicPortKey> down);
  void Drop(const std::string& node);
  // Counts changes.
  std::uint64_t version() const { return version_; }
  // By node, all that have a stream.
  std::map<std::string, std::vector<api::NicPortKey>> Take() const;

 private:
  std::atomic<std::uint64_t> version_ = 0;
  mutable Mutex mutex_;
  std::map<std::string, std::vector<api::NicPortKey>> down_ ABSL_GUARDED_BY(mutex_);
};

// Replaces in `down` (by cable; empty: none is) the states of the hosts in `live`. Hosts and ports
// that the network does not have are left out.
void ApplyLiveLinks(const std::map<std::string, std::vector<api::NicPortKey>>& live,
                    const fabric::Network& network, std::vector<std::uint8_t>& down);

}  // namespace yardmaster::op
