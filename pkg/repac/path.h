// The path one packet takes, hop by hop.
//
// A path is known while every switch on it has no choice, chooses by a preset, or chooses by a hash
// that is known. A prediction stops, with the reason, at the first switch for which none of these
// holds. Thread safety: as ForwardingModel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/fabric/walk.h"
#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/port_search.h"

namespace yardmaster::repac {

struct PathHop {
  SwitchId at;
  int members = 0;                    // slots of the group
  std::optional<std::uint64_t> hash;  // absent if a preset decides or it is unknown
  int index = 0;                      // slot taken
  LinkId link;
};

struct PredictedPath {
  bool predictable = true;
  std::string reason;  // why not
  int plane = 0;
  std::vector<PathHop> hops;
  // All links, the source NIC's first; up to where prediction stops.
  LinkPath links;
};

// The path of a RoCE packet. `dst.port` only names the plane; which ToR delivers may be hashed,
// too. Errors: InvalidArgument when the ports are in different planes or belong to one NIC;
// NotFound when the source NIC's cable is down or the destination cannot be reached.
absl::StatusOr<PredictedPath> PredictPath(const ForwardingModel& forwarding, const NicPort& src,
                                          const NicPort& dst, std::uint16_t sport);

// What every switch of a given path has to choose, for FindPort(). `links` are the links after the
// source ToR in order (later ones may be left out: then they are free). The conditions stop where
// the list does. Errors: InvalidArgument as PredictPath; NotFound if a link is not a member of the
// group that has to choose it, if a switch cannot reach the destination, or if `links` go on after
// it; FailedPrecondition where the choice cannot be predicted.
absl::StatusOr<std::vector<HopTarget>> TargetsOf(const ForwardingModel& forwarding,
                                                 const NicPort& src, const NicPort& dst,
                                                 std::span<const LinkId> links);

// The same two for other headers than RoCE's, for example of TCP connections. `packet` has the
// addresses of src and dst. Errors: as PredictPath.
absl::StatusOr<PredictedPath> PredictPacket(const ForwardingModel& forwarding, const NicPort& src,
                                            const NicPort& dst, Packet packet);
// Errors: as TargetsOf.
absl::StatusOr<std::vector<HopTarget>> TargetsOfPacket(const ForwardingModel& forwarding,
                                                       const NicPort& src, const NicPort& dst,
                                                       std::span<const LinkId> links,
                                                       Packet packet);

// The link a packet takes out of a group, or an invalid id where it cannot be determined. As
// Decide(), without the reason.
LinkId Choose(const Group& group, const Packet& packet);

// A fast PredictPath: calls visit(link) for every link after the source NIC's
// until it returns false. True if the destination was reached. REQUIRES: ports of one plane.
template <typename Visit>
bool WalkPath(const ForwardingModel& forwarding, const NicPort& src, const NicPort& dst,
              std::uint16_t sport, Visit visit) {
  const fabric::Network& network = forwarding.network();
  if (forwarding.WhyUnknown(src, dst)) return false;
  Packet packet = forwarding.PacketOf(src, dst, sport);
  const LinkId first = fabric::Network::up(network.host_cable(src));
  if (forwarding.is_down(fabric::Network::cable_of(first))) return false;
  const int num_tors = forwarding.num_tors();
  return fabric::Walk(network, first, [&](SwitchId at, LinkId came_by) {
    const bool from_above = fabric::Network::is_down(came_by);
    LinkId next;
    if (from_above && at.value < num_tors) next = forwarding.Delivery(at, dst);
    if (!next.valid()) {
      packet.ingress_port = forwarding.ingress_port(came_by);
      next = Choose(forwarding.group(at, from_above, dst), packet);
    }
    return next.valid() && visit(next) ? next : LinkId();
  });
}

// One decision of a group about a packet whose ingress_port is set. Returns the reason if
// unpredictable. REQUIRES: !group.unreachable().
struct HashDecision {
  std::optional<std::uint64_t> hash;
  int index = 0;
  LinkId link;
};
std::optional<std::string> Decide(const Group& group, const Packet& packet, HashDecision& out);

}  // namespace yardmaster::repac
