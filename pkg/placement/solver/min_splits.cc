#include "pkg/placement/solver/min_splits.h"

#include <algorithm>

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
               limits.end()) {}

  Splits Run(int gain) {
    Splits out;
    if (gain <= 0) {
      out.possible = true;
      return out;
    }
    out.lower = Lower(gain);
    if (out.lower < 0) return out;
    open_.resize(static_cast<std::size_t>(gain));
    for (int i = 0; i < Count() && remainders_[i] > 0; ++i) open_[0].left.push_back(i);
    Start(open_[0]);
    Chain(gain);
    BestFit(gain);
    if (best_ > out.lower) Balance(gain, gain + out.lower);
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

  // The group that is being made, and the remainders that the groups before it left.
  struct Open {
    std::vector<int> left;          // indices, ascending
    std::vector<std::int64_t> sum;  // of those before each of `left`, one more at the end
    std::vector<int> members;       // positions in `left`, ascending
    // Of IdleSteps, by number of further members and last position, as far as they are known.
    std::vector<std::int64_t> idle_steps;

    int size() const { return static_cast<int>(left.size()); }
    std::vector<int> group() const {
      std::vector<int> indices;
      for (int position : members) indices.push_back(left[position]);
      return indices;
    }
  };

  int Count() const { return static_cast<int>(remainders_.size()); }

  // A group of b that gains x has x < b, and there are no more groups than gains; so `gain`
  // takes at least (remainders that sum up to gain * n) - gain splits. -1: impossible.
  int Lower(int gain) const {
    std::int64_t need = std::int64_t{1} * gain * n_;
    int count = 0;
    for (int i = 0; i < Count() && need > 0; ++i) {
      need -= remainders_[i];
      ++count;
    }
    return need > 0 ? -1 : std::max(gain, count - gain);
  }

  // Components that the members of the group, `full` by their sum, hold along a tape. Only at its
  // two ends are there segments that take part in a single one.
  int GainOf(const Open& open, int full) {
    if (limits_.empty() || full < 2) return full;
    int sum_of_limits = 0, ends = 0;
    for (int position : open.members) {
      const int limit = limits_[open.left[position]];
      sum_of_limits += limit;
      ends += limit == 1;
    }
    if (ends <= 2) return full;
    // Another shape than a tape might do, unless the limits are too small for any.
    if (sum_of_limits > static_cast<int>(open.members.size())) limited_ = true;
    return 1;
  }

  void Offer(int splits, std::vector<std::vector<int>> groups) {
    if (splits >= best_) return;
    best_ = splits;
    best_groups_ = std::move(groups);
  }

  // One group of the largest.
  void Chain(int gain) {
    Open& open = open_[0];
    const std::int64_t need = std::int64_t{1} * gain * n_;
    int count = 0;
    for (; open.sum[count] < need; ++count) open.members.push_back(count);
    if (GainOf(open, static_cast<int>(open.sum[count] / n_)) >= gain) {
      Offer(count - 1, {open.group()});
    }
    open.members.clear();
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

  // The largest, at least `fewest`, in `gain` groups of even sums.
  void Balance(int gain, int fewest) {
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(gain));
    std::vector<int> sums(groups.size(), 0);
    for (int i = 0; i < Count() && i + 1 - gain < best_; ++i) {
      const auto least = std::min_element(sums.begin(), sums.end()) - sums.begin();
      sums[least] += remainders_[i];
      groups[least].push_back(i);
      if (i + 1 < fewest || *std::min_element(sums.begin(), sums.end()) < n_) continue;
      Offer(i + 1 - gain, std::move(groups));
      return;
    }
  }

  // With `left`.
  void Start(Open& open) const {
    open.sum.assign(1, 0);
    for (int i : open.left) open.sum.push_back(open.sum.back() + remainders_[i]);
    open.members.clear();
    open.idle_steps.clear();
  }

  // Whether the largest `count` that no group holds sum up to so much.
  static bool Reach(const Open& open, int count, std::int64_t need) {
    for (int position : open.members) {
      if (position >= count) break;
      ++count;
      need += open.sum[position + 1] - open.sum[position];
    }
    return open.sum[std::min(count, open.size())] >= need;
  }

  // Whether more groups could still be better than the best, by Lower.
  bool MayBeBetter(const Open& open, int gain, int splits) const {
    const int fewer = best_ - splits - 1;
    return gain <= fewer && Reach(open, gain + fewer, std::int64_t{1} * gain * n_);
  }

  // The group is closed.
  void Close(int gain, int splits) {
    if (gain <= 0) {
      if (splits >= best_) return;
      std::vector<std::vector<int>> groups;
      for (int d = 0; d <= depth_; ++d) groups.push_back(open_[d].group());
      Offer(splits, std::move(groups));
      return;
    }
    const Open& open = open_[depth_];
    if (!MayBeBetter(open, gain, splits)) return;
    Open& next = open_[depth_ + 1];
    next.left.clear();
    auto member = open.members.begin();
    for (int position = 0; position < open.size(); ++position) {
      if (member != open.members.end() && *member == position) {
        ++member;
      } else {
        next.left.push_back(open.left[position]);
      }
    }
    Start(next);
    ++depth_;
    Descend(gain, splits);
    --depth_;
  }

  // The largest unused remainder is in some group (exchanging it in never hurts) or, where others
  // have larger limits, left out.
  void Descend(int gain, int splits) {
    Open& open = open_[depth_];
    for (;;) {
      open.members.push_back(0);
      Grow(gain, splits, remainders_[open.left[0]], 0, 0);
      if (!mixed_ || cut_) return;
      Spend(1);
      if (!MayBeBetter(open, gain, splits)) return;
      open.left.erase(open.left.begin());
      Start(open);
    }
  }

  // Whether an equal one before `position`, after `last`, can be taken as well.
  bool HasEqualBefore(const Open& open, int position, int last) const {
    const int i = open.left[position];
    for (int p = position - 1; p > last; --p) {
      const int j = open.left[p];
      if (remainders_[j] != remainders_[i]) return false;
      if (limits_.empty() || limits_[j] == limits_[i]) return true;
    }
    return false;
  }

  // Adds one of the members after `last` to the open group, smallest first; a gain may close it.
  // Its members sum up to `sum`, which is `full` times n and a rest.
  void Grow(int gain, int splits, int sum, int full, int last) {
    Open& open = open_[depth_];
    if (splits + 1 >= best_ || last + 1 == open.size()) return;
    if (IsIdle(open, gain, splits, sum, full)) {
      Spend(IdleSteps(open, best_ - 1 - splits, last));
      return;
    }
    const int gained_before = GainOf(open, full);
    for (int position = open.size(); --position > last;) {
      if (HasEqualBefore(open, position, last)) continue;
      Spend(1);
      if (cut_) return;
      const int more = sum + remainders_[open.left[position]];
      const int more_full = more >= (full + 1) * n_ ? full + 1 : full;
      open.members.push_back(position);
      const int gained = GainOf(open, more_full);
      if (gained > gained_before) Close(gain - gained, splits + 1);
      Grow(gain, splits + 1, more, more_full, position);
      open.members.pop_back();
    }
  }

  // Whether no group that the open one can become leaves a chance to better the best: each gain
  // takes a split, the next one takes so many members after the last one, and what is missing takes
  // so many more remainders, each a split unless it begins a group.
  bool IsIdle(const Open& open, int gain, int splits, int sum, int full) const {
    if (!limits_.empty()) return false;
    const int fewer = best_ - splits - 1;
    if (gain - full > fewer) return true;
    const int after = open.members.back() + 1;
    const std::int64_t next = std::int64_t{1} * (full + 1) * n_ - sum;
    const auto enough =
        std::lower_bound(open.sum.begin() + after, open.sum.end(), open.sum[after] + next);
    const int members = static_cast<int>(enough - open.sum.begin()) - after;
    if (enough == open.sum.end() || members > fewer) return true;
    const int most = fewer + gain - full - 1;
    const std::int64_t missing = std::int64_t{1} * gain * n_ - sum;
    const int before = after - static_cast<int>(open.members.size());
    if (most - members >= before) return !Reach(open, most, missing);
    return !Reach(open, most - members, missing - (*enough - open.sum[after]));
  }

  // The steps of Grow with at most `more` members after the last one where Close does nothing, as
  // counted one by one. Above max_steps_ they are not exact.
  std::int64_t IdleSteps(Open& open, int more, int last) const {
    std::vector<std::int64_t>& steps = open.idle_steps;
    const std::size_t size = open.left.size();
    const std::size_t wanted = std::min(static_cast<std::size_t>(more), size) * size;
    if (steps.empty()) steps.assign(size, 0);
    while (steps.size() <= wanted) {
      const std::size_t row = steps.size();
      steps.resize(row + size, 0);
      std::int64_t later = 0;  // of members after the next position
      for (int position = open.size() - 1; --position >= 0;) {
        const std::int64_t next = 1 + steps[row - size + static_cast<std::size_t>(position) + 1];
        steps[row + static_cast<std::size_t>(position)] = std::min(next + later, max_steps_ + 1);
        if (!HasEqualBefore(open, position + 1, position - 1)) later += next;
      }
    }
    return steps[wanted + static_cast<std::size_t>(last)];
  }

  void Spend(std::int64_t steps) {
    steps_ += steps;
    if (steps_ > max_steps_) cut_ = true;
  }

  const std::vector<int>& remainders_;
  const int n_;
  const std::int64_t max_steps_;
  const std::vector<int>& limits_;
  const bool mixed_;        // not all limits are equal
  std::vector<Open> open_;  // as many as groups are made at once, the first one first
  int depth_ = 0;           // of the one that is being made
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
