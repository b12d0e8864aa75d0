#include "pkg/placement/solver/search_space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace yardmaster::placement {

namespace {

// Where every pod set lies: a component, or -2 where it spans several.
std::vector<int> HomeOfSets(const SearchProblem& problem) {
  std::vector<int> home(problem.piece_size.size(), -1);
  for (std::size_t p = 0; p < problem.piece_size.size(); ++p) {
    int& at = home[problem.pod_set[p]];
    if (at == -1) at = problem.component[p];
    if (at != problem.component[p]) at = -2;
  }
  return home;
}

// Workers of the scarcest class that a place takes, and workers.
using Room = std::pair<int, int>;

struct Segment {
  int pod = 0;
  std::vector<int> places;  // numbers in the problem
  std::vector<Room> rooms;  // of them
};

// By fabric pod; segments of a pod, and domains of a segment, descend. `rooms` by place. Domains
// without room are left out.
std::vector<Segment> Descending(const SearchProblem& problem, const std::vector<Room>& rooms) {
  std::vector<Segment> segments(problem.pod_of_segment.size());
  for (std::size_t s = 0; s < segments.size(); ++s) segments[s].pod = problem.pod_of_segment[s];
  for (int place = 0; place < static_cast<int>(rooms.size()); ++place) {
    if (!problem.has_domains()) {
      segments[place].places.push_back(place);
    } else if (problem.capacity[place] > 0) {
      segments[problem.segment_of_domain[place]].places.push_back(place);
    }
  }
  for (Segment& segment : segments) {
    std::stable_sort(segment.places.begin(), segment.places.end(),
                     [&](int a, int b) { return rooms[a] > rooms[b]; });
    for (int place : segment.places) segment.rooms.push_back(rooms[place]);
  }
  std::erase_if(segments, [](const Segment& segment) { return segment.places.empty(); });
  std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return a.pod != b.pod ? a.pod < b.pod : a.rooms > b.rooms;
  });
  return segments;
}

}  // namespace

SearchSpace::SearchSpace(const SearchProblem& given)
    : problem(given), first_level(given.has_domains() ? kDomain : kSegment) {
  FindScarcest();
  OrderPlaces();
  OrderPieces();
  IndexGroups();
  FindTwins();
}

void SearchSpace::FindScarcest() {
  if (problem.piece_classes.empty()) return;
  double least = 0;
  for (std::size_t c = 0; c < problem.piece_classes.front().size(); ++c) {
    std::int64_t workers = 0;
    std::int64_t usable = 0;
    for (const ClassCounts& counts : problem.piece_classes) workers += counts[c];
    for (const auto& capacities : problem.class_capacities)
      usable += CapacityForClass(capacities, static_cast<int>(c));
    const double share =
        static_cast<double>(usable) / static_cast<double>(std::max<std::int64_t>(workers, 1));
    if (workers == 0 || (scarcest >= 0 && share >= least)) continue;
    scarcest = static_cast<int>(c);
    least = share;
  }
}

int SearchSpace::ScarceWorkers(int piece) const {
  return scarcest < 0 ? 0 : problem.piece_classes[piece][scarcest];
}

int SearchSpace::ScarceCapacity(int place) const {
  return scarcest < 0
             ? 0
             : static_cast<int>(CapacityForClass(problem.class_capacities[place], scarcest));
}

void SearchSpace::OrderPlaces() {
  std::vector<Room> rooms;
  for (std::size_t place = 0; place < problem.capacity.size(); ++place) {
    rooms.push_back({ScarceCapacity(static_cast<int>(place)), problem.capacity[place]});
  }
  std::vector<Segment> segments = Descending(problem, rooms);
  std::map<std::vector<std::vector<Room>>, int> last_pod;
  std::vector<std::vector<Room>> pod;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    if (pod.empty()) capacity[kPod].push_back(0);
    capacity[kSegment].push_back(0);
    const bool equals_last = !pod.empty() && pod.back() == segments[s].rooms;
    place_twin[kSegment].push_back(equals_last ? static_cast<int>(s) - 1 : -1);
    AddSegment(segments[s].places);
    pod.push_back(std::move(segments[s].rooms));
    if (s + 1 < segments.size() && segments[s + 1].pod == segments[s].pod) continue;
    const int number = static_cast<int>(capacity[kPod].size()) - 1;
    const auto [last, is_new] = last_pod.emplace(std::move(pod), number);
    place_twin[kPod].push_back(is_new ? -1 : last->second);
    last->second = number;
    pod.clear();
  }
  for (int level = first_level; level < kSearchLevels; ++level) {
    const std::vector<int>& rooms_of = capacity[level];
    by_capacity[level].resize(rooms_of.size());
    std::iota(by_capacity[level].begin(), by_capacity[level].end(), 0);
    std::stable_sort(by_capacity[level].begin(), by_capacity[level].end(),
                     [&](int a, int b) { return rooms_of[a] > rooms_of[b]; });
  }
}

// `places` of the problem, to the last segment and pod.
void SearchSpace::AddSegment(const std::vector<int>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int workers = problem.capacity[places[i]];
    if (problem.has_domains()) {
      const bool equals_last = i > 0 && problem.capacity[places[i - 1]] == workers;
      place_twin[kDomain].push_back(equals_last ? num_places() - 1 : -1);
      capacity[kDomain].push_back(0);
    }
    original.push_back(places[i]);
    BySearchLevel<int>& mine = at.emplace_back();
    for (int level = first_level; level < kSearchLevels; ++level) {
      mine[level] = static_cast<int>(capacity[level].size()) - 1;
      capacity[level].back() += workers;
    }
  }
}

// All that matters of a component: components of equal signature may change places.
std::vector<int> SearchSpace::SignatureOf(const std::vector<int>& members,
                                          const std::vector<int>& groups,
                                          const std::vector<int>& set_home) const {
  std::vector<int> signature;
  std::map<int, int> local;
  std::map<int, int> sets;
  std::map<int, int> segment_sets;  // each lies in one component
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int piece = members[i];
    local[piece] = static_cast<int>(i);
    signature.push_back(problem.piece_size[piece]);
    AppendClasses(piece, signature);
    const int set = problem.pod_set[piece];
    signature.push_back(set_home[set] == -2
                            ? -1 - set
                            : sets.emplace(set, static_cast<int>(sets.size())).first->second);
    if (problem.has_domains()) {
      const auto number = static_cast<int>(segment_sets.size());
      signature.push_back(segment_sets.emplace(problem.segment_set[piece], number).first->second);
    }
  }
  AppendStages(members, signature);
  std::vector<std::vector<int>> lines;
  for (int g : groups) {
    const SearchGroup& group = problem.groups[g];
    std::vector<int> line = {group.tensor ? 1 : 0, static_cast<int>(group.count)};
    for (int piece : group.pieces) line.push_back(local[piece]);
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  for (const auto& line : lines) {
    signature.push_back(-1'000'000);
    signature.insert(signature.end(), line.begin(), line.end());
  }
  return signature;
}

void SearchSpace::OrderPieces() {
  const int pieces = static_cast<int>(problem.piece_size.size());
  int components = 0;
  for (int c : problem.component) components = std::max(components, c + 1);
  std::vector<std::vector<int>> members(static_cast<std::size_t>(components));
  std::vector<int> workers(members.size(), 0);
  std::vector<int> scarce(members.size(), 0);
  for (int p = 0; p < pieces; ++p) {
    members[problem.component[p]].push_back(p);
    workers[problem.component[p]] += problem.piece_size[p];
    scarce[problem.component[p]] += ScarceWorkers(p);
  }
  for (std::vector<int>& mine : members) {
    std::stable_sort(mine.begin(), mine.end(),
                     [&](int a, int b) { return ScarceWorkers(a) > ScarceWorkers(b); });
  }
  std::vector<std::vector<int>> groups(members.size());
  for (int g = 0; g < num_groups(); ++g) {
    groups[problem.component[problem.groups[g].pieces[0]]].push_back(g);
  }
  const std::vector<int> set_home = HomeOfSets(problem);
  std::vector<std::vector<int>> signatures;
  for (std::size_t c = 0; c < members.size(); ++c) {
    signatures.push_back(SignatureOf(members[c], groups[c], set_home));
  }
  std::vector<int> sorted(members.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    if (workers[a] != workers[b]) return workers[a] > workers[b];
    if (scarce[a] != scarce[b]) return scarce[a] > scarce[b];
    return signatures[a] < signatures[b];
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const int c = sorted[i];
    first_piece.push_back(num_pieces());
    same_as_previous.push_back(i > 0 && signatures[c] == signatures[sorted[i - 1]]);
    for (int piece : members[c]) {
      order.push_back(piece);
      component.push_back(static_cast<int>(i));
      total += problem.piece_size[piece];
    }
  }
  first_piece.push_back(num_pieces());
}

void SearchSpace::AppendClasses(int piece, std::vector<int>& signature) const {
  if (problem.piece_classes.empty()) return;
  const ClassCounts& counts = problem.piece_classes[piece];
  signature.insert(signature.end(), counts.begin(), counts.end());
}

// Which pieces of a component have the same stages, as local numbers.
void SearchSpace::AppendStages(const std::vector<int>& members, std::vector<int>& signature) const {
  if (problem.max_stages_per_segment == 0) return;
  std::map<int, int> numbers;
  for (int piece : members) {
    for (int stage : problem.stages[piece]) {
      signature.push_back(numbers.emplace(stage, static_cast<int>(numbers.size())).first->second);
    }
    signature.push_back(-1);
  }
}

void SearchSpace::IndexGroups() {
  groups_of.resize(order.size());
  std::vector<int> position(order.size());
  for (int i = 0; i < num_pieces(); ++i) position[order[i]] = i;
  groups_of_component.resize(first_piece.size() - 1);
  for (int g = 0; g < num_groups(); ++g) {
    const SearchGroup& group = problem.groups[g];
    int workers = 0;
    for (int piece : group.pieces) {
      groups_of[position[piece]].push_back(g);
      workers += problem.piece_size[piece];
    }
    workers_of_group.push_back(workers);
    groups_of_component[component[position[group.pieces[0]]]].push_back(g);
  }
}

// The piece before each that may be exchanged with it.
void SearchSpace::FindTwins() {
  std::map<std::vector<int>, int> last;
  for (int i = 0; i < num_pieces(); ++i) {
    const int piece = order[i];
    std::vector<int> key = {component[i], problem.piece_size[piece], problem.pod_set[piece]};
    if (problem.has_domains()) key.push_back(problem.segment_set[piece]);
    AppendClasses(piece, key);
    key.insert(key.end(), groups_of[i].begin(), groups_of[i].end());
    key.push_back(-1);
    if (problem.max_stages_per_segment > 0) {
      key.insert(key.end(), problem.stages[piece].begin(), problem.stages[piece].end());
    }
    auto [at, is_new] = last.emplace(std::move(key), i);
    twin.push_back(is_new ? -1 : at->second);
    at->second = i;
  }
}

}  // namespace yardmaster::placement
