#include "pkg/crux/compression.h"

#include <algorithm>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/order_cut.h"

namespace yardmaster::crux {
namespace {

// Larger pieces get fewer draws, so that the cost of a recompute stays near-linear in jobs.
constexpr std::int32_t kLargePiece = 1000;

std::vector<std::vector<ContendingJobId>> Pieces(std::int32_t job_count,
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

PieceResult CutPiece(const Dag& dag, std::int32_t levels, const CompressionOptions& options) {
  if (options.exact_when_small && static_cast<std::size_t>(dag.size()) <= kExactJobs) {
    return {ExactBlocks(dag, levels), true};
  }
  // Every piece begins the same stream: neither what happens in another piece nor the numbers of
  // its jobs change its draws.
  Random random(options.seed * 0x9E3779B97F4A7C15ULL);
  return {BestOfOrders(dag, levels, options, random), false};
}

// The arcs of `dag`, in the order of their tails.
std::vector<KnownCuts::Arc> EdgesOf(const Dag& dag) {
  std::vector<KnownCuts::Arc> edges;
  for (std::int32_t v = 0; v < dag.size(); ++v) {
    for (const Dag::Arc& arc : dag.out[v]) edges.push_back({v, arc.to, arc.weight});
  }
  return edges;
}

PieceResult SolvePiece(const Dag& dag, std::int32_t levels, const CompressionOptions& options,
                       const KnownCuts* known, KnownCuts* next) {
  std::vector<std::int32_t> depth = ChainDepth(dag);
  if (*std::max_element(depth.begin(), depth.end()) < levels) return {std::move(depth), true};
  if (known == nullptr) return CutPiece(dag, levels, options);
  KnownCuts::Piece piece{levels, options, EdgesOf(dag), {}, false};
  if (const KnownCuts::Piece* same = known->Find(piece)) {
    piece.blocks = same->blocks;
    piece.exact = same->exact;
  } else {
    PieceResult cut = CutPiece(dag, levels, options);
    piece.blocks = std::move(cut.blocks);
    piece.exact = cut.exact;
  }
  next->pieces.push_back(std::move(piece));
  return {next->pieces.back().blocks, next->pieces.back().exact};
}

}  // namespace

const KnownCuts::Piece* KnownCuts::Find(const Piece& wanted) const {
  const auto at = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return piece.edges.size() == wanted.edges.size() && piece.edges == wanted.edges &&
           piece.levels == wanted.levels && piece.options == wanted.options;
  });
  return at == pieces.end() ? nullptr : &*at;
}

Compression Compress(std::int32_t job_count, std::span<const ContentionEdge> edges,
                     std::int32_t levels, const CompressionOptions& options, KnownCuts* known) {
  Compression result;
  KnownCuts next;
  result.levels.assign(job_count, levels - 1);
  std::vector<std::int32_t> index(job_count, -1);
  std::vector<std::int32_t> piece_of(job_count, -1);
  const auto pieces = Pieces(job_count, edges);
  std::vector<Dag> dags;
  dags.reserve(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    dags.emplace_back(pieces[p].size());
    for (std::size_t i = 0; i < pieces[p].size(); ++i) {
      index[pieces[p][i].index()] = static_cast<std::int32_t>(i);
      piece_of[pieces[p][i].index()] = static_cast<std::int32_t>(p);
    }
  }
  for (const ContentionEdge& edge : edges) {
    dags[piece_of[edge.from.index()]].Add(index[edge.from.index()], index[edge.to.index()],
                                          edge.weight);
  }
  bool exact = true;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    PieceResult piece = SolvePiece(dags[p], levels, options, known, &next);
    exact &= piece.exact;
    for (std::int32_t& block : piece.blocks) block = levels - 1 - block;
    for (std::size_t i = 0; i < pieces[p].size(); ++i) {
      result.levels[pieces[p][i].index()] = piece.blocks[i];
    }
  }
  result.loss = Loss(edges, result.levels);
  if (exact) result.optimal_loss = result.loss;
  if (known != nullptr) *known = std::move(next);
  return result;
}

}  // namespace yardmaster::crux
