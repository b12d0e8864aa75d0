// Which hosts each pod template may use, kept from one ClusterState to the next. Equal templates
// share one answer.
//
// A taint that some job tolerates restricts the host to the jobs that tolerate it; a taint that no
// job tolerates makes the host unavailable. So a host that changed costs one check per distinct
// template, and one that only has another id none. A template that comes costs one check of every
// host; and when one comes or goes, every host with such a taint is checked for every template.
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "pkg/state/host_index.h"

namespace yardmaster::state {

// One distinct pod template.
struct HostLimit {
  // By HostId; null: every host.
  std::shared_ptr<const std::vector<std::uint8_t>> eligible;
};

class HostLimits {
 public:
  // The limit of these constraints, from the next Update on. It is kept as long as the caller holds
  // it.
  std::shared_ptr<const HostLimit> Of(const api::NodeConstraints& constraints);
  void Update(const HostIndex& hosts, const HostChanges& changes);
  // Whether the host is unavailable because of a taint.
  bool is_tainted(fabric::HostId host) const { return tainted_[host.index()] != 0; }

 private:
  struct Kept {
    std::shared_ptr<HostLimit> limit;
    bool fresh = true;               // every host is to be looked at
    std::vector<std::uint8_t> bits;  // by HostId
    std::int64_t closed = 0;         // hosts that may not be used
    bool differs = false;            // bits and limit->eligible
  };

  void Move(const std::vector<fabric::HostId>& to, std::size_t count);
  void ReadTaints(const HostIndex& hosts, fabric::HostId host);
  void CheckHost(const HostIndex& hosts, fabric::HostId host,
                 const api::NodeConstraints& constraints, Kept& kept) const;

  std::map<api::NodeConstraints, Kept> limits_;
  bool came_or_went_ = false;
  std::vector<std::uint8_t> tainted_;   // by HostId
  std::vector<std::uint8_t> fenced_;    // by HostId
  std::vector<std::uint8_t> repelled_;  // by HostId: has a taint that matters to templates
};

}  // namespace yardmaster::state
