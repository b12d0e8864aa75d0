// Follows a packet from switch to switch; the caller chooses a link at each of them.
//
// The one loop behind predicted paths (a hash chooses), candidate paths (a number chooses), drawn
// paths (a random number chooses) and observed ones (the observation chooses). It ends at a host,
// where the caller chooses no link, or after 2 * tiers + 2 switches, which is more than a path of a
// folded Clos has.
//
// Complexity: O(tiers) choices. Deterministic as `choose` is. Thread safety: pure.
#pragma once

#include "pkg/fabric/network.h"

namespace yardmaster::fabric {

// `first` is the link that the packet leaves the source by. Calls choose(at, came_by) at each
// switch: the link to leave by, or an invalid id to end the walk there. True if it ended at a host.
template <typename Choose>
bool Walk(const Network& network, LinkId first, Choose choose) {
  LinkId came_by = first;
  SwitchId at = network.far_end(first);
  for (int hop = 2 * network.num_tiers() + 2; at.valid() && hop > 0; --hop) {
    came_by = choose(at, came_by);
    if (!came_by.valid()) return false;
    at = network.far_end(came_by);
  }
  return !at.valid();
}

}  // namespace yardmaster::fabric
