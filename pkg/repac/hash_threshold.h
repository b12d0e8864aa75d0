// Chooses a member of an ECMP group: by hash threshold (RFC 2992), as the Linux kernel does, or
// modulo the number of members.
//
// Problem: member i of weight w_i gets the fraction w_i / W of the 31-bit values, where W is the
// sum of all weights. The kernel (fib_rebalance, rt6_multipath_rebalance, nh_hthr_group_rebalance)
// gives member i the upper bound round((w_0 + ... + w_i) * 2^31 / W) - 1, and chooses the first
// bound that is not less than the value. When a member leaves, the bounds are recomputed from the
// weights of the others, in order.
//
// Complexity: O(log members) per choice by threshold. Deterministic. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace yardmaster::repac {

// Ascending upper bounds, one per member; empty if members are chosen modulo their number.
using Thresholds = std::vector<std::uint32_t>;

// REQUIRES: weights are at least 1, and their sum is below 2^32.
Thresholds ThresholdsOf(std::span<const int> weights);
Thresholds EqualThresholds(std::size_t members);

// REQUIRES: members >= 1; thresholds is empty or has `members` entries; with thresholds, value is
// below 2^31.
inline std::size_t MemberOf(std::uint64_t value, std::size_t members,
                            const Thresholds& thresholds) {
  if (thresholds.empty()) return value % members;
  return static_cast<std::size_t>(std::lower_bound(thresholds.begin(), thresholds.end(), value) -
                                  thresholds.begin());
}

// Like MemberOf, for many values of one group: a 32-bit remainder costs two multiplications
// (Lemire, Kaser and Kurz, "Faster remainder by direct computation", 2019). Lifetimes: `thresholds`
// outlives it.
class MemberChoice {
 public:
  // REQUIRES: as MemberOf.
  MemberChoice(std::size_t members, const Thresholds& thresholds)
      : members_(members), inverse_(~std::uint64_t{0} / members + 1), thresholds_(thresholds) {}
  std::size_t operator()(std::uint64_t value) const {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    if (!thresholds_.empty() || value > kMax || members_ > kMax) {
      return MemberOf(value, members_, thresholds_);
    }
    return static_cast<std::size_t>(Product{inverse_ * value} * members_ >> 64);
  }

 private:
  __extension__ using Product = unsigned __int128;

  std::uint64_t members_;
  std::uint64_t inverse_;  // 2^64 / members, rounded up
  const Thresholds& thresholds_;
};

}  // namespace yardmaster::repac
