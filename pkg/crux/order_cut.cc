#include "pkg/crux/order_cut.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace yardmaster::crux {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int32_t> InDegrees(const Dag& dag) {
  std::vector<std::int32_t> degree;
  for (const auto& arcs : dag.in) degree.push_back(static_cast<std::int32_t>(arcs.size()));
  return degree;
}

}  // namespace

double BlockLoss(const Dag& dag, std::span<const std::int32_t> blocks) {
  double loss = 0;
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    for (const Dag::Arc& arc : dag.out[v]) {
      if (blocks[v] == blocks[arc.to]) loss += arc.weight;
    }
  }
  return loss;
}

std::vector<std::int32_t> ChainDepth(const Dag& dag) {
  std::vector<std::int32_t> depth(dag.size(), 0);
  std::vector<std::int32_t> degree = InDegrees(dag);
  std::vector<std::int32_t> ready;
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    if (degree[v] == 0) ready.push_back(v);
  }
  while (!ready.empty()) {
    const std::int32_t v = ready.back();
    ready.pop_back();
    for (const Dag::Arc& arc : dag.out[v]) {
      depth[arc.to] = std::max(depth[arc.to], depth[v] + 1);
      if (--degree[arc.to] == 0) ready.push_back(arc.to);
    }
  }
  return depth;
}

std::vector<std::int32_t> RandomOrder(const Dag& dag, std::span<const std::int32_t> blocks,
                                      Random& random) {
  std::vector<std::int32_t> degree = InDegrees(dag);
  std::int32_t block_count = 1;
  for (const std::int32_t block : blocks) block_count = std::max(block_count, block + 1);
  // Arcs never lead to a lower block, so a block's nodes are all out before the next block's turn.
  std::vector<std::vector<std::int32_t>> ready(block_count);
  const auto block_of = [&](std::int32_t v) { return blocks.empty() ? 0 : blocks[v]; };
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    if (degree[v] == 0) ready[block_of(v)].push_back(v);
  }
  std::vector<std::int32_t> order;
  order.reserve(degree.size());
  for (auto& choice : ready) {
    while (!choice.empty()) {
      std::swap(choice[random.Below(choice.size())], choice.back());
      const std::int32_t v = choice.back();
      choice.pop_back();
      order.push_back(v);
      for (const Dag::Arc& arc : dag.out[v]) {
        if (--degree[arc.to] == 0) ready[block_of(arc.to)].push_back(arc.to);
      }
    }
  }
  return order;
}

OrderCutter::OrderCutter(const Dag& dag, std::int32_t levels)
    : dag_(dag), levels_(std::min(levels, std::max(dag.size(), 1))), position_(dag.size()) {}

double OrderCutter::ArcsInto(std::int32_t node, std::int32_t begin, std::int32_t end) const {
  double weight = 0;
  const auto within = [&](std::int32_t other) {
    return position_[other] >= begin && position_[other] < end;
  };
  for (const Dag::Arc& arc : dag_.out[node]) weight += within(arc.to) ? arc.weight : 0;
  for (const Dag::Arc& arc : dag_.in[node]) weight += within(arc.to) ? arc.weight : 0;
  return weight;
}

double OrderCutter::Inside(std::int32_t begin, std::int32_t end) {
  if (end <= begin + 1) return 0;
  if (begin >= end_ || end <= begin_) {
    begin_ = end_ = begin;
    inside_ = 0;
  }
  while (begin_ > begin) {
    --begin_;
    inside_ += ArcsInto(order_[begin_], begin_ + 1, end_);
  }
  while (end_ < end) {
    inside_ += ArcsInto(order_[end_], begin_, end_);
    ++end_;
  }
  while (begin_ < begin) {
    inside_ -= ArcsInto(order_[begin_], begin_ + 1, end_);
    ++begin_;
  }
  while (end_ > end) {
    --end_;
    inside_ -= ArcsInto(order_[end_], begin_, end_);
  }
  return inside_;
}

void OrderCutter::Solve(std::int32_t layer, std::int32_t low, std::int32_t high,
                        std::int32_t split_low, std::int32_t split_high) {
  if (low > high) return;
  const std::int32_t middle = low + (high - low) / 2;
  double best = kInfinity;
  std::int32_t best_split = split_low;
  for (std::int32_t j = split_low; j <= std::min(middle, split_high); ++j) {
    if (before_[j] >= best) continue;
    const double cost = before_[j] + Inside(j, middle);
    if (cost < best) {
      best = cost;
      best_split = j;
    }
  }
  now_[middle] = best;
  split_[layer][middle] = best_split;
  Solve(layer, low, middle - 1, split_low, best_split);
  Solve(layer, middle + 1, high, best_split, split_high);
}

std::vector<std::int32_t> OrderCutter::Cut(std::span<const std::int32_t> order) {
  order_ = order;
  const auto count = static_cast<std::int32_t>(order.size());
  for (std::int32_t i = 0; i < count; ++i) position_[order[i]] = i;
  begin_ = end_ = 0;
  inside_ = 0;
  now_.assign(count + 1, 0);
  for (std::int32_t i = 1; i <= count; ++i) now_[i] = Inside(0, i);
  split_.assign(levels_, std::vector<std::int32_t>(count + 1, 0));
  for (std::int32_t layer = 1; layer < levels_; ++layer) {
    before_ = now_;
    Solve(layer, 0, count, 0, count);
  }
  std::vector<std::int32_t> blocks(count);
  std::int32_t end = count;
  for (std::int32_t layer = levels_ - 1; layer >= 0; --layer) {
    const std::int32_t begin = layer == 0 ? 0 : split_[layer][end];
    for (std::int32_t i = begin; i < end; ++i) blocks[order[i]] = layer;
    end = begin;
  }
  return blocks;
}

std::vector<std::int32_t> ExactBlocks(const Dag& dag, std::int32_t levels) {
  const std::int32_t count = dag.size();
  const std::uint32_t full = (std::uint32_t{1} << count) - 1;
  std::vector<double> inside(full + 1, 0);
  std::vector<char> closed(full + 1, 1);
  for (std::uint32_t set = 1; set <= full; ++set) {
    const std::int32_t last = std::bit_width(set) - 1;
    const std::uint32_t rest = set ^ (std::uint32_t{1} << last);
    double weight = 0;
    const auto add = [&](const Dag::Arc& arc) {
      if (rest >> arc.to & 1) weight += arc.weight;
    };
    for (const Dag::Arc& arc : dag.out[last]) add(arc);
    for (const Dag::Arc& arc : dag.in[last]) add(arc);
    inside[set] = inside[rest] + weight;
    for (std::int32_t v = 0; v < count && closed[set]; ++v) {
      if (!(set >> v & 1)) continue;
      for (const Dag::Arc& arc : dag.in[v]) {
        if (!(set >> arc.to & 1)) closed[set] = 0;
      }
    }
  }
  const std::int32_t layers = std::max(1, std::min(levels, count));
  std::vector<double> best = inside;  // one block
  std::vector<std::vector<std::uint32_t>> upper(layers, std::vector<std::uint32_t>(full + 1, 0));
  for (std::int32_t layer = 1; layer < layers; ++layer) {
    const std::vector<double> before = best;
    for (std::uint32_t set = 0; set <= full; ++set) {
      if (!closed[set]) continue;
      best[set] = kInfinity;
      for (std::uint32_t sub = set;; sub = (sub - 1) & set) {
        if (closed[sub] && before[sub] + inside[set ^ sub] < best[set]) {
          best[set] = before[sub] + inside[set ^ sub];
          upper[layer][set] = sub;
        }
        if (sub == 0) break;
      }
    }
  }
  std::vector<std::int32_t> blocks(count, 0);
  std::uint32_t set = full;
  for (std::int32_t layer = layers - 1; layer >= 0; --layer) {
    const std::uint32_t sub = layer == 0 ? 0 : upper[layer][set];
    for (std::int32_t v = 0; v < count; ++v) {
      if ((set ^ sub) >> v & 1) blocks[v] = layer;
    }
    set = sub;
  }
  return blocks;
}

}  // namespace yardmaster::crux
