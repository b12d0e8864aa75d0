// path.h for other headers than RoCE's: where a packet between two NICs goes, and what switches have to choose for it. TCP
// connections are planned with it.
// Thread safety: as ForwardingModel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/repac/packet.h"
#include "pkg/repac/path.h"

namespace yardmaster::repac {

inline constexpr std::uint8_t kProtocolTcp = 6;

// `packet` has the addresses of src and dst. Errors: as PredictPath.
absl::StatusOr<Path> PredictPacket(const ForwardingModel& world, const NicPort& src,
                                   const NicPort& dst, Packet packet);
// Errors: as TargetsOf.
absl::StatusOr<std::vector<HopTarget>> TargetsOfPacket(const ForwardingModel& world,
                                                       const NicPort& src, const NicPort& dst,
                                                       std::span<const LinkId> links,
                                                       Packet packet);

}  // namespace yardmaster::repac
