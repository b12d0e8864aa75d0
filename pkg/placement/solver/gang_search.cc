#include "pkg/placement/solver/gang_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pkg/placement/solver/search_bounds.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

namespace {

// Above the capacity of any place.
constexpr int kAboveAllCapacities = 1 << 30;

class Search {
 public:
  Search(const SearchProblem& problem, const SearchOptions& options)
      : problem_(problem), options_(options), space_(problem) {
    free_ = space_.capacity;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      pieces_[level].assign(free_[level].size(), 0);
    }
    stages_in_segment_.resize(free_[kSegment].size());
    if (!problem_.piece_classes.empty()) CountClasses();
    chosen_.assign(space_.order.size(), -1);
    left_ = space_.workers_of_group;
    touched_.assign(left_.size(), 0);
    SetUp(problem_.pod_set, sets_[kPod]);
    if (problem_.has_domains()) SetUp(problem_.segment_set, sets_[kSegment]);
    rest_of_component_.assign(space_.order.size(), 0);
    for (int i = num_pieces() - 1; i >= 0; --i) {
      rest_of_component_[i] = problem_.piece_size[space_.order[i]];
      if (i + 1 < space_.first_piece[space_.component[i] + 1]) {
        rest_of_component_[i] += rest_of_component_[i + 1];
      }
    }
  }

  SearchResult Run() {
    result_.bound = UnplacedBound(0) + MorePlaces(space_.total);
    const TensorUnits units(problem_);
    std::int64_t cells = 0;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      std::int64_t& split = *SplitsOf(result_.bound, level, true);
      split = std::max(split, units.SplitsIn(free_[level]));
      cells += static_cast<std::int64_t>(problem_.groups.size() * free_[level].size());
    }
    if (options_.incumbent) best_ = *options_.incumbent;
    if (cells > 20'000'000) {
      result_.exact = false;
      return std::move(result_);
    }
    for (int level = first_level(); level < kSearchLevels; ++level) {
      in_[level].assign(problem_.groups.size() * free_[level].size(), 0);
    }
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
    int place;
    auto Key() const { return std::tie(cost, fit, place); }
  };
  // Pieces that must share a place of a level.
  struct Sets {
    std::vector<int> place;  // by set, or -1
    std::vector<int> count;  // pieces placed
    std::vector<int> left;   // workers not yet placed
  };

  int first_level() const { return space_.first_level; }
  int num_pieces() const { return space_.num_pieces(); }
  int num_places() const { return space_.num_places(); }
  int num_groups() const { return space_.num_groups(); }
  const std::vector<int>& set_of_piece(int level) const {
    return level == kPod ? problem_.pod_set : problem_.segment_set;
  }
  // Pieces of the group in the place of the level.
  std::size_t Cell(int level, int group, int place) const {
    return static_cast<std::size_t>(group) * free_[level].size() + static_cast<std::size_t>(place);
  }

  void SetUp(const std::vector<int>& set_of_piece, Sets& sets) const {
    sets.place.assign(space_.order.size(), -1);
    sets.count.assign(space_.order.size(), 0);
    sets.left.assign(space_.order.size(), 0);
    for (int piece : space_.order) sets.left[set_of_piece[piece]] += problem_.piece_size[piece];
  }

  void CountClasses() {
    const ClassCounts none(problem_.piece_classes.front().size(), 0);
    classes_in_place_.assign(space_.original.size(), none);
    classes_in_pod_.assign(free_[kPod].size(), none);
    classes_left_of_set_.assign(space_.order.size(), none);
    class_capacities_of_pod_.resize(free_[kPod].size());
    for (int p = 0; p < num_places(); ++p) {
      for (const ClassCapacity& capacity : problem_.class_capacities[space_.original[p]]) {
        AddCapacity(class_capacities_of_pod_[space_.at[p][kPod]], capacity);
      }
    }
    for (int piece : space_.order) {
      Add(problem_.piece_classes[piece], 1, classes_left_of_set_[problem_.pod_set[piece]]);
    }
  }

  // The fewest untouched places of each level that take so many workers with the others.
  Objective MorePlaces(std::int64_t workers) const {
    Objective more;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      std::int64_t need = workers;
      unused_.clear();
      for (int place : space_.by_capacity[level]) {
        if (pieces_[level][place] == 0) {
          unused_.push_back(space_.capacity[level][place]);
        } else {
          need -= free_[level][place];
        }
      }
      PlacesOf(more, level) = PlacesFor(need, unused_);
    }
    return more;
  }

  // What the groups of components >= `from` cost at least in what is still free.
  Objective UnplacedBound(int from) const { return ComponentBound(space_, from, left_, free_); }

  // What the groups of component c still cost at least in segments, where they are started, and in
  // domains.
  Objective StartedBound(int c) const {
    Objective bound;
    for (int g : space_.groups_of_component[c]) {
      if (left_[g] == 0) continue;
      for (int level = first_level(); level <= kSegment; ++level) {
        if (level == kDomain ? problem_.groups[g].tensor : touched_[g] > 0) {
          AddGroup(level, g, bound);
        }
      }
    }
    return bound;
  }
  void AddGroup(int level, int g, Objective& bound) const {
    int rest = left_[g];
    int largest = 1;
    const std::vector<int>& free = free_[level];
    const int* in = in_[level].data() + Cell(level, g, 0);
    for (std::size_t place = 0; place < free.size(); ++place) {
      if (in[place] > 0) {
        rest -= free[place];
      } else {
        largest = std::max(largest, free[place]);
      }
    }
    if (rest <= 0) return;
    const int more = (rest + largest - 1) / largest - (touched_[g] == 0 ? 1 : 0);
    const SearchGroup& group = problem_.groups[g];
    AddSplits(level, group.tensor, more * group.count, bound);
  }

  bool FirstOfItsKind(int place) const {
    if (!problem_.places_alike) return true;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      const int at = space_.at[place][level];
      if (pieces_[level][at] > 0) return true;
      const int twin = space_.place_twin[level][at];
      if (twin >= 0 && pieces_[level][twin] == 0) return false;
    }
    return true;
  }

  int LowestPlace(int i) const {
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

  // Whether the workers of the place and of the piece, and those of the fabric pod and of the
  // piece's pod set, find hosts that they may use.
  bool ClassesFit(int piece, int place) const {
    if (classes_in_place_.empty()) return true;
    ClassCounts both = classes_in_place_[place];
    Add(problem_.piece_classes[piece], 1, both);
    if (!Fits(both, problem_.class_capacities[space_.original[place]])) return false;
    const int pod = space_.at[place][kPod];
    ClassCounts with_set = classes_in_pod_[pod];
    Add(classes_left_of_set_[problem_.pod_set[piece]], 1, with_set);
    return Fits(with_set, class_capacities_of_pod_[pod]);
  }
  static void Add(const ClassCounts& counts, int step, ClassCounts& sum) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += counts[c] * step;
  }

  // Whether the rest of the piece's sets may still join it.
  bool SetsFit(int piece, int place) const {
    for (int level = first_level() + 1; level < kSearchLevels; ++level) {
      const Sets& sets = sets_[level];
      const int set = set_of_piece(level)[piece];
      const int at = space_.at[place][level];
      if (sets.place[set] >= 0 && sets.place[set] != at) return false;
      if (free_[level][at] < sets.left[set]) return false;
    }
    return true;
  }

  Objective CostOf(int i, int place) const {
    Objective cost = cost_;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      const int at = space_.at[place][level];
      if (pieces_[level][at] == 0) ++PlacesOf(cost, level);
      for (int g : space_.groups_of[i]) {
        if (touched_[g] == 0 || in_[level][Cell(level, g, at)] > 0) continue;
        AddSplits(level, problem_.groups[g].tensor, problem_.groups[g].count, cost);
      }
    }
    return cost;
  }

  void Move(int i, int place, int step) {
    const int piece = space_.order[i];
    const int size = problem_.piece_size[piece] * step;
    placed_ += size;
    for (int level = first_level(); level < kSearchLevels; ++level) {
      const int at = space_.at[place][level];
      free_[level][at] -= size;
      pieces_[level][at] += step;
      for (int g : space_.groups_of[i]) in_[level][Cell(level, g, at)] += step;
      if (level == first_level()) continue;
      Sets& sets = sets_[level];
      const int set = set_of_piece(level)[piece];
      sets.count[set] += step;
      sets.left[set] -= size;
      sets.place[set] = sets.count[set] > 0 ? at : -1;
    }
    for (int g : space_.groups_of[i]) {
      touched_[g] += step;
      left_[g] -= size;
    }
    if (!classes_in_place_.empty()) {
      const ClassCounts& counts = problem_.piece_classes[piece];
      Add(counts, step, classes_in_place_[place]);
      Add(counts, step, classes_in_pod_[space_.at[place][kPod]]);
      Add(counts, -step, classes_left_of_set_[problem_.pod_set[piece]]);
    }
    if (problem_.max_stages_per_segment > 0) {
      std::map<int, int>& held = stages_in_segment_[space_.at[place][kSegment]];
      for (int stage : problem_.stages[piece]) {
        int& count = held[stage];
        count += step;
        if (count == 0) held.erase(stage);
      }
    }
    chosen_[i] = step > 0 ? place : -1;
  }

  bool CanPrune(int i) {
    if (!best_) return false;
    const int c = space_.component[i];
    const Objective least = cost_ + rest_bound_[c] + MorePlaces(space_.total - placed_);
    return least >= *best_ || least + StartedBound(c) >= *best_;
  }

  // Steps stand for time: what scans more costs more of them.
  void Spend(std::int64_t steps) {
    steps_ += steps;
    if (steps_ > options_.max_steps) cut_ = true;
  }

  void Record() {
    best_ = cost_;
    result_.objective = cost_;
    result_.place.assign(space_.order.size(), -1);
    for (int i = 0; i < num_pieces(); ++i)
      result_.place[space_.order[i]] = space_.original[chosen_[i]];
    // Nothing is better than the bound.
    const bool least = cost_ <= result_.bound;
    done_ = least || options_.any;
    cut_ |= !least && options_.any;
  }

  // Where the search stands with one piece.
  struct Level {
    std::vector<Choice> choices;  // best first
    std::size_t next = 0;         // of choices; the one before it is the piece's place
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
        Move(i, level.choices[level.next - 1].place, -1);
      }
      if (!TakesNext(level)) {
        --i;
        continue;
      }
      const Choice& choice = level.choices[level.next++];
      Move(i, choice.place, 1);
      cost_ = choice.cost;
      ++i;
      Enter(i, levels[static_cast<std::size_t>(i)]);
    }
  }

  bool TakesNext(const Level& level) {
    if (level.next == level.choices.size()) return false;
    if (best_ && level.choices[level.next].cost >= *best_) return false;
    Spend(1 + num_places() / 16);
    return !cut_ && !done_;
  }

  // Lists what piece i may take after the pieces before it. The list is empty where no better
  // solution can follow, and where every piece has its place; that solution is recorded.
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
      Spend((num_groups() + num_places()) / 16);
    }
    if (!CanPrune(i)) FindChoices(i, level.choices);
  }

  void FindChoices(int i, std::vector<Choice>& choices) const {
    const int piece = space_.order[i];
    const int rest = rest_of_component_[i];
    for (int p = LowestPlace(i); p < num_places(); ++p) {
      const int room = free_[first_level()][p];
      if (room < problem_.piece_size[piece] || !SetsFit(piece, p) || !FirstOfItsKind(p)) continue;
      if (!StagesFit(piece, space_.at[p][kSegment]) || !ClassesFit(piece, p)) continue;
      choices.push_back({CostOf(i, p), room >= rest ? room : kAboveAllCapacities - room, p});
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

  // By level and place.
  BySearchLevel<std::vector<int>> free_;    // workers
  BySearchLevel<std::vector<int>> pieces_;  // in it
  BySearchLevel<std::vector<int>> in_;      // of a group, by Cell
  mutable std::vector<int> unused_;
  std::vector<std::map<int, int>> stages_in_segment_;
  // Empty where all workers may use the same hosts.
  std::vector<ClassCounts> classes_in_place_;
  std::vector<ClassCounts> classes_in_pod_;
  std::vector<ClassCounts> classes_left_of_set_;  // by pod set: not yet placed
  std::vector<std::vector<ClassCapacity>> class_capacities_of_pod_;
  BySearchLevel<Sets> sets_;  // above the first level
  // By piece.
  std::vector<int> chosen_;
  std::vector<int> rest_of_component_;  // workers of the piece and those after it
  std::vector<Objective> rest_bound_;   // by component
  // By group.
  std::vector<int> left_;     // workers not yet placed
  std::vector<int> touched_;  // pieces placed
};

}  // namespace

SearchResult SearchPlaces(const SearchProblem& problem, const SearchOptions& options) {
  return Search(problem, options).Run();
}

}  // namespace yardmaster::placement
