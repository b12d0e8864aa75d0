// Predicts the path of a packet, hop by hop.
//
// A path is known while every switch has no choice, chooses by a preset, or chooses by a known
// hash. A prediction stops, with a reason, at the first switch for which none of these holds.
//
// Thread safety: that of ForwardingModel.
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
  std::optional<std::uint64_t> hash;  // absent if a preset decides, or if unknown
  int index = 0;                      // chosen slot
  LinkId link;
};

struct PredictedPath {
  bool predictable = true;
  std::string reason;  // why it is not predictable
  int plane = 0;
  std::vector<PathHop> hops;
  // All links up to the end of the prediction, the source NIC's first.
  LinkPath links;
};

// Predicts the path of a RoCE packet. `dst.port` only selects the plane; the ToR that delivers may
// be hashed, too. Errors: InvalidArgument if the ports are in different planes or belong to one
// NIC; NotFound if the source NIC's cable is down or the destination cannot be reached.
absl::StatusOr<PredictedPath> PredictPath(const ForwardingModel& forwarding, const NicPort& src,
                                          const NicPort& dst, std::uint16_t sport);

// Returns what every switch of a given path must choose, for FindPort(). `links`: the links after
// the source NIC's, in order. The conditions stop where the list does; later links are free.
// Errors: InvalidArgument as PredictPath; NotFound if a link is not a member of the group that must
// choose it, if a switch cannot reach the destination, or if `links` continue after it;
// FailedPrecondition if the choice cannot be predicted.
absl::StatusOr<std::vector<HopTarget>> TargetsOf(const ForwardingModel& forwarding,
                                                 const NicPort& src, const NicPort& dst,
                                                 std::span<const LinkId> links);

// Like PredictPath, for other headers than RoCE's, such as those of TCP connections. `packet` has
// the addresses of src and dst. Errors: as PredictPath.
absl::StatusOr<PredictedPath> PredictPacket(const ForwardingModel& forwarding, const NicPort& src,
                                            const NicPort& dst, Packet packet);
// Like TargetsOf, for `packet`. Errors: as TargetsOf.
absl::StatusOr<std::vector<HopTarget>> TargetsOfPacket(const ForwardingModel& forwarding,
                                                       const NicPort& src, const NicPort& dst,
                                                       std::span<const LinkId> links,
                                                       Packet packet);

// Returns the link that a packet takes out of a group, or an invalid id if it cannot be determined.
// Like Decide(), without the reason.
LinkId Choose(const Group& group, const Packet& packet);

// A fast PredictPath: calls visit(link) for every link after the source NIC's until it returns
// false. Returns true if the destination was reached. REQUIRES: ports of one plane.
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

// One decision of a group for a packet with ingress_port. Returns the reason if it is
// unpredictable. REQUIRES: !group.unreachable().
struct HashDecision {
  std::optional<std::uint64_t> hash;
  int index = 0;
  LinkId link;
};
std::optional<std::string> Decide(const Group& group, const Packet& packet, HashDecision& out);

}  // namespace yardmaster::repac
