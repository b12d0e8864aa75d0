#include "pkg/page/moves_block.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::page {
namespace {

using nlohmann::json;

// Two jobs on one fabric pod of two segments of four hosts.
plan::Snapshot TwoJobs() {
  plan::Snapshot snapshot;
  snapshot.places =
      std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric::SmallHpn(1, 2, 4)));
  snapshot.jobs.resize(2);
  snapshot.jobs[0].job.key = {"team", "trainingjob-runs"};
  snapshot.jobs[1].job.key = {"team", "trainingjob-waits"};
  return snapshot;
}

TEST(MovesBlockTest, AMoveNamesItsPlacesItsPriceAndWhoStartsThen) {
  const plan::Snapshot snapshot = TwoJobs();
  plan::Rebalancing proposed;
  plan::Move move;
  move.job = plan::JobId(0);
  move.from = {fabric::HostId(0), fabric::HostId(4)};
  move.to = {fabric::HostId(5), fabric::HostId(4)};
  move.price_gpu_seconds = 960;
  move.gain.gpu_seconds = 86'400;
  move.gain.admits = {plan::JobId(1)};
  move.why = "waits fits then";
  proposed.moves = {move};
  const auto names = [&](int segment) { return snapshot.places->name(fabric::SegmentId(segment)); };
  EXPECT_EQ(json::parse(*EncodeMoves(proposed, snapshot)),
            json::array({{{"job", "team/trainingjob-runs"},
                          {"from", {names(0), names(1)}},
                          {"to", json::array({names(1)})},
                          {"hosts", 1},
                          {"priceGpuSeconds", 960.0},
                          {"gainGpuSeconds", 86'400.0},
                          {"admits", json::array({"team/trainingjob-waits"})},
                          {"why", "waits fits then"}}}));
}

TEST(MovesBlockTest, TheFirstHundredAreShown) {
  plan::Rebalancing proposed;
  proposed.moves.resize(101);
  for (plan::Move& move : proposed.moves) move.job = plan::JobId(0);
  EXPECT_EQ(json::parse(*EncodeMoves(proposed, TwoJobs())).size(), 100U);
}

TEST(MovesBlockTest, WithoutMovesNoSnapshotIsAskedFor) { EXPECT_EQ(*EncodeMoves({}, {}), "[]"); }

}  // namespace
}  // namespace yardmaster::page
