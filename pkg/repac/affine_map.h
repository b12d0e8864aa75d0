// AffineMap is an affine function of packet headers over GF(2), compiled for speed.
//
// Problem: h(k) = c ^ L(k), where L is linear and k is the header as a bit vector. h is given only
// as a slow function.
//
// Method: the columns of L are h(e_i) ^ h(0), one call per key bit. For each key byte a table has
// the 256 sums of its columns, so an evaluation is one lookup and XOR per byte that matters (13 for
// an IPv4 five-tuple). Bytes whose columns are all zero are left out.
//
// Failure: if h is not affine, the map computes another function, and Build does not detect it.
// Callers check IsAffine() (reference_hash.h) first. Values are truncated to 32 bits.
//
// Thread safety: immutable after Build. Deterministic.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "pkg/repac/packet.h"

namespace yardmaster::repac {

class AffineMap {
 public:
  // `v6`: whether the map is for IPv6 packets.
  static AffineMap Build(bool v6, const std::function<std::uint64_t(const Packet&)>& function);

  // REQUIRES: the packet's addresses have the kind for which the map was built.
  std::uint32_t operator()(const Packet& packet) const;

  // Returns L of a change of bit `bit` (0: least significant) of the source port.
  std::uint32_t SourcePortColumn(int bit) const {
    return source_port_[static_cast<std::size_t>(bit)];
  }

 private:
  using Table = std::array<std::uint32_t, 256>;
  std::uint32_t constant_ = 0;
  std::vector<std::uint8_t> active_;  // indices of the header bytes that matter
  std::vector<Table> tables_;         // one per entry of active_
  std::array<std::uint32_t, 16> source_port_{};
};

}  // namespace yardmaster::repac
