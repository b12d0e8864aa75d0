// Implements the inner steps of compression on one connected piece of the contention DAG: the
// optimal K-cut of an order, random topological orders, and the exact solution over closed sets.
// Jobs are numbered 0..n-1 in the piece. Blocks count from 0, the highest priority.
//
// Thread safety: OrderCutter: one thread; the rest are pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "pkg/base/random.h"

namespace yardmaster::crux {

// Adjacency lists of the piece in both directions.
struct Dag {
  struct Arc {
    std::int32_t to;
    double weight;
  };
  std::vector<std::vector<Arc>> out;
  std::vector<std::vector<Arc>> in;

  explicit Dag(std::size_t count) : out(count), in(count) {}
  void Add(std::int32_t from, std::int32_t to, double weight) {
    out[from].push_back({to, weight});
    in[to].push_back({from, weight});
  }
  std::int32_t size() const { return static_cast<std::int32_t>(out.size()); }
};

// Returns the total weight of the arcs whose ends share a block.
double BlockLoss(const Dag& dag, std::span<const std::int32_t> blocks);

// Returns for each node the longest chain of arcs that ends in it: its block with unlimited levels.
std::vector<std::int32_t> ChainDepth(const Dag& dag);

// Returns a random topological order. Of the nodes that may come next, those with the lowest
// `blocks` entry come first (empty: no preference). So the order contains the cut that `blocks`
// describes. REQUIRES: no arc leads to a lower block.
std::vector<std::int32_t> RandomOrder(const Dag& dag, std::span<const std::int32_t> blocks,
                                      Random& random);

// Cuts orders into at most `levels` blocks with the least loss. `dag` must outlive it.
class OrderCutter {
 public:
  OrderCutter(const Dag& dag, std::int32_t levels);
  // Returns the block of each node. REQUIRES: `order` is a topological order of all nodes.
  std::vector<std::int32_t> Cut(std::span<const std::int32_t> order);

 private:
  double Inside(std::int32_t begin, std::int32_t end);
  void Solve(std::int32_t layer, std::int32_t low, std::int32_t high, std::int32_t split_low,
             std::int32_t split_high);
  double ArcsInto(std::int32_t node, std::int32_t begin, std::int32_t end) const;

  const Dag& dag_;
  const std::int32_t levels_;
  std::span<const std::int32_t> order_;
  std::vector<std::int32_t> position_;
  std::int32_t begin_ = 0;  // the interval whose inner weight is inside_
  std::int32_t end_ = 0;
  double inside_ = 0;
  std::vector<double> before_;
  std::vector<double> now_;
  std::vector<std::vector<std::int32_t>> split_;
};

// Returns the blocks with the least loss of all valid cuts. REQUIRES: dag.size() <= 20. Complexity:
// O(levels * 3^n).
std::vector<std::int32_t> ExactBlocks(const Dag& dag, std::int32_t levels);

}  // namespace yardmaster::crux
