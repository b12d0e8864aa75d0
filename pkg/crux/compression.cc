#include "pkg/crux/compression.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/order_cut.h"

namespace yardmaster::crux {
namespace {

// Larger pieces get fewer draws, so that the cost of a recompute stays near-linear in jobs.
constexpr std::int32_t kLargePiece = 1000;
// Losses that differ by less are one loss added up in another order.
constexpr double kSameLoss = 1 + 1e-9;

std::vector<std::vector<std::int32_t>> Pieces(std::int32_t job_count,
                                              std::span<const ContentionEdge> edges) {
  std::vector<ContendingPair> pairs;
  pairs.reserve(edges.size());
  for (const ContentionEdge& edge : edges) pairs.push_back({edge.from, edge.to, 0, 0});
  return Components(job_count, pairs);
}

struct PieceResult {
  std::vector<std::int32_t> blocks;
  bool exact = false;
};

std::vector<std::int32_t> BestOfOrders(const Dag& dag, std::int32_t levels,
                                       const CompressionOptions& options, Random& random) {
  const bool large = dag.size() > kLargePiece;
  const int draws = std::max(1, large ? options.random_orders / 5 : options.random_orders);
  OrderCutter cutter(dag, levels);
  std::vector<std::int32_t> best;
  double best_loss = 0;
  const auto consider = [&](const std::vector<std::int32_t>& order) {
    std::vector<std::int32_t> blocks = cutter.Cut(order);
    const double loss = BlockLoss(dag, blocks);
    if (best.empty() || loss < best_loss) {
      best = std::move(blocks);
      best_loss = loss;
    }
  };
  for (int draw = 0; draw < draws; ++draw) consider(RandomOrder(dag, {}, random));
  const int improvements = large ? options.improvements / 5 : options.improvements;
  for (int i = 0; i < improvements && best_loss > 0; ++i) {
    consider(RandomOrder(dag, best, random));
  }
  return best;
}

PieceResult SolvePiece(const Dag& dag, std::int32_t levels, const CompressionOptions& options,
                       Random& random) {
  std::vector<std::int32_t> depth = ChainDepth(dag);
  if (*std::max_element(depth.begin(), depth.end()) < levels) return {std::move(depth), true};
  if (options.exact_when_small && depth.size() <= kExactJobs) {
    return {ExactBlocks(dag, levels), true};
  }
  return {BestOfOrders(dag, levels, options, random), false};
}

// Everybody on the level it had, and those that had none where they lose least (the highest of
// equals). Nothing where that cannot be valid.
std::optional<std::vector<std::int32_t>> Keep(const Dag& dag, std::span<const std::int32_t> had,
                                              std::int32_t levels) {
  std::vector<std::int32_t> now(had.begin(), had.end());
  const auto known = [&](std::int32_t v) { return now[v] >= 0 && now[v] < levels; };
  const std::vector<std::int32_t> depth = ChainDepth(dag);
  std::vector<std::int32_t> fresh;
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    if (!known(v)) fresh.push_back(v);
  }
  std::stable_sort(fresh.begin(), fresh.end(),
                   [&](std::int32_t a, std::int32_t b) { return depth[a] < depth[b]; });
  for (const std::int32_t v : fresh) {
    std::vector<double> loss(static_cast<std::size_t>(levels), 0.0);
    std::int32_t lowest = 0;
    std::int32_t highest = levels - 1;
    for (const Dag::Arc& arc : dag.out[v]) {
      if (!known(arc.to)) continue;
      lowest = std::max(lowest, now[arc.to]);
      loss[now[arc.to]] += arc.weight;
    }
    for (const Dag::Arc& arc : dag.in[v]) {
      if (!known(arc.to)) continue;
      highest = std::min(highest, now[arc.to]);
      loss[now[arc.to]] += arc.weight;
    }
    if (lowest > highest) return std::nullopt;
    now[v] = highest;
    for (std::int32_t level = highest; level >= lowest; --level) {
      if (loss[level] < loss[now[v]]) now[v] = level;
    }
  }
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    for (const Dag::Arc& arc : dag.out[v]) {
      if (now[arc.to] > now[v]) return std::nullopt;
    }
  }
  return now;
}

double TotalWeight(const Dag& dag) {
  double weight = 0;
  for (const auto& arcs : dag.out) {
    for (const Dag::Arc& arc : arcs) weight += arc.weight;
  }
  return weight;
}

// Moves jobs back to the levels they had as long as that is valid and costs nothing.
void Restore(const Dag& dag, std::span<const std::int32_t> had, std::int32_t levels,
             std::vector<std::int32_t>& now) {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t v = 0; v < dag.size(); ++v) {
      const std::int32_t level = had[v];
      if (level < 0 || level >= levels || level == now[v]) continue;
      double change = 0;
      bool fits = true;
      const auto weigh = [&](const Dag::Arc& arc) {
        change +=
            (now[arc.to] == level ? arc.weight : 0) - (now[arc.to] == now[v] ? arc.weight : 0);
      };
      for (const Dag::Arc& arc : dag.out[v]) {
        fits &= now[arc.to] <= level;
        weigh(arc);
      }
      for (const Dag::Arc& arc : dag.in[v]) {
        fits &= now[arc.to] >= level;
        weigh(arc);
      }
      if (!fits || change > 0) continue;
      now[v] = level;
      moved = true;
    }
  }
}

void KeepOrRestore(const Dag& dag, std::span<const std::int32_t> had, std::int32_t levels,
                   double hysteresis, std::vector<std::int32_t>& now) {
  const auto kept = Keep(dag, had, levels);
  const double most = BlockLoss(dag, now) * kSameLoss + hysteresis * TotalWeight(dag);
  if (kept && BlockLoss(dag, *kept) <= most) {
    now = *kept;
  } else {
    Restore(dag, had, levels, now);
  }
}

}  // namespace

Compression Compress(std::int32_t job_count, std::span<const ContentionEdge> edges,
                     std::int32_t levels, std::span<const std::int32_t> previous,
                     const CompressionOptions& options) {
  Compression result;
  result.levels.assign(job_count, levels - 1);
  std::vector<std::int32_t> index(job_count, -1);
  std::vector<std::int32_t> piece_of(job_count, -1);
  const auto pieces = Pieces(job_count, edges);
  std::vector<Dag> dags;
  dags.reserve(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    dags.emplace_back(pieces[p].size());
    for (std::size_t i = 0; i < pieces[p].size(); ++i) {
      index[pieces[p][i]] = static_cast<std::int32_t>(i);
      piece_of[pieces[p][i]] = static_cast<std::int32_t>(p);
    }
  }
  for (const ContentionEdge& edge : edges) {
    dags[piece_of[edge.from]].Add(index[edge.from], index[edge.to], edge.weight);
  }
  bool exact = true;
  double found_loss = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    // A stream per piece: what happens in one piece does not change the draws of another.
    Random random(options.seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(pieces[p][0]));
    PieceResult piece = SolvePiece(dags[p], levels, options, random);
    exact &= piece.exact;
    for (std::int32_t& block : piece.blocks) block = levels - 1 - block;
    found_loss += BlockLoss(dags[p], piece.blocks);
    if (!previous.empty()) {
      std::vector<std::int32_t> had;
      for (const std::int32_t j : pieces[p]) had.push_back(previous[j]);
      KeepOrRestore(dags[p], had, levels, options.hysteresis, piece.blocks);
    }
    for (std::size_t i = 0; i < pieces[p].size(); ++i) {
      result.levels[pieces[p][i]] = piece.blocks[i];
    }
  }
  result.loss = Loss(edges, result.levels);
  if (exact) result.optimal_loss = std::min(found_loss, result.loss);
  return result;
}

}  // namespace yardmaster::crux
