// SearchSpace is a search problem in the order in which the search visits places and pieces, and
// records which of them are interchangeable, so that symmetric choices are tried once
// (gang_search.h).
//
//   - If workers may use different hosts, places and pieces of the class with the least capacity
//     per worker come first, because that class has the fewest choices.
//   - Inside a fabric pod larger segments come first, and inside a segment larger domains, so that
//     equal ones have equal sequences.
//   - Components of equal structure are adjacent, large ones first.
//
// Complexity: near-linear, but quadratic in the description of a component. Thread safety: built
// once, then read only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

// Levels of places. Pieces are assigned to places of the first level, which is kSegment without
// domains.
enum SearchLevel { kDomain, kSegment, kPod, kSearchLevels };
template <typename T>
using BySearchLevel = std::array<T, kSearchLevels>;

struct SearchSpace {
  // `problem` must outlive this.
  explicit SearchSpace(const SearchProblem& problem);

  int num_pieces() const { return static_cast<int>(order.size()); }
  int num_places() const { return static_cast<int>(original.size()); }
  int num_groups() const { return static_cast<int>(problem.groups.size()); }

  const SearchProblem& problem;
  std::int64_t total = 0;  // workers

  // Places in the order of the search. Levels before the first have no entry.
  const int first_level;
  std::vector<int> original;           // by place of the first level: its number in the problem
  std::vector<BySearchLevel<int>> at;  // by place of the first level: its place on each level
  BySearchLevel<std::vector<int>> capacity;
  BySearchLevel<std::vector<int>> by_capacity;  // places, largest first
  BySearchLevel<std::vector<int>> place_twin;   // the interchangeable place before it, or -1

  // Pieces in the order of the search.
  std::vector<int> order;  // number in the problem
  std::vector<int> component;
  std::vector<int> twin;  // the interchangeable piece before it, or -1
  std::vector<std::vector<int>> groups_of;
  std::vector<int> first_piece;  // by component, one more at the end
  std::vector<std::uint8_t> same_as_previous;
  std::vector<std::vector<int>> groups_of_component;
  std::vector<int> workers_of_group;

  int scarcest = -1;  // class of workers with the least capacity per worker; -1: no classes

 private:
  void FindScarcest();
  int ScarceWorkers(int piece) const;
  int ScarceCapacity(int place) const;
  void OrderPlaces();
  void AddSegment(const std::vector<int>& places);
  void OrderPieces();
  void AppendClasses(int piece, std::vector<int>& signature) const;
  void AppendStages(const std::vector<int>& members, std::vector<int>& signature) const;
  std::vector<int> SignatureOf(const std::vector<int>& members, const std::vector<int>& groups,
                               const std::vector<int>& set_home) const;
  void IndexGroups();
  void FindTwins();
};

}  // namespace yardmaster::placement
