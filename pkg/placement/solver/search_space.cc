#include "pkg/placement/solver/search_space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

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

}  // namespace

SearchSpace::SearchSpace(const SearchProblem& given) : problem(given) {
  FindScarcest();
  OrderSegments();
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

int SearchSpace::ScarceCapacity(int segment) const {
  return scarcest < 0
             ? 0
             : static_cast<int>(CapacityForClass(problem.class_capacities[segment], scarcest));
}

// Inside a fabric pod, larger segments get lower numbers; so equal pods have equal sequences.
void SearchSpace::OrderSegments() {
  const int count = static_cast<int>(problem.capacity.size());
  original.resize(problem.capacity.size());
  std::iota(original.begin(), original.end(), 0);
  std::stable_sort(original.begin(), original.end(), [&](int a, int b) {
    const auto key = [&](int s) {
      return std::make_tuple(problem.pod_of_segment[s], -ScarceCapacity(s), -problem.capacity[s]);
    };
    return key(a) < key(b);
  });
  for (int s = 0; s < count; ++s) {
    const int here = problem.pod_of_segment[original[s]];
    if (s == 0 || here != problem.pod_of_segment[original[s - 1]]) {
      pod_capacity.push_back(0);
      first_segment.push_back(s);
    }
    capacity.push_back(problem.capacity[original[s]]);
    pod.push_back(num_pods() - 1);
    pod_capacity.back() += capacity.back();
  }
  first_segment.push_back(count);
  // The earlier, interchangeable pod of each pod.
  for (int p = 0; p < num_pods(); ++p) {
    int twin = -1;
    for (int q = 0; q < p && problem.segments_alike; ++q) {
      if (std::equal(capacity.begin() + first_segment[p], capacity.begin() + first_segment[p + 1],
                     capacity.begin() + first_segment[q],
                     capacity.begin() + first_segment[q + 1])) {
        twin = q;
      }
    }
    pod_twin.push_back(twin);
  }
  std::vector<int> all(capacity.size());
  std::iota(all.begin(), all.end(), 0);
  by_capacity = all;
  std::stable_sort(by_capacity.begin(), by_capacity.end(),
                   [&](int a, int b) { return capacity[a] > capacity[b]; });
  pods_by_capacity.resize(pod_capacity.size());
  std::iota(pods_by_capacity.begin(), pods_by_capacity.end(), 0);
  std::stable_sort(pods_by_capacity.begin(), pods_by_capacity.end(),
                   [&](int a, int b) { return pod_capacity[a] > pod_capacity[b]; });
}

// All that matters of a component: components of equal signature may change places.
std::vector<int> SearchSpace::SignatureOf(const std::vector<int>& members,
                                          const std::vector<int>& groups,
                                          const std::vector<int>& set_home) const {
  std::vector<int> signature;
  std::map<int, int> local;
  std::map<int, int> sets;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int piece = members[i];
    local[piece] = static_cast<int>(i);
    signature.push_back(problem.piece_size[piece]);
    AppendClasses(piece, signature);
    const int set = problem.pod_set[piece];
    signature.push_back(set_home[set] == -2
                            ? -1 - set
                            : sets.emplace(set, static_cast<int>(sets.size())).first->second);
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
