// From link states as they are read to the ports to report: those that have been down for a
// while, until they have been up for a while. A link that flaps is treated as down.
//
// Thread safety: none; one thread owns it. Time comes in. Determinism: depends on the calls alone.
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
  // transceiver's blink.
  std::int64_t down_after_ms = 500;
  std::int64_t up_after_ms = 15'000;
};

class LinkDebouncer {
 public:
  explicit LinkDebouncer(DebounceTimes times) : times_(times) {}

  // The ports that are down now, after what was read at `steady_ms`. A port that is down when first
  // seen counts at once, so that an agent's start delays nothing.
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
