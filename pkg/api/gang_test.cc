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
  gang.pods = GangPods::kFollow;
  gang.status.plan_generation = 2;
  gang.status.fabric = "hpn";
  gang.status.committed_ms = 1'700'000'000'000;
  gang.status.outcome = placement::Outcome::kPlaced;
  gang.status.objective.segments = 1;
  gang.status.assignments = {{0, "n1", "p0", "s0", {0}}, {1, "n2", "p0", "s0", {0, 1}}};
  gang.status.reasons = {
      {placement::ReasonCode::kSearchCut, workload::TopologyLevel::kSegment, 2, "cut"}};
  gang.status.relaxations = {{"placement: {data: {mode: Preferred}}", placement::Outcome::kPlaced}};
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
  EXPECT_EQ(written["spec"]["pods"], "Follow");
}

TEST(GangTest, PodsComeFirstWhereTheGangSaysNothingOfThem) {
  Gang gang;
  gang.metadata.name = "job-a";
  gang.owner = {"batch/v1", "Job", "a", "u", false};
  gang.job.workers = 2;
  const json written = EncodeGang(gang);
  EXPECT_FALSE(written["spec"].contains("pods"));
  const auto again = DecodeGang(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->pods, GangPods::kFirst);
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

Gang SmallGang() {
  Gang gang;
  gang.metadata.name = "job-a";
  gang.metadata.namespace_name = "team";
  gang.owner = {"batch/v1", "Job", "a", "u", false};
  gang.job.workers = 2;
  gang.job.parallelism.data = 16;
  return gang;
}

TEST(GangTest, RefusalsRolesAndRequestsReadBackEqual) {
  Gang gang = SmallGang();
  gang.requests = {{"cpu", 96'000}, {"nvidia.com/gpu", 8}};
  gang.roles = {{0, {{"cpu", 1'000}}, 0}, {1, {{"cpu", 96'000}, {"nvidia.com/gpu", 8}}, 8}};
  gang.status.refusals = {{1, "n1", 1'700'000'000'000, 3, "Insufficient cpu"}};
  gang.status.fencing_token = 9;
  gang.status.settled_writes = 2;
  const auto again = DecodeGang(EncodeGang(gang));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, gang);
}

TEST(GangTest, RanksAreReadInAnyOrder) {
  Gang gang = SmallGang();
  gang.status.plan_generation = 1;
  for (int rank : {3, 0, 2, 1}) gang.status.assignments.push_back({rank, "n", "p", "s", {}});
  const auto read = DecodeGang(EncodeGang(gang));
  ASSERT_TRUE(read.ok()) << read.status();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(read->status.assignments[static_cast<std::size_t>(rank)].rank, rank);
  }
  EXPECT_EQ(read->placed_workers(), 4) << "also while it is resized from 2";
  EXPECT_TRUE(read->status.committed());
}

TEST(GangTest, ALedgerThatDoesNotBeginAtRankZeroIsRefused) {
  Gang gang = SmallGang();
  gang.status.assignments = {{1, "n1", "", "", {}}, {2, "n2", "", "", {}}};
  EXPECT_FALSE(DecodeGang(EncodeGang(gang)).ok());
  const auto read = DecodeGang(EncodeGang(gang), Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->problems.size(), 1u);
  EXPECT_EQ(read->status.assignments.size(), 2u) << "their hosts still count as occupied";
}

TEST(GangTest, StatusFieldsOfANewerVersionAreKeptAndThoseOfTheSpecIgnored) {
  json object = EncodeGang(SmallGang());
  object["spec"]["colour"] = "red";
  object["status"] = {{"planGeneration", 4}, {"mood", {{"good", true}}}, {"tide", 3}};
  EXPECT_FALSE(DecodeGang(object).ok());
  const auto read = DecodeGang(object, Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->problems.empty());
  const json status = EncodeGang(*read)["status"];
  EXPECT_EQ(status["mood"], object["status"]["mood"]);
  EXPECT_EQ(status["tide"], 3);
  EXPECT_EQ(status["planGeneration"], 4);
}

TEST(GangTest, AReasonOfANewerVersionIsNoProblem) {
  json object = EncodeGang(SmallGang());
  object["status"]["reasons"] = {{{"code", "Tide"}, {"level", "sea"}, {"count", 1}}};
  EXPECT_FALSE(DecodeGang(object).ok());
  const auto read = DecodeGang(object, Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->problems, std::vector<std::string>());
  EXPECT_EQ(read->status.reasons.at(0).count, 1);
}

TEST(GangTest, WorkersBeforeTheFirstRoleAskForTheMost) {
  json object = EncodeGang(SmallGang());
  object["spec"]["requests"] = {{"nvidia.com/gpu", "8"}};
  object["spec"]["roles"] = {{{"firstRank", 5}, {"requests", {{"nvidia.com/gpu", "2"}}}},
                             {{"firstRank", 3}, {"requests", json::object()}}};
  const auto read = DecodeGang(object);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->roles.size(), 3u);
  const std::pair<int, int> want[] = {{0, 8}, {3, 0}, {5, 2}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->roles[i].first_rank, want[i].first);
    EXPECT_EQ(read->roles[i].gpus, std::optional<int>(want[i].second));
  }
}

TEST(GangTest, OnlyAGangWithoutANameIsNotReadAtAll) {
  json object = EncodeGang(SmallGang());
  object["spec"]["workers"] = "two";
  object["spec"]["owner"] = nullptr;
  const auto read = DecodeGang(object, Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->problems.size(), 3u) << "workers, kind and name of the owner";
  object["metadata"].erase("name");
  EXPECT_FALSE(DecodeGang(object, Decoding::kLenient).ok());
}

TEST(GangTest, InAClusterAnOutcomeThatCannotBeReadPromisesNothing) {
  json object = {{"metadata", {{"name", "g"}}},
                 {"spec", {{"owner", {{"kind", "Job"}, {"name", "j"}}}}},
                 {"status", {{"outcome", "Soon"}}}};
  const auto gang = DecodeGang(object, Decoding::kLenient);
  ASSERT_TRUE(gang.ok()) << gang.status();
  EXPECT_EQ(gang->status.outcome, placement::Outcome::kNotNow);
  ASSERT_EQ(gang->problems.size(), 1u);
  EXPECT_EQ(gang->problems[0].rfind("status.outcome: expected Placed, NotNow or Never", 0), 0u);
  object["status"] = json::object();
  EXPECT_EQ(DecodeGang(object, Decoding::kLenient)->status.outcome, std::nullopt);
}

}  // namespace
}  // namespace yardmaster::api
