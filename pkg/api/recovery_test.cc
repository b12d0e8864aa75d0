#include "pkg/api/recovery.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/standby.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

RecoveryPolicy ReadPolicy(const json& recovery, FieldErrors& errors) {
  return DecodeObject<RecoveryPolicy>(
      {&recovery, "spec.recovery", UnknownFields::kReject, &errors});
}

RecoveryState ReadState(const json& state, FieldErrors& errors) {
  return DecodeObject<RecoveryState>({&state, "status.recovery", UnknownFields::kReject, &errors});
}

TEST(RecoveryPolicyTest, WhatIsLeftOutIsTheDefault) {
  FieldErrors errors;
  EXPECT_EQ(ReadPolicy(json(), errors), RecoveryPolicy{});
  EXPECT_EQ(ReadPolicy(json::object(), errors), RecoveryPolicy{});
  EXPECT_EQ(ReadPolicy(EncodeObject(RecoveryPolicy()), errors), RecoveryPolicy{});
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(RecoveryPolicyTest, EveryActionAndEveryWayToMatchReadBackInTheirOrder) {
  RecoveryPolicy policy;
  policy.on_host_loss = OnHostLoss::kFail;
  policy.on_segment_loss = OnSegmentLoss::kWait;
  policy.on_worker_failure = OnHostLoss::kReplace;
  policy.max_restarts = 0;
  policy.backoff_seconds = 0;
  policy.in_place_seconds = 0;
  for (FailureAction action :
       {FailureAction::kIgnore, FailureAction::kReplace, FailureAction::kRestart,
        FailureAction::kFail, FailureAction::kReplaceHost}) {
    policy.rules.push_back({action, "trainer", false, {1, 255}, ""});
    policy.rules.push_back({action, "", true, {3}, ""});
    policy.rules.push_back({action, "", false, {}, "DisruptionTarget"});
  }
  FieldErrors errors;
  EXPECT_EQ(ReadPolicy(EncodeObject(policy), errors), policy);
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(RecoveryPolicyTest, ARuleMatchesByExactlyOneOfThree) {
  const std::string codes = R"("exitCodes":[1])", others = R"("exitCodesNotIn":[2])",
                    condition = R"("podCondition":"X")";
  for (int given = 0; given < 8; ++given) {
    std::vector<std::string> fields = {R"("action":"Fail")"};
    if ((given & 1) != 0) fields.push_back(codes);
    if ((given & 2) != 0) fields.push_back(others);
    if ((given & 4) != 0) fields.push_back(condition);
    const json rule = json::parse("{" + Join(fields, ",") + "}");
    FieldErrors errors;
    ReadPolicy({{"rules", json::array({rule})}}, errors);
    const bool one = given == 1 || given == 2 || given == 4;
    ASSERT_EQ(errors.lines().size(), one ? 0u : 1u) << rule.dump() << errors.status();
    if (one) continue;
    EXPECT_EQ(errors.lines()[0],
              "spec.recovery.rules[0]: matches by none or by several of exitCodes, exitCodesNotIn "
              "and podCondition; give exactly one of them");
  }
}

TEST(RecoveryPolicyTest, SuccessIsNoFailureAndNamesAreNamed) {
  FieldErrors errors;
  ReadPolicy(json::parse(R"({"rules":[{"action":"Fail","exitCodes":[0,1,256]},
                                      {"action":"Retry","exitCodes":[1]}],
                             "onHostLoss":"Move","maxRestarts":-1,"restartWindowSeconds":0})"),
             errors);
  const char* wrong[] = {"spec.recovery.onHostLoss: expected Replace, Restart or Fail",
                         "spec.recovery.restartWindowSeconds: expected an integer from 1",
                         "spec.recovery.rules[0].exitCodes[0]: expected an integer from 1 to 255",
                         "spec.recovery.rules[0].exitCodes[2]: expected an integer from 1 to 255",
                         "spec.recovery.rules[1].action: expected Ignore",
                         "spec.recovery.maxRestarts: expected an integer from 0"};
  ASSERT_EQ(errors.lines().size(), std::size(wrong)) << errors.status();
  for (const char* line : wrong) {
    EXPECT_NE(errors.status().message().find(line), std::string::npos) << line;
  }
}

TEST(RecoveryStateTest, EveryCauseAndActionReadsBackEqual) {
  RecoveryState state;
  for (int cause = 0; cause <= static_cast<int>(IncidentCause::kDomainLost); ++cause) {
    Incident incident;
    incident.attempt = cause + 1;
    incident.cause = static_cast<IncidentCause>(cause);
    incident.action = static_cast<OnHostLoss>(cause % 3);
    incident.counted = cause % 2 == 0;
    incident.ranks = {0, cause + 1};
    incident.first_rank = cause - 1;  // -1 and 0 as well
    if (cause % 2 == 0) incident.exit_code = cause - 2;
    incident.start_ms = 1'700'000'000'000;
    incident.end_ms = 1'700'000'060'000;
    state.incidents.push_back(incident);
  }
  state.avoided = {{"n1", 1'700'000'000'000}, {"n2", 0}};
  state.checkpoint_requested_ms = 1'700'000'000'000;
  FieldErrors errors;
  EXPECT_EQ(ReadState(EncodeObject(state), errors), state);
  EXPECT_EQ(ReadState(EncodeObject(RecoveryState()), errors), RecoveryState{});
  EXPECT_EQ(ReadState(json(), errors), RecoveryState{});
  EXPECT_TRUE(errors.empty()) << errors.status();
}

// A merge patch keeps fields that it leaves out.
TEST(RecoveryStateTest, WhatIsOverIsWrittenAllTheSame) {
  const json written = EncodeObject(RecoveryState());
  EXPECT_TRUE(written.at("checkpointRequested").is_null());
  EXPECT_EQ(written.at("avoidedHosts"), json::array());
  EXPECT_EQ(written.at("incidents"), json::array());
  EXPECT_EQ(written.at("suspended"), false);
}

TEST(RecoveryPolicyTest, AJobHasTwoStandbysAtMost) {
  for (const int standbys : {-1, 0, 2, 3}) {
    FieldErrors errors;
    const json recovery = {{"standby", standbys}};
    const RecoveryPolicy policy = ReadPolicy(recovery, errors);
    const bool fits = standbys == 0 || standbys == 2;
    EXPECT_EQ(errors.empty(), fits) << standbys;
    EXPECT_EQ(policy.standby, fits ? standbys : 0) << standbys;
  }
}

TEST(StandbyTest, WhatIsWrittenIsReadAndAStateOfANewerVersionIsNotReady) {
  const Standby standby{StandbyState::kRefused, "n5", "a-standby-1", "exceeded quota"};
  FieldErrors errors;
  const json written = EncodeObject(standby);
  EXPECT_EQ(DecodeObject<Standby>({&written, "standby", UnknownFields::kReject, &errors}), standby);
  const json newer = {{"state", "Thawing"}, {"host", "n5"}};
  EXPECT_EQ(DecodeObject<Standby>({&newer, "standby", UnknownFields::kIgnore, &errors}).state,
            StandbyState::kPulling);
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(RecoveryStateTest, InAClusterTheCauseOfANewerVersionIsReadAndItsActionRefused) {
  FieldErrors errors;
  const json newer = json::parse(R"({"incidents":[{"cause":"Sunspots","action":"Restart"}]})");
  const RecoveryState state =
      DecodeObject<RecoveryState>({&newer, "status.recovery", UnknownFields::kIgnore, &errors});
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(state.incidents.at(0).cause, IncidentCause::kWorkerRemoved);
  ReadState(json::parse(R"({"incidents":[{"action":"Pray"}]})"), errors);
  ASSERT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(errors.lines()[0].rfind("status.recovery.incidents[0].action: ", 0), 0u);
}

TEST(RecoveryStateTest, OnlyTheLastIncidentCanBeActive) {
  RecoveryState state;
  EXPECT_EQ(state.active(), nullptr);
  state.incidents.resize(2);
  state.incidents[0].end_ms = 1;
  EXPECT_EQ(state.active(), &state.incidents[1]);
  state.incidents[1].end_ms = 2;
  EXPECT_EQ(state.active(), nullptr);
}

}  // namespace
}  // namespace yardmaster::api
