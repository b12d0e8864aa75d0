#include "pkg/page/moves_block.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace yardmaster::page {

namespace {

using nlohmann::json;

constexpr std::size_t kShownMoves = 100;

json SegmentNames(const fabric::Places& places, const std::vector<fabric::HostId>& hosts) {
  std::set<fabric::SegmentId> segments;
  for (const fabric::HostId host : hosts) {
    if (host.valid()) segments.insert(places.segment_of(host));
  }
  json names = json::array();
  for (const fabric::SegmentId segment : segments) names.push_back(places.name(segment));
  return names;
}

std::string KeyText(const plan::Snapshot& snapshot, plan::JobId job) {
  return snapshot.jobs[job.index()].job.key.text();
}

}  // namespace

Text EncodeMoves(const plan::Rebalancing& proposed, const plan::Snapshot& snapshot) {
  json moves = json::array();
  for (const plan::Move& move : proposed.moves) {
    if (moves.size() == kShownMoves) break;
    int changed = 0;
    for (std::size_t rank = 0; rank < move.from.size(); ++rank) {
      changed += move.from[rank] != move.to[rank] ? 1 : 0;
    }
    json admits = json::array();
    for (const plan::JobId job : move.gain.admits) admits.push_back(KeyText(snapshot, job));
    moves.push_back({{"job", KeyText(snapshot, move.job)},
                     {"from", SegmentNames(*snapshot.places, move.from)},
                     {"to", SegmentNames(*snapshot.places, move.to)},
                     {"hosts", changed},
                     {"priceGpuSeconds", move.price_gpu_seconds},
                     {"gainGpuSeconds", move.gain.gpu_seconds},
                     {"admits", std::move(admits)},
                     {"why", move.why}});
  }
  return TextOf(moves);
}

}  // namespace yardmaster::page
