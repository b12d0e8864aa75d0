#include "pkg/repac/checksums.h"

#include <bit>

namespace yardmaster::repac {

namespace {

std::uint64_t Reflect(std::uint64_t value, int width) {
  std::uint64_t out = 0;
  for (int i = 0; i < width; ++i) out |= (value >> i & 1) << (width - 1 - i);
  return out;
}

std::uint64_t Mask(int width) { return width == 64 ? ~0ULL : (1ULL << width) - 1; }

std::uint64_t LittleEndian(const Bytes& data, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{data[at + i]} << (8 * i);
  return value;
}

// Big-endian word of `size` bytes, zeros where the data has ended.
std::uint32_t BigEndianWord(const Bytes& data, std::size_t at, std::size_t size) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    word = word << 8 | (at + i < data.size() ? data[at + i] : 0u);
  }
  return word;
}

constexpr std::uint64_t kXxPrime1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kXxPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t kXxPrime3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t kXxPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t kXxPrime5 = 0x27D4EB2F165667C5ULL;

std::uint64_t XxRound(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kXxPrime2, 31) * kXxPrime1;
}

// The state after all whole 32-byte stripes; `at` is moved behind them.
std::uint64_t XxStripes(const Bytes& data, std::uint64_t seed, std::size_t& at) {
  std::uint64_t lanes[4] = {seed + kXxPrime1 + kXxPrime2, seed + kXxPrime2, seed, seed - kXxPrime1};
  for (; at + 32 <= data.size(); at += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      lanes[i] = XxRound(lanes[i], LittleEndian(data, at + 8 * i, 8));
    }
  }
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (std::uint64_t lane : lanes) hash = (hash ^ XxRound(0, lane)) * kXxPrime1 + kXxPrime4;
  return hash;
}

}  // namespace

std::uint64_t Crc(const fabric::CrcParameters& crc, const Bytes& data) {
  const std::uint64_t mask = Mask(crc.width);
  std::uint64_t remainder = crc.init & mask;
  for (std::uint8_t byte : data) {
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t bit = byte >> (crc.reflect_in ? i : 7 - i) & 1;
      const bool subtract = ((remainder >> (crc.width - 1) & 1) ^ bit) != 0;
      remainder = remainder << 1 & mask;
      if (subtract) remainder ^= crc.polynomial & mask;
    }
  }
  if (crc.reflect_out) remainder = Reflect(remainder, crc.width);
  return (remainder ^ crc.xor_out) & mask;
}

std::uint16_t Xor16(const Bytes& data) {
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < data.size(); at += 2) value ^= BigEndianWord(data, at, 2);
  return static_cast<std::uint16_t>(value);
}

std::uint32_t Xor32(const Bytes& data) {
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < data.size(); at += 4) value ^= BigEndianWord(data, at, 4);
  return value;
}

std::uint16_t FoldTo(std::uint32_t value, int bits) {
  for (int width = 16; width > bits; width /= 2) {
    value = (value ^ value >> (width / 2)) & ((1u << (width / 2)) - 1);
  }
  return static_cast<std::uint16_t>(value);
}

std::uint32_t Toeplitz(const Bytes& key, const Bytes& data) {
  const std::size_t key_bits = key.size() * 8;
  const auto key_bit = [&](std::size_t i) {
    const std::size_t at = i % key_bits;
    return static_cast<std::uint32_t>(key[at / 8] >> (7 - at % 8) & 1);
  };
  std::uint32_t window = 0;
  for (std::size_t i = 0; i < 32; ++i) window = window << 1 | key_bit(i);
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < data.size() * 8; ++i) {
    if ((data[i / 8] >> (7 - i % 8) & 1) != 0) hash ^= window;
    window = window << 1 | key_bit(i + 32);
  }
  return hash;
}

const Bytes& RssVerificationKey() {
  static const Bytes key = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                            0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                            0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                            0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  return key;
}

std::uint16_t Csum16(const Bytes& data) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < data.size(); at += 2) {
    sum += BigEndianWord(data, at, 2);
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

std::uint64_t XxHash64(const Bytes& data, std::uint64_t seed) {
  std::size_t at = 0;
  std::uint64_t hash = data.size() >= 32 ? XxStripes(data, seed, at) : seed + kXxPrime5;
  hash += data.size();
  for (; at + 8 <= data.size(); at += 8) {
    hash = std::rotl(hash ^ XxRound(0, LittleEndian(data, at, 8)), 27) * kXxPrime1 + kXxPrime4;
  }
  if (at + 4 <= data.size()) {
    hash = std::rotl(hash ^ LittleEndian(data, at, 4) * kXxPrime1, 23) * kXxPrime2 + kXxPrime3;
    at += 4;
  }
  for (; at < data.size(); ++at) hash = std::rotl(hash ^ data[at] * kXxPrime5, 11) * kXxPrime1;
  hash = (hash ^ hash >> 33) * kXxPrime2;
  hash = (hash ^ hash >> 29) * kXxPrime3;
  return hash ^ hash >> 32;
}

std::uint64_t SipHash24(std::span<const std::uint8_t> data, std::uint64_t k0, std::uint64_t k1) {
  std::uint64_t v0 = k0 ^ 0x736f6d6570736575;
  std::uint64_t v1 = k1 ^ 0x646f72616e646f6d;
  std::uint64_t v2 = k0 ^ 0x6c7967656e657261;
  std::uint64_t v3 = k1 ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  // Little-endian words; the last holds what is left and the length in its top byte.
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    word |= std::uint64_t{data[i]} << (8 * (i % 8));
    if (i % 8 != 7) continue;
    absorb(word);
    word = 0;
  }
  absorb(word | static_cast<std::uint64_t>(data.size()) << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

std::uint64_t Identity(const Bytes& data) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < data.size() && i < 8; ++i) value = value << 8 | data[i];
  return value;
}

fabric::CrcParameters Rtag7Crc(int width, std::uint64_t polynomial) {
  return {width, polynomial, 0, true, false, 0};
}

fabric::CrcParameters Crc16Arc() { return {16, 0x8005, 0, true, true, 0}; }

fabric::CrcParameters Crc16CcittFalse() { return {16, 0x1021, 0xFFFF, false, false, 0}; }

fabric::CrcParameters Crc32Ethernet() { return {}; }

}  // namespace yardmaster::repac
