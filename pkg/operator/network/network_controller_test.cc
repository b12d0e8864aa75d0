#include "pkg/operator/network/network_controller.h"

#include <cmath>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/connection_report.h"
#include "pkg/api/network_generation.h"
#include "pkg/operator/testing/network_fixture.h"

namespace yardmaster::op {
namespace {

using kube::Verb;
using nlohmann::json;

TEST_F(NetworkControllerTest, PlacedGangsGetLevelsPortsAndNumbers) {
  AddGang("a", 0, 1);
  const RoundReport report = Round();
  EXPECT_TRUE(report.ok()) << report.failures.front().error;
  EXPECT_EQ(report.gangs, 1);
  EXPECT_EQ(report.pods, 4);
  EXPECT_EQ(NetworkOf("a")["source"], "Analytic");
  for (int rank = 0; rank < 4; ++rank) {
    const api::PodPathPlan paths = PathsOf(StrCat("a-", rank));
    ASSERT_EQ(paths.rails.size(), 8u);
    EXPECT_EQ(paths.fabric_generation, 1);
    // The next one in the ring and the one before, whom it answers, by each plane.
    EXPECT_EQ(paths.rails[0].peers.size(), 4u);
    EXPECT_EQ(paths.rails[0].peers[0].alternate_ports.size(), 1u);
  }
  EXPECT_EQ(ConditionOf("PathsPlanned").status, api::ConditionStatus::kTrue);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "AllUp");
  EXPECT_EQ(ConditionOf("PathsTrusted").status, api::ConditionStatus::kUnknown);
}

TEST_F(NetworkControllerTest, APodBehindTheGateIsToldForWhichPlanOfItsGangItsPathsAre) {
  AddGang("a", 0, 1);
  Unbind("a-1", /*gated=*/true);
  Round();
  EXPECT_EQ(Annotation("a-1", api::kNetworkGenerationAnnotation), "1");
  EXPECT_EQ(PathsOf("a-1").rails.size(), 8u);
  EXPECT_NE(Annotation("a-1", api::kPriorityAnnotation), "");
  EXPECT_NE(Annotation("a-1", api::kNcclConfAnnotation), "");
  EXPECT_EQ(Annotation("a-0", api::kNetworkGenerationAnnotation), "");
  // The same places under another plan of the gang: nothing else changes.
  json gang = client_.Find(kube::Gangs(), "team", "a").value();
  gang["status"]["planGeneration"] = 2;
  client_.Seed(kube::Gangs(), gang);
  Round();
  EXPECT_EQ(Annotation("a-1", api::kNetworkGenerationAnnotation), "2");
  client_.ClearCalls();
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>());
}

TEST_F(NetworkControllerTest, RanksWithoutPodsHaveThePlanWithWhichTheirPodsAreMade) {
  PlannedRanks planned;
  NetworkController::Options options;
  options.planned_ranks = &planned;
  Start(options);
  AddGang("a", 0, 1);
  for (int rank = 1; rank < 4; ++rank) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", StrCat("a-", rank), ""}, {}).ok());
  }
  EXPECT_TRUE(Round().ok());
  const api::Gang gang = *cache_->FindGang("team/a");
  EXPECT_FALSE(planned.Has(gang, 0)) << "its pod is patched";
  std::map<int, Annotations> before;
  for (int rank = 1; rank < 4; ++rank) {
    ASSERT_TRUE(planned.Has(gang, rank)) << rank;
    before[rank] = *planned.Find(gang, rank);
    EXPECT_EQ(before[rank][api::kNetworkGenerationAnnotation], "1");
    AddPod("a", rank, gang.status.assignments[static_cast<std::size_t>(rank)].host);
    for (const auto& [key, value] : before[rank]) {
      Annotate(kube::Pods(), "team", StrCat("a-", rank), key.c_str(), value);
    }
  }
  // Pods that were made with it need no patch.
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>());
  EXPECT_FALSE(planned.Has(gang, 1)) << "of a gang that lacks no pod nothing is kept";
}

TEST_F(NetworkControllerTest, AnArrivalInOtherSegmentsAndItsDepartureWriteNothingToTheOthers) {
  for (const char* gang : {"a", "b", "c"}) AddGang(gang, 0, 1);
  RunUntilStable();
  EXPECT_EQ(Writes(), 0);
  AddGang("d", 2, 3);
  Round();
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"d-0", "d-1", "d-2", "d-3"}));
  EXPECT_EQ(client_.CountCalls(Verb::kReplace, "gangs/status"), 1);
  RunUntilStable();
  RemoveGang("d");
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>{});
  EXPECT_EQ(client_.CountCalls(Verb::kReplace, "gangs/status"), 0);
}

TEST_F(NetworkControllerTest, AControllerThatKnowsNothingKeepsWhatItFinds) {
  for (const char* gang : {"a", "b", "c"}) AddGang(gang, 0, 1);
  RunUntilStable();
  AddGang("d", 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  Start({});
  Round();
  EXPECT_EQ(Writes(), 0);
  controller_->Forget();
  Round();
  EXPECT_EQ(Writes(), 0);
  EXPECT_EQ(AllPorts(), before);
}

TEST_F(NetworkControllerTest, AnotherHostInTheFabricMovesNobody) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  AnnotateAddresses();
  RunUntilStable();
  // The last host of the first segment leaves: the ids of all behind it move.
  const std::string leaves = HostOf(0, 7);
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", leaves, ""}, {}).ok());
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>{});
}

TEST_F(NetworkControllerTest, AnotherHostInTheFabricChangesNoPlanOfPodsThatAreNotBoundYet) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  AnnotateAddresses();
  RunUntilStable();
  for (const std::string pod : {"a-0", "a-1", "b-0"}) Unbind(pod, /*gated=*/true);
  Round();
  Unbind("b-0", /*gated=*/false);  // released, and on its way to its host
  RunUntilStable();
  const auto before = AllPorts();
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", HostOf(0, 7), ""}, {}).ok());
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>{});
  EXPECT_EQ(AllPorts(), before);
}

TEST_F(NetworkControllerTest, EveryWriteThatFailsIsMadeByALaterRound) {
  const absl::Status faults[] = {
      absl::UnavailableError("gone"), absl::DeadlineExceededError("slow"),
      absl::ResourceExhaustedError("busy"), absl::PermissionDeniedError("no")};
  AddGang("a", 0, 1);
  for (const absl::Status& fault : faults) {
    for (const kube::FaultWhen when :
         {kube::FaultWhen::kBeforeEffect, kube::FaultWhen::kAfterEffect}) {
      for (int rank = 0; rank < 4; ++rank) {
        Annotate(kube::Pods(), "team", StrCat("a-", rank), api::kPriorityAnnotation, nullptr);
      }
      client_.FailNext(Verb::kPatch, "pods", fault, 2, when);
      EXPECT_EQ(Round().failures.size(), 2u) << fault;
      if (absl::IsPermissionDenied(fault)) {
        const std::int64_t again_in_ms = Round().again_ms.value_or(0);
        const bool left_out = when == kube::FaultWhen::kBeforeEffect;
        EXPECT_EQ(again_in_ms > 0 && again_in_ms <= 1'000, left_out) << again_in_ms;
        clock_.Advance(1'000);
      }
      RunUntilStable();
      for (int rank = 0; rank < 4; ++rank) {
        EXPECT_NE(Annotation(StrCat("a-", rank), api::kPriorityAnnotation), "");
      }
    }
  }
  AddGang("b", 2, 3);
  client_.FailNext(Verb::kReplace, "gangs/status", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(Round().failures.size(), 1u);
  RunUntilStable();
  EXPECT_TRUE(NetworkOf("b").is_object());
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({FirstUplink("a")}));
  client_.FailNext(Verb::kPatch, "fabrics/status", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(Round().failures.size(), 1u);
  RunUntilStable();
  EXPECT_EQ(ConditionOf("LinksUp").reason, "LinksDown");
}

TEST_F(NetworkControllerTest, AStatusThatTheExtenderChangedMeanwhileKeepsBothParts) {
  AddGang("a", 0, 1);
  bool interfered = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb != Verb::kReplace || interfered) return absl::OkStatus();
    interfered = true;
    json gang = client_.Find(kube::Gangs(), "team", "a").value();
    gang["status"]["planGeneration"] = 2;
    client_.Seed(kube::Gangs(), gang);
    return absl::OkStatus();
  });
  EXPECT_TRUE(Round().ok());
  EXPECT_TRUE(interfered);
  const json gang = client_.Find(kube::Gangs(), "team", "a").value();
  EXPECT_EQ(gang["status"]["planGeneration"], 2);
  EXPECT_TRUE(gang["status"].contains("network"));
}

TEST_F(NetworkControllerTest, AStatusOfTheFabricThatAnotherLeaderChangedMeanwhileIsNotWrittenOver) {
  AddGang("a", 0, 1);
  RunUntilStable();
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({FirstUplink("a")}));
  bool interfered = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb != Verb::kPatch || kube::WhereOf(call.target) != "fabrics/status" || interfered) {
      return absl::OkStatus();
    }
    interfered = true;
    json fabric = client_.Find(kube::Fabrics(), "", "f").value();
    fabric["status"]["lostSegments"] = json::array({{{"fabricPod", "p0"}, {"segment", "p0s1"}}});
    client_.Seed(kube::Fabrics(), fabric);
    return absl::OkStatus();
  });
  EXPECT_EQ(Round().failures.size(), 1U) << "the round is made again";
  EXPECT_TRUE(interfered);
  EXPECT_EQ(client_.Find(kube::Fabrics(), "", "f").value()["status"]["lostSegments"].size(), 1U);
  EXPECT_TRUE(Round().ok());
  EXPECT_EQ(ConditionOf("LinksUp").reason, "LinksDown");
}

TEST_F(NetworkControllerTest, AGangOrPodThatGoesWhileItIsWrittenIsNoError) {
  AddGang("a", 0, 1);
  client_.FailNext(Verb::kReplace, "gangs/status", absl::NotFoundError("gone"), 1);
  client_.FailNext(Verb::kPatch, "pods", absl::NotFoundError("gone"), 1);
  client_.FailNext(Verb::kPatch, "pods", absl::AbortedError("another uid"), 1);
  EXPECT_TRUE(Round().ok());
}

TEST_F(NetworkControllerTest, ConnectionsWithoutTheirPortBecomeAConditionOfTheGang) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto steered = [this] {
    const auto gang = api::DecodeGang(client_.Find(kube::Gangs(), "team", "a").value()).value();
    const api::Condition* found =
        api::FindCondition(gang.status.conditions, api::kConnectionsSteeredCondition);
    return found == nullptr ? std::string() : found->reason;
  };
  EXPECT_EQ(steered(), "");
  Annotate(kube::Pods(), "team", "a-0", api::kConnectionsAnnotation,
           api::EncodeConnectionReport({16, 2, 0, "refused by the device"}));
  EXPECT_EQ(Round().statuses, 1);
  EXPECT_EQ(steered(), "Unsteered");
  EXPECT_EQ(Round().statuses, 0);
  Annotate(kube::Pods(), "team", "a-0", api::kConnectionsAnnotation,
           api::EncodeConnectionReport({18, 0, 0, ""}));
  EXPECT_EQ(Round().statuses, 1);
  EXPECT_EQ(steered(), "Steered");
}

TEST_F(NetworkControllerTest, AnEditedAnnotationIsCorrected) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  Annotate(kube::Pods(), "team", "a-1", api::kPathPlanAnnotation, "not JSON");
  Annotate(kube::Pods(), "team", "a-2", api::kPriorityAnnotation, "99");
  Round();
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"a-1", "a-2"}));
  EXPECT_EQ(AllPorts(), before);
}

TEST_F(NetworkControllerTest, AnEditThatChangesNoPathMakesNoPlanStale) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const api::PodPathPlan before = PathsOf("a-0");
  const json patch = {
      {"spec", {{"host", {{"nvlinkGbps", 7200}}}, {"backup", {{"hostsPerSegment", 1}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  EXPECT_EQ(Round().pods, 0);
  const json fabric = *client_.Find(kube::Fabrics(), "", "f");
  EXPECT_EQ(PathsOf("a-0").fabric_generation, before.fabric_generation);
  EXPECT_EQ(fabric["status"]["networkGeneration"], before.fabric_generation);
  EXPECT_EQ(fabric["status"]["observedGeneration"], fabric["metadata"]["generation"]);
}

TEST_F(NetworkControllerTest, ANewLeaderKeepsTheGenerationThatPathsWerePlannedFor) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const json patch = {{"spec", {{"host", {{"nvlinkGbps", 7200}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  RunUntilStable();
  const std::int64_t planned_for = PathsOf("a-0").fabric_generation;
  Start({});
  EXPECT_EQ(Round().pods, 0);
  EXPECT_EQ(PathsOf("a-0").fabric_generation, planned_for);
}

TEST_F(NetworkControllerTest, PlansAreRenewedAtHalfTheirLifeAndWhenPathsAreOthers) {
  AddGang("a", 0, 1);
  RunUntilStable();
  clock_.Advance(11LL * 3600 * 1000);
  EXPECT_EQ(Round().pods, 0);
  clock_.Advance(2LL * 3600 * 1000);
  const RoundReport renewed = Round();
  EXPECT_EQ(renewed.pods, 4);
  EXPECT_NEAR(renewed.oldest_plan_seconds, 13 * 3600, 60);
  const json patch = {{"spec", {{"ecmpHash", {{"agg", {{"seed", 9}}}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  const std::int64_t generation =
      client_.Find(kube::Fabrics(), "", "f").value()["metadata"]["generation"];
  const api::PodPathPlan before = PathsOf("a-0");
  RunUntilStable();
  EXPECT_NE(before.fabric_generation, generation);
  EXPECT_EQ(PathsOf("a-0").fabric_generation, generation);
}

TEST_F(NetworkControllerTest, TheRateOfWritesIsBoundedAndTheRestFollowsWithoutAnotherPlan) {
  NetworkController::Options options;
  options.writes.writes_per_second = 2;
  options.writes.burst = 3;
  Start(options);
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  RoundReport report = Round();
  EXPECT_EQ(report.pods, 3);
  EXPECT_EQ(report.deferred, 5);
  EXPECT_FALSE(report.again_ms.has_value());
  for (int written = report.pods; written < 8; ++written) {
    EXPECT_EQ(controller_->WriteDeferred().done, 0);
    clock_.Advance(500);
    EXPECT_EQ(controller_->WriteDeferred().done, 1);
  }
  EXPECT_FALSE(controller_->HasDeferred());
  EXPECT_EQ(Round().pods, 0);
}

TEST_F(NetworkControllerTest, WithoutAFabricNothingIsPlanned) {
  ASSERT_TRUE(client_.Delete({kube::Fabrics(), "", "f", ""}, {}).ok());
  AddGang("a", 0, 1);
  const RoundReport report = Round();
  EXPECT_EQ(report.gangs, 0);
  EXPECT_EQ(Writes(), 0);
}

}  // namespace
}  // namespace yardmaster::op
