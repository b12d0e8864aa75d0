// Holds the NIC ports that agents report as down over their streams. For a node with a stream they
// replace the Node's annotation yardmaster.dev/down-ports, which is older.
//
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
  // Incremented at every change.
  std::uint64_t version() const { return version_; }
  // Returns the ports that are down, by node, for all nodes that have a stream.
  std::map<std::string, std::vector<api::NicPortKey>> Take() const;

 private:
  std::atomic<std::uint64_t> version_ = 0;
  mutable Mutex mutex_;
  std::map<std::string, std::vector<api::NicPortKey>> down_ ABSL_GUARDED_BY(mutex_);
};

// Overwrites in `down` the cables of the hosts in `live`. `down` is indexed by cable; empty: no
// cable is down. Hosts and ports that the network does not have are ignored.
void ApplyLiveLinks(const std::map<std::string, std::vector<api::NicPortKey>>& live,
                    const fabric::Network& network, std::vector<std::uint8_t>& down);

}  // namespace yardmaster::op
