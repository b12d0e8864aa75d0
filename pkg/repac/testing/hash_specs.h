// Defines hashes and packets that tests of hash models share. For tests only.
#pragma once

#include <utility>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/repac/hash_model.h"

namespace yardmaster::repac {

inline HashModel Compiled(const fabric::HashSpec& spec) {
  auto model = HashModel::Compile(spec);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

inline fabric::HashSpec CrcSpec() {
  fabric::HashSpec spec;
  spec.kind = fabric::HashKind::kCrc;
  return spec;
}

inline fabric::HashSpec Rtag7Spec(fabric::Rtag7Function function, bool pre_mix = false) {
  fabric::HashSpec spec;
  spec.kind = fabric::HashKind::kRtag7;
  spec.rtag7.function = function;
  spec.rtag7.pre_mix = pre_mix;
  spec.seed = 0x12345678;
  return spec;
}

inline constexpr fabric::Rtag7Function kAllRtag7[] = {
    fabric::Rtag7Function::kCrc16Bisync,    fabric::Rtag7Function::kCrc16Ccitt,
    fabric::Rtag7Function::kCrc32cLo,       fabric::Rtag7Function::kCrc32cHi,
    fabric::Rtag7Function::kCrc32Lo,        fabric::Rtag7Function::kCrc32Hi,
    fabric::Rtag7Function::kCrc32KoopmanLo, fabric::Rtag7Function::kCrc32KoopmanHi,
    fabric::Rtag7Function::kXor16,          fabric::Rtag7Function::kCrc16Xor1,
    fabric::Rtag7Function::kCrc16Xor2,      fabric::Rtag7Function::kCrc16Xor4,
    fabric::Rtag7Function::kCrc16Xor8};

inline Packet RandomPacket(Random& random, bool v6) {
  Packet packet;
  packet.sip.v6 = packet.dip.v6 = v6;
  for (std::size_t i = 0; i < packet.sip.size(); ++i) {
    packet.sip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
    packet.dip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
  }
  packet.protocol = static_cast<std::uint8_t>(random.Below(256));
  packet.sport = static_cast<std::uint16_t>(random.Below(65536));
  packet.dport = static_cast<std::uint16_t>(random.Below(65536));
  packet.ingress_port = static_cast<std::uint16_t>(random.Below(65536));
  return packet;
}

}  // namespace yardmaster::repac
