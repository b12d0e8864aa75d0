#include "pkg/operator/network/backup_condition.h"

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::op {
namespace {

// Two segments of 16 hosts, of which one each is kept.
class BackupConditionTest : public ::testing::Test {
 protected:
  BackupConditionTest() {
    fabric_.spec = fabric::SmallHpn(1, 2, 16);
    fabric_.spec.backup.hosts_per_segment = 1;
    fabric_.metadata.generation = 4;
    snapshot_.places = std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric_.spec));
    snapshot_.cluster.hosts.resize(32);
  }
  const api::Condition* After(const state::HostFailures& seen) {
    AddBackupCondition(fabric_, snapshot_, seen, 1'000, fabric_.status);
    return api::FindCondition(fabric_.status.conditions, kBackupSufficesCondition);
  }

  api::Fabric fabric_;
  plan::Snapshot snapshot_;
};

TEST_F(BackupConditionTest, NothingIsSaidOfTwoFailuresNorOfAFabricThatKeepsNoHosts) {
  EXPECT_EQ(After({2, 10}), nullptr);
  fabric_.spec.backup.hosts_per_segment = 0;
  EXPECT_EQ(After({30, 10}), nullptr);
}

TEST_F(BackupConditionTest, APolicyThatIsTooSmallForWhatWasSeenSaysHowManyWouldDo) {
  const api::Condition* condition = After({10, 1'000});
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(condition->reason, "TooSmall");
  EXPECT_EQ(condition->observed_generation, 4);
  EXPECT_EQ(condition->message,
            "1 backup host of 16 replace a lost host inside its segment with a probability of 85 "
            "%, at the rate at which hosts were lost; 3 reach 99 %: raise "
            "spec.backup.hostsPerSegment, or spec.backup.ratio");
  fabric_.spec.backup.hosts_per_segment = 3;
  EXPECT_EQ(After({10, 1'000})->status, api::ConditionStatus::kTrue) << "the number it named";
  fabric_.spec.backup.hosts_per_segment = 2;
  EXPECT_EQ(After({10, 1'000})->reason, "TooSmall") << "and no smaller one";
}

TEST_F(BackupConditionTest, HostsThatAreMarkedCount) {
  for (const int host : {0, 1, 2})
    snapshot_.cluster.hosts[static_cast<std::size_t>(host)].backup = true;
  EXPECT_EQ(After({10, 1'000})->reason, "Enough");
}

TEST_F(BackupConditionTest, WhenTheJobsThatSawItAreGoneItIsNotKnownAnyMore) {
  After({10, 1'000});
  EXPECT_EQ(After({0, 50})->status, api::ConditionStatus::kUnknown);
}

}  // namespace
}  // namespace yardmaster::op
