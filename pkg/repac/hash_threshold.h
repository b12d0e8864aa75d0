// Choosing a member of an ECMP group by hash threshold (RFC 2992), as the Linux kernel does.
//
// Problem: member i of weight w_i takes the share w_i / W of the 31-bit values, W the sum of all
// weights. The kernel (fib_rebalance, rt6_multipath_rebalance, nh_hthr_group_rebalance) gives member
// i the upper bound round((w_0 + ... + w_i) * 2^31 / W) - 1, and the first bound not below the value
// wins. When a member leaves, bounds are computed anew from the weights of the others, in order.
// Complexity: O(log members) a choice. Thread safety: pure functions. Determinism: complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace yardmaster::repac {

// Rising upper bounds, one a member; empty where members are chosen modulo their number.
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

}  // namespace yardmaster::repac
