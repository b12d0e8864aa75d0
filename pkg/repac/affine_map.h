// An affine function of packet headers over GF(2), compiled for speed.
//
// Problem: h(k) = c ^ L(k), L linear, k the header as a bit vector. h is known only as a slow
// function. Method: L's columns are h(e_i) ^ h(0), one call per key bit; per key byte a table of
// 256 sums of columns makes an evaluation one lookup and XOR for every byte that matters (13 for an
// IPv4 five-tuple). Bytes whose columns are all zero are left out. Fails when h is not affine: then
// the map computes another function, and Build does not notice; ask IsAffine() (reference_hash.h)
// first. Values are cut to their low 32 bits.
// Thread safety: immutable after Build. Determinism: complete.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "pkg/repac/packet.h"

namespace yardmaster::repac {

class AffineMap {
 public:
  // `v6` says which kind of packets it is for.
  static AffineMap Build(bool v6, const std::function<std::uint64_t(const Packet&)>& function);

  // REQUIRES: packet's addresses are of the kind it was built for.
  std::uint32_t operator()(const Packet& packet) const;

  // L of a change of bit `bit` (0: least significant) of the source port.
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
