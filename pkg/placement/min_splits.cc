#include "pkg/placement/min_splits.h"

#include <algorithm>
#include <numeric>

namespace yardmaster::placement {

namespace {

class Covering {
 public:
  Covering(const std::vector<int>& remainders, int n, std::int64_t max_steps)
      : remainders_(remainders), n_(n), max_steps_(max_steps), used_(remainders.size(), 0) {}

  Splits Run(int gain) {
    Splits out;
    if (gain <= 0) {
      out.possible = true;
      return out;
    }
    const int lower = Lower(gain);
    if (lower < 0) return out;
    out.possible = true;
    Chain(gain);
    BestFit(gain);
    for (int size = gain + lower; size <= Count() && best_ > lower; ++size) Balance(gain, size);
    if (best_ > lower) Descend(gain, 0);
    out.splits = best_;
    out.lower = cut_ ? lower : best_;
    out.groups = best_groups_;
    return out;
  }

 private:
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

  // The largest unused remainder is in some group (exchanging it in never hurts).
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
    used_[first] = 0;
  }

  // Whether an equal one before `i`, after `last`, can be taken as well.
  bool HasEqualBefore(int i, int last) const {
    for (int j = i - 1; j > last && remainders_[j] == remainders_[i]; --j) {
      if (!used_[j]) return true;
    }
    return false;
  }

  // Adds one of the members after `last` to the open group, smallest first; a gain may close it.
  void Grow(int gain, int splits, int sum, int last) {
    if (splits + 1 >= best_) return;
    for (int i = Count(); --i > last;) {
      if (used_[i] || remainders_[i] <= 0 || HasEqualBefore(i, last)) continue;
      if (++steps_ > max_steps_) cut_ = true;
      if (cut_) return;
      const int more = sum + remainders_[i];
      const int gained = more / n_;
      used_[i] = 1;
      groups_.back().push_back(i);
      if (gained > sum / n_) Descend(gain - gained, splits + 1);
      Grow(gain, splits + 1, more, i);
      groups_.back().pop_back();
      used_[i] = 0;
    }
  }

  const std::vector<int>& remainders_;
  const int n_;
  const std::int64_t max_steps_;
  std::vector<std::uint8_t> used_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::vector<int>> best_groups_;
  int best_ = 1 << 30;
  std::int64_t steps_ = 0;
  bool cut_ = false;
};

}  // namespace

Splits MinSplits(const std::vector<int>& remainders, int n, int gain, std::int64_t max_steps) {
  return Covering(remainders, n, max_steps).Run(gain);
}

}  // namespace yardmaster::placement
