// Compresses n unique priorities into K levels (section 4.3).
//
// Problem: given the contention DAG (weighted edges from the higher to the lower priority), find
// levels such that no edge leads to a higher level ("valid") and the weight of the edges within a
// level ("loss") is minimal. This is Max K-Cut on a DAG, NP-hard.
//
// Method: Algorithm 1 draws m topological orders and cuts each optimally:
//
//   f(i, k) = min over j < i of f(j, k-1) + inside(j, i),  inside = weight within positions j+1..i
//
// The split point is monotone in i (quadrangle inequality). So divide and conquer needs O(K n log
// n) interval moves of one node, each O(degree), and no n x n table. Theorems 2 and 3: every K-cut
// of an order is valid, and every valid K-cut is a cut of some order.
//
// Extensions of the algorithm:
//
//   - A component whose longest chain fits into K levels is solved without loss directly.
//   - A component of at most kExactJobs jobs is solved exactly (dynamic program over the sets
//     closed under predecessors, O(3^n)).
//   - Larger ones are improved: a new random order that contains the best cut is drawn and cut,
//     which is never worse. A component of more than 1,000 jobs gets a fifth of the draws and
//     improvements.
//
// Level K-1 is the highest. The lowest levels stay empty if fewer are needed.
//
// Determinism: a function of (edges, levels, options). It does not fail. Thread safety: pure
// functions.
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
  // Number of improvements; 0: Algorithm 1 as published.
  int improvements = 30;
  bool exact_when_small = true;
  std::uint64_t seed = 1;
  bool operator==(const CompressionOptions&) const = default;
};

struct Compression {
  std::vector<std::int32_t> levels;
  double loss = 0;
  std::optional<double> optimal_loss;  // set if every component was solved exactly
};

// The connected pieces of the last DAG whose longest chain did not fit into the levels, and their
// cuts.
class KnownCuts {
 public:
  struct Arc {  // between positions in the piece
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
  // Returns the piece with the levels, options and edges of `wanted`; null if there is none.
  const Piece* Find(const Piece& wanted) const;

  std::vector<Piece> pieces;
};

// REQUIRES: edges form a DAG over [0, job_count), levels >= 1. `known`: optional cache, which is
// updated; the result does not depend on it.
Compression Compress(std::int32_t job_count, std::span<const ContentionEdge> edges,
                     std::int32_t levels, const CompressionOptions& options = {},
                     KnownCuts* known = nullptr);

}  // namespace yardmaster::crux
