// Searches for UDP source ports for which each of several switches chooses a given member.
//
// Problem: hop j chooses member value_j(x) mod members_j (or by hash threshold), where x are the 14
// usable bits of the source port. Find x such that every hop chooses a wanted member. Notation as
// in RePaC (Zhang et al., USENIX ATC 2021): value_j(x) = value_j(0) ^ L_j(x).
//
// Method:
//
//   - If every hop with a wanted member is linear, uses the hash modulo a power of two and wants
//     one member, there are log2(members_j) equations over GF(2) per hop. They are solved together
//     by elimination in microseconds. The solutions are one of them plus the null space.
//   - Otherwise all 16,384 ports are tried in Gray-code order, with one XOR per hop and port (one
//     hash if it is not linear). With 60 members about 273 ports lead to each, so finding one
//     uplink takes about 60 steps.
//
// Failure: if the hops hash alike (polarisation), only some combinations exist, and the status says
// which hops depend on each other.
//
// Determinism: the same `start` always gives the same port. Thread safety: pure functions.
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

// One switch of the path: its hash and the wanted members.
struct HopTarget {
  PortFunction function;
  int members = 1;
  Thresholds thresholds = {};  // empty: value modulo members
  std::vector<int> wanted;     // member indices; empty: any
};

// Ports that must not be used, sorted. Eight ports are stored inline: two connections with
// alternates in both directions. A fabric has one of these for every connected pair of NICs, and
// eight need no more memory than four.
using UsedPorts = absl::InlinedVector<std::uint16_t, 8>;

// Calls visit(port, values) for the ports kFirstSourcePort..0xFFFF until it returns true, in
// Gray-code order from the port with the low 14 bits of `start`. values[j] is the value of hop j.
// Returns that port, or nullopt. It is a template so that the inner loop has no indirect call.
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

// Returns the first suitable port that is not used. Errors: NotFound if there is none, with the
// positions of polarised hops; InvalidArgument if `members` is less than 1 or a wanted member is
// not less than `members`.
absl::StatusOr<std::uint16_t> FindPort(const std::vector<HopTarget>& hops, const UsedPorts& used,
                                       std::uint16_t start);

// Two hops whose choices depend on each other: only `reachable` of `possible` pairs of members
// occur over all ports.
struct Polarisation {
  int first = 0;
  int second = 0;
  int reachable = 0;
  int possible = 0;
};
// Returns the pairs of hops that reach fewer than three quarters of the pairs that independent
// hashes of 16,383 ports would. Wanted members are ignored.
std::vector<Polarisation> FindPolarisation(const std::vector<HopTarget>& hops);
// "polarisation: hops 1 and 2 hash alike, so only 60 of 3600 combinations of their members exist".
std::string ToString(const Polarisation& polarisation);

// The solutions of A x = b over GF(2) in 14 unknowns: one solution and a basis of the null space.
struct LinearSolution {
  std::uint16_t particular = 0;
  std::vector<std::uint16_t> null_space;
};
// A row: the unknowns that are added, and their sum. Solve returns nullopt if the equations are
// inconsistent.
struct Equation {
  std::uint16_t unknowns = 0;
  bool sum = false;
};
std::optional<LinearSolution> Solve(std::vector<Equation> equations);

}  // namespace yardmaster::repac
