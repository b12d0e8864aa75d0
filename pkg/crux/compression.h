// Priority compression (section 4.3): map n unique priorities onto K levels.
//
// Given the contention DAG (edges from the higher to the lower priority, weighted), find levels
// such that no edge leads upwards ("valid") and the weight of the edges whose ends share a level
// ("loss") is least: Max K-Cut on a DAG, NP-hard.
//
// Algorithm 1 draws m topological orders and cuts each optimally:
//   f(i, k) = min over j < i of f(j, k-1) + inside(j, i),  inside = weight within positions j+1..i
// with the split point monotone in i (quadrangle inequality), so divide and conquer needs
// O(K n log n) interval moves of one node each, O(degree) per move; no n x n table.
// Theorems 2 and 3: every K-cut of an order is valid, every valid K-cut comes from some order.
// Beyond it: a component whose longest chain fits into K levels is solved without loss at once; a
// component of at most kExactJobs is solved exactly (dynamic program over the sets closed under
// predecessors, O(3^n)); and larger ones are improved by drawing a new random order that contains
// the cut found so far and cutting that again, which never gets worse. A component of more than
// 1,000 jobs gets a fifth of the draws and of the improvements.
// Levels: K-1 is the highest; the lowest stay empty when fewer are needed.
// Deterministic in (edges, levels, options). No failure. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

inline constexpr std::size_t kExactJobs = 12;

struct CompressionOptions {
  int random_orders = 10;  // m of Algorithm 1
  // Re-cuts of orders that contain the best cut; 0: Algorithm 1 as published.
  int improvements = 30;
  bool exact_when_small = true;
  std::uint64_t seed = 1;
  bool operator==(const CompressionOptions&) const = default;
};

struct Compression {
  std::vector<std::int32_t> levels;
  double loss = 0;
  std::optional<double> optimal_loss;  // only where every component was solved exactly
};

// The connected pieces of the last DAG whose longest chain did not fit into the levels, with their
// cuts.
class KnownCuts {
 public:
  struct Arc {  // between places in the piece
    std::int32_t from = 0;
    std::int32_t to = 0;
    double weight = 0;
    bool operator==(const Arc&) const = default;
  };
  struct Piece {
    std::int32_t levels = 0;
    CompressionOptions options;
    std::vector<Arc> edges;
    std::vector<std::int32_t> blocks;
    bool exact = false;
  };
  // The piece with the levels, options and edges of `wanted`; null if there is none.
  const Piece* Find(const Piece& wanted) const;

  std::vector<Piece> pieces;
};

// REQUIRES: edges form a DAG over [0, job_count), levels >= 1. `known`, if given, is brought up to
// date; the answer does not depend on it.
Compression Compress(std::int32_t job_count, std::span<const ContentionEdge> edges,
                     std::int32_t levels, const CompressionOptions& options = {},
                     KnownCuts* known = nullptr);

}  // namespace yardmaster::crux
