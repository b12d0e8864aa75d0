// Computes the bandwidth that failures leave to hosts and segments. A lost plane of a NIC, of a ToR
// or of an Agg switch removes that plane's part of what it carries.
//
// If NICs spray, a flow uses the remaining bandwidth of both ends, and a gang whose hosts exchange
// data proceeds at the pace of its narrowest NIC. If switches hash, a flow uses one link, and the
// remaining bandwidth does not determine its rate.
//
// Complexity: O(cables) if all are up; otherwise also, for each host, O(its NIC ports) and, for
// each of their ToRs and those of a segment, O(its uplinks). Thread safety: pure functions.
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
  double share =
      1;  // share of its Gb/s: ports that are up, each with the remaining uplinks of its ToR
  int rail = 0;
  int ports_down = 0;  // of that NIC
};
ResidualBandwidth ResidualOf(const Snapshot& snapshot, fabric::HostId host);

// The same for many hosts: examines the uplinks of each ToR once. Lifetimes: the snapshot outlives
// the object.
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

// Returns the Gb/s of those uplinks of a segment's ToRs that are up. `cable_down` by CableId;
// empty: all up.
double UplinkGbps(const fabric::Network& network, fabric::SegmentId segment,
                  const std::vector<std::uint8_t>& cable_down);

// The host that slows a gang down most. NarrowestOf returns nullopt if none does: all is up, the
// gang is on one host, or NICs do not spray.
struct NarrowHost {
  fabric::HostId host;
  ResidualBandwidth residual;
  double next_share = 1;  // of the narrowest of the gang's other hosts
};
std::optional<NarrowHost> NarrowestOf(const Snapshot& snapshot,
                                      const std::vector<fabric::HostId>& host_of_rank);
// For example "88 % of its bandwidth (1 of 8 ports of rail 3 is down)".
std::string ShareText(const Snapshot& snapshot, const ResidualBandwidth& residual);
// For example "host n7 has 88 % of its bandwidth (1 of 8 ports of rail 3 is down), and the gang
// moves at its pace".
std::string TextOf(const Snapshot& snapshot, const NarrowHost& narrow);

}  // namespace yardmaster::plan
