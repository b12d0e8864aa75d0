#include "pkg/placement/gang_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace yardmaster::placement {

namespace {

Objective operator+(Objective a, const Objective& b) {
  a.tensor_split_fabric_pods += b.tensor_split_fabric_pods;
  a.data_split_fabric_pods += b.data_split_fabric_pods;
  a.tensor_split_segments += b.tensor_split_segments;
  a.data_split_segments += b.data_split_segments;
  a.fabric_pods += b.fabric_pods;
  a.segments += b.segments;
  return a;
}

// Places needed for `need`, fullest first; `rooms` descends. More than there are: impossible.
int PlacesFor(std::int64_t need, const std::vector<int>& rooms) {
  int places = 0;
  for (std::size_t i = 0; i < rooms.size() && need > 0; ++i, ++places) need -= rooms[i];
  return need > 0 ? static_cast<int>(rooms.size()) + 1 : places;
}

// Above every room.
constexpr int kRoomy = 1 << 30;

class Search {
 public:
  Search(const SearchProblem& problem, const SearchOptions& options)
      : problem_(problem), options_(options) {
    OrderSegments();
    OrderPieces();
    IndexGroups();
    FindTwins();
  }

  SearchResult Run() {
    const bool too_large =
        std::int64_t{1} * num_groups() * (num_segments() + num_pods()) > 20'000'000;
    result_.bound = ComponentBound(0) + Objective{0, 0, 0, 0, PodsFor(total_), SegmentsFor(total_)};
    if (options_.incumbent) best_ = *options_.incumbent;
    if (too_large) {
      result_.exact = false;
      return std::move(result_);
    }
    Descend(0);
    result_.exact = !cut_;
    result_.steps = steps_;
    if (result_.exact && best_) result_.bound = *best_;
    return std::move(result_);
  }

 private:
  struct Choice {
    Objective cost;
    int fit;  // the tightest that takes the rest of the component, else the roomiest
    int segment;
    auto Key() const { return std::tie(cost, fit, segment); }
  };

  int num_pieces() const { return static_cast<int>(order_.size()); }
  int num_segments() const { return static_cast<int>(capacity_.size()); }
  int num_pods() const { return static_cast<int>(pod_capacity_.size()); }
  int num_groups() const { return static_cast<int>(problem_.groups.size()); }

  // Inside a fabric pod, larger segments get lower numbers; so equal pods have equal sequences.
  void OrderSegments() {
    const int count = static_cast<int>(problem_.capacity.size());
    original_.resize(problem_.capacity.size());
    std::iota(original_.begin(), original_.end(), 0);
    std::stable_sort(original_.begin(), original_.end(), [&](int a, int b) {
      const auto key = [&](int s) {
        return std::make_tuple(problem_.pod_of_segment[s], -problem_.capacity[s]);
      };
      return key(a) < key(b);
    });
    for (int s = 0; s < count; ++s) {
      const int pod = problem_.pod_of_segment[original_[s]];
      if (s == 0 || pod != problem_.pod_of_segment[original_[s - 1]]) {
        pod_capacity_.push_back(0);
        first_segment_.push_back(s);
      }
      capacity_.push_back(problem_.capacity[original_[s]]);
      pod_.push_back(num_pods() - 1);
      pod_capacity_.back() += capacity_.back();
    }
    first_segment_.push_back(count);
    room_ = capacity_;
    pod_room_ = pod_capacity_;
    // The earlier, interchangeable pod of each pod.
    for (int p = 0; p < num_pods(); ++p) {
      int twin = -1;
      for (int q = 0; q < p && problem_.segments_alike; ++q) {
        if (std::equal(
                capacity_.begin() + first_segment_[p], capacity_.begin() + first_segment_[p + 1],
                capacity_.begin() + first_segment_[q], capacity_.begin() + first_segment_[q + 1])) {
          twin = q;
        }
      }
      pod_twin_.push_back(twin);
    }
    std::vector<int> all(capacity_.size());
    std::iota(all.begin(), all.end(), 0);
    by_capacity_ = all;
    std::stable_sort(by_capacity_.begin(), by_capacity_.end(),
                     [&](int a, int b) { return capacity_[a] > capacity_[b]; });
    pods_by_capacity_.resize(pod_capacity_.size());
    std::iota(pods_by_capacity_.begin(), pods_by_capacity_.end(), 0);
    std::stable_sort(pods_by_capacity_.begin(), pods_by_capacity_.end(),
                     [&](int a, int b) { return pod_capacity_[a] > pod_capacity_[b]; });
  }

  // Components of equal structure stand together, large ones first.
  void OrderPieces() {
    const int pieces = static_cast<int>(problem_.piece_size.size());
    int components = 0;
    for (int c : problem_.component) components = std::max(components, c + 1);
    std::vector<std::vector<int>> members(static_cast<std::size_t>(components));
    for (int p = 0; p < pieces; ++p) members[problem_.component[p]].push_back(p);
    std::vector<std::vector<int>> signature(members.size());
    std::vector<std::vector<int>> groups_of(members.size());
    for (int g = 0; g < num_groups(); ++g) {
      groups_of[problem_.component[problem_.groups[g].pieces[0]]].push_back(g);
    }
    std::vector<int> local(static_cast<std::size_t>(pieces));
    std::vector<int> set_home(static_cast<std::size_t>(pieces), -1);  // by pod set
    for (int p = 0; p < pieces; ++p) {
      int& home = set_home[problem_.pod_set[p]];
      if (home == -1) home = problem_.component[p];
      if (home != problem_.component[p]) home = -2;  // spans components
    }
    for (std::size_t c = 0; c < members.size(); ++c) {
      std::vector<int>& text = signature[c];
      std::map<int, int> sets;
      for (std::size_t i = 0; i < members[c].size(); ++i) {
        const int piece = members[c][i];
        local[piece] = static_cast<int>(i);
        text.push_back(problem_.piece_size[piece]);
        const int set = problem_.pod_set[piece];
        text.push_back(set_home[set] == -2
                           ? -1 - set
                           : sets.emplace(set, static_cast<int>(sets.size())).first->second);
      }
      AppendStages(members[c], text);
      std::vector<std::vector<int>> lines;
      for (int g : groups_of[c]) {
        const SearchGroup& group = problem_.groups[g];
        std::vector<int> line = {group.tensor ? 1 : 0, static_cast<int>(group.count)};
        for (int piece : group.pieces) line.push_back(local[piece]);
        lines.push_back(std::move(line));
      }
      std::sort(lines.begin(), lines.end());
      for (const auto& line : lines) {
        text.push_back(-1'000'000);
        text.insert(text.end(), line.begin(), line.end());
      }
    }
    std::vector<int> workers(members.size(), 0);
    for (int p = 0; p < pieces; ++p) workers[problem_.component[p]] += problem_.piece_size[p];
    std::vector<int> sorted(members.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
      if (workers[a] != workers[b]) return workers[a] > workers[b];
      return signature[a] < signature[b];
    });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const int c = sorted[i];
      first_piece_.push_back(num_pieces());
      same_as_previous_.push_back(i > 0 && signature[c] == signature[sorted[i - 1]]);
      for (int piece : members[c]) {
        order_.push_back(piece);
        component_.push_back(static_cast<int>(i));
        total_ += problem_.piece_size[piece];
      }
    }
    first_piece_.push_back(num_pieces());
    chosen_.assign(order_.size(), -1);
  }

  // Which pieces of a component have the same stages, as local numbers.
  void AppendStages(const std::vector<int>& members, std::vector<int>& text) const {
    if (problem_.max_stages_per_segment == 0) return;
    std::map<int, int> numbers;
    for (int piece : members) {
      for (int stage : problem_.stages[piece]) {
        text.push_back(numbers.emplace(stage, static_cast<int>(numbers.size())).first->second);
      }
      text.push_back(-1);
    }
  }

  void IndexGroups() {
    groups_of_.resize(order_.size());
    std::vector<int> position(order_.size());
    for (int i = 0; i < num_pieces(); ++i) position[order_[i]] = i;
    groups_of_component_.resize(first_piece_.size() - 1);
    for (int g = 0; g < num_groups(); ++g) {
      const SearchGroup& group = problem_.groups[g];
      int workers = 0;
      for (int piece : group.pieces) {
        groups_of_[position[piece]].push_back(g);
        workers += problem_.piece_size[piece];
      }
      left_.push_back(workers);
      groups_of_component_[component_[position[group.pieces[0]]]].push_back(g);
    }
    in_segment_.assign(static_cast<std::size_t>(num_groups() * num_segments()), 0);
    in_pod_.assign(static_cast<std::size_t>(num_groups() * num_pods()), 0);
    touched_.assign(left_.size(), 0);
    pieces_in_segment_.assign(capacity_.size(), 0);
    pieces_in_pod_.assign(pod_capacity_.size(), 0);
    pod_of_set_.assign(order_.size(), -1);
    set_count_.assign(order_.size(), 0);
    set_left_.assign(order_.size(), 0);
    for (int piece : order_) set_left_[problem_.pod_set[piece]] += problem_.piece_size[piece];
    stages_in_segment_.resize(capacity_.size());
  }

  // The piece before each that may be exchanged with it.
  void FindTwins() {
    std::map<std::vector<int>, int> last;
    for (int i = 0; i < num_pieces(); ++i) {
      const int piece = order_[i];
      std::vector<int> key = {component_[i], problem_.piece_size[piece], problem_.pod_set[piece]};
      key.insert(key.end(), groups_of_[i].begin(), groups_of_[i].end());
      key.push_back(-1);
      if (problem_.max_stages_per_segment > 0) {
        key.insert(key.end(), problem_.stages[piece].begin(), problem_.stages[piece].end());
      }
      auto [at, is_new] = last.emplace(std::move(key), i);
      twin_.push_back(is_new ? -1 : at->second);
      at->second = i;
    }
  }

  std::int64_t SegmentsFor(std::int64_t need) const {
    rooms_.clear();
    for (int s : by_capacity_) {
      if (pieces_in_segment_[s] == 0) {
        rooms_.push_back(capacity_[s]);
      } else {
        need -= room_[s];
      }
    }
    return PlacesFor(need, rooms_);
  }
  std::int64_t PodsFor(std::int64_t need) const {
    rooms_.clear();
    for (int p : pods_by_capacity_) {
      if (pieces_in_pod_[p] == 0) {
        rooms_.push_back(pod_capacity_[p]);
      } else {
        need -= pod_room_[p];
      }
    }
    return PlacesFor(need, rooms_);
  }

  // What the groups of components >= `from` cost at least in the room that is left, each alone.
  Objective ComponentBound(int from) const {
    std::vector<int> segments = room_;
    std::vector<int> pods = pod_room_;
    std::sort(segments.rbegin(), segments.rend());
    std::sort(pods.rbegin(), pods.rend());
    Objective bound;
    for (std::size_t c = static_cast<std::size_t>(from); c + 1 < first_piece_.size(); ++c) {
      for (int g : groups_of_component_[c]) {
        const SearchGroup& group = problem_.groups[g];
        const std::int64_t in_segments = (PlacesFor(left_[g], segments) - 1) * group.count;
        const std::int64_t in_pods = (PlacesFor(left_[g], pods) - 1) * group.count;
        (group.tensor ? bound.tensor_split_segments : bound.data_split_segments) += in_segments;
        (group.tensor ? bound.tensor_split_fabric_pods : bound.data_split_fabric_pods) += in_pods;
      }
    }
    if (static_cast<std::size_t>(from) + 1 < first_piece_.size())
      AddWholeBound(from, segments, pods, bound);
    return bound;
  }

  // Equal components of data groups alone: each that finds no segment (pod) with room for all of it
  // splits at least its cheapest group once.
  void AddWholeBound(int from, const std::vector<int>& segments, const std::vector<int>& pods,
                     Objective& bound) const {
    const int size = ComponentSize(from);
    std::int64_t components = 0;
    std::int64_t cheapest = -1;
    for (std::size_t c = static_cast<std::size_t>(from); c + 1 < first_piece_.size(); ++c) {
      if (ComponentSize(static_cast<int>(c)) != size) return;
      ++components;
      for (int g : groups_of_component_[c]) {
        const SearchGroup& group = problem_.groups[g];
        if (group.tensor) return;
        if (cheapest < 0 || group.count < cheapest) cheapest = group.count;
      }
    }
    if (cheapest < 0) return;
    std::int64_t whole = 0;
    for (int room : segments) whole += room / size;
    bound.data_split_segments =
        std::max(bound.data_split_segments, (components - whole) * cheapest);
    whole = 0;
    for (int room : pods) whole += room / size;
    bound.data_split_fabric_pods =
        std::max(bound.data_split_fabric_pods, (components - whole) * cheapest);
  }

  int ComponentSize(int c) const {
    int size = 0;
    for (int i = first_piece_[c]; i < first_piece_[c + 1]; ++i) {
      size += problem_.piece_size[order_[i]];
    }
    return size;
  }

  // What the started groups of component c still cost at least.
  Objective StartedBound(int c) const {
    Objective bound;
    for (int g : groups_of_component_[c]) {
      int rest = left_[g];
      if (rest == 0 || touched_[g] == 0) continue;
      int largest = 1;
      for (int s = 0; s < num_segments(); ++s) {
        if (in_segment_[static_cast<std::size_t>(g * num_segments() + s)] > 0) {
          rest -= room_[s];
        } else {
          largest = std::max(largest, room_[s]);
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
    const int pod = pod_[segment];
    if (segment > first_segment_[pod] && capacity_[segment - 1] == capacity_[segment] &&
        pieces_in_segment_[segment - 1] == 0) {
      return false;
    }
    if (pieces_in_pod_[pod] > 0) return true;
    for (int twin = pod_twin_[pod]; twin >= 0; twin = pod_twin_[twin]) {
      if (pieces_in_pod_[twin] == 0) return false;
    }
    return true;
  }

  int LowestSegment(int i) const {
    int lowest = twin_[i] >= 0 ? chosen_[twin_[i]] : 0;
    const int c = component_[i];
    if (same_as_previous_[c]) {
      const int offset = first_piece_[c] - first_piece_[c - 1];
      bool tied = true;
      for (int k = first_piece_[c]; k < i && tied; ++k) tied = chosen_[k] == chosen_[k - offset];
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

  Objective CostOf(int i, int segment) const {
    Objective cost = cost_;
    const int pod = pod_[segment];
    if (pieces_in_segment_[segment] == 0) ++cost.segments;
    if (pieces_in_pod_[pod] == 0) ++cost.fabric_pods;
    for (int g : groups_of_[i]) {
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
    const int piece = order_[i];
    const int size = problem_.piece_size[piece] * step;
    const int pod = pod_[segment];
    room_[segment] -= size;
    pod_room_[pod] -= size;
    pieces_in_segment_[segment] += step;
    pieces_in_pod_[pod] += step;
    placed_ += size;
    for (int g : groups_of_[i]) {
      touched_[g] += step;
      left_[g] -= size;
      in_segment_[static_cast<std::size_t>(g * num_segments() + segment)] += step;
      in_pod_[static_cast<std::size_t>(g * num_pods() + pod)] += step;
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

  bool Hopeless(int i) {
    Objective least = cost_ + rest_bound_[component_[i]];
    const std::int64_t left = total_ - placed_;
    least.segments += SegmentsFor(left);
    least.fabric_pods += PodsFor(left);
    if (!best_) return false;
    if (least >= *best_) return true;
    return least + StartedBound(component_[i]) >= *best_;
  }

  // Steps stand for time: what scans more costs more of them.
  void Spend(std::int64_t steps) {
    steps_ += steps;
    if (steps_ > options_.max_steps) cut_ = true;
  }

  void Record() {
    best_ = cost_;
    result_.objective = cost_;
    result_.segment.assign(order_.size(), -1);
    for (int i = 0; i < num_pieces(); ++i) result_.segment[order_[i]] = original_[chosen_[i]];
    if (options_.any) done_ = true;
  }

  void Descend(int i) {
    if (i == num_pieces()) {
      if (!best_ || cost_ < *best_) Record();
      return;
    }
    const int c = component_[i];
    if (i == first_piece_[c]) {
      rest_bound_.resize(first_piece_.size());
      rest_bound_[c] = ComponentBound(c + 1);
      Spend((num_groups() + num_segments()) / 16);
    }
    if (Hopeless(i)) return;
    std::vector<Choice> choices;
    const int piece = order_[i];
    const int set_pod = pod_of_set_[problem_.pod_set[piece]];
    int rest = 0;
    for (int k = i; k < first_piece_[c + 1]; ++k) rest += problem_.piece_size[order_[k]];
    for (int s = LowestSegment(i); s < num_segments(); ++s) {
      if (room_[s] < problem_.piece_size[piece]) continue;
      if (set_pod >= 0 && pod_[s] != set_pod) continue;
      if (!FirstOfItsKind(s) || !StagesFit(piece, s)) continue;
      if (pod_room_[pod_[s]] < set_left_[problem_.pod_set[piece]]) continue;
      choices.push_back({CostOf(i, s), room_[s] >= rest ? room_[s] : kRoomy - room_[s], s});
    }
    std::sort(choices.begin(), choices.end(),
              [](const Choice& a, const Choice& b) { return a.Key() < b.Key(); });
    for (const Choice& choice : choices) {
      if (best_ && choice.cost >= *best_) return;
      Spend(1 + num_segments() / 16);
      if (cut_ || done_) return;
      const Objective before = cost_;
      Move(i, choice.segment, 1);
      cost_ = choice.cost;
      Descend(i + 1);
      cost_ = before;
      Move(i, choice.segment, -1);
    }
  }

  const SearchProblem& problem_;
  const SearchOptions& options_;
  SearchResult result_;
  std::optional<Objective> best_;
  Objective cost_;
  std::int64_t steps_ = 0;
  std::int64_t total_ = 0;   // workers
  std::int64_t placed_ = 0;  // of them
  bool cut_ = false;
  bool done_ = false;

  // Segments in the order of the search.
  std::vector<int> original_;
  std::vector<int> capacity_;
  std::vector<int> pod_;
  std::vector<int> room_;
  std::vector<int> pieces_in_segment_;
  std::vector<std::map<int, int>> stages_in_segment_;
  std::vector<int> by_capacity_;
  std::vector<int> first_segment_;  // by pod, one more at the end
  std::vector<int> pod_capacity_;
  std::vector<int> pod_room_;
  std::vector<int> pieces_in_pod_;
  std::vector<int> pods_by_capacity_;
  std::vector<int> pod_twin_;
  mutable std::vector<int> rooms_;
  // Pieces in the order of the search.
  std::vector<int> order_;
  std::vector<int> component_;
  std::vector<int> twin_;
  std::vector<int> chosen_;
  std::vector<std::vector<int>> groups_of_;
  std::vector<int> first_piece_;  // by component, one more at the end
  std::vector<std::uint8_t> same_as_previous_;
  std::vector<std::vector<int>> groups_of_component_;
  std::vector<Objective> rest_bound_;
  // Groups.
  std::vector<int> left_;     // workers not yet placed
  std::vector<int> touched_;  // pieces placed
  std::vector<int> in_segment_;
  std::vector<int> in_pod_;
  std::vector<int> pod_of_set_;
  std::vector<int> set_count_;
  std::vector<int> set_left_;  // workers of the set not yet placed
};

}  // namespace

SearchResult SearchSegments(const SearchProblem& problem, const SearchOptions& options) {
  return Search(problem, options).Run();
}

}  // namespace yardmaster::placement
