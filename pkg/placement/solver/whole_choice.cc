#include "pkg/placement/solver/whole_choice.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace yardmaster::placement {

namespace {

constexpr std::int64_t kMaxPodWork = 10'000'000;
constexpr std::int64_t kMaxScoreStates = 150'000;

// The usable segments of one fabric pod, fullest first.
struct PodCapacity {
  int pod = 0;
  std::vector<int> segments;
  std::vector<int> prefix = {0};  // pieces in the fullest t segments
  int total() const { return prefix.back(); }
};

std::vector<PodCapacity> PodsOf(const fabric::Places& places, const std::vector<int>& capacity,
                                const std::vector<SegmentScore>& scores) {
  std::vector<PodCapacity> pods;
  for (fabric::FabricPodId pod : places.fabric_pods()) {
    PodCapacity mine;
    mine.pod = pod.value;
    for (fabric::SegmentId s : places.segments_of(pod)) {
      if (capacity[s.index()] > 0) mine.segments.push_back(s.value);
    }
    if (mine.segments.empty()) continue;
    std::stable_sort(mine.segments.begin(), mine.segments.end(), [&](int a, int b) {
      if (capacity[a] != capacity[b]) return capacity[a] > capacity[b];
      return scores[a] < scores[b];
    });
    for (int s : mine.segments) mine.prefix.push_back(mine.total() + capacity[s]);
    pods.push_back(std::move(mine));
  }
  return pods;
}

// Segments that the fullest of these pods need.
int SegmentsOf(const std::vector<const PodCapacity*>& pods, const std::vector<int>& capacity,
               int pieces) {
  std::vector<int> all;
  for (const PodCapacity* pod : pods) {
    for (int s : pod->segments) all.push_back(capacity[s]);
  }
  std::sort(all.rbegin(), all.rend());
  int count = 0;
  for (; count < static_cast<int>(all.size()) && pieces > 0; ++count) pieces -= all[count];
  return count;
}

// How many segments each of `pods` gives: the fewest in `k` pods that hold all pieces. At most
// `most` segments, which is known to be enough.
class PodProgram {
 public:
  PodProgram(const std::vector<PodCapacity>& pods, int k, int most, int pieces)
      : pods_(pods), k_(k), most_(most), pieces_(pieces) {}

  std::int64_t work() const {
    std::int64_t options = 0;
    for (const PodCapacity& pod : pods_) options += static_cast<std::int64_t>(pod.segments.size());
    return options * k_ * most_;
  }

  std::vector<int> Run() {
    // best[k][t]: most pieces in t segments of k of the pods from p on.
    const std::size_t states = static_cast<std::size_t>((k_ + 1) * (most_ + 1));
    std::vector<std::vector<int>> best(pods_.size() + 1, std::vector<int>(states, -1));
    for (int t = 0; t <= most_; ++t) best[pods_.size()][At(0, t)] = 0;
    for (std::size_t p = pods_.size(); p-- > 0;) {
      best[p] = best[p + 1];
      for (int k = 1; k <= k_; ++k) {
        for (int t = 1; t <= most_; ++t) {
          int& mine = best[p][At(k, t)];
          for (int own = 1; own <= std::min(t, Size(p)); ++own) {
            const int rest = best[p + 1][At(k - 1, t - own)];
            if (rest >= 0) mine = std::max(mine, rest + pods_[p].prefix[own]);
          }
        }
      }
    }
    int t = 0;
    while (t < most_ && best[0][At(k_, t)] < pieces_) ++t;
    return Trace(best, t);
  }

 private:
  std::size_t At(int k, int t) const { return static_cast<std::size_t>(k * (most_ + 1) + t); }
  int Size(std::size_t p) const { return static_cast<int>(pods_[p].segments.size()); }

  std::vector<int> Trace(const std::vector<std::vector<int>>& best, int t) const {
    std::vector<int> taken(pods_.size(), 0);
    int k = k_;
    for (std::size_t p = 0; p < pods_.size(); ++p) {
      for (int own = 1; k > 0 && own <= std::min(t, Size(p)); ++own) {
        const int rest = best[p + 1][At(k - 1, t - own)];
        if (rest < 0 || rest + pods_[p].prefix[own] != best[p][At(k, t)]) continue;
        taken[p] = own;
        t -= own;
        --k;
        break;
      }
    }
    return taken;
  }

  const std::vector<PodCapacity>& pods_;
  const int k_;
  const int most_;
  const int pieces_;
};

// The least score of `t` segments in `k` pods that take all pieces, lowest ids first.
class ScoreProgram {
 public:
  ScoreProgram(const fabric::Places& places, const std::vector<int>& capacity,
               const std::vector<SegmentScore>& scores, int k, int t, int pieces)
      : capacity_(capacity), scores_(scores), k_(k), t_(t), pieces_(pieces) {
    for (fabric::FabricPodId pod : places.fabric_pods()) AddPod(places, pod);
  }

  std::int64_t states() const { return static_cast<std::int64_t>(items_.size() + 1) * Layer(); }

  std::vector<int> Run() {
    std::vector<std::vector<std::optional<SegmentScore>>> best(
        items_.size() + 1,
        std::vector<std::optional<SegmentScore>>(static_cast<std::size_t>(Layer())));
    best[items_.size()][At(0, 0, 0, 0)] = best[items_.size()][At(1, 0, 0, 0)] = SegmentScore();
    for (std::size_t i = items_.size(); i-- > 0;) {
      for (int open = 0; open < 2; ++open) {
        for (int k = 0; k <= k_; ++k) {
          for (int t = 0; t <= t_; ++t) {
            for (int x = 0; x <= pieces_; ++x) {
              best[i][At(open, k, t, x)] =
                  Better(Take(best, i, open, k, t, x), best[i + 1][At(Next(i, open), k, t, x)]);
            }
          }
        }
      }
    }
    return Trace(best);
  }

 private:
  struct Item {
    int segment;
    bool last_of_pod;
  };
  using Table = std::vector<std::vector<std::optional<SegmentScore>>>;

  // Of equal segments of a pod no more than can be used.
  void AddPod(const fabric::Places& places, fabric::FabricPodId pod) {
    std::vector<int> kept;
    for (fabric::SegmentId s : places.segments_of(pod)) {
      if (capacity_[s.index()] == 0) continue;
      const auto alike = std::count_if(kept.begin(), kept.end(), [&](int other) {
        return capacity_[other] == capacity_[s.index()] && scores_[other] == scores_[s.index()];
      });
      if (alike < t_) kept.push_back(s.value);
    }
    for (int s : kept) items_.push_back({s, s == kept.back()});
  }

  std::int64_t Layer() const { return std::int64_t{2} * (k_ + 1) * (t_ + 1) * (pieces_ + 1); }
  std::size_t At(int open, int k, int t, int x) const {
    return static_cast<std::size_t>(((open * (k_ + 1) + k) * (t_ + 1) + t) * (pieces_ + 1) + x);
  }
  int Next(std::size_t i, int open) const { return items_[i].last_of_pod ? 0 : open; }

  std::optional<SegmentScore> Take(const Table& best, std::size_t i, int open, int k, int t,
                                   int x) const {
    if (t == 0 || (open == 0 && k == 0)) return std::nullopt;
    std::optional<SegmentScore> rest = best[i + 1][AfterTake(i, open, k, t, x)];
    if (rest) *rest += scores_[items_[i].segment];
    return rest;
  }
  std::size_t AfterTake(std::size_t i, int open, int k, int t, int x) const {
    return At(Next(i, 1), open == 0 ? k - 1 : k, t - 1,
              std::max(0, x - capacity_[items_[i].segment]));
  }
  static std::optional<SegmentScore> Better(const std::optional<SegmentScore>& a,
                                            const std::optional<SegmentScore>& b) {
    if (!a) return b;
    if (!b) return a;
    return std::min(*a, *b);
  }

  std::vector<int> Trace(const Table& best) const {
    std::vector<int> chosen;
    int open = 0, k = k_, t = t_, x = pieces_;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const std::optional<SegmentScore> taken = Take(best, i, open, k, t, x);
      if (taken && taken == best[i][At(open, k, t, x)]) {
        chosen.push_back(items_[i].segment);
        x = std::max(0, x - capacity_[items_[i].segment]);
        if (open == 0) --k;
        --t;
        open = Next(i, 1);
      } else {
        open = Next(i, open);
      }
    }
    return chosen;
  }

  const std::vector<int>& capacity_;
  const std::vector<SegmentScore>& scores_;
  const int k_;
  const int t_;
  const int pieces_;
  std::vector<Item> items_;
};

// Fills the segments of least capacity first, so that what stays free stays in one place.
std::vector<SegmentCount> Spread(std::vector<int> chosen, const std::vector<int>& capacity,
                                 int pieces) {
  std::sort(chosen.begin(), chosen.end());
  std::vector<SegmentCount> counts;
  for (int s : chosen) counts.push_back({s, 0});
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return capacity[counts[a].segment] < capacity[counts[b].segment];
  });
  for (std::size_t i : order) {
    counts[i].count = std::min(pieces, capacity[counts[i].segment]);
    pieces -= counts[i].count;
  }
  std::erase_if(counts, [](const SegmentCount& c) { return c.count == 0; });
  return counts;
}

}  // namespace

WholeChoice ChooseWhole(const fabric::Places& places, const std::vector<int>& capacity, int pieces,
                        const std::vector<SegmentScore>& scores) {
  WholeChoice choice;
  const std::vector<PodCapacity> pods = PodsOf(places, capacity, scores);
  std::vector<const PodCapacity*> fullest;
  for (const PodCapacity& pod : pods) fullest.push_back(&pod);
  std::stable_sort(fullest.begin(), fullest.end(), [](const PodCapacity* a, const PodCapacity* b) {
    return a->total() > b->total();
  });
  int left = pieces;
  std::size_t k = 0;
  for (; k < fullest.size() && left > 0; ++k) left -= fullest[k]->total();
  if (left > 0) return choice;
  const int fewest = SegmentsOf(fullest, capacity, pieces);  // in any number of pods
  fullest.resize(k);
  const int most = SegmentsOf(fullest, capacity, pieces);

  choice.found = true;
  choice.pods = static_cast<int>(k);
  PodProgram program(pods, choice.pods, most, pieces);
  std::vector<int> taken(pods.size(), 0);
  if (program.work() <= kMaxPodWork) {
    taken = program.Run();
  } else {
    choice.exact = most == fewest;
    std::vector<std::pair<int, std::size_t>> ranked;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      if (std::find(fullest.begin(), fullest.end(), &pods[p]) == fullest.end()) continue;
      for (int s : pods[p].segments) ranked.push_back({-capacity[s], p});
    }
    std::stable_sort(ranked.begin(), ranked.end());
    for (int i = 0; i < most; ++i) ++taken[ranked[i].second];
  }
  std::vector<int> chosen;
  for (std::size_t p = 0; p < pods.size(); ++p) {
    chosen.insert(chosen.end(), pods[p].segments.begin(), pods[p].segments.begin() + taken[p]);
  }
  choice.segments = static_cast<int>(chosen.size());
  // Within one segment nothing uses an uplink.
  std::vector<SegmentScore> adjusted = scores;
  if (choice.segments == 1) {
    for (SegmentScore& score : adjusted) score.load = 0;
  }
  ScoreProgram ties(places, capacity, adjusted, choice.pods, choice.segments, pieces);
  if (choice.exact && ties.states() <= kMaxScoreStates) {
    chosen = ties.Run();
    choice.scored = true;
  }
  choice.counts = Spread(std::move(chosen), capacity, pieces);
  return choice;
}

}  // namespace yardmaster::placement
