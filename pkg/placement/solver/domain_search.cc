#include "pkg/placement/solver/domain_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "pkg/placement/solver/search_bounds.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

namespace {

constexpr int kAboveAllCapacities = 1 << 30;

enum Level { kDomain, kSegment, kPod, kLevels };

// The cost of a group that lies in one more place of a level.
std::int64_t* SplitOf(Objective& cost, int level, bool tensor) {
  switch (level) {
    case kDomain:
      return tensor ? &cost.tensor_split_domains : nullptr;
    case kSegment:
      return tensor ? &cost.tensor_split_segments : &cost.data_split_segments;
    default:
      return tensor ? &cost.tensor_split_fabric_pods : &cost.data_split_fabric_pods;
  }
}

std::int64_t& PlacesOf(Objective& cost, int level) {
  switch (level) {
    case kDomain:
      return cost.domains;
    case kSegment:
      return cost.segments;
    default:
      return cost.fabric_pods;
  }
}

// Domains in an order in which equal segments, and equal fabric pods, have equal sequences: inside
// a segment and a fabric pod the larger ones first. Twins: the earlier, interchangeable place of
// the same parent, or -1.
struct DomainOrder {
  explicit DomainOrder(const DomainProblem& problem) {
    std::vector<std::vector<int>> domains(problem.base.pod_of_segment.size());
    for (std::size_t d = 0; d < problem.capacity.size(); ++d) {
      if (problem.capacity[d] > 0) domains[problem.segment_of[d]].push_back(static_cast<int>(d));
    }
    const auto capacities = [&](const std::vector<int>& of) {
      std::vector<int> out;
      for (int d : of) out.push_back(problem.capacity[d]);
      return out;
    };
    std::map<int, std::vector<std::pair<std::vector<int>, int>>> pods;  // segments by capacities
    for (std::size_t s = 0; s < domains.size(); ++s) {
      if (domains[s].empty()) continue;
      std::stable_sort(domains[s].begin(), domains[s].end(),
                       [&](int a, int b) { return problem.capacity[a] > problem.capacity[b]; });
      pods[problem.base.pod_of_segment[s]].push_back({capacities(domains[s]), static_cast<int>(s)});
    }
    std::map<std::vector<std::vector<int>>, int> last_pod;
    for (auto& [pod, segments] : pods) {
      std::stable_sort(segments.begin(), segments.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      std::vector<std::vector<int>> shape;
      for (const auto& [sequence, segment] : segments) {
        const int s = count[kSegment]++;
        const bool equals_last = !shape.empty() && shape.back() == sequence;
        twin[kSegment].push_back(equals_last ? s - 1 : -1);
        shape.push_back(sequence);
        for (std::size_t i = 0; i < sequence.size(); ++i) {
          const int d = count[kDomain]++;
          twin[kDomain].push_back(i > 0 && sequence[i - 1] == sequence[i] ? d - 1 : -1);
          original.push_back(domains[segment][i]);
          at.push_back({d, s, count[kPod]});
        }
      }
      const auto [entry, is_new] = last_pod.emplace(std::move(shape), count[kPod]);
      twin[kPod].push_back(is_new ? -1 : entry->second);
      entry->second = count[kPod]++;
    }
  }

  std::array<int, kLevels> count{};
  std::vector<int> original;                 // by domain
  std::vector<std::array<int, kLevels>> at;  // by domain: its place on every level
  std::array<std::vector<int>, kLevels> twin;
};

class Search {
 public:
  Search(const DomainProblem& problem, const SearchOptions& options)
      : problem_(problem),
        base_(problem.base),
        options_(options),
        order_(problem),
        space_(problem.base) {
    for (int level = 0; level < kLevels; ++level) {
      const auto places = static_cast<std::size_t>(order_.count[level]);
      capacity_[level].assign(places, 0);
      pieces_[level].assign(places, 0);
    }
    for (int d = 0; d < num_domains(); ++d) {
      for (int level = 0; level < kLevels; ++level) {
        capacity_[level][order_.at[d][level]] += problem.capacity[order_.original[d]];
      }
    }
    free_ = capacity_;
    stages_in_segment_.resize(static_cast<std::size_t>(order_.count[kSegment]));
    if (WithClasses()) {
      const ClassCounts none(base_.piece_classes.front().size(), 0);
      classes_in_domain_.assign(static_cast<std::size_t>(num_domains()), none);
    }
    chosen_.assign(space_.order.size(), -1);
    left_ = space_.workers_of_group;
    touched_.assign(left_.size(), 0);
    FindTwins();
    for (const std::vector<int>* sets : {&problem.segment_set, &base_.pod_set}) {
      Sets mine;
      mine.of = *sets;
      mine.place.assign(space_.order.size(), -1);
      mine.placed.assign(space_.order.size(), 0);
      mine.left.assign(space_.order.size(), 0);
      for (int piece : space_.order) mine.left[mine.of[piece]] += base_.piece_size[piece];
      sets_.push_back(std::move(mine));
    }
  }

  SearchResult Run() {
    if (options_.incumbent) best_ = *options_.incumbent;
    const std::int64_t cells = std::int64_t{1} * space_.num_groups() * num_domains();
    if (cells > 20'000'000) {
      result_.exact = false;
      return std::move(result_);
    }
    for (int level = 0; level < kLevels; ++level) {
      in_[level].assign(static_cast<std::size_t>(space_.num_groups()) * capacity_[level].size(), 0);
    }
    result_.bound = RestBound();
    const TensorUnits units(base_);
    for (int level = 0; level < kLevels; ++level) {
      std::int64_t& split = *SplitOf(result_.bound, level, true);
      split = std::max(split, units.SplitsIn(capacity_[level]));
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
    int fit = 0;
    int domain = 0;
  };
  // Pieces that must share a place of a level: segments, then fabric pods.
  struct Sets {
    std::vector<int> of;
    std::vector<int> place;
    std::vector<int> placed;  // pieces
    std::vector<int> left;    // workers not yet placed
  };

  bool WithClasses() const { return !base_.piece_classes.empty(); }
  int num_pieces() const { return space_.num_pieces(); }
  int num_domains() const { return order_.count[kDomain]; }
  int& In(int level, int group, int place) {
    return in_[level][static_cast<std::size_t>(group) * capacity_[level].size() +
                      static_cast<std::size_t>(place)];
  }

  // The piece before each that may be exchanged with it: also within its segment set.
  void FindTwins() {
    twin_ = space_.twin;
    for (int i = 0; i < num_pieces(); ++i) {
      const int other = twin_[i];
      if (other < 0) continue;
      const int set = problem_.segment_set[space_.order[i]];
      if (set != problem_.segment_set[space_.order[other]]) twin_[i] = -1;
    }
  }

  // What the rest must cost at least: each group alone, and all pieces together.
  Objective RestBound() {
    Objective bound;
    for (int level = 0; level < kLevels; ++level) {
      std::vector<int> largest_first = free_[level];
      std::sort(largest_first.rbegin(), largest_first.rend());
      for (int g = 0; g < space_.num_groups(); ++g) {
        const SearchGroup& group = base_.groups[g];
        std::int64_t* split = SplitOf(bound, level, group.tensor);
        if (split == nullptr || left_[g] == 0) continue;
        if (touched_[g] == 0) {
          *split += (PlacesFor(left_[g], largest_first) - 1) * group.count;
        } else {
          *split += MorePlaces(level, g) * group.count;
        }
      }
      PlacesOf(bound, level) = UnusedFor(level, space_.total - placed_);
    }
    return bound;
  }
  // Places that a started group must enter yet.
  std::int64_t MorePlaces(int level, int group) {
    int rest = left_[group];
    int largest = 1;
    for (int place = 0; place < order_.count[level] && rest > 0; ++place) {
      if (In(level, group, place) > 0) {
        rest -= free_[level][place];
      } else {
        largest = std::max(largest, free_[level][place]);
      }
    }
    return rest <= 0 ? 0 : (rest + largest - 1) / largest;
  }
  std::int64_t UnusedFor(int level, std::int64_t need) const {
    std::vector<int> unused;
    for (std::size_t place = 0; place < capacity_[level].size(); ++place) {
      if (pieces_[level][place] == 0) {
        unused.push_back(capacity_[level][place]);
      } else {
        need -= free_[level][place];
      }
    }
    std::sort(unused.rbegin(), unused.rend());
    return PlacesFor(need, unused);
  }

  // Of equal untouched places the first stands for all.
  bool FirstOfItsKind(int domain) const {
    if (!base_.segments_alike) return true;
    for (int level = 0; level < kLevels; ++level) {
      const int place = order_.at[domain][level];
      if (pieces_[level][place] > 0) return true;
      for (int twin = order_.twin[level][place]; twin >= 0; twin = order_.twin[level][twin]) {
        if (pieces_[level][twin] == 0) return false;
      }
    }
    return true;
  }

  bool StagesFit(int piece, int segment) const {
    const int limit = base_.max_stages_per_segment;
    if (limit == 0) return true;
    const std::map<int, int>& held = stages_in_segment_[segment];
    const std::vector<int>& mine = base_.stages[piece];
    const auto added =
        std::count_if(mine.begin(), mine.end(), [&](int stage) { return held.count(stage) == 0; });
    return static_cast<int>(held.size()) + static_cast<int>(added) <= limit;
  }

  bool ClassesFit(int piece, int domain) const {
    if (!WithClasses()) return true;
    ClassCounts both = classes_in_domain_[domain];
    for (std::size_t c = 0; c < both.size(); ++c) both[c] += base_.piece_classes[piece][c];
    return Fits(both, problem_.class_capacities[order_.original[domain]]);
  }

  bool SetsFit(int piece, int domain) const {
    for (int level = kSegment; level < kLevels; ++level) {
      const Sets& sets = sets_[level - kSegment];
      const int set = sets.of[piece];
      const int place = order_.at[domain][level];
      if (sets.place[set] >= 0 && sets.place[set] != place) return false;
      if (free_[level][place] < sets.left[set]) return false;
    }
    return true;
  }

  Objective CostOf(int i, int domain) {
    Objective cost = cost_;
    for (int level = 0; level < kLevels; ++level) {
      const int place = order_.at[domain][level];
      if (pieces_[level][place] == 0) ++PlacesOf(cost, level);
      for (int g : space_.groups_of[i]) {
        if (touched_[g] == 0 || In(level, g, place) > 0) continue;
        const SearchGroup& group = base_.groups[g];
        if (std::int64_t* split = SplitOf(cost, level, group.tensor)) *split += group.count;
      }
    }
    return cost;
  }

  void Move(int i, int domain, int step) {
    const int piece = space_.order[i];
    const int size = base_.piece_size[piece] * step;
    placed_ += size;
    for (int level = 0; level < kLevels; ++level) {
      const int place = order_.at[domain][level];
      free_[level][place] -= size;
      pieces_[level][place] += step;
      for (int g : space_.groups_of[i]) In(level, g, place) += step;
    }
    for (int g : space_.groups_of[i]) {
      touched_[g] += step;
      left_[g] -= size;
    }
    for (int level = kSegment; level < kLevels; ++level) {
      Sets& sets = sets_[level - kSegment];
      const int set = sets.of[piece];
      sets.placed[set] += step;
      sets.left[set] -= size;
      sets.place[set] = sets.placed[set] > 0 ? order_.at[domain][level] : -1;
    }
    if (WithClasses()) {
      ClassCounts& counts = classes_in_domain_[domain];
      for (std::size_t c = 0; c < counts.size(); ++c) {
        counts[c] += base_.piece_classes[piece][c] * step;
      }
    }
    if (base_.max_stages_per_segment > 0) {
      std::map<int, int>& held = stages_in_segment_[order_.at[domain][kSegment]];
      for (int stage : base_.stages[piece]) {
        int& count = held[stage];
        count += step;
        if (count == 0) held.erase(stage);
      }
    }
    chosen_[i] = step > 0 ? domain : -1;
  }

  void Spend(std::int64_t steps) {
    steps_ += steps;
    if (steps_ > options_.max_steps) cut_ = true;
  }

  void Record() {
    best_ = cost_;
    result_.objective = cost_;
    result_.segment.assign(space_.order.size(), -1);
    for (int i = 0; i < num_pieces(); ++i) {
      result_.segment[space_.order[i]] = order_.original[chosen_[i]];
    }
    const bool least = cost_ <= result_.bound;
    done_ = least || options_.any;
    cut_ |= !least && options_.any;
  }

  // Where the search stands with one piece.
  struct Frame {
    std::vector<Choice> choices;  // best first
    std::size_t next = 0;
    Objective before;
  };

  void Descend() {
    std::vector<Frame> frames(static_cast<std::size_t>(num_pieces()) + 1);
    int i = 0;
    Enter(i, frames[0]);
    while (i >= 0) {
      Frame& frame = frames[static_cast<std::size_t>(i)];
      if (frame.next > 0) {
        cost_ = frame.before;
        Move(i, frame.choices[frame.next - 1].domain, -1);
      }
      if (!TakesNext(frame)) {
        --i;
        continue;
      }
      const Choice& choice = frame.choices[frame.next++];
      Move(i, choice.domain, 1);
      cost_ = choice.cost;
      ++i;
      Enter(i, frames[static_cast<std::size_t>(i)]);
    }
  }

  bool TakesNext(const Frame& frame) {
    if (frame.next == frame.choices.size()) return false;
    if (best_ && frame.choices[frame.next].cost >= *best_) return false;
    Spend(1 + (num_domains() + space_.num_groups()) / 16);
    return !cut_ && !done_;
  }

  void Enter(int i, Frame& frame) {
    frame.choices.clear();
    frame.next = 0;
    frame.before = cost_;
    if (i == num_pieces()) {
      if (!best_ || cost_ < *best_) Record();
      return;
    }
    if (best_ && (cost_ >= *best_ || cost_ + RestBound() >= *best_)) return;
    FindChoices(i, frame.choices);
  }

  void FindChoices(int i, std::vector<Choice>& choices) {
    const int piece = space_.order[i];
    const int lowest = twin_[i] >= 0 ? chosen_[twin_[i]] : 0;
    for (int d = lowest; d < num_domains(); ++d) {
      const int room = free_[kDomain][d];
      if (room < base_.piece_size[piece] || !FirstOfItsKind(d) || !SetsFit(piece, d)) continue;
      if (!StagesFit(piece, order_.at[d][kSegment]) || !ClassesFit(piece, d)) continue;
      // The tightest that is left.
      choices.push_back({CostOf(i, d), room, d});
    }
    std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return std::tie(a.cost, a.fit, a.domain) < std::tie(b.cost, b.fit, b.domain);
    });
  }

  const DomainProblem& problem_;
  const SearchProblem& base_;
  const SearchOptions& options_;
  const DomainOrder order_;
  const SearchSpace space_;
  SearchResult result_;
  std::optional<Objective> best_;
  Objective cost_;
  std::int64_t steps_ = 0;
  std::int64_t placed_ = 0;  // workers
  bool cut_ = false;
  bool done_ = false;

  // By level and place.
  std::array<std::vector<int>, kLevels> capacity_;
  std::array<std::vector<int>, kLevels> free_;
  std::array<std::vector<int>, kLevels> pieces_;
  std::array<std::vector<int>, kLevels> in_;  // pieces, by group and place
  std::vector<std::map<int, int>> stages_in_segment_;
  std::vector<ClassCounts> classes_in_domain_;
  // By piece.
  std::vector<int> chosen_;
  std::vector<int> twin_;
  std::vector<Sets> sets_;
  // By group.
  std::vector<int> left_;     // workers not yet placed
  std::vector<int> touched_;  // pieces placed
};

}  // namespace

SearchResult SearchDomains(const DomainProblem& problem, const SearchOptions& options) {
  return Search(problem, options).Run();
}

}  // namespace yardmaster::placement
