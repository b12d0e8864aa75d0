#include "pkg/fabric/place_names.h"

#include "gtest/gtest.h"

namespace yardmaster::fabric {
namespace {

TEST(PlaceNamesTest, ASegmentIsNamedWithItsFabricPodWhereAnotherHasItsName) {
  const Places places =
      Places::Build({{"h0", "p0", "s0", {}}, {"h1", "p0", "s1", {}}, {"h2", "p1", "s0", {}}})
          .value();
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h0"))), "p0/s0");
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h1"))), "s1");
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h2"))), "p1/s0");
}

}  // namespace
}  // namespace yardmaster::fabric
