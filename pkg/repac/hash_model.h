// HashModel is a switch hash that can be evaluated: the compiled form of fabric::HashSpec.
//
// Values are bitwise those of reference_hash.h. Affine hashes (all except bmv2's csum16 and xxh64,
// and linux) with at most 32 kept bits are evaluated through byte tables, the others directly.
//
// Thread safety: a HashModel is immutable after Compile. A PortFunction that is not linear may be
// called by one thread at a time; copies are independent. Deterministic.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/fabric/ecmp_hash.h"
#include "pkg/repac/affine_map.h"
#include "pkg/repac/packet.h"

namespace yardmaster::repac {

// A hash as a function of the 14 usable bits x of the source port, all else fixed. Port 0xC000 is x
// = 0. If `linear`: value(x) = base ^ XOR of columns[i] over the set bits of x.
struct PortFunction {
  bool linear = true;
  std::uint64_t base = 0;
  std::array<std::uint32_t, kSourcePortBits> columns{};
  std::function<std::uint64_t(std::uint16_t)> evaluate;  // by port; set if not linear

  std::uint64_t operator()(std::uint16_t port) const;
};

class HashModel {
 public:
  // Errors: InvalidArgument with all of fabric::Problems(spec, "ecmpHash").
  static absl::StatusOr<HashModel> Compile(const fabric::HashSpec& spec);

  const fabric::HashSpec& spec() const { return spec_; }
  bool predictable() const { return reason_.empty(); }
  // Why the hash is not predictable; empty if it is.
  const std::string& reason() const { return reason_; }
  // Whether it is affine over GF(2), for packets of one class and ingress port, and at most 32 bits
  // wide.
  bool linear() const { return linear_; }
  // Width of the values in bits.
  int bits() const { return bits_; }
  // Whether members are chosen by hash threshold (hash_threshold.h), not modulo their number.
  bool by_threshold() const {
    return spec_.kind == fabric::HashKind::kLinux && spec_.group.resilient_buckets == 0;
  }

  // REQUIRES: predictable(), and both addresses have one kind.
  std::uint64_t Hash(const Packet& packet) const;
  // Returns the hash as a function of the source port, all else as in `packet`. REQUIRES:
  // predictable().
  PortFunction OverPorts(const Packet& packet) const;

 private:
  // The hash for packets of one ingress port range and class.
  struct Variant {
    std::shared_ptr<const fabric::HashSpec> spec;
    AffineMap v4;
    AffineMap v6;
  };
  const Variant& VariantOf(const Packet& packet) const;
  void AddVariant(const Packet& example);

  fabric::HashSpec spec_;
  std::string reason_;
  bool linear_ = true;  // the variants have maps
  int bits_ = 0;
  int classes_ = 1;                // 3 if rtag7 has field lists by class
  std::vector<Variant> variants_;  // (ingress entry + 1) * classes + class
};

}  // namespace yardmaster::repac
