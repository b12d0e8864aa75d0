#include "pkg/placement/solver/segment_exchange.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace yardmaster::placement {

namespace {

struct Load {
  int segment = 0;
  int workers = 0;
};

// Where the loads of one fabric pod go, and what that scores.
struct Match {
  SegmentScore score;
  std::vector<int> target;  // by load
};

class Exchange {
 public:
  Exchange(const fabric::Places& places, const Capacity& capacity,
           const std::vector<SegmentScore>& scores)
      : places_(places), capacity_(capacity), scores_(scores) {}

  // `loads` descend. Nothing if the pod has no room for them.
  std::optional<Match> Best(fabric::FabricPodId pod, const std::vector<Load>& loads) const {
    std::vector<int> segments;
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      if (Room(s.value) >= loads.back().workers) segments.push_back(s.value);
    }
    std::stable_sort(segments.begin(), segments.end(),
                     [&](int a, int b) { return Room(a) > Room(b); });
    if (!Fits(segments, loads)) return std::nullopt;
    std::vector<int> by_score = segments;
    std::sort(by_score.begin(), by_score.end(),
              [&](int a, int b) { return std::tie(scores_[a], a) < std::tie(scores_[b], b); });
    std::vector<int> chosen;  // fullest first
    for (int s : by_score) {
      if (chosen.size() == loads.size()) break;
      std::vector<int> tried = chosen;
      tried.push_back(s);
      if (!Fits(Completed(tried, segments, loads.size()), loads)) continue;
      chosen = std::move(tried);
    }
    std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) { return Room(a) > Room(b); });
    Match match;
    for (int s : chosen) match.score += scores_[s];
    match.target = std::move(chosen);
    return match;
  }

 private:
  int Room(int segment) const { return capacity_.of_segment[segment]; }

  bool Fits(const std::vector<int>& fullest_first, const std::vector<Load>& loads) const {
    if (fullest_first.size() < loads.size()) return false;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      if (Room(fullest_first[i]) < loads[i].workers) return false;
    }
    return true;
  }

  // `some` and the fullest others, `count` in all, fullest first.
  std::vector<int> Completed(std::vector<int> some, const std::vector<int>& fullest_first,
                             std::size_t count) const {
    const std::size_t fixed = some.size();
    for (int s : fullest_first) {
      if (some.size() == count) break;
      if (std::find(some.begin(), some.begin() + fixed, s) == some.begin() + fixed) {
        some.push_back(s);
      }
    }
    std::stable_sort(some.begin(), some.end(), [&](int a, int b) { return Room(a) > Room(b); });
    return some;
  }

  const fabric::Places& places_;
  const Capacity& capacity_;
  const std::vector<SegmentScore>& scores_;
};

}  // namespace

void ExchangeSegments(const fabric::Places& places, const Capacity& capacity,
                      std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker) {
  std::vector<int> workers(capacity.of_segment.size(), 0);
  for (int s : segment_of_worker) ++workers[s];
  std::vector<std::vector<Load>> loads(static_cast<std::size_t>(places.num_fabric_pods()));
  std::size_t used = 0;
  for (std::size_t s = 0; s < workers.size(); ++s) {
    if (workers[s] == 0) continue;
    const fabric::SegmentId id(static_cast<std::int32_t>(s));
    loads[places.fabric_pod_of(id).index()].push_back({id.value, workers[s]});
    ++used;
  }
  if (used == 1) {
    for (SegmentScore& score : scores) score.load = 0;  // nothing uses an uplink
  }
  std::vector<std::tuple<int, std::size_t>> order;  // heaviest pod first
  std::vector<std::uint8_t> taken(loads.size(), 0);
  for (std::size_t p = 0; p < loads.size(); ++p) {
    if (loads[p].empty()) continue;
    std::stable_sort(loads[p].begin(), loads[p].end(),
                     [](const Load& a, const Load& b) { return a.workers > b.workers; });
    int sum = 0;
    for (const Load& load : loads[p]) sum += load.workers;
    order.push_back({-sum, p});
    taken[p] = 1;
  }
  std::sort(order.begin(), order.end());
  const Exchange exchange(places, capacity, scores);
  std::vector<int> target(workers.size(), -1);
  for (const auto& [weight, p] : order) {
    std::optional<Match> best;
    std::size_t home = p;
    for (std::size_t q = 0; q < loads.size(); ++q) {
      if (q != p && taken[q]) continue;
      std::optional<Match> match =
          exchange.Best(fabric::FabricPodId(static_cast<int>(q)), loads[p]);
      if (!match || (best && best->score <= match->score)) continue;
      best = std::move(match);
      home = q;
    }
    taken[p] = 0;
    taken[home] = 1;
    for (std::size_t i = 0; i < loads[p].size(); ++i) {
      target[loads[p][i].segment] = best->target[i];
    }
  }
  for (int& s : segment_of_worker) s = target[s];
}

void ExchangeForClasses(const fabric::Places& places, const Capacity& capacity,
                        std::vector<SegmentScore> scores, std::vector<int>& segment_of_worker) {
  std::vector<ClassCounts> held = CountClasses(capacity.classes, segment_of_worker,
                                               static_cast<int>(capacity.of_segment.size()));
  const std::set<int> used(segment_of_worker.begin(), segment_of_worker.end());
  if (used.size() == 1) {
    for (SegmentScore& score : scores) score.load = 0;  // nothing uses an uplink
  }
  std::map<int, int> target;
  std::set<int> taken = used;
  for (const int from : used) {
    int best = from;
    for (const fabric::SegmentId to : places.segments()) {
      const bool same_pod =
          places.fabric_pod_of(to) ==
          places.fabric_pod_of(fabric::SegmentId(static_cast<std::int32_t>(from)));
      if ((used.size() > 1 && !same_pod) || taken.count(to.value) != 0) continue;
      if (!(scores[to.index()] < scores[static_cast<std::size_t>(best)])) continue;
      if (Fits(held[static_cast<std::size_t>(from)], capacity.classes.of_segment[to.index()])) {
        best = to.value;
      }
    }
    taken.erase(from);
    taken.insert(best);
    target[from] = best;
  }
  for (int& s : segment_of_worker) s = target[s];
}

}  // namespace yardmaster::placement
