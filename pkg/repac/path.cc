#include "pkg/repac/path.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::repac {

namespace {

using fabric::Network;

absl::Status CheckEnds(const Network& network, const NicPort& src, const NicPort& dst) {
  if (network.plane_of(src) != network.plane_of(dst)) {
    return absl::InvalidArgumentError(StrCat("port ", src.port, " of the source is in plane ",
                                             network.plane_of(src), ", port ", dst.port,
                                             " of the destination in plane ", network.plane_of(dst),
                                             ", and planes do not meet; name ports of one plane"));
  }
  if (src.host == dst.host && src.rail == dst.rail) {
    return absl::InvalidArgumentError("source and destination are the same NIC; name two");
  }
  return absl::OkStatus();
}

absl::Status Unreachable(const Network& network, SwitchId at, const NicPort& dst) {
  return absl::NotFoundError(StrCat(network.shown(at), " has no link left that leads to rail ",
                                    dst.rail, " of ", network.places().name(dst.host)));
}

// The preset link of a packet, or an invalid id if the hash decides.
LinkId Preset(const Group& group, std::uint16_t ingress_port) {
  if (group.preset.empty()) return LinkId();
  return group.preset[ingress_port % group.preset.size()];
}

std::optional<std::string> WhyBlocked(const Group& group) {
  if (!group.hash->predictable()) return group.hash->reason();
  if (!group.blocked.empty()) return group.blocked;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Decide(const Group& group, const Packet& packet, HashDecision& out) {
  out = HashDecision();
  if (const LinkId preset = Preset(group, packet.ingress_port); preset.valid()) {
    out.index = static_cast<int>(packet.ingress_port % group.preset.size());
    out.link = preset;
    return std::nullopt;
  }
  const bool known = group.hash->predictable();
  if (known) out.hash = group.hash->Hash(packet);
  if (group.slots.size() > 1) {
    if (auto reason = WhyBlocked(group)) return reason;
    out.index = static_cast<int>(group.SlotOf(*out.hash));
  }
  const auto slot = static_cast<std::size_t>(out.index);
  out.link = group.slots[slot];
  if (group.lags.empty() || group.lags[slot].size() == 1) return std::nullopt;
  if (!group.lag_hash->predictable()) return "inside the LAG: " + group.lag_hash->reason();
  std::span<const LinkId> links = group.lags[slot];
  out.link = links[group.lag_hash->Hash(packet) % links.size()];
  return std::nullopt;
}

LinkId Choose(const Group& group, const Packet& packet) {
  if (const LinkId preset = Preset(group, packet.ingress_port); preset.valid()) return preset;
  std::size_t slot = 0;
  if (group.slots.size() != 1) {
    if (group.slots.empty() || !group.blocked.empty() || !group.hash->predictable())
      return LinkId();
    slot = group.SlotOf(group.hash->Hash(packet));
  }
  if (group.lags.empty() || group.lags[slot].size() == 1) return group.slots[slot];
  if (!group.lag_hash->predictable()) return LinkId();
  return group.lags[slot][group.lag_hash->Hash(packet) % group.lags[slot].size()];
}

absl::StatusOr<PredictedPath> PredictPath(const ForwardingModel& forwarding, const NicPort& src,
                                          const NicPort& dst, std::uint16_t sport) {
  // Without known addresses there are no headers, and the answer says so before it reads them.
  const bool known = !forwarding.WhyUnknown(src, dst).has_value();
  return PredictPacket(forwarding, src, dst,
                       known ? forwarding.PacketOf(src, dst, sport) : Packet());
}

absl::StatusOr<PredictedPath> PredictPacket(const ForwardingModel& forwarding, const NicPort& src,
                                            const NicPort& dst, Packet packet) {
  const Network& network = forwarding.network();
  YM_RETURN_IF_ERROR(CheckEnds(network, src, dst));
  PredictedPath path;
  path.plane = network.plane_of(src);
  const LinkId first = Network::up(network.host_cable(src));
  path.links.push_back(first);
  if (forwarding.is_down(Network::cable_of(first))) {
    return absl::NotFoundError(StrCat(network.shown(Network::cable_of(first)), " is down"));
  }
  if (auto reason = forwarding.WhyUnknown(src, dst)) {
    path.predictable = false;
    path.reason = *std::move(reason);
    return path;
  }
  absl::Status reachable;
  fabric::Walk(network, first, [&](SwitchId at, LinkId came_by) {
    const Group& group = forwarding.group(at, Network::is_down(came_by), dst);
    if (group.unreachable()) {
      reachable = Unreachable(network, at, dst);
      return LinkId();
    }
    packet.ingress_port = forwarding.ingress_port(came_by);
    HashDecision decision;
    if (auto reason = Decide(group, packet, decision)) {
      path.predictable = false;
      path.reason = StrCat(network.shown(at), ": ", *reason);
      return LinkId();
    }
    path.hops.push_back(
        {at, static_cast<int>(group.slots.size()), decision.hash, decision.index, decision.link});
    path.links.push_back(decision.link);
    return decision.link;
  });
  if (!reachable.ok()) return reachable;
  return path;
}

namespace {

// Adds what `group` must compute so that `link` is taken.
absl::Status AddTargets(const Network& network, const Group& group, SwitchId at,
                        const Packet& packet, LinkId link, std::vector<HopTarget>& targets) {
  const LinkId preset = Preset(group, packet.ingress_port);
  HopTarget hop;
  hop.members = static_cast<int>(group.slots.size());
  hop.thresholds = group.thresholds;
  HopTarget lag;
  for (std::size_t slot = 0; slot < group.slots.size(); ++slot) {
    if (group.lags.empty()) {
      if (group.slots[slot] == link) hop.wanted.push_back(static_cast<int>(slot));
      continue;
    }
    std::span<const LinkId> links = group.lags[slot];
    const auto found = std::find(links.begin(), links.end(), link);
    if (found == links.end()) continue;
    hop.wanted.push_back(static_cast<int>(slot));
    lag.members = static_cast<int>(links.size());
    lag.wanted = {static_cast<int>(found - links.begin())};
  }
  if (hop.wanted.empty() || (preset.valid() && preset != link)) {
    return absl::NotFoundError(
        StrCat(network.shown(link), " does not lead to the destination from ", network.shown(at)));
  }
  if (preset.valid()) return absl::OkStatus();
  if (hop.members > 1) {
    if (auto reason = WhyBlocked(group)) {
      return absl::FailedPreconditionError(StrCat(network.shown(at), ": ", *reason));
    }
    hop.function = group.hash->OverPorts(packet);
    targets.push_back(std::move(hop));
  }
  if (lag.members > 1) {
    if (!group.lag_hash->predictable()) {
      return absl::FailedPreconditionError(
          StrCat(network.shown(at), ": inside the LAG: ", group.lag_hash->reason()));
    }
    lag.function = group.lag_hash->OverPorts(packet);
    targets.push_back(std::move(lag));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<HopTarget>> TargetsOf(const ForwardingModel& forwarding,
                                                 const NicPort& src, const NicPort& dst,
                                                 std::span<const LinkId> links) {
  const bool known = !forwarding.WhyUnknown(src, dst).has_value();
  return TargetsOfPacket(forwarding, src, dst, links,
                         known ? forwarding.PacketOf(src, dst, kSourcePortBase) : Packet());
}

absl::StatusOr<std::vector<HopTarget>> TargetsOfPacket(const ForwardingModel& forwarding,
                                                       const NicPort& src, const NicPort& dst,
                                                       std::span<const LinkId> links,
                                                       Packet packet) {
  const Network& network = forwarding.network();
  YM_RETURN_IF_ERROR(CheckEnds(network, src, dst));
  if (const auto reason = forwarding.WhyUnknown(src, dst)) {
    return absl::FailedPreconditionError(*reason);
  }
  std::vector<HopTarget> targets;
  absl::Status status;
  std::size_t taken = 0;
  const bool arrived =
      fabric::Walk(network, Network::up(network.host_cable(src)), [&](SwitchId at, LinkId came_by) {
        if (taken == links.size()) return LinkId();
        const Group& group = forwarding.group(at, Network::is_down(came_by), dst);
        packet.ingress_port = forwarding.ingress_port(came_by);
        status = group.unreachable()
                     ? Unreachable(network, at, dst)
                     : AddTargets(network, group, at, packet, links[taken], targets);
        return status.ok() ? links[taken++] : LinkId();
      });
  YM_RETURN_IF_ERROR(status);
  if (arrived && taken < links.size()) {
    return absl::NotFoundError("the path goes on after its destination");
  }
  return targets;
}

}  // namespace yardmaster::repac
