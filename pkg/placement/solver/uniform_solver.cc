#include "pkg/placement/solver/uniform_solver.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pkg/placement/solver/min_splits.h"

namespace yardmaster::placement {

namespace {

constexpr std::int64_t kSplitSteps = 20'000;

// The segments of one fabric pod, fullest first.
struct Pod {
  std::vector<int> segment;
  std::vector<int> capacity;
  std::int64_t total = 0;
};

// How a pod holds a number of components.
struct Option {
  bool found = true;
  bool ruled_out = false;  // it is proved that it does not
  int splits = 0;
  int segments = 0;
  // No way to hold them is better than this, compared in this order.
  int least_splits = 0;
  int min_segments = 0;
};

// What is left of the first `count` segments after whole components, descending, with their places.
struct Remainders {
  std::vector<int> values;
  std::vector<int> index;
  std::vector<int> limits;  // components that each may still take part in; empty: any number
  int whole = 0;
};

Remainders RemaindersOf(const std::vector<int>& capacity, int count, int n, int max_components) {
  Remainders out;
  for (int i = 0; i < count; ++i) {
    out.whole += capacity[i] / n;
    if (capacity[i] % n > 0) out.index.push_back(i);
  }
  std::stable_sort(out.index.begin(), out.index.end(),
                   [&](int a, int b) { return capacity[a] % n > capacity[b] % n; });
  for (int i : out.index) {
    out.values.push_back(capacity[i] % n);
    if (max_components > 0) out.limits.push_back(max_components - capacity[i] / n);
  }
  return out;
}

Splits SplitsOf(const Remainders& remainders, int n, int components) {
  return MinSplits(remainders.values, n, components - remainders.whole, kSplitSteps,
                   remainders.limits);
}

class UniformSolver {
 public:
  UniformSolver(const UniformProblem& problem, const std::vector<SegmentScore>& scores)
      : problem_(problem), scores_(scores), n_(problem.pieces), capacity_(problem.capacity) {
    if (problem.max_components > 0) {
      for (int& capacity : capacity_) capacity = std::min(capacity, problem.max_components * n_);
    }
    for (fabric::FabricPodId id : problem.places->fabric_pods()) {
      Pod pod;
      for (fabric::SegmentId s : problem.places->segments_of(id)) {
        if (capacity_[s.index()] > 0) pod.segment.push_back(s.value);
      }
      std::stable_sort(pod.segment.begin(), pod.segment.end(), [&](int a, int b) {
        if (capacity_[a] != capacity_[b]) return capacity_[a] > capacity_[b];
        return scores[a] < scores[b];
      });
      for (int s : pod.segment) {
        pod.capacity.push_back(capacity_[s]);
        pod.total += pod.capacity.back();
      }
      if (!pod.segment.empty()) pods_.push_back(std::move(pod));
    }
  }

  UniformPlan Run() {
    std::int64_t whole = 0;
    std::int64_t total = 0;
    std::int64_t in_pods = 0;
    for (const Pod& pod : pods_) {
      for (int capacity : pod.capacity) whole += capacity / n_;
      total += pod.total;
      in_pods += pod.total / n_;
    }
    const std::int64_t wanted = problem_.components;
    if (whole >= wanted) return Whole();
    if (total < wanted * n_) return {};
    if (wanted == 1) return Single();
    UniformPlan in_each;
    if (in_pods >= wanted) in_each = SplitInPods();
    if (in_each.found || !problem_.may_cross_pods) return in_each;
    return problem_.max_components == 0 ? CrossPods() : CrossPodsWithLimit();
  }

 private:
  UniformPlan Whole() {
    std::vector<int> fit;  // components, by segment
    for (int capacity : capacity_) fit.push_back(capacity / n_);
    const WholeChoice choice = ChooseWhole(*problem_.places, fit, problem_.components, scores_);
    UniformPlan plan;
    plan.found = true;
    plan.exact = choice.exact;
    plan.scored = choice.scored;
    plan.pods = choice.pods;
    plan.segments = choice.exact ? choice.segments : choice.pods;
    for (const SegmentCount& c : choice.counts) {
      for (int i = 0; i < c.count; ++i) plan.parts.push_back({{c.segment, n_}});
    }
    return plan;
  }

  UniformPlan Single() {
    const WholeChoice choice = ChooseWhole(*problem_.places, capacity_, n_, scores_);
    UniformPlan plan;
    if (!problem_.may_cross_pods && choice.pods > 1) return plan;
    plan.found = true;
    plan.exact = choice.exact;
    plan.scored = choice.scored;
    plan.pods = choice.pods;
    plan.pod_splits = choice.pods - 1;
    plan.segments = choice.exact ? choice.segments : choice.pods;
    plan.segment_splits = plan.segments - 1;
    plan.parts = {choice.counts};
    return plan;
  }

  Remainders RemaindersOfFirst(const Pod& pod, int count) const {
    return RemaindersOf(pod.capacity, count, n_, problem_.max_components);
  }

  Option OptionFor(const Pod& pod, int components) const {
    const int count = static_cast<int>(pod.capacity.size());
    Option option;
    const Splits splits = SplitsOf(RemaindersOfFirst(pod, count), n_, components);
    option.found = splits.possible;
    option.ruled_out = !splits.possible && splits.proved;
    option.splits = splits.splits;
    option.least_splits = splits.lower;
    std::int64_t sum = 0;
    int t = 0;
    while (t < count && sum < std::int64_t{1} * components * n_) sum += pod.capacity[t++];
    option.min_segments = splits.proved ? 0 : t;
    for (; option.found && t < count; ++t) {
      const Splits some = SplitsOf(RemaindersOfFirst(pod, t), n_, components);
      const bool as_few = some.possible ? some.lower <= option.splits : !some.proved;
      if (option.min_segments == 0 && as_few) option.min_segments = t;
      if (some.possible && some.splits <= option.splits) break;
    }
    option.segments = t;
    if (option.min_segments == 0) option.min_segments = t;
    return option;
  }

  // Options for 0, 1, ... components; pods with equal capacities share them.
  const std::vector<Option>& TableOf(const Pod& pod) {
    auto [at, is_new] = tables_.emplace(pod.capacity, std::vector<Option>());
    if (!is_new) return at->second;
    const std::int64_t most = std::min<std::int64_t>(pod.total / n_, problem_.components);
    at->second.push_back({});
    for (int x = 1; x <= most; ++x) at->second.push_back(OptionFor(pod, x));
    return at->second;
  }

  using Key = std::tuple<int, int, int, int>;  // impossible, splits, pods, segments

  static Key Plus(const Key& key, int splits, int pods, int segments) {
    const auto [bad, s, p, t] = key;
    return {bad, s + splits, p + pods, t + segments};
  }

  // Like every sum of lexicographic minima over the pods, both programs are exact for their tables.
  UniformPlan SplitInPods() {
    const auto wanted = static_cast<std::size_t>(problem_.components);
    const std::vector<Key> none(wanted + 1, Key{1, 0, 0, 0});
    // best[p][x]: x more components in the pods from p on; least: the same for the bounds.
    std::vector<std::vector<Key>> best(pods_.size() + 1, none);
    std::vector<std::vector<Key>> least(pods_.size() + 1, none);
    best.back()[0] = least.back()[0] = {0, 0, 0, 0};
    for (std::size_t p = pods_.size(); p-- > 0;) {
      const std::vector<Option>& table = TableOf(pods_[p]);
      for (std::size_t x = 0; x <= wanted; ++x) {
        for (std::size_t own = 0; own <= x && own < table.size(); ++own) {
          const Option& option = table[own];
          const int pod = own > 0 ? 1 : 0;
          if (option.ruled_out) continue;
          if (option.found) {
            best[p][x] = std::min(best[p][x],
                                  Plus(best[p + 1][x - own], option.splits, pod, option.segments));
          }
          least[p][x] = std::min(least[p][x], Plus(least[p + 1][x - own], option.least_splits, pod,
                                                   option.min_segments));
        }
      }
    }
    UniformPlan plan;
    plan.found = std::get<0>(best[0][wanted]) == 0;
    plan.exact = least[0][wanted] == best[0][wanted];
    const auto [bad, splits, pods, segments] = least[0][wanted];
    plan.segment_splits = splits;
    plan.pods = pods;
    plan.segments = segments;
    if (!plan.found) {
      plan.exact = bad != 0;
      return plan;
    }
    std::size_t x = wanted;
    for (std::size_t p = 0; p < pods_.size(); ++p) {
      const std::vector<Option>& table = TableOf(pods_[p]);
      std::size_t own = 0;
      while (!table[own].found || Plus(best[p + 1][x - own], table[own].splits, own > 0 ? 1 : 0,
                                       table[own].segments) != best[p][x]) {
        ++own;
      }
      if (own > 0) FillPod(pods_[p], table[own], static_cast<int>(own), plan);
      x -= own;
    }
    return plan;
  }

  std::int64_t FewestPods() const {
    std::vector<std::int64_t> totals;
    for (const Pod& pod : pods_) totals.push_back(pod.total);
    std::sort(totals.rbegin(), totals.rend());
    std::int64_t need = std::int64_t{1} * n_ * problem_.components;
    std::int64_t count = 0;
    for (; need > 0; ++count) need -= totals[static_cast<std::size_t>(count)];
    return count;
  }

  // Whole components first: if there is slack, fewer are split.
  void FillPod(const Pod& pod, const Option& option, int components, UniformPlan& plan) const {
    const Remainders few = RemaindersOfFirst(pod, option.segments);
    const Splits splits = SplitsOf(few, n_, components);
    for (int i = 0; i < option.segments; ++i) {
      for (int whole = pod.capacity[i] / n_; whole > 0 && components > 0; --whole, --components) {
        plan.parts.push_back({{pod.segment[i], n_}});
      }
    }
    for (std::vector<int> group : splits.groups) {
      // Those that may take part in one component only stand at the ends of the tape.
      std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
        return !few.limits.empty() && few.limits[a] == 1 && few.limits[b] != 1;
      });
      if (group.size() > 2) std::rotate(group.begin() + 1, group.begin() + 2, group.end());
      std::vector<SegmentCount> tape;
      std::int64_t sum = 0;
      for (int member : group) {
        tape.push_back({pod.segment[few.index[member]], few.values[member]});
        sum += few.values[member];
      }
      const int here = static_cast<int>(std::min<std::int64_t>(sum / n_, components));
      FillTape(std::move(tape), here, plan);
      components -= here;
    }
  }

  // One component after another along the tape.
  void FillTape(std::vector<SegmentCount> tape, int components, UniformPlan& plan) const {
    std::size_t at = 0;
    for (int c = 0; c < components; ++c) {
      std::vector<SegmentCount> parts;
      for (int need = n_; need > 0;) {
        const int part = std::min(need, tape[at].count);
        if (part > 0) parts.push_back({tape[at].segment, part});
        need -= part;
        tape[at].count -= part;
        if (tape[at].count == 0) ++at;
      }
      plan.parts.push_back(std::move(parts));
    }
  }

  // Fabric pods take the part of segments: groups of them are filled as one tape.
  UniformPlan CrossPods() {
    std::vector<int> totals;
    for (const Pod& pod : pods_) totals.push_back(static_cast<int>(pod.total));
    const Remainders pods = RemaindersOf(totals, static_cast<int>(totals.size()), n_, 0);
    const Splits crossing = SplitsOf(pods, n_, problem_.components);
    UniformPlan plan;
    plan.found = true;
    plan.exact = false;  // the fewest splits over segments are not proved
    plan.pod_splits = crossing.lower;
    plan.pods = FewestPods();
    plan.segments = plan.pods;
    std::vector<int> capacities;
    for (const Pod& pod : pods_)
      capacities.insert(capacities.end(), pod.capacity.begin(), pod.capacity.end());
    const Remainders all = RemaindersOf(capacities, static_cast<int>(capacities.size()), n_, 0);
    plan.segment_splits =
        std::max<std::int64_t>(plan.pod_splits, SplitsOf(all, n_, problem_.components).lower);
    int left = problem_.components;
    std::vector<std::uint8_t> grouped(pods_.size(), 0);
    for (const std::vector<int>& group : crossing.groups) {
      std::vector<SegmentCount> tape;
      std::int64_t sum = 0;
      for (int member : group) {
        const Pod& pod = pods_[pods.index[member]];
        grouped[pods.index[member]] = 1;
        sum += pod.total;
        for (std::size_t i = 0; i < pod.capacity.size(); ++i) {
          tape.push_back({pod.segment[i], pod.capacity[i]});
        }
      }
      const int here = static_cast<int>(std::min<std::int64_t>(sum / n_, left));
      FillTape(std::move(tape), here, plan);
      left -= here;
    }
    for (std::size_t p = 0; p < pods_.size() && left > 0; ++p) {
      if (grouped[p]) continue;
      const int here = static_cast<int>(std::min<std::int64_t>(pods_[p].total / n_, left));
      if (here > 0) FillPod(pods_[p], TableOf(pods_[p])[here], here, plan);
      left -= here;
    }
    return plan;
  }

  // As if all segments were in one fabric pod: the fewest splits over segments, however many pods
  // that takes.
  UniformPlan CrossPodsWithLimit() const {
    std::vector<std::pair<int, int>> capacities;
    for (const Pod& pod : pods_) {
      for (std::size_t i = 0; i < pod.capacity.size(); ++i) {
        capacities.push_back({-pod.capacity[i], pod.segment[i]});
      }
    }
    std::sort(capacities.begin(), capacities.end());
    Pod all;
    for (const auto& [capacity, segment] : capacities) {
      all.segment.push_back(segment);
      all.capacity.push_back(-capacity);
      all.total -= capacity;
    }
    const Option option = OptionFor(all, problem_.components);
    UniformPlan plan;
    plan.found = option.found;
    plan.exact = option.ruled_out;
    plan.segment_splits = std::max(0, option.least_splits);
    plan.pods = plan.segments = FewestPods();
    if (plan.found) FillPod(all, option, problem_.components, plan);
    return plan;
  }

  const UniformProblem& problem_;
  const std::vector<SegmentScore>& scores_;
  const int n_;
  std::vector<int> capacity_;  // by segment, no more than it may hold
  std::vector<Pod> pods_;
  std::map<std::vector<int>, std::vector<Option>> tables_;
};

}  // namespace

UniformPlan SolveUniform(const UniformProblem& problem, const std::vector<SegmentScore>& scores) {
  return UniformSolver(problem, scores).Run();
}

}  // namespace yardmaster::placement
