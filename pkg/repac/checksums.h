// Implements the functions with which switches and their simulators hash, bit by bit. They define
// the values. affine_map.h makes them fast; it calls them once per key bit.
//
// All except Csum16, XxHash64 and SipHash24 are affine over GF(2): f(a) ^ f(b) ^ f(c) = f(a ^ b ^
// c) for inputs of equal length.
//
// Complexity: O(bits of input). Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/fabric/ecmp_hash.h"

namespace yardmaster::repac {

using Bytes = std::vector<std::uint8_t>;

// A CRC in Rocksoft terms. REQUIRES: 1 <= crc.width <= 64.
std::uint64_t Crc(const fabric::CrcParameters& crc, const Bytes& data);
// XOR of the big-endian words of 16 or 32 bits; a short last word is padded with zeros at its end.
std::uint16_t Xor16(const Bytes& data);
std::uint32_t Xor32(const Bytes& data);
// The low 16 bits of `value`, folded by XOR of halves until `bits` of them are left.
// REQUIRES: bits is a power of two, at most 16; value is below 2^16.
std::uint16_t FoldTo(std::uint32_t value, int bits);
// Toeplitz hash; a key shorter than the input and its 32-bit window is used cyclically.
// REQUIRES: key.size() >= 4.
std::uint32_t Toeplitz(const Bytes& key, const Bytes& data);
// The key that Microsoft publishes with its RSS verification values.
const Bytes& RssVerificationKey();
// The Internet checksum (RFC 1071).
std::uint16_t Csum16(const Bytes& data);
// XXH64 (Yann Collet) with a seed.
std::uint64_t XxHash64(const Bytes& data, std::uint64_t seed);
// SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012) under the key (k0, k1). Not affine.
std::uint64_t SipHash24(std::span<const std::uint8_t> data, std::uint64_t k0, std::uint64_t k1);
// The first eight bytes as a big-endian number.
std::uint64_t Identity(const Bytes& data);

// Parameters of the CRCs that models name. RTAG7's CRCs reflect their input only; their initial
// value and their final XOR are 0.
fabric::CrcParameters Rtag7Crc(int width, std::uint64_t polynomial);
fabric::CrcParameters Crc16Arc();
fabric::CrcParameters Crc16CcittFalse();
fabric::CrcParameters Crc32Ethernet();

}  // namespace yardmaster::repac
