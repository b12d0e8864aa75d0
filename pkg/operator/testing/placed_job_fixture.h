// A TrainingJob that is placed before its pods are made, with the extender's writes to its Gang.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "pkg/api/gang.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {

class PlacedJobFixture : public JobFixture {
 protected:
  static std::string GangName() { return api::GangName(api::kTrainingJobKind, "a"); }
  std::optional<api::Gang> Gang() {
    const auto object = client_.Find(kube::Gangs(), "team", GangName());
    if (!object) return std::nullopt;
    auto gang = api::DecodeGang(*object);
    EXPECT_TRUE(gang.ok()) << gang.status();
    return gang.ok() ? std::optional(*std::move(gang)) : std::nullopt;
  }
  void Write(const api::Gang& gang) { client_.Seed(kube::Gangs(), api::EncodeGang(gang)); }
  // As the extender commits it: rank r on host n<r>.
  void Place() {
    api::Gang gang = Gang().value();
    ++gang.status.plan_generation;
    gang.status.committed_ms = clock_.WallMs();
    for (int rank = 0; rank < Workers(); ++rank) {
      gang.status.assignments.push_back({rank, StrCat("n", rank), "p0", "s0", {0}});
    }
    SetGangCondition(gang, api::kPlannedCondition, true);
    Write(gang);
  }
  void MarkReleased() {
    api::Gang gang = Gang().value();
    SetGangCondition(gang, api::kReleasedCondition, true);
    Write(gang);
  }
  void SetGangCondition(api::Gang& gang, const char* type, bool holds) {
    api::SetCondition(gang.status.conditions,
                      {type, holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                       "Because", "it is so", 1, 0},
                      clock_.WallMs());
  }
};

}  // namespace yardmaster::op
