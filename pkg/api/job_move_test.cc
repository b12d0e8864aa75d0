#include "pkg/api/job_move.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {
namespace {

using testing::HasSubstr;

TEST(MoveRequestTest, IsReadAsItWasWritten) {
  const MoveRequest request{"apply-1", {"n1", "n2"}};
  const auto read = DecodeMoveRequest(EncodeMoveRequest(request));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, request);
}

TEST(MoveRequestTest, ErrorsNameTheFieldAndTheFix) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {{R"({"version": 1, "hosts": ["n1"]})", "id"},
               {R"({"version": 1, "id": "", "hosts": ["n1"]})", "id"},
               {R"({"version": 1, "id": "a"})", "hosts: is empty or missing; name the next host"},
               {R"({"version": 1, "id": "a", "hosts": []})", "hosts"},
               {R"({"version": 1, "id": "a", "hosts": [""]})", "hosts"},
               {R"({"version": 1, "id": "a", "hosts": "n1"})", "hosts"},
               {R"({"version": 2, "id": "a", "hosts": ["n1"]})", "version"},
               {"n1,n2", "JSON"}};
  for (const auto& one : cases) {
    const auto read = DecodeMoveRequest(one.text);
    ASSERT_FALSE(read.ok()) << one.text;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(one.error)) << one.text;
  }
  const std::string long_id(64, 'a');
  EXPECT_FALSE(DecodeMoveRequest(EncodeMoveRequest({long_id, {"n1"}})).ok());
}

TEST(JobMoveTest, IsReadAsItWasWrittenAndTakesFieldsAwayInAMergePatch) {
  TrainingJobStatus status;
  JobMove& move = status.move;
  move.id = "apply-1";
  move.state = JobMoveState::kAsked;
  move.price_gpu_seconds = 12.5;
  move.asked_ms = 1'800'000'000'000;
  move.hosts = {"n1", "n2"};
  move.record.request_id = "apply-1";
  move.record.policy_moves = {{1'800'000'000'000, 7.5}};
  nlohmann::json there = EncodeTrainingJobStatus(status);
  EXPECT_EQ(there["move"]["hosts"].size(), 2u);
  const auto read =
      DecodeTrainingJob(nlohmann::json{{"metadata", {{"name", "a"}, {"namespace", "team"}}},
                                       {"spec", {{"workers", 2}}},
                                       {"status", there}},
                        UnknownFields::kIgnore);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->status.move, move);
  move.state = JobMoveState::kDone;
  move.ended_ms = move.asked_ms + 60'000;
  move.hosts.clear();
  move.record.policy_moves.clear();
  there.merge_patch(EncodeTrainingJobStatus(status));
  EXPECT_FALSE(there["move"].contains("hosts")) << there;
  EXPECT_EQ(there["move"]["state"], "Done");
  EXPECT_EQ(there["move"]["byPolicy"], false);
  EXPECT_FALSE(there["move"]["record"].contains("policyMoves")) << there;
  EXPECT_EQ(there["move"]["record"]["requestId"], "apply-1");
  there.merge_patch(EncodeTrainingJobStatus({}));
  EXPECT_FALSE(there.contains("move")) << there;
}

MoveRecord RecordOf(const nlohmann::json& move) {
  const auto job =
      DecodeTrainingJob(nlohmann::json{{"metadata", {{"name", "a"}, {"namespace", "t"}}},
                                       {"spec", {{"workers", 2}}},
                                       {"status", {{"move", move}}}},
                        UnknownFields::kIgnore);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? job->status.move.record : MoveRecord();
}

// An earlier version wrote none, and an API server whose CRD is older keeps none.
TEST(JobMoveTest, WithoutARecordItFollowsFromTheLastRequestAlone) {
  constexpr std::int64_t kAskedMs = 1'800'000'000'000, kEndedMs = kAskedMs + 60'000;
  const auto move = [](const char* state, bool by_policy) {
    nlohmann::json object = {{"id", "m1"},
                             {"state", state},
                             {"byPolicy", by_policy},
                             {"priceGPUSeconds", 7.5},
                             {"askedTime", FormatTime(kAskedMs)}};
    if (std::string_view(state) != "Asked" && std::string_view(state) != "Moving") {
      object["endTime"] = FormatTime(kEndedMs);
    }
    return object;
  };
  EXPECT_EQ(RecordOf(nlohmann::json::object()), MoveRecord());
  EXPECT_EQ(RecordOf(move("Asked", false)), (MoveRecord{"m1", 0, 0, {}}));
  EXPECT_EQ(RecordOf(move("Refused", false)), (MoveRecord{"m1", 0, 0, {}}));
  for (const char* over : {"Done", "Abandoned"}) {
    EXPECT_EQ(RecordOf(move(over, false)), (MoveRecord{"m1", kEndedMs, 0, {}})) << over;
    EXPECT_EQ(RecordOf(move(over, true)), (MoveRecord{"", kEndedMs, 0, {{kAskedMs, 7.5}}})) << over;
  }
  EXPECT_EQ(RecordOf(move("Moving", true)), (MoveRecord{"", 0, 0, {{kAskedMs, 7.5}}}));
  EXPECT_EQ(RecordOf(move("Refused", true)), (MoveRecord{"", 0, kEndedMs, {}}));
  nlohmann::json with = move("Done", true);
  with["record"] = {{"requestId", "m0"}};
  EXPECT_EQ(RecordOf(with), (MoveRecord{"m0", 0, 0, {}}));
}

TEST(GangMoveTest, TheSecondPromiseIsReadAsItWasWritten) {
  Gang gang;
  gang.metadata.name = "trainingjob-a";
  gang.metadata.namespace_name = "team";
  gang.owner = {kGroupVersion, kTrainingJobKind, "a", "u", false};
  gang.job.workers = 2;
  gang.status.plan_generation = 3;
  gang.status.assignments = {{0, "a0", "p", "a", {0}}, {1, "a1", "p", "a", {0}}};
  GangMove move{"m1",
                GangMoveState::kPromised,
                "1 segment instead of 2",
                1'800'000'000'000,
                1'800'000'600'000,
                {{0, "b0", "p", "b", {0}}, {1, "b1", "p", "b", {0}}},
                {}};
  move.objective.segments = 1;
  gang.status.move = move;
  const auto read = DecodeGang(EncodeGang(gang), Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->status.move);
  EXPECT_EQ(*read->status.move, move);
  EXPECT_TRUE(read->status.is_promised_next());
  EXPECT_TRUE(read->problems.empty());
}

// An extender that is older than the state knows no promise in it.
TEST(GangMoveTest, AStateOfANewerVersionPromisesNothing) {
  const auto read = DecodeGang(
      nlohmann::json{
          {"metadata", {{"name", "g"}, {"namespace", "team"}}},
          {"spec", {{"workers", 1}, {"owner", {{"kind", "TrainingJob"}, {"name", "a"}}}}},
          {"status", {{"move", {{"id", "m"}, {"state", "Postponed"}}}}}},
      Decoding::kLenient);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->status.move);
  EXPECT_FALSE(read->status.is_promised_next());
}

}  // namespace
}  // namespace yardmaster::api
