#include "pkg/api/outcome_json.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using placement::Outcome;
using placement::Reason;
using placement::ReasonCode;
using workload::TopologyLevel;

template <typename T>
std::vector<T> ReadList(FieldReader& in, const char* key) {
  std::vector<T> out;
  DecodeFields(in, [&](FieldVisitor& fields) { fields.Objects(key, out, {}, "", ""); });
  return out;
}

constexpr Outcome kOutcomes[] = {Outcome::kPlaced, Outcome::kNotNow, Outcome::kNever};

// The names stand in two tables: here and in placement, which makes the texts of events.
TEST(OutcomeJsonTest, OutcomesAndCodesHaveTheNamesThatTextsUse) {
  for (Outcome outcome : kOutcomes) {
    EXPECT_EQ(EncodeOutcome(outcome).get<std::string>(), std::string(Name(outcome)));
  }
  for (int code = 0; code <= static_cast<int>(ReasonCode::kInvalid); ++code) {
    const auto value = static_cast<ReasonCode>(code);
    const std::vector<Reason> reasons = {{value, TopologyLevel::kHost, 1, ""}};
    EXPECT_EQ(EncodeReasons(reasons)[0]["code"].get<std::string>(), std::string(Name(value)));
  }
}

TEST(OutcomeJsonTest, ReasonsOfEveryCodeAndLevelReadBackInTheirOrder) {
  std::vector<Reason> reasons;
  for (int code = 0; code <= static_cast<int>(ReasonCode::kInvalid); ++code) {
    for (int level = 0; level <= static_cast<int>(TopologyLevel::kFabric); ++level) {
      reasons.push_back({static_cast<ReasonCode>(code), static_cast<TopologyLevel>(level),
                         code - level, std::string("m") + std::to_string(level)});
    }
  }
  const json object = {{"reasons", EncodeReasons(reasons)}};
  FieldErrors errors;
  FieldReader in(&object, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadList<Reason>(in, "reasons"), reasons);
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(EncodeReasons({}), json::array());
}

TEST(OutcomeJsonTest, RelaxationsReadBackInTheirOrder) {
  std::vector<placement::Relaxation> relaxations;
  for (Outcome outcome : kOutcomes) relaxations.push_back({"change", outcome});
  const json object = {{"relaxations", EncodeRelaxations(relaxations)}};
  FieldErrors errors;
  FieldReader in(&object, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadList<placement::Relaxation>(in, "relaxations"), relaxations);
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(OutcomeJsonTest, EveryPartOfAnObjectiveHasItsOwnField) {
  const placement::Objective objective{1, 2, 3, 4, 5, INT64_MAX, 6, 7};
  const json written = EncodeObjective(objective);
  EXPECT_EQ(written.size(), 8u);
  FieldErrors errors;
  EXPECT_EQ(DecodeObject<placement::Objective>({&written, "o", UnknownFields::kReject, &errors}),
            objective);
  EXPECT_EQ(DecodeObject<placement::Objective>({nullptr, "o", UnknownFields::kReject, &errors}),
            placement::Objective{});
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(OutcomeJsonTest, AssignmentsAndNetworkNumbersReadBackEqual) {
  const std::vector<AssignmentEntry> assignments = {{7, "n7", "p0", "s1", {0, 3}},
                                                    {0, "n0", "", "", {}}};
  const json object = {{"assignments", EncodeAssignments(assignments)}};
  FieldErrors errors;
  FieldReader in(&object, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadList<AssignmentEntry>(in, "assignments"), assignments);
  for (NetworkSource source :
       {NetworkSource::kAnalytic, NetworkSource::kMeasured, NetworkSource::kBlended}) {
    const NetworkStatus network{1e15, 0.8, 1.25e15, 1.9e15, 63, source};
    const json written = EncodeObject(network);
    EXPECT_EQ(DecodeObject<NetworkStatus>({&written, "n", UnknownFields::kReject, &errors}),
              network);
  }
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(OutcomeJsonTest, WhatCannotBeReadIsNamedByItsPlace) {
  const json object = json::parse(R"({"reasons":[{"code":"NotEnoughHost"},{"level":"rack"}],
      "relaxations":[{"outcome":"Later"}],
      "assignments":[{"rank":0,"host":"a"},{"rank":-1,"host":"b"},{"rank":1}]})");
  FieldErrors errors;
  FieldReader in(&object, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadList<Reason>(in, "reasons")[0].code, ReasonCode::kInvalid);
  ReadList<placement::Relaxation>(in, "relaxations");
  ReadList<AssignmentEntry>(in, "assignments");
  const char* wrong[] = {
      "status.reasons[0].code: ", "status.reasons[1].level: ", "status.relaxations[0].outcome: ",
      "status.assignments[1].rank: ", "status.assignments[2].host: is missing"};
  ASSERT_EQ(errors.lines().size(), std::size(wrong)) << errors.status();
  for (std::size_t i = 0; i < std::size(wrong); ++i) {
    EXPECT_EQ(errors.lines()[i].rfind(wrong[i], 0), 0u) << errors.lines()[i];
  }
}

}  // namespace
}  // namespace yardmaster::api
