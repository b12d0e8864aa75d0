#include "pkg/netplan/previous_network_after.h"

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::netplan {
namespace {

using ::testing::IsEmpty;

using fabric::HostId;
using fabric::LinkId;

// One job on hosts 0 and 1, and flows between them.
class PreviousNetworkAfterTest : public ::testing::Test {
 protected:
  PreviousNetworkAfterTest() : snapshot_(plan::MakeSnapshot(fabric::SmallHpn(1, 2, 4))) {
    plan::AddJob(snapshot_, "a", 2);
    plan::Place(snapshot_, plan::JobId(0), {HostId(0), HostId(1)});
    plan_.jobs.resize(1);
    plan_.jobs[0].emplace().level = 3;
    plan_.jobs[0]->bytes = 7e9;
  }
  static FlowKey Key(int from, int to, int port = 0) {
    return {HostId(from), 0, port, HostId(to), 0};
  }
  static PathAssignment Path(const FlowKey& key, std::uint16_t port) {
    PathAssignment path;
    path.job = plan::JobId(0);
    path.key = key;
    path.source_port = port;
    path.links = {LinkId(port)};
    return path;
  }
  PreviousJob Remembered(const PreviousNetwork& before = {}) const {
    const PreviousNetwork after = PreviousNetworkAfter(plan_, snapshot_, before);
    EXPECT_EQ(after.size(), 1u);
    const auto at = after.find(snapshot_.jobs[0].job.key);
    return at == after.end() ? PreviousJob{} : at->second;
  }
  // The job with one flow from before.
  PreviousNetwork Before(const FlowKey& key, std::uint16_t port) const {
    PreviousNetwork before;
    before[snapshot_.jobs[0].job.key].flows[key] = Path(key, port);
    return before;
  }

  plan::Snapshot snapshot_;
  NetworkPlan plan_;
};

TEST_F(PreviousNetworkAfterTest, OfAnEmptyPlanThereIsNothing) {
  EXPECT_THAT(PreviousNetworkAfter({}, snapshot_, {}), IsEmpty());
  plan_.jobs[0].reset();
  EXPECT_THAT(PreviousNetworkAfter(plan_, snapshot_, Before(Key(0, 1), 50'000)), IsEmpty());
}

TEST_F(PreviousNetworkAfterTest, NumbersFlowsAndAnswersAreKept) {
  plan_.paths = {Path(Key(0, 1), 50'000)};
  plan_.ack_paths = {Path(Key(1, 0), 50'001)};
  const PreviousJob job = Remembered();
  EXPECT_EQ(job.level, 3);
  EXPECT_EQ(job.bytes, 7e9);
  ASSERT_EQ(job.flows.size(), 2u);
  EXPECT_EQ(job.flows.at(Key(0, 1)).source_port, 50'000);
  EXPECT_EQ(job.flows.at(Key(1, 0)).source_port, 50'001);
}

TEST_F(PreviousNetworkAfterTest, AFlowWithoutAPortIsRememberedOnThePathThatWasWanted) {
  plan_.paths = {Path(Key(0, 1), 0)};
  plan_.paths[0].links.clear();
  plan_.paths[0].wanted_links = {LinkId(4), LinkId(5)};
  const PreviousJob job = Remembered();
  EXPECT_FALSE(job.flows.at(Key(0, 1)).planned());
  EXPECT_EQ(job.flows.at(Key(0, 1)).links, plan_.paths[0].wanted_links);
}

TEST_F(PreviousNetworkAfterTest, AFlowThatHasNoWayNowStaysAsItWas) {
  plan_.paths = {Path(Key(0, 1, 0), 50'000)};
  const PreviousJob job = Remembered(Before(Key(0, 1, 1), 50'002));
  ASSERT_EQ(job.flows.size(), 2u);
  EXPECT_EQ(job.flows.at(Key(0, 1, 1)).source_port, 50'002);
}

TEST_F(PreviousNetworkAfterTest, WhatIsPlannedTakesThePlaceOfWhatWas) {
  plan_.paths = {Path(Key(0, 1), 50'000)};
  EXPECT_EQ(Remembered(Before(Key(0, 1), 50'002)).flows.at(Key(0, 1)).source_port, 50'000);
}

TEST_F(PreviousNetworkAfterTest, FlowsOfHostsThatTheJobHasLeftAreForgotten) {
  EXPECT_THAT(Remembered(Before(Key(0, 2), 50'002)).flows, IsEmpty());
  EXPECT_THAT(Remembered(Before(Key(2, 0), 50'002)).flows, IsEmpty());
  EXPECT_EQ(Remembered(Before(Key(1, 0), 50'002)).flows.size(), 1u);
  snapshot_.jobs[0].assignment.reset();
  EXPECT_THAT(Remembered(Before(Key(1, 0), 50'002)).flows, IsEmpty());
}

}  // namespace
}  // namespace yardmaster::netplan
