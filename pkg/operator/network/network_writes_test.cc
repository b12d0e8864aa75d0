#include "pkg/operator/network/network_writes.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::op {
namespace {

class PodWriterTest : public ::testing::Test {
 protected:
  PodWrite Make(const std::string& name, int rise, bool renewal = false) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}}});
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_name = "team";
    pod->metadata.uid = name;
    return {pod, {{"x", "y"}}, rise, renewal, 0};
  }
  PodWriter Writer(double burst = 100) { return {client_, cache_, {10, burst, 1}}; }
  std::string Written() const {
    std::vector<std::string> names;
    for (const kube::Call& call : client_.calls()) names.push_back(call.target.name);
    return Join(names, " ");
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  state::ClusterCache cache_;
};

TEST_F(PodWriterTest, FallsComeFirstThenPortsThenRisesThenRenewals) {
  PodWriter writer = Writer();
  const WriteResult result =
      writer.Write({Make("renewed", 0, true), Make("rises", 2), Make("ports", 0), Make("falls", -1),
                    Make("plunges", -3)},
                   0);
  EXPECT_EQ(result.done, 5);
  EXPECT_EQ(Written(), "plunges falls ports rises renewed");
}

TEST_F(PodWriterTest, NothingRisesWhileAFallIsNotWritten) {
  PodWriter writer = Writer();
  const PodWrite falls = Make("falls", -1);
  const PodWrite rises = Make("rises", 1);
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  WriteResult result = writer.Write({rises, falls}, 0);
  EXPECT_EQ(result.done, 0);
  EXPECT_EQ(result.deferred, 1);
  EXPECT_EQ(result.failures.size(), 1u);
  result = writer.Write({rises, falls}, 0);
  EXPECT_EQ(result.done, 2);
  EXPECT_EQ(Written(), "falls falls rises");
}

TEST_F(PodWriterTest, WithoutTokensForAllFallsNothingRisesEither) {
  PodWriter writer = Writer(2);
  const WriteResult result =
      writer.Write({Make("a", -1), Make("b", -1), Make("c", -1), Make("rises", 1)}, 0);
  EXPECT_EQ(result.done, 2);
  EXPECT_EQ(result.deferred, 2);
  EXPECT_EQ(Written(), "a b");
}

TEST_F(PodWriterTest, WhatTheRateDefersGoesOutInOrderWithoutTheWritesBeingGivenAgain) {
  PodWriter writer = Writer(2);
  WriteResult result =
      writer.Write({Make("rises", 1), Make("ports", 0), Make("falls", -1), Make("plunges", -2)}, 0);
  EXPECT_EQ(result.done, 2);
  EXPECT_EQ(result.deferred, 2);
  EXPECT_TRUE(writer.HasLeft());
  EXPECT_EQ(writer.WriteLeft(50).done, 0);
  EXPECT_EQ(writer.WriteLeft(100).done, 1);
  EXPECT_EQ(writer.WriteLeft(200).done, 1);
  EXPECT_FALSE(writer.HasLeft());
  EXPECT_EQ(Written(), "plunges falls ports rises");
}

TEST_F(PodWriterTest, PodsBehindTheGateComeFirstInPartsAndTakeNoTokens) {
  PodWriter writer(client_, cache_,
                   {.writes_per_second = 10, .burst = 1, .threads = 1, .gated_at_once = 2});
  std::vector<PodWrite> writes = {Make("falls", -3), Make("ports", 0)};
  for (const char* name : {"a", "b", "c"}) {
    writes.push_back(Make(name, 2));
    writes.back().waiting = 3;
  }
  EXPECT_EQ(writer.Write(std::move(writes), 0).deferred, 2);
  EXPECT_EQ(Written(), "a b falls");
  EXPECT_EQ(writer.WriteLeft(0).deferred, 1);
  EXPECT_EQ(Written(), "a b falls c");
}

TEST_F(PodWriterTest, AReplacedRankDoesNotWaitForALargeNewGang) {
  PodWriter writer(client_, cache_,
                   {.writes_per_second = 10, .burst = 1, .threads = 1, .gated_at_once = 2});
  std::vector<PodWrite> writes;
  for (const char* name : {"big-0", "big-1", "big-2"}) {
    writes.push_back(Make(name, 0));
    writes.back().waiting = 3;
  }
  writes.push_back(Make("small-1", 0));
  writes.back().waiting = 1;
  writer.Write(std::move(writes), 0);
  EXPECT_EQ(Written(), "small-1 big-0");
  EXPECT_TRUE(writer.HasWaiting());
  writer.WriteLeft(0);
  EXPECT_FALSE(writer.HasWaiting());
  EXPECT_EQ(Written(), "small-1 big-0 big-1 big-2");
}

TEST_F(PodWriterTest, AnErrorDropsWhatIsLeft) {
  PodWriter writer = Writer(1);
  const PodWrite falls = Make("falls", -1);
  const PodWrite rises = Make("rises", 1);
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  writer.Write({rises, falls}, 0);
  EXPECT_FALSE(writer.HasLeft());
  EXPECT_EQ(writer.WriteLeft(60'000).done, 0);
}

TEST_F(PodWriterTest, AWriteThatFailsDoesNotHoldUpPodsBehindTheGate) {
  PodWriter writer(client_, cache_,
                   {.writes_per_second = 10, .burst = 1, .threads = 1, .gated_at_once = 2});
  std::vector<PodWrite> writes = {Make("falls", -3), Make("ports", 0)};
  for (const char* name : {"a", "b", "c"}) {
    writes.push_back(Make(name, 2));
    writes.back().waiting = 3;
  }
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(writer.Write(std::move(writes), 0).failures.size(), 1u);
  EXPECT_EQ(writer.WriteLeft(60'000).done, 1);
  EXPECT_FALSE(writer.HasLeft());
  EXPECT_EQ(Written(), "a b falls c") << "what a rise may wait for is planned again";
}

TEST_F(PodWriterTest, AFallThatIsDeniedKeepsNoOtherJobFromRising) {
  PodWriter writer = Writer();
  client_.FailNext(kube::Verb::kPatch, "pods",
                   absl::InvalidArgumentError("metadata.annotations: Too long"), 1);
  const WriteResult result = writer.Write({Make("rises", 1), Make("falls", -1)}, 0);
  EXPECT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(Written(), "falls rises");
}

TEST_F(PodWriterTest, AWriteThatIsDeniedDropsNoDeferredWriteOfOthers) {
  PodWriter writer = Writer(1);
  client_.FailNext(kube::Verb::kPatch, "pods", absl::PermissionDeniedError("denied"), 1);
  const WriteResult result =
      writer.Write({Make("falls", -1), Make("ports", 0), Make("rises", 1)}, 0);
  EXPECT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.deferred, 2);
  EXPECT_EQ(writer.WriteLeft(100).done, 1);
  EXPECT_EQ(writer.WriteLeft(200).done, 1);
  EXPECT_EQ(Written(), "falls ports rises");
}

TEST_F(PodWriterTest, DeniedWritesTakeNoTokensFromOthersForever) {
  PodWriter writer = Writer(1);
  bool deny = true;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    return deny && call.target.name == "a" ? absl::PermissionDeniedError("denied")
                                           : absl::OkStatus();
  });
  const auto round = [&](std::int64_t now_ms) {
    return writer.Write({Make("a", 0), Make("b", 0)}, now_ms).again_ms.value_or(-1);
  };
  EXPECT_EQ(round(0), -1);
  EXPECT_EQ(Written(), "a");
  EXPECT_EQ(round(100), 900);
  EXPECT_EQ(Written(), "a b") << "the next token is the next pod's";
  round(1'000);
  EXPECT_EQ(Written(), "a b a");
  round(2'900);
  EXPECT_EQ(Written(), "a b a b") << "the wait doubles";
  deny = false;
  round(3'000);
  EXPECT_EQ(Written(), "a b a b a");
}

class PodReleaseWriteTest : public PodWriterTest {
 protected:
  PodReleaseWriteTest() { SetPlan(1); }

  void SetPlan(int generation) {
    const nlohmann::json slots = nlohmann::json::array({{{"rank", 0}, {"host", "n7"}}});
    client_.Seed(kube::Gangs(),
                 {{"metadata", {{"name", "g"}, {"namespace", "team"}, {"uid", "gang"}}},
                  {"spec", {{"workers", 1}, {"gpusPerWorker", 8}}},
                  {"status", {{"planGeneration", generation}, {"assignments", slots}}}});
    cache_.Deliver(state::Kind::kGang, client_.Find(kube::Gangs(), "team", "g").value());
  }
  PodWrite MakeRelease(const std::string& name) {
    const nlohmann::json gates = nlohmann::json::array({{{"name", api::kPlacementGate}}});
    const nlohmann::json object = {
        {"metadata",
         {{"name", name}, {"namespace", "team"}, {"uid", name}, {"annotations", {{"a", "b"}}}}},
        {"spec", {{"schedulingGates", gates}}}};
    client_.Seed(kube::Pods(), object);
    PodWrite write;
    write.pod =
        std::make_shared<const api::Pod>(api::DecodePod(object, api::Decoding::kLenient).value());
    write.annotations = {{"x", "y"}};
    write.waiting = 1;
    write.release = PlannedRelease{{name, "n7", "{}", false}, {"team", "g"}, "gang", 1};
    return write;
  }
  nlohmann::json PodNow(const std::string& name) const {
    return client_.Find(kube::Pods(), "team", name).value();
  }
  bool IsReleased(const std::string& name) const {
    return PodNow(name)["spec"]["schedulingGates"].empty();
  }
};

TEST_F(PodReleaseWriteTest, APodIsAnnotatedAndReleasedInOnePatch) {
  PodWriter writer = Writer();
  const WriteResult result = writer.Write({MakeRelease("a")}, 0);
  EXPECT_EQ(result.done, 1);
  EXPECT_EQ(result.released, 1);
  EXPECT_EQ(Written(), "a");
  EXPECT_TRUE(IsReleased("a"));
  EXPECT_EQ(PodNow("a")["metadata"]["annotations"]["x"], "y");
  EXPECT_EQ(PodNow("a")["metadata"]["annotations"][api::kSlotAnnotation], "{}");
}

TEST_F(PodReleaseWriteTest, WhereTheReleaseIsNotTakenTheAnnotationsAreWrittenAlone) {
  for (const absl::Status& refusal :
       {absl::PermissionDeniedError("a policy"), absl::InvalidArgumentError("affinity"),
        absl::FailedPreconditionError("a test of the patch failed")}) {
    PodWriter writer = Writer();
    const PodWrite write = MakeRelease("a");
    client_.FailNext(kube::Verb::kPatch, "pods", refusal);
    const WriteResult result = writer.Write({write}, 0);
    EXPECT_EQ(result.done, 1);
    EXPECT_EQ(result.released, 0);
    EXPECT_TRUE(result.failures.empty());
    EXPECT_FALSE(IsReleased("a"));
    EXPECT_EQ(PodNow("a")["metadata"]["annotations"]["x"], "y");
  }
}

TEST_F(PodReleaseWriteTest, AnAnswerThatIsLostIsAFailureAndNothingElseIsWritten) {
  PodWriter writer = Writer();
  const PodWrite write = MakeRelease("a");
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("lost"), 1,
                   kube::FaultWhen::kAfterEffect);
  EXPECT_EQ(writer.Write({write}, 0).failures.size(), 1u);
  EXPECT_EQ(Written(), "a");
  EXPECT_TRUE(IsReleased("a"));
}

TEST_F(PodReleaseWriteTest, AfterAnotherPlanOfItsGangNothingIsWritten) {
  PodWriter writer = Writer();
  const PodWrite write = MakeRelease("a");
  SetPlan(2);
  EXPECT_EQ(writer.Write({write}, 0).done, 0);
  EXPECT_EQ(Written(), "");
}

TEST_F(PodReleaseWriteTest, AProcessThatLeadsNoMoreReleasesNothing) {
  PodWriterOptions options{10, 100, 1};
  options.leads = [] { return false; };
  PodWriter writer(client_, cache_, options);
  EXPECT_EQ(writer.Write({MakeRelease("a")}, 0).done, 0);
  EXPECT_EQ(Written(), "");
}

TEST_F(PodReleaseWriteTest, APodOfAnotherLifeIsLeftAlone) {
  PodWriter writer = Writer();
  const PodWrite write = MakeRelease("a");
  nlohmann::json again = PodNow("a");
  again["metadata"]["uid"] = "later";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a", ""}, {}).ok());
  client_.Seed(kube::Pods(), again);
  const WriteResult result = writer.Write({write}, 0);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_FALSE(IsReleased("a"));
  EXPECT_FALSE(PodNow("a")["metadata"]["annotations"].contains("x"));
}

}  // namespace
}  // namespace yardmaster::op
