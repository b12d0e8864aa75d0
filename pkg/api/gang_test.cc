#include "pkg/api/gang.h"

#include <regex>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(GangTest, TheLargestLedgerFitsIntoOneRequestOfEtcd) {
  constexpr int kMaxRanks = 16'384;  // maxItems of the schema
  constexpr std::size_t kEtcdLimit = 1536 * 1024;
  Gang gang;
  gang.metadata.name = "trainingjob-largest";
  gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", "largest", "u", false};
  gang.job.workers = kMaxRanks;
  gang.status.plan_generation = 1;
  for (int rank = 0; rank < kMaxRanks; ++rank) {
    gang.status.assignments.push_back({rank, "p00s00h000", "p00", "p00s00", {0}});
  }
  EXPECT_LT(EncodeGang(gang).dump().size(), kEtcdLimit * 95 / 100);
}

TEST(GangTest, EveryFieldReadsBackAsItWasWritten) {
  Gang gang;
  gang.metadata.name = "jobset-a";
  gang.metadata.namespace_name = "ml";
  gang.owner = {"jobset.x-k8s.io/v1alpha2", "JobSet", "a", "u1", false};
  gang.job.workers = 2;
  gang.job.parallelism = {8, 1, 1, 2, 1, 1, workload::kMegatronOrder};
  gang.job.parallelism_given = true;
  gang.constraints.tolerations = {{"k", TolerationOperator::kExists, "", "NoSchedule"}};
  gang.constraints.has_affinity = true;
  gang.constraints.terms = {{{{"zone", SelectorOperator::kNotIn, {"a", "b"}}}, {}}};
  gang.rank_bases = {{"0", 0}, {"1", 1}};
  gang.status.plan_generation = 2;
  gang.status.fabric = "hpn";
  gang.status.committed_ms = 1'700'000'000'000;
  gang.status.outcome = placement::Outcome::kPlaced;
  gang.status.objective.segments = 1;
  gang.status.assignments = {{0, "n1", "p0", "s0", {0}}, {1, "n2", "p0", "s0", {0, 1}}};
  gang.status.reasons = {
      {placement::ReasonCode::kSearchCut, workload::TopologyLevel::kSegment, 2, "cut"}};
  gang.status.relaxations = {{"dataParallel: Preferred", placement::Outcome::kPlaced}};
  gang.status.preemption = PreemptionStatus{1'700'000'000'000, {{"team", "g", "u"}}, {"n3"}};
  gang.status.network = NetworkStatus{1e15, 0.8, 1.25e15, 1.9e15, 7, NetworkSource::kMeasured};
  gang.status.conditions = {
      {kPlannedCondition, ConditionStatus::kTrue, "Committed", "", 1, 1'700'000'000'000}};
  const json written = EncodeGang(gang);
  auto again = DecodeGang(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, gang);
  EXPECT_EQ(EncodeGang(*again), written);
  EXPECT_EQ(written["status"]["reasons"][0]["level"], "segment");
  EXPECT_EQ(written["status"]["outcome"], "Placed");
}

TEST(GangTest, ALedgerThatMissesOrRepeatsARankIsRefused) {
  Gang gang;
  gang.metadata.name = "g";
  gang.owner = {"batch/v1", "Job", "a", "u", false};
  gang.job.workers = 2;
  gang.status.assignments = {{0, "n1", "", "", {}}, {0, "n2", "", "", {}}};
  const std::string message = MessageOf(DecodeGang(EncodeGang(gang)).status());
  EXPECT_EQ(message.rfind("status.assignments: hold 1 distinct rank in 2 entries", 0), 0u);
}

TEST(GangTest, NamesOfOwnersOfDifferentKindsNeverMeet) {
  EXPECT_EQ(GangName("TrainingJob", "a"), "trainingjob-a");
  EXPECT_NE(GangName("TrainingJob", "a"), GangName("Job", "a"));
  const std::string x(253, 'x');
  EXPECT_EQ(GangName("Job", x).size(), 253u);
  EXPECT_NE(GangName("Job", x), GangName("Job", x + "y"));
}

// A name is cut anywhere: behind a dot "-<hash>" would begin a part of the name.
TEST(GangTest, NamesAreNamesOfKubernetesHoweverLongTheOwnersAre) {
  const std::regex subdomain("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  for (std::size_t before = 200; before < 252; ++before) {
    for (const char* middle : {".", "-", "x"}) {
      const std::string owner = std::string(before, 'x') + middle + std::string(252 - before, 'y');
      const std::string name = GangName("TrainingJob", owner);
      EXPECT_LE(name.size(), 253u);
      EXPECT_TRUE(std::regex_match(name, subdomain)) << name;
      EXPECT_NE(name, GangName("TrainingJob", owner + "z"));
    }
  }
}

}  // namespace
}  // namespace yardmaster::api
