// UDP source ports that make a packet take a given member at each of several switches.
//
// Problem: hop j picks member value_j(x) mod members_j (or by hash threshold), where x are the 14
// usable bits of the source port. Find x such that every hop picks a wanted member. Notation as in
// RePaC (Zhang et al., USENIX ATC 2021): value_j(x) = value_j(0) ^ L_j(x). Method:
//   - every hop with a wanted member is linear, takes the hash modulo a power of two and wants one
//     member: log2(members_j) equations over GF(2) per hop, solved together by elimination in
//     microseconds; the solutions are one of them plus the null space;
//   - otherwise: a walk over all 16,384 ports in Gray-code order, one XOR per hop and port (one
//     hash where it is not linear). 60 members leave about 273 ports each, so asking for one uplink
//     takes about 60 steps.
// Fails when the hops hash alike (polarisation): then only some combinations exist, and the status
// says which hops share how much. Determinism: for one `start` the answer is always the same port.
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"

#include "pkg/repac/hash_model.h"
#include "pkg/repac/hash_threshold.h"

namespace yardmaster::repac {

// One switch on the way: what it computes and which members suit.
struct HopTarget {
  PortFunction function;
  int members = 1;
  Thresholds thresholds = {};  // empty: value modulo members
  std::vector<int> wanted;     // member indices; empty: any
};

// Ports that may not be used, sorted.
// Eight ports are stored in place: two connections with alternates in both directions. A fabric has
// one of these for every connected pair of NICs, and room for eight costs no more than for four.
using UsedPorts = absl::InlinedVector<std::uint16_t, 8>;

// Calls visit(port, values) for the ports kFirstSourcePort..0xFFFF, in Gray-code order from the
// port with the low 14 bits of `start`, until it returns true; values[j] is hop j's value. Returns
// that port, or nullopt. A template so that the inner loop has no indirect call.
template <typename Visit>
std::optional<std::uint16_t> WalkPorts(std::span<const PortFunction> hops, std::uint16_t start,
                                       Visit visit) {
  constexpr unsigned kPorts = 1u << kSourcePortBits;
  unsigned x = start & (kPorts - 1);
  absl::InlinedVector<std::uint64_t, 4> held;
  for (const PortFunction& hop : hops) {
    held.push_back(hop(static_cast<std::uint16_t>(kSourcePortBase | x)));
  }
  const std::span<std::uint64_t> values(held.data(), held.size());
  for (unsigned step = 1;; ++step) {
    const auto port = static_cast<std::uint16_t>(kSourcePortBase | x);
    if (port >= kFirstSourcePort && visit(port, values)) return port;
    if (step == kPorts) return std::nullopt;
    const auto bit = static_cast<std::size_t>(std::countr_zero(step));
    x ^= 1u << bit;
    for (std::size_t j = 0; j < hops.size(); ++j) {
      values[j] = hops[j].linear
                      ? values[j] ^ hops[j].columns[bit]
                      : hops[j].evaluate(static_cast<std::uint16_t>(kSourcePortBase | x));
    }
  }
}

// The first suitable port that is not used. Errors: NotFound when there is none, with the polarised
// hops named by position; InvalidArgument when `members` is below 1 or a wanted member is not below
// it.
absl::StatusOr<std::uint16_t> FindPort(const std::vector<HopTarget>& hops, const UsedPorts& used,
                                       std::uint16_t start);

// Two hops that decide alike: of `possible` pairs of members only `reachable` occur over all ports.
struct Polarisation {
  int first = 0;
  int second = 0;
  int reachable = 0;
  int possible = 0;
};
// Pairs of hops whose choices depend on each other: those that reach fewer than three quarters of
// the pairs that independent hashes of 16,383 ports would. Wanted members are not looked at.
std::vector<Polarisation> FindPolarisation(const std::vector<HopTarget>& hops);
// "polarisation: hops 1 and 2 hash alike, so only 60 of 3600 combinations of their members exist".
std::string ToString(const Polarisation& polarisation);

// The solutions of A x = b over GF(2) in 14 unknowns: one of them and a basis of the null space.
struct LinearSolution {
  std::uint16_t particular = 0;
  std::vector<std::uint16_t> null_space;
};
// Row i: the unknowns that are summed, and the wanted sum. nullopt: inconsistent.
struct Equation {
  std::uint16_t unknowns = 0;
  bool sum = false;
};
std::optional<LinearSolution> Solve(std::vector<Equation> equations);

}  // namespace yardmaster::repac
