#include "pkg/placement/uniform_solver.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "pkg/placement/min_splits.h"
#include "pkg/placement/whole_choice.h"

namespace yardmaster::placement {

namespace {

constexpr std::int64_t kSplitSteps = 20'000;

// The segments of one fabric pod, fullest first.
struct Pod {
  std::vector<int> segment;
  std::vector<int> room;
  std::int64_t total = 0;
};

// How a pod holds a number of components.
struct Option {
  int splits = 0;
  int segments = 0;
  // No way to hold them is better than this, compared in this order.
  int least_splits = 0;
  int least_segments = 0;
};

// What is left of the first `count` segments after whole components, descending, with their places.
struct Remainders {
  std::vector<int> values;
  std::vector<int> index;
  int whole = 0;
};

Remainders RemaindersOf(const std::vector<int>& room, int count, int n) {
  Remainders out;
  out.index.resize(static_cast<std::size_t>(count));
  std::iota(out.index.begin(), out.index.end(), 0);
  std::stable_sort(out.index.begin(), out.index.end(),
                   [&](int a, int b) { return room[a] % n > room[b] % n; });
  for (int i : out.index) {
    out.values.push_back(room[i] % n);
    out.whole += room[i] / n;
  }
  return out;
}

class UniformSolver {
 public:
  UniformSolver(const UniformProblem& problem, const std::vector<SegmentScore>& scores)
      : problem_(problem), scores_(scores), n_(problem.units) {
    for (fabric::FabricPodId id : problem.places->fabric_pods()) {
      Pod pod;
      for (fabric::SegmentId s : problem.places->segments_of(id)) {
        if (problem.capacity[s.index()] > 0) pod.segment.push_back(s.value);
      }
      std::stable_sort(pod.segment.begin(), pod.segment.end(), [&](int a, int b) {
        if (problem.capacity[a] != problem.capacity[b]) {
          return problem.capacity[a] > problem.capacity[b];
        }
        return scores[a] < scores[b];
      });
      for (int s : pod.segment) {
        pod.room.push_back(problem.capacity[s]);
        pod.total += pod.room.back();
      }
      if (!pod.segment.empty()) pods_.push_back(std::move(pod));
    }
  }

  UniformPlan Run() {
    std::int64_t whole = 0;
    std::int64_t total = 0;
    std::int64_t in_pods = 0;
    for (const Pod& pod : pods_) {
      for (int room : pod.room) whole += room / n_;
      total += pod.total;
      in_pods += pod.total / n_;
    }
    const std::int64_t wanted = problem_.components;
    if (whole >= wanted) return Whole();
    if (total < wanted * n_) return {};
    if (wanted == 1) return Single();
    if (in_pods >= wanted) return SplitInPods();
    if (!problem_.may_cross_pods) return {};
    return CrossPods();
  }

 private:
  UniformPlan Whole() {
    std::vector<int> slots;
    for (int room : problem_.capacity) slots.push_back(room / n_);
    const WholeChoice choice = ChooseWhole(*problem_.places, slots, problem_.components, scores_);
    UniformPlan plan;
    plan.found = true;
    plan.exact = choice.exact;
    plan.scored = choice.scored;
    plan.pods = choice.pods;
    plan.segments = choice.exact ? choice.segments : choice.pods;
    for (const SegmentCount& c : choice.counts) {
      for (int i = 0; i < c.count; ++i) plan.pieces.push_back({{c.segment, n_}});
    }
    return plan;
  }

  UniformPlan Single() {
    const WholeChoice choice = ChooseWhole(*problem_.places, problem_.capacity, n_, scores_);
    UniformPlan plan;
    if (!problem_.may_cross_pods && choice.pods > 1) return plan;
    plan.found = true;
    plan.exact = choice.exact;
    plan.scored = choice.scored;
    plan.pods = choice.pods;
    plan.pod_splits = choice.pods - 1;
    plan.segments = choice.exact ? choice.segments : choice.pods;
    plan.segment_splits = plan.segments - 1;
    plan.pieces.resize(1);
    for (const SegmentCount& c : choice.counts) plan.pieces[0].push_back({c.segment, c.count});
    return plan;
  }

  Option OptionFor(const Pod& pod, int components) const {
    const int count = static_cast<int>(pod.room.size());
    Option option;
    const Remainders all = RemaindersOf(pod.room, count, n_);
    const Splits splits = MinSplits(all.values, n_, components - all.whole, kSplitSteps);
    option.splits = splits.splits;
    option.least_splits = splits.lower;
    std::int64_t sum = 0;
    int t = 0;
    while (t < count && sum < std::int64_t{1} * components * n_) sum += pod.room[t++];
    option.least_segments = splits.lower == splits.splits ? 0 : t;
    for (; t < count; ++t) {
      const Remainders few = RemaindersOf(pod.room, t, n_);
      const Splits some = MinSplits(few.values, n_, components - few.whole, kSplitSteps);
      if (!some.possible) continue;
      if (option.least_segments == 0 && some.lower <= option.splits) option.least_segments = t;
      if (some.splits <= option.splits) break;
    }
    option.segments = t;
    if (option.least_segments == 0) option.least_segments = t;
    return option;
  }

  // Options for 0, 1, ... components; pods of equal rooms share them.
  const std::vector<Option>& TableOf(const Pod& pod) {
    auto [at, is_new] = tables_.emplace(pod.room, std::vector<Option>());
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
          best[p][x] =
              std::min(best[p][x], Plus(best[p + 1][x - own], option.splits, pod, option.segments));
          least[p][x] = std::min(least[p][x], Plus(least[p + 1][x - own], option.least_splits, pod,
                                                   option.least_segments));
        }
      }
    }
    UniformPlan plan;
    plan.found = true;
    plan.exact = least[0][wanted] == best[0][wanted];
    const auto [bad, splits, pods, segments] = least[0][wanted];
    plan.segment_splits = splits;
    plan.pods = pods;
    plan.segments = segments;
    std::size_t x = wanted;
    for (std::size_t p = 0; p < pods_.size(); ++p) {
      const std::vector<Option>& table = TableOf(pods_[p]);
      std::size_t own = 0;
      while (Plus(best[p + 1][x - own], table[own].splits, own > 0 ? 1 : 0, table[own].segments) !=
             best[p][x]) {
        ++own;
      }
      if (own > 0) FillPod(pods_[p], static_cast<int>(own), plan);
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

  void FillPod(const Pod& pod, int components, UniformPlan& plan) {
    const Option& option = TableOf(pod)[static_cast<std::size_t>(components)];
    const Remainders few = RemaindersOf(pod.room, option.segments, n_);
    const Splits splits = MinSplits(few.values, n_, components - few.whole, kSplitSteps);
    std::vector<std::uint8_t> grouped(pod.room.size(), 0);
    std::vector<std::vector<int>> tapes;
    for (const std::vector<int>& group : splits.groups) {
      tapes.emplace_back();
      for (int member : group) {
        tapes.back().push_back(few.index[member]);
        grouped[few.index[member]] = 1;
      }
    }
    for (int i = 0; i < option.segments; ++i) {
      if (!grouped[i]) tapes.push_back({i});
    }
    // Whole ones in segments of their own before split ones: if there is slack, fewer are split.
    std::stable_sort(tapes.begin(), tapes.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (const std::vector<int>& tape : tapes) {
      std::vector<UniformPiece> rooms;
      std::int64_t sum = 0;
      for (int i : tape) {
        rooms.push_back({pod.segment[i], pod.room[i]});
        sum += pod.room[i];
      }
      const int here = static_cast<int>(std::min<std::int64_t>(sum / n_, components));
      FillTape(rooms, here, plan);
      components -= here;
    }
  }

  // One component after another along the rooms.
  void FillTape(std::vector<UniformPiece> rooms, int components, UniformPlan& plan) const {
    std::size_t at = 0;
    for (int c = 0; c < components; ++c) {
      std::vector<UniformPiece> pieces;
      for (int need = n_; need > 0;) {
        const int part = std::min(need, rooms[at].units);
        if (part > 0) pieces.push_back({rooms[at].segment, part});
        need -= part;
        rooms[at].units -= part;
        if (rooms[at].units == 0) ++at;
      }
      plan.pieces.push_back(std::move(pieces));
    }
  }

  // Fabric pods take the part of segments: groups of them are filled as one tape.
  UniformPlan CrossPods() {
    std::vector<int> totals;
    for (const Pod& pod : pods_) totals.push_back(static_cast<int>(pod.total));
    const Remainders pods = RemaindersOf(totals, static_cast<int>(totals.size()), n_);
    const Splits crossing =
        MinSplits(pods.values, n_, problem_.components - pods.whole, kSplitSteps);
    UniformPlan plan;
    plan.found = true;
    plan.exact = false;  // the fewest splits over segments are not proved
    plan.pod_splits = crossing.lower;
    plan.pods = FewestPods();
    plan.segments = plan.pods;
    std::vector<int> rooms;
    for (const Pod& pod : pods_) rooms.insert(rooms.end(), pod.room.begin(), pod.room.end());
    const Remainders all = RemaindersOf(rooms, static_cast<int>(rooms.size()), n_);
    plan.segment_splits = std::max<std::int64_t>(
        plan.pod_splits,
        MinSplits(all.values, n_, problem_.components - all.whole, kSplitSteps).lower);
    int left = problem_.components;
    std::vector<std::uint8_t> grouped(pods_.size(), 0);
    for (const std::vector<int>& group : crossing.groups) {
      std::vector<UniformPiece> tape;
      std::int64_t sum = 0;
      for (int member : group) {
        const Pod& pod = pods_[pods.index[member]];
        grouped[pods.index[member]] = 1;
        sum += pod.total;
        for (std::size_t i = 0; i < pod.room.size(); ++i) {
          tape.push_back({pod.segment[i], pod.room[i]});
        }
      }
      const int here = static_cast<int>(std::min<std::int64_t>(sum / n_, left));
      FillTape(std::move(tape), here, plan);
      left -= here;
    }
    for (std::size_t p = 0; p < pods_.size() && left > 0; ++p) {
      if (grouped[p]) continue;
      const int here = static_cast<int>(std::min<std::int64_t>(pods_[p].total / n_, left));
      if (here > 0) FillPod(pods_[p], here, plan);
      left -= here;
    }
    return plan;
  }

  const UniformProblem& problem_;
  const std::vector<SegmentScore>& scores_;
  const int n_;
  std::vector<Pod> pods_;
  std::map<std::vector<int>, std::vector<Option>> tables_;
};

}  // namespace

UniformPlan SolveUniform(const UniformProblem& problem, const std::vector<SegmentScore>& scores) {
  return UniformSolver(problem, scores).Run();
}

}  // namespace yardmaster::placement
