#include "pkg/placement/solver/min_splits.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace yardmaster::placement {

namespace {

class Covering {
 public:
  Covering(const std::vector<int>& remainders, int n, std::int64_t max_steps,
           const std::vector<int>& limits)
      : remainders_(remainders),
        n_(n),
        max_steps_(max_steps),
        limits_(limits),
        mixed_(std::adjacent_find(limits.begin(), limits.end(), std::not_equal_to<>()) !=
               limits.end()),
        used_(remainders.size(), 0) {}

  Splits Run(int gain) {
    Splits out;
    if (gain <= 0) {
      out.possible = true;
      return out;
    }
    out.lower = Lower(gain);
    if (out.lower < 0) return out;
    Chain(gain);
    BestFit(gain);
    for (int size = gain + out.lower; size <= Count() && best_ > out.lower; ++size) {
      Balance(gain, size);
    }
    if (best_ > out.lower) Descend(gain, 0);
    out.possible = best_ < kNone;
    out.proved = !cut_ && !limited_;
    if (out.possible) out.splits = best_;
    if (out.possible && out.proved) out.lower = best_;
    out.groups = best_groups_;
    return out;
  }

 private:
  static constexpr int kNone = 1 << 30;

  int Count() const { return static_cast<int>(remainders_.size()); }

  // A group of b that gains x has x < b, and there are no more groups than gains; so `gain`
  // takes at least (remainders that sum up to gain * n) - gain splits. -1: impossible.
  int Lower(int gain) const {
    std::int64_t need = std::int64_t{1} * gain * n_;
    int count = 0;
    for (int i = 0; i < Count() && need > 0; ++i) {
      if (used_[i]) continue;
      need -= remainders_[i];
      ++count;
    }
    return need > 0 ? -1 : std::max(gain, count - gain);
  }

  // Components that the members of a group, `sum` in all, hold along a tape. Only at its two ends
  // are there segments that take part in a single one.
  int GainOf(const std::vector<int>& group, int sum) {
    const int gain = sum / n_;
    if (limits_.empty() || gain < 2) return gain;
    int sum_of_limits = 0, ends = 0;
    for (int i : group) {
      sum_of_limits += limits_[i];
      ends += limits_[i] == 1;
    }
    if (ends <= 2) return gain;
    // Another shape than a tape might do, unless the limits are too small for any.
    if (sum_of_limits > static_cast<int>(group.size())) limited_ = true;
    return 1;
  }

  void Offer(int splits, std::vector<std::vector<int>> groups) {
    if (splits >= best_) return;
    best_ = splits;
    best_groups_ = std::move(groups);
  }

  // One group of the largest.
  void Chain(int gain) {
    std::vector<int> group;
    std::int64_t need = std::int64_t{1} * gain * n_;
    for (int i = 0; i < Count() && need > 0; ++i) {
      need -= remainders_[i];
      group.push_back(i);
    }
    if (GainOf(group, std::accumulate(group.begin(), group.end(), 0, [&](int sum, int i) {
                 return sum + remainders_[i];
               })) < gain) {
      return;
    }
    const int splits = static_cast<int>(group.size()) - 1;
    Offer(splits, {std::move(group)});
  }

  // Group after group: the largest, then the smallest that completes it.
  void BestFit(int gain) {
    std::vector<std::uint8_t> used(remainders_.size(), 0);
    std::vector<std::vector<int>> groups;
    int splits = 0;
    for (; gain > 0; --gain) {
      std::vector<int> group;
      int sum = 0;
      while (sum < n_) {
        int pick = -1;
        for (int i = Count(); i-- > 0;) {
          if (used[i]) continue;
          pick = i;
          if (sum + remainders_[i] >= n_ && !group.empty()) break;
        }
        if (pick < 0) return;
        used[pick] = 1;
        sum += remainders_[pick];
        group.push_back(pick);
      }
      splits += static_cast<int>(group.size()) - 1;
      groups.push_back(std::move(group));
    }
    Offer(splits, std::move(groups));
  }

  // The largest `size` in `gain` groups of even sums.
  void Balance(int gain, int size) {
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(gain));
    std::vector<int> sums(groups.size(), 0);
    for (int i = 0; i < size; ++i) {
      const auto least = std::min_element(sums.begin(), sums.end()) - sums.begin();
      sums[least] += remainders_[i];
      groups[least].push_back(i);
    }
    if (*std::min_element(sums.begin(), sums.end()) >= n_) Offer(size - gain, std::move(groups));
  }

  // The largest unused remainder is in some group (exchanging it in never hurts) or, where others
  // have larger limits, left out.
  void Descend(int gain, int splits) {
    if (gain <= 0) {
      Offer(splits, groups_);
      return;
    }
    const int lower = Lower(gain);
    if (lower < 0 || splits + lower >= best_) return;
    int first = 0;
    while (used_[first]) ++first;
    used_[first] = 1;
    groups_.push_back({first});
    Grow(gain, splits, remainders_[first], first);
    groups_.pop_back();
    if (mixed_ && !cut_) {
      if (++steps_ > max_steps_) cut_ = true;
      Descend(gain, splits);
    }
    used_[first] = 0;
  }

  // Whether an equal one before `i`, after `last`, can be taken as well.
  bool HasEqualBefore(int i, int last) const {
    for (int j = i - 1; j > last && remainders_[j] == remainders_[i]; --j) {
      if (!used_[j] && (limits_.empty() || limits_[j] == limits_[i])) return true;
    }
    return false;
  }

  // Adds one of the members after `last` to the open group, smallest first; a gain may close it.
  void Grow(int gain, int splits, int sum, int last) {
    if (splits + 1 >= best_) return;
    const int gained_before = GainOf(groups_.back(), sum);
    for (int i = Count(); --i > last;) {
      if (used_[i] || remainders_[i] <= 0 || HasEqualBefore(i, last)) continue;
      if (++steps_ > max_steps_) cut_ = true;
      if (cut_) return;
      const int more = sum + remainders_[i];
      used_[i] = 1;
      groups_.back().push_back(i);
      const int gained = GainOf(groups_.back(), more);
      if (gained > gained_before) Descend(gain - gained, splits + 1);
      Grow(gain, splits + 1, more, i);
      groups_.back().pop_back();
      used_[i] = 0;
    }
  }

  const std::vector<int>& remainders_;
  const int n_;
  const std::int64_t max_steps_;
  const std::vector<int>& limits_;
  const bool mixed_;  // not all limits are equal
  std::vector<std::uint8_t> used_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::vector<int>> best_groups_;
  int best_ = kNone;
  std::int64_t steps_ = 0;
  bool cut_ = false;
  bool limited_ = false;  // a group was left out that may hold more in another shape
};

}  // namespace

Splits MinSplits(const std::vector<int>& remainders, int n, int gain, std::int64_t max_steps,
                 const std::vector<int>& limits) {
  return Covering(remainders, n, max_steps, limits).Run(gain);
}

}  // namespace yardmaster::placement
