#include "simulation/simulator/gang_placer.h"

#include <memory>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::sim {
namespace {

constexpr std::int32_t kGpus = 8;

// Four segments of six hosts.
class GangPlacerTest : public testing::Test {
 protected:
  static fabric::Network SmallNetwork() {
    const fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 6);
    return *fabric::Network::Build(spec,
                                   std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)));
  }
  std::set<fabric::SegmentId> SegmentsOf(const std::vector<TracePlace>& places) const {
    std::set<fabric::SegmentId> segments;
    for (const TracePlace& place : places) {
      segments.insert(network_.places().segment_of(fabric::HostId(place.host)));
    }
    return segments;
  }
  void Take(const std::vector<std::int32_t>& hosts) {
    for (const std::int32_t host : hosts) ASSERT_TRUE(pool_.TakeAt({{host, kGpus}}, 1));
  }

  const fabric::Network network_ = SmallNetwork();
  GpuPool pool_{network_.places().num_hosts(), kGpus, /*scatter=*/1, /*fragmented=*/0};
  GangPlacer placer_{network_};
};

TEST_F(GangPlacerTest, AGangGetsASegmentThatHoldsItWhole) {
  // Five hosts are free in segments 0, 1 and 3, six in segment 2.
  Take({0, 6, 18});
  const auto places = placer_.PlacesOf({"j", "GPT-13b", 48}, pool_);
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_EQ(places->size(), 6u);
  EXPECT_THAT(SegmentsOf(*places), testing::ElementsAre(fabric::SegmentId(2)));
  EXPECT_TRUE(pool_.TakeAt(*places, 1));
}

TEST_F(GangPlacerTest, HostsComeByRankSoThatAStageIsNotCut) {
  // Two stages of three hosts each; four hosts are free in segment 1 and three in segment 3.
  Take({0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  const auto places = placer_.PlacesOf({"j", "llama_30b", 48}, pool_);
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_EQ(places->size(), 6u);
  EXPECT_EQ(SegmentsOf({places->begin(), places->begin() + 3}).size(), 1u);
  EXPECT_EQ(SegmentsOf({places->begin() + 3, places->end()}).size(), 1u);
}

TEST_F(GangPlacerTest, AJobBelowAHostIsAGangOfOneWorker) {
  ASSERT_TRUE(pool_.TakeAt({{7, 5}}, 1));
  const auto places = placer_.PlacesOf({"j", "mnist", 3}, pool_);
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_EQ(places->size(), 1u);
  // What is left of a host in use, so that whole hosts stay.
  EXPECT_EQ(places->front().host, 7);
  EXPECT_EQ(places->front().gpus, 3);
}

TEST_F(GangPlacerTest, TheLastHostOfAnUnevenJobGivesWhatIsLeftToAsk) {
  const auto places = placer_.PlacesOf({"j", "bert", 12}, pool_);
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_EQ(places->size(), 2u);
  EXPECT_EQ((*places)[0].gpus + (*places)[1].gpus, 12);
}

TEST_F(GangPlacerTest, SaysWhatWaitsAndWhatNeverFits) {
  Take({0});
  const auto waits = placer_.PlacesOf({"j", "bert", 24 * kGpus}, pool_);
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_TRUE(waits->empty());
  const auto never = placer_.PlacesOf({"j", "bert", 25 * kGpus}, pool_);
  EXPECT_EQ(never.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace yardmaster::sim
