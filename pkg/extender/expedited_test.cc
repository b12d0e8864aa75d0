// Gangs that lost their place through no act of their owner: how long their hosts are kept, and
// where they stand in the queue afterwards.
#include "gtest/gtest.h"

#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

// Six ordinary hosts. "a" (4 workers) has a Gang that waits, and no pods; "z", which came later,
// runs on 4 hosts.
class ExpeditedTest : public BatchJobFixture {
 protected:
  void SetUp() override {
    AddBatchJob("filler", 6);
    process_.Pass();
    clock_.Advance(60'000);
    AddBatchJob("a", 4);
    process_.Pass();
    ASSERT_TRUE(HostsOf("job-a").empty());
    DeletePodsOf("a");
    EndJob("filler", "Complete");
    DeletePodsOf("filler");
    process_.Pass();
    clock_.Advance(60'000);
    AddBatchJob("z", 4);
    process_.Pass();
    ASSERT_EQ(HostsOf("job-z").size(), 4u);
    RunReleasedPods();
    clock_.Advance(3'600'000);
    process_.Pass();
  }
  void LoseHostOfZ() {
    const std::string host = HostsOf("job-z").front();
    AddNode(host[1] - '0', host[3] - '0', /*ready=*/false);
    process_.Pass();
  }
  void LosePodsOfZ() {
    DeletePodsOf("z");
    process_.Pass();
  }
  void AddPodsOf(const std::string& job) {
    for (int index = 0; index < 4; ++index) AddJobPod(job, index, "tp=8,dp=4");
  }
  json ConditionOf(const std::string& gang, const std::string& type) {
    const json object = Gang(gang);
    for (const json& c : object.value("/status/conditions"_json_pointer, json::array())) {
      if (c["type"] == type) return c;
    }
    return json::object();
  }
  void PassAfter(std::int64_t ms) {
    clock_.Advance(ms);
    process_.Pass();
  }

  Process process_{*this, true};
};

TEST_F(ExpeditedTest, AGangThatLostAHostKeepsTheOthersForFiveMinutesWithoutPods) {
  LoseHostOfZ();
  LosePodsOfZ();
  EXPECT_EQ(ConditionOf("job-z", "PodsGone")["reason"], "HostLost");
  PassAfter(290'000);
  EXPECT_EQ(HostsOf("job-z").size(), 4u);
  PassAfter(15'000);
  EXPECT_TRUE(HostsOf("job-z").empty());
  EXPECT_TRUE(IsTrue("job-z", "Expedited"));
}

TEST_F(ExpeditedTest, AGangThatOnlyLostItsPodsHasAMinuteAndQueuesByItsAge) {
  LosePodsOfZ();
  PassAfter(61'000);
  EXPECT_TRUE(HostsOf("job-z").empty());
  EXPECT_TRUE(ConditionOf("job-z", "Expedited").empty());
}

TEST_F(ExpeditedTest, ItIsPlacedBeforeAnOlderGangOfItsPriority) {
  LoseHostOfZ();
  LosePodsOfZ();
  PassAfter(305'000);
  AddPodsOf("a");
  AddPodsOf("z");
  PassAfter(1'000);
  EXPECT_EQ(HostsOf("job-z").size(), 4u);
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(ConditionOf("job-z", "Expedited")["reason"], "Placed");
}

TEST_F(ExpeditedTest, AfterTenMinutesItQueuesByItsAge) {
  LoseHostOfZ();
  LosePodsOfZ();
  PassAfter(305'000);
  ASSERT_TRUE(IsTrue("job-z", "Expedited"));
  clock_.Advance(kExpediteMs);
  AddPodsOf("a");
  AddPodsOf("z");
  process_.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
  EXPECT_TRUE(HostsOf("job-z").empty());
  EXPECT_EQ(ConditionOf("job-z", "Expedited")["reason"], "LimitReached");
}

TEST_F(ExpeditedTest, SoIsAGangWhoseOwnerIsSuspendedWhileAHostIsLost) {
  LoseHostOfZ();
  SuspendJob("z", true);
  LosePodsOfZ();
  EXPECT_TRUE(HostsOf("job-z").empty());
  EXPECT_TRUE(IsTrue("job-z", "Expedited"));
}

TEST_F(ExpeditedTest, ASuspensionAloneBringsNothing) {
  SuspendJob("z", true);
  LosePodsOfZ();
  EXPECT_TRUE(HostsOf("job-z").empty());
  EXPECT_TRUE(ConditionOf("job-z", "Expedited").empty());
}

TEST(ExpediteTest, OnceAnHourForEachGang) {
  constexpr std::int64_t kStart = 1'000'000'000;
  api::Gang gang;
  api::GangStatus& status = gang.status;
  Expedite(status, gang, "HostLost", kStart);
  EXPECT_EQ(ExpeditedSinceMs(status, kStart + kExpediteMs - 1), kStart);
  EXPECT_EQ(ExpeditedSinceMs(status, kStart + kExpediteMs), std::nullopt);
  EXPECT_EQ(ExpeditedSinceMs(status, kStart - 1'000), std::nullopt) << "by another clock";
  EndExpedited(status, gang, kStart + 1'000);
  EXPECT_TRUE(api::IsTrue(status.conditions, api::kExpeditedCondition)) << "its time is not over";
  const std::int64_t end_ms = kStart + kExpediteMs;
  EndExpedited(status, gang, end_ms);
  EXPECT_FALSE(api::IsTrue(status.conditions, api::kExpeditedCondition));
  Expedite(status, gang, "HostLost", end_ms + kExpediteAgainMs - 1);
  EXPECT_EQ(ExpeditedSinceMs(status, end_ms + kExpediteAgainMs), std::nullopt);
  Expedite(status, gang, "HostLost", end_ms + kExpediteAgainMs);
  EXPECT_EQ(ExpeditedSinceMs(status, end_ms + kExpediteAgainMs), end_ms + kExpediteAgainMs);
}

// Between its end and the next time no pass may have read the gang.
TEST(ExpediteTest, ATimeThatWasNeverEndedDoesNotShortenTheNext) {
  constexpr std::int64_t kStart = 1'000'000'000;
  constexpr std::int64_t kNext = kStart + kExpediteAgainMs;
  api::Gang gang;
  Expedite(gang.status, gang, "HostLost", kStart);
  Expedite(gang.status, gang, "HostLost", kNext);
  EXPECT_EQ(ExpeditedSinceMs(gang.status, kNext), kNext);
}

}  // namespace
}  // namespace yardmaster::extender
