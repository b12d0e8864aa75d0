// What failures leave of the bandwidth of hosts and segments. A lost plane of a NIC, of a ToR or of
// an Agg switch takes that plane's part of what it carries.
//
// Where NICs spray, a flow uses what is left of both ends, and a gang whose hosts exchange data
// moves at the pace of its narrowest NIC. Where switches hash, a flow stands on one link, and what
// is left says nothing about it.
//
// Complexity: O(cables) where everything is up, else also, for each host, O(its NIC ports) and, for
// each of their ToRs and of those of a segment, O(its uplinks). Thread safety: pure functions.
// REQUIRES: snapshot.network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// The narrowest NIC of a host.
struct ResidualBandwidth {
  double share = 1;  // of its Gb/s: ports that are up, each with the uplinks its ToR has left
  int rail = 0;
  int ports_down = 0;  // of that NIC
};
ResidualBandwidth ResidualOf(const Snapshot& snapshot, fabric::HostId host);

// The same of many hosts: the uplinks of a ToR are looked at once. The snapshot outlives it.
class Residuals {
 public:
  explicit Residuals(const Snapshot& snapshot) : snapshot_(snapshot) {}
  ResidualBandwidth Of(fabric::HostId host);

 private:
  ResidualBandwidth OfNic(fabric::HostId host, int rail);
  double UplinkShare(fabric::SwitchId tor);

  const Snapshot& snapshot_;
  std::map<fabric::SwitchId, double> uplink_share_;
};

// Gb/s of the uplinks of a segment's ToRs that are up. `cable_down` by CableId; empty: all up.
double UplinkGbps(const fabric::Network& network, fabric::SegmentId segment,
                  const std::vector<std::uint8_t>& cable_down);

// The host that holds a gang back most; nullopt where none does: all is up, the gang stands on one
// host, or NICs do not spray.
struct NarrowHost {
  fabric::HostId host;
  ResidualBandwidth residual;
  double next_share = 1;  // of the narrowest of the gang's other hosts
};
std::optional<NarrowHost> NarrowestOf(const Snapshot& snapshot,
                                      const std::vector<fabric::HostId>& host_of_rank);
// "88 % of its bandwidth (1 of 8 ports of rail 3 is down)".
std::string ShareText(const Snapshot& snapshot, const ResidualBandwidth& residual);
// "host n7 has 88 % of its bandwidth (1 of 8 ports of rail 3 is down), and the gang moves at its
// pace".
std::string TextOf(const Snapshot& snapshot, const NarrowHost& narrow);

}  // namespace yardmaster::plan
