#include "pkg/placement/solver/gang_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pkg/placement/solver/search_bounds.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

namespace {

// Above the capacity of any segment.
constexpr int kAboveAllCapacities = 1 << 30;

class Search {
 public:
  Search(const SearchProblem& problem, const SearchOptions& options)
      : problem_(problem), options_(options), space_(problem) {
    free_in_segment_ = space_.capacity;
    free_in_pod_ = space_.pod_capacity;
    pieces_in_segment_.assign(space_.capacity.size(), 0);
    pieces_in_pod_.assign(space_.pod_capacity.size(), 0);
    stages_in_segment_.resize(space_.capacity.size());
    if (!problem_.piece_classes.empty()) {
      const ClassCounts none(problem_.piece_classes.front().size(), 0);
      classes_in_segment_.assign(space_.capacity.size(), none);
      classes_in_pod_.assign(space_.pod_capacity.size(), none);
      classes_left_of_set_.assign(space_.order.size(), none);
      class_capacities_of_pod_.resize(space_.pod_capacity.size());
      for (int s = 0; s < num_segments(); ++s) {
        for (const ClassCapacity& capacity : problem_.class_capacities[space_.original[s]]) {
          AddCapacity(class_capacities_of_pod_[space_.pod[s]], capacity);
        }
      }
      for (int piece : space_.order) {
        Add(problem_.piece_classes[piece], 1, classes_left_of_set_[problem_.pod_set[piece]]);
      }
    }
    chosen_.assign(space_.order.size(), -1);
    left_ = space_.workers_of_group;
    touched_.assign(left_.size(), 0);
    pod_of_set_.assign(space_.order.size(), -1);
    set_count_.assign(space_.order.size(), 0);
    set_left_.assign(space_.order.size(), 0);
    for (int piece : space_.order) set_left_[problem_.pod_set[piece]] += problem_.piece_size[piece];
    rest_of_component_.assign(space_.order.size(), 0);
    for (int i = num_pieces() - 1; i >= 0; --i) {
      rest_of_component_[i] = problem_.piece_size[space_.order[i]];
      if (i + 1 < space_.first_piece[space_.component[i] + 1]) {
        rest_of_component_[i] += rest_of_component_[i + 1];
      }
    }
  }

  SearchResult Run() {
    const bool too_large =
        std::int64_t{1} * num_groups() * (num_segments() + num_pods()) > 20'000'000;
    result_.bound =
        UnplacedBound(0) + Objective{0, 0, 0, 0, PodsFor(space_.total), SegmentsFor(space_.total)};
    const TensorUnits units(problem_);
    result_.bound.tensor_split_segments =
        std::max(result_.bound.tensor_split_segments, units.SplitsIn(space_.capacity));
    result_.bound.tensor_split_fabric_pods =
        std::max(result_.bound.tensor_split_fabric_pods, units.SplitsIn(space_.pod_capacity));
    if (options_.incumbent) best_ = *options_.incumbent;
    if (too_large) {
      result_.exact = false;
      return std::move(result_);
    }
    in_segment_.assign(static_cast<std::size_t>(num_groups() * num_segments()), 0);
    in_pod_.assign(static_cast<std::size_t>(num_groups() * num_pods()), 0);
    Descend();
    result_.exact = !cut_;
    result_.steps = steps_;
    if (result_.exact && best_) result_.bound = *best_;
    return std::move(result_);
  }

 private:
  struct Choice {
    Objective cost;
    int fit;  // the tightest that takes the rest of the component, else the widest
    int segment;
    auto Key() const { return std::tie(cost, fit, segment); }
  };

  int num_pieces() const { return space_.num_pieces(); }
  int num_segments() const { return space_.num_segments(); }
  int num_pods() const { return space_.num_pods(); }
  int num_groups() const { return space_.num_groups(); }

  std::int64_t SegmentsFor(std::int64_t need) const {
    unused_.clear();
    for (int s : space_.by_capacity) {
      if (pieces_in_segment_[s] == 0) {
        unused_.push_back(space_.capacity[s]);
      } else {
        need -= free_in_segment_[s];
      }
    }
    return PlacesFor(need, unused_);
  }
  std::int64_t PodsFor(std::int64_t need) const {
    unused_.clear();
    for (int p : space_.pods_by_capacity) {
      if (pieces_in_pod_[p] == 0) {
        unused_.push_back(space_.pod_capacity[p]);
      } else {
        need -= free_in_pod_[p];
      }
    }
    return PlacesFor(need, unused_);
  }

  // What the groups of components >= `from` cost at least in what is still free.
  Objective UnplacedBound(int from) const {
    return ComponentBound(space_, from, left_, free_in_segment_, free_in_pod_);
  }

  // What the started groups of component c still cost at least.
  Objective StartedBound(int c) const {
    Objective bound;
    for (int g : space_.groups_of_component[c]) {
      int rest = left_[g];
      if (rest == 0 || touched_[g] == 0) continue;
      int largest = 1;
      for (int s = 0; s < num_segments(); ++s) {
        if (in_segment_[static_cast<std::size_t>(g * num_segments() + s)] > 0) {
          rest -= free_in_segment_[s];
        } else {
          largest = std::max(largest, free_in_segment_[s]);
        }
      }
      if (rest <= 0) continue;
      const SearchGroup& group = problem_.groups[g];
      (group.tensor ? bound.tensor_split_segments : bound.data_split_segments) +=
          (rest + largest - 1) / largest * group.count;
    }
    return bound;
  }

  bool FirstOfItsKind(int segment) const {
    if (!problem_.segments_alike || pieces_in_segment_[segment] > 0) return true;
    const int pod = space_.pod[segment];
    if (segment > space_.first_segment[pod] &&
        space_.capacity[segment - 1] == space_.capacity[segment] &&
        pieces_in_segment_[segment - 1] == 0) {
      return false;
    }
    if (pieces_in_pod_[pod] > 0) return true;
    for (int twin = space_.pod_twin[pod]; twin >= 0; twin = space_.pod_twin[twin]) {
      if (pieces_in_pod_[twin] == 0) return false;
    }
    return true;
  }

  int LowestSegment(int i) const {
    int lowest = space_.twin[i] >= 0 ? chosen_[space_.twin[i]] : 0;
    const int c = space_.component[i];
    if (space_.same_as_previous[c]) {
      const int offset = space_.first_piece[c] - space_.first_piece[c - 1];
      bool tied = true;
      for (int k = space_.first_piece[c]; k < i && tied; ++k)
        tied = chosen_[k] == chosen_[k - offset];
      if (tied) lowest = std::max(lowest, chosen_[i - offset]);
    }
    return lowest;
  }

  bool StagesFit(int piece, int segment) const {
    const int limit = problem_.max_stages_per_segment;
    if (limit == 0) return true;
    int distinct = static_cast<int>(stages_in_segment_[segment].size());
    for (int stage : problem_.stages[piece]) {
      if (stages_in_segment_[segment].count(stage) == 0) ++distinct;
    }
    return distinct <= limit;
  }

  // Whether the workers of the segment and of the piece, and those of the fabric pod and of the
  // piece's pod set, find hosts that they may use.
  bool ClassesFit(int piece, int segment) const {
    if (classes_in_segment_.empty()) return true;
    ClassCounts both = classes_in_segment_[segment];
    Add(problem_.piece_classes[piece], 1, both);
    if (!Fits(both, problem_.class_capacities[space_.original[segment]])) return false;
    ClassCounts with_set = classes_in_pod_[space_.pod[segment]];
    Add(classes_left_of_set_[problem_.pod_set[piece]], 1, with_set);
    return Fits(with_set, class_capacities_of_pod_[space_.pod[segment]]);
  }
  static void Add(const ClassCounts& counts, int step, ClassCounts& sum) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += counts[c] * step;
  }

  Objective CostOf(int i, int segment) const {
    Objective cost = cost_;
    const int pod = space_.pod[segment];
    if (pieces_in_segment_[segment] == 0) ++cost.segments;
    if (pieces_in_pod_[pod] == 0) ++cost.fabric_pods;
    for (int g : space_.groups_of[i]) {
      if (touched_[g] == 0) continue;
      const SearchGroup& group = problem_.groups[g];
      if (in_segment_[static_cast<std::size_t>(g * num_segments() + segment)] == 0) {
        (group.tensor ? cost.tensor_split_segments : cost.data_split_segments) += group.count;
      }
      if (in_pod_[static_cast<std::size_t>(g * num_pods() + pod)] == 0) {
        (group.tensor ? cost.tensor_split_fabric_pods : cost.data_split_fabric_pods) += group.count;
      }
    }
    return cost;
  }

  void Move(int i, int segment, int step) {
    const int piece = space_.order[i];
    const int size = problem_.piece_size[piece] * step;
    const int pod = space_.pod[segment];
    free_in_segment_[segment] -= size;
    free_in_pod_[pod] -= size;
    pieces_in_segment_[segment] += step;
    pieces_in_pod_[pod] += step;
    placed_ += size;
    for (int g : space_.groups_of[i]) {
      touched_[g] += step;
      left_[g] -= size;
      in_segment_[static_cast<std::size_t>(g * num_segments() + segment)] += step;
      in_pod_[static_cast<std::size_t>(g * num_pods() + pod)] += step;
    }
    if (!classes_in_segment_.empty()) {
      const ClassCounts& counts = problem_.piece_classes[piece];
      Add(counts, step, classes_in_segment_[segment]);
      Add(counts, step, classes_in_pod_[pod]);
      Add(counts, -step, classes_left_of_set_[problem_.pod_set[piece]]);
    }
    const int set = problem_.pod_set[piece];
    set_count_[set] += step;
    set_left_[set] -= size;
    pod_of_set_[set] = set_count_[set] > 0 ? pod : -1;
    if (problem_.max_stages_per_segment > 0) {
      for (int stage : problem_.stages[piece]) {
        int& count = stages_in_segment_[segment][stage];
        count += step;
        if (count == 0) stages_in_segment_[segment].erase(stage);
      }
    }
    chosen_[i] = step > 0 ? segment : -1;
  }

  bool CanPrune(int i) {
    Objective least = cost_ + rest_bound_[space_.component[i]];
    const std::int64_t left = space_.total - placed_;
    least.segments += SegmentsFor(left);
    least.fabric_pods += PodsFor(left);
    if (!best_) return false;
    if (least >= *best_) return true;
    return least + StartedBound(space_.component[i]) >= *best_;
  }

  // Steps stand for time: what scans more costs more of them.
  void Spend(std::int64_t steps) {
    steps_ += steps;
    if (steps_ > options_.max_steps) cut_ = true;
  }

  void Record() {
    best_ = cost_;
    result_.objective = cost_;
    result_.segment.assign(space_.order.size(), -1);
    for (int i = 0; i < num_pieces(); ++i)
      result_.segment[space_.order[i]] = space_.original[chosen_[i]];
    // Nothing is better than the bound.
    const bool least = cost_ <= result_.bound;
    done_ = least || options_.any;
    cut_ |= !least && options_.any;
  }

  // Where the search stands with one piece.
  struct Level {
    std::vector<Choice> choices;  // best first
    std::size_t next = 0;         // of choices; the one before it is the piece's segment
    Objective before;             // what the pieces before it cost
  };

  // Depth first over the pieces, without recursion: a gang may have 100,000 pieces, and a call for
  // each would exhaust the stack.
  void Descend() {
    std::vector<Level> levels(static_cast<std::size_t>(num_pieces()) + 1);
    int i = 0;
    Enter(i, levels[0]);
    while (i >= 0) {
      Level& level = levels[static_cast<std::size_t>(i)];
      if (level.next > 0) {
        cost_ = level.before;
        Move(i, level.choices[level.next - 1].segment, -1);
      }
      if (!TakesNext(level)) {
        --i;
        continue;
      }
      const Choice& choice = level.choices[level.next++];
      Move(i, choice.segment, 1);
      cost_ = choice.cost;
      ++i;
      Enter(i, levels[static_cast<std::size_t>(i)]);
    }
  }

  bool TakesNext(const Level& level) {
    if (level.next == level.choices.size()) return false;
    if (best_ && level.choices[level.next].cost >= *best_) return false;
    Spend(1 + num_segments() / 16);
    return !cut_ && !done_;
  }

  // Lists what piece i may take after the pieces before it. The list is empty where no better
  // solution can follow, and where every piece has its segment; that solution is recorded.
  void Enter(int i, Level& level) {
    level.choices.clear();
    level.next = 0;
    level.before = cost_;
    if (i == num_pieces()) {
      if (!best_ || cost_ < *best_) Record();
      return;
    }
    const int c = space_.component[i];
    if (i == space_.first_piece[c]) {
      rest_bound_.resize(space_.first_piece.size());
      rest_bound_[c] = UnplacedBound(c + 1);
      Spend((num_groups() + num_segments()) / 16);
    }
    if (!CanPrune(i)) FindChoices(i, level.choices);
  }

  void FindChoices(int i, std::vector<Choice>& choices) const {
    const int piece = space_.order[i];
    const int set_pod = pod_of_set_[problem_.pod_set[piece]];
    const int rest = rest_of_component_[i];
    for (int s = LowestSegment(i); s < num_segments(); ++s) {
      if (free_in_segment_[s] < problem_.piece_size[piece]) continue;
      if (set_pod >= 0 && space_.pod[s] != set_pod) continue;
      if (!FirstOfItsKind(s) || !StagesFit(piece, s)) continue;
      if (free_in_pod_[space_.pod[s]] < set_left_[problem_.pod_set[piece]]) continue;
      if (!ClassesFit(piece, s)) continue;
      choices.push_back({CostOf(i, s),
                         free_in_segment_[s] >= rest ? free_in_segment_[s]
                                                     : kAboveAllCapacities - free_in_segment_[s],
                         s});
    }
    std::sort(choices.begin(), choices.end(),
              [](const Choice& a, const Choice& b) { return a.Key() < b.Key(); });
  }

  const SearchProblem& problem_;
  const SearchOptions& options_;
  const SearchSpace space_;
  SearchResult result_;
  std::optional<Objective> best_;
  Objective cost_;
  std::int64_t steps_ = 0;
  std::int64_t placed_ = 0;  // workers
  bool cut_ = false;
  bool done_ = false;

  // By segment.
  std::vector<int> free_in_segment_;
  std::vector<int> pieces_in_segment_;
  std::vector<std::map<int, int>> stages_in_segment_;
  // Empty where all workers may use the same hosts.
  std::vector<ClassCounts> classes_in_segment_;
  std::vector<ClassCounts> classes_in_pod_;
  std::vector<ClassCounts> classes_left_of_set_;  // by pod set: not yet placed
  std::vector<std::vector<ClassCapacity>> class_capacities_of_pod_;
  // By fabric pod.
  std::vector<int> free_in_pod_;
  std::vector<int> pieces_in_pod_;
  mutable std::vector<int> unused_;
  // By piece.
  std::vector<int> chosen_;
  std::vector<int> rest_of_component_;  // workers of the piece and those after it
  std::vector<Objective> rest_bound_;
  // By group.
  std::vector<int> left_;     // workers not yet placed
  std::vector<int> touched_;  // pieces placed
  std::vector<int> in_segment_;
  std::vector<int> in_pod_;
  // By pod set.
  std::vector<int> pod_of_set_;
  std::vector<int> set_count_;
  std::vector<int> set_left_;  // workers of the set not yet placed
};

}  // namespace

SearchResult SearchSegments(const SearchProblem& problem, const SearchOptions& options) {
  return Search(problem, options).Run();
}

}  // namespace yardmaster::placement
