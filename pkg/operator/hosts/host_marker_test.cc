// Marks on Nodes: fences of lost hosts before anything is removed by force, and quarantines of
// hosts on which workers failed.
#include "pkg/operator/hosts/host_marker.h"

#include <stdexcept>

#include "pkg/api/host_record.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class HostMarkerTest : public JobFixture {
 protected:
  json TaintsOf(const std::string& node) {
    return client_.Find(kube::Nodes(), "", node)->value("/spec/taints"_json_pointer, json::array());
  }
  std::string TaintValue(const std::string& node, const std::string& key) {
    for (const json& taint : TaintsOf(node)) {
      if (taint["key"] == key) return taint.value("value", "");
    }
    return "(none)";
  }
  void AddTaint(const std::string& name, const std::string& key, const std::string& value) {
    json node = *client_.Find(kube::Nodes(), "", name);
    node["spec"]["taints"].push_back({{"key", key}, {"value", value}, {"effect", "NoExecute"}});
    client_.Seed(kube::Nodes(), node);
  }
  HostMarker::Report Round() {
    Sync();
    return marker_->RunOnce(clock_.WallMs());
  }
  void Use(FencePolicy policy) {
    marker_options_.fence = policy;
    NewLeader();
  }
  void LoseHost(const std::string& node) {
    SetNode(node, false);
    RunUntilStable();
    clock_.Advance(30'000);
  }
};

TEST_F(HostMarkerTest, ALostHostIsFencedBeforeItsPodIsRemovedByForce) {
  Use(FencePolicy::kOutOfService);
  SeedJob(2, 2, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunAll();
  LoseHost("n1");
  bool fenced = false, deleted_after_fence = false;
  client_.SetHook([&](const kube::Call& call) {
    const std::string where = kube::WhereOf(call.target);
    if (call.verb == kube::Verb::kPatch && where == "nodes") fenced = true;
    if (call.verb == kube::Verb::kDelete && where == "pods") {
      deleted_after_fence = fenced;
    }
    return absl::OkStatus();
  });
  RunUntilStable();
  client_.SetHook({});
  EXPECT_TRUE(fenced);
  EXPECT_EQ(TaintValue("n1", api::kOutOfServiceKey), api::kOutOfServiceValue);
  EXPECT_EQ(TaintValue("n0", api::kOutOfServiceKey), "(none)");
  EXPECT_EQ(Pod(1)["spec"].contains("nodeName"), false) << "recreated behind the gate";
  EXPECT_TRUE(deleted_after_fence);
}

TEST_F(HostMarkerTest, AJobWithoutGraceDoesNotFenceAHostThatHasJustBecomeNotReady) {
  Use(FencePolicy::kOutOfService);
  SeedJob(2, 2, {{"recovery", {{"onHostLoss", "Replace"}, {"hostGraceSeconds", 0}}}});
  RunAll();
  SetNode("n1", false);
  // As the API server does for a pod whose kubelet does not answer: it stays, marked.
  MarkDeleting(1);
  const std::string uid = Uid(1);
  RunUntilStable();
  EXPECT_EQ(TaintsOf("n1"), json::array()) << "others have pods there, too";
  clock_.Advance(29'999);
  const std::optional<std::int64_t> again_ms = Reconcile();
  EXPECT_EQ(TaintsOf("n1"), json::array());
  EXPECT_EQ(Uid(1), uid) << "nor is its pod removed by force";
  ASSERT_TRUE(again_ms.has_value());
  EXPECT_LE(*again_ms, 1);
  clock_.Advance(1);
  RunUntilStable();
  EXPECT_EQ(TaintValue("n1", api::kOutOfServiceKey), api::kOutOfServiceValue);
  EXPECT_NE(Uid(1), uid);
}

TEST_F(HostMarkerTest, AHostThatIsReadyAgainIsNotFenced) {
  Use(FencePolicy::kOutOfService);
  SeedJob(2, 2, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunAll();
  Sync();
  ASSERT_TRUE(marker_->Fence("n1").ok());
  EXPECT_EQ(TaintsOf("n1"), json::array());
}

TEST_F(HostMarkerTest, NothingIsRemovedByForceWhileTheFenceCannotBeSet) {
  Use(FencePolicy::kOutOfService);
  SeedJob(2, 2, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunAll();
  const std::string uid = Uid(1);
  LoseHost("n1");
  client_.SetHook([&](const kube::Call& call) {
    const bool node = call.verb == kube::Verb::kPatch && kube::WhereOf(call.target) == "nodes";
    return node ? absl::UnavailableError("no") : absl::OkStatus();
  });
  for (int i = 0; i < 5; ++i) (void)TryReconcile();
  EXPECT_EQ(Uid(1), uid);
  client_.SetHook({});
  RunUntilStable();
  EXPECT_NE(Uid(1), uid);
}

TEST_F(HostMarkerTest, WithAwaitAPodGoesByForceOnlyWhenOthersHaveFencedTheHost) {
  Use(FencePolicy::kAwait);
  SeedJob(2, 2, {{"recovery", {{"onHostLoss", "Replace"}}}});
  // As the API server does for a pod whose kubelet does not answer: it stays, marked.
  RunAll();
  const std::string uid = Uid(1);
  LoseHost("n1");
  client_.SetHook([&](const kube::Call& call) {
    return call.verb == kube::Verb::kDelete ? absl::UnavailableError("held") : absl::OkStatus();
  });
  (void)TryReconcile();
  client_.SetHook({});
  MarkDeleting(1);
  RunUntilStable();
  EXPECT_EQ(Uid(1), uid);
  EXPECT_EQ(TaintsOf("n1"), json::array());
  AddTaint("n1", api::kOutOfServiceKey, "nodeshutdown");
  RunUntilStable();
  EXPECT_NE(Uid(1), uid);
}

TEST_F(HostMarkerTest, OurFenceGoesWhenTheNodeIsReadyAndThatOfOthersStays) {
  Use(FencePolicy::kOutOfService);
  SeedJob(2, 3, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunAll();
  LoseHost("n1");
  RunUntilStable();
  AddTaint("n2", api::kOutOfServiceKey, "nodeshutdown");
  EXPECT_EQ(Round().fenced, 1);
  SetNode("n1", true);
  EXPECT_EQ(Round().fenced, 0);
  EXPECT_EQ(TaintValue("n1", api::kOutOfServiceKey), "(none)");
  EXPECT_EQ(TaintValue("n2", api::kOutOfServiceKey), "nodeshutdown");
}

TEST_F(HostMarkerTest, TheLimitOfASegmentHoldsWhereTheFabricNamesTheLabelsOfSegments) {
  cache_->Deliver(state::Kind::kFabric,
                  json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
                                  "metadata": {"name": "f"},
                                  "spec": {"labels": {"fabricPod": "x/pod", "segment": "x/segment"},
                                           "tiers": []}})"));
  for (int i = 0; i < 40; ++i) {
    json node = NodeObject(StrCat("n", i), true);
    node["metadata"]["labels"] = {{"x/pod", "p"}, {"x/segment", StrCat("s", i / 10)}};
    if (i < 2) {
      const std::string job = StrCat("team-", i, "/a");
      api::HostRecord record;
      for (int attempt = 1; attempt <= 3; ++attempt) {
        record.failures.push_back({job, StrCat("job-", i), attempt, 0, 134, clock_.WallMs()});
      }
      node["metadata"]["annotations"] = {
          {api::kHostRecordAnnotation, api::EncodeHostRecord(record)}};
    }
    client_.Seed(kube::Nodes(), node);
  }
  EXPECT_EQ(Round().quarantined, 1) << "both are in one segment of ten hosts";
}

TEST_F(HostMarkerTest, AHostOnWhichWorkersFailRepeatedlyIsQuarantinedUntilItsTimeIsOver) {
  SeedJob(4, 4);
  RunAll();
  for (int i = 0; i < 3; ++i) {
    FailPod(2, 134);
    RunUntilStable();
    clock_.Advance(400'000);
    RunAll();
  }
  EXPECT_EQ(Round().quarantined, 1);
  EXPECT_EQ(TaintValue("n2", api::kQuarantinedKey), "worker-failures");
  const json node = *client_.Find(kube::Nodes(), "", "n2");
  const auto record = api::DecodeHostRecord(
      node["metadata"]["annotations"][api::kHostRecordAnnotation].get<std::string>());
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->failures.size(), 3u);
  EXPECT_EQ(record->failures[0].job, "team/a");
  EXPECT_EQ(record->failures[0].rank, 2);
  EXPECT_EQ(record->failures[0].exit_code, 134);
  ASSERT_EQ(host_notices_.size(), 1u);
  EXPECT_EQ(host_notices_[0].reason, "HostQuarantined");
  client_.ClearCalls();
  Round();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0) << "nothing new";
  clock_.Advance(1'800'000);
  EXPECT_EQ(Round().quarantined, 0);
  EXPECT_EQ(TaintValue("n2", api::kQuarantinedKey), "(none)");
  EXPECT_EQ(host_notices_.back().reason, "HostReleased");
}

TEST_F(HostMarkerTest, FailuresThatAreTheProgramsDoNotCountAgainstTheHost) {
  SeedJob(2, 2,
          {{"recovery",
            {{"rules", json::array({{{"action", "Ignore"}, {"exitCodes", json::array({75})}}})}}}});
  RunAll();
  for (int i = 0; i < 4; ++i) {
    FailPod(1, 75);
    RunUntilStable();
    clock_.Advance(400'000);
    RunAll();
  }
  EXPECT_EQ(Round().quarantined, 0);
  EXPECT_FALSE((*client_.Find(kube::Nodes(), "", "n1"))["metadata"].contains("annotations"));
}

TEST_F(HostMarkerTest, TaintsOfOthersStayAsTheyAre) {
  SeedJob(1, 1);
  AddTaint("n0", "a", "1");
  AddTaint("n0", api::kQuarantinedKey, "old");
  AddTaint("n0", "b", "2");
  Round();
  EXPECT_EQ(TaintsOf("n0").size(), 2u);
  EXPECT_EQ(TaintValue("n0", "a"), "1");
  EXPECT_EQ(TaintValue("n0", "b"), "2");
}

TEST_F(HostMarkerTest, AHostThatCannotBeHandledKeepsNoOtherFromItsMark) {
  for (const char* name : {"n0", "n1", "n2", "n3"}) {
    SetNode(name, true);
    if (std::string(name) < "n2") AddTaint(name, api::kQuarantinedKey, kNodeFault);
  }
  marker_ =
      std::make_unique<HostMarker>(client_, *cache_, marker_options_, [](const HostNotice& notice) {
        if (notice.host == "n0") throw std::runtime_error("x");
      });
  const HostMarker::Report report = Round();
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].object, "n0");
  EXPECT_EQ(TaintValue("n1", api::kQuarantinedKey), "(none)") << "it has no fault any more";
}

}  // namespace
}  // namespace yardmaster::op
