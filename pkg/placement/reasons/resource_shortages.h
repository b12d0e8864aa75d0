// Counts the hosts that have enough GPUs for a worker and too little of another resource, and
// reports them as reasons: how many hosts, which resource, the amount requested, and the most that
// any of them has. A host counts once, for the first resource by name.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/placement/outcome.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

// Formats an amount in the usual form: "95500m" or "96" of cpu, "1536Mi" of memory, "8" of devices.
std::string FormatAmount(std::string_view resource, std::int64_t amount);

class ResourceShortages {
 public:
  // `empty`: counts the total of each host; else what is free. Lifetimes: `cluster` outlives the
  // object.
  ResourceShortages(const Cluster& cluster, bool empty) : cluster_(cluster), empty_(empty) {}

  // Counts the host if `shortage`, as of WorkerNeed::ShortOf, is set.
  void Note(fabric::HostId host, const std::optional<WorkerNeed::Amount>& shortage);
  // By resource name.
  void AppendReasons(std::vector<Reason>& reasons) const;

 private:
  struct Shortage {
    std::int64_t hosts = 0;
    std::int64_t requested = 0;
    std::int64_t best = 0;
  };

  const Cluster& cluster_;
  const bool empty_;
  std::map<std::size_t, Shortage> by_column_;
};

}  // namespace yardmaster::placement
