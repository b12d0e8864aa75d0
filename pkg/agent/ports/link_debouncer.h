// Debounces link states: reports a port as down once it has been down for a while, until it has
// been up for a while. So a link that flaps is reported as down.
//
// Thread safety: one thread. Determinism: depends only on the calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/nic_annotations.h"

namespace yardmaster::agent {

using PortKey = api::NicPortKey;

struct PortState {
  PortKey key;
  bool up = true;
};

struct DebounceTimes {
  // Shorter than NCCL's retry timeout, so that a plan can change before a job fails; longer than a
  // momentary loss of light.
  std::int64_t down_after_ms = 500;
  std::int64_t up_after_ms = 15'000;
};

class LinkDebouncer {
 public:
  explicit LinkDebouncer(DebounceTimes times) : times_(times) {}

  // Returns the ports that are down, given the states read at `steady_ms`. A port that is down when
  // first seen is reported at once, so that the start of an agent delays nothing.
  std::vector<PortKey> Observe(std::int64_t steady_ms, const std::vector<PortState>& states);

 private:
  struct Port {
    bool reported_up = true;
    // Since when it differs from the reported state; -1: it does not.
    std::int64_t other_since_ms = -1;
  };

  const DebounceTimes times_;
  std::map<PortKey, Port> ports_;
};

}  // namespace yardmaster::agent
