// What a leader that was paused asks for late, after the next one has given the rental back: it
// belongs to a living job and to no decision. It is given back, and nothing else is.
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/testing/job_fixture.h"
#include "pkg/operator/testing/pool_manifest.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class RentalSweeperTest : public JobFixture {
 protected:
  // One process, with what it has seen.
  struct Leader {
    Leader(RentalSweeperTest& test, std::function<bool()> may_write = nullptr)
        : test_(test),
          controller_(
              test.client_, cache_, hosts_, test.clock_,
              [&test](const JobNotice& notice) { test.notices_.push_back(notice); },
              std::move(may_write)) {}
    void See() {
      for (const auto& [kind, resource] : {std::pair{state::Kind::kNode, kube::Nodes()},
                                           {state::Kind::kPod, kube::Pods()},
                                           {state::Kind::kGang, kube::Gangs()},
                                           {state::Kind::kTrainingJob, kube::TrainingJobs()},
                                           {state::Kind::kCapacityPool, kube::CapacityPools()}}) {
        kube::Relist(test_.client_, resource, cache_.sink(kind));
      }
    }
    absl::Status Reconcile() {
      See();
      return controller_.Reconcile("team/a").status();
    }
    // The sweeps of some minutes. `sees`: its watches work.
    void SweepForAWhile(bool sees = true) {
      for (int i = 0; i < 4; ++i) {
        if (sees) See();
        ASSERT_TRUE(controller_.Sweep().ok());
        test_.clock_.Advance(60'000);
      }
    }

    RentalSweeperTest& test_;
    state::ClusterCache cache_;
    HostHealth hosts_;
    CapacityController controller_;
  };

  void SetPrice(const std::string& price, bool claims = true) {
    client_.Seed(kube::CapacityPools(),
                 PoolManifest({.name = "spot",
                               .price = price + " USD",
                               .scaling = claims ? ScaledByClaims() : ScaledByRequests()}));
  }
  // Two workers that wait for hosts.
  void SeedWaitingJob() {
    SeedJob(2, 0, {{"capacity", {{"maxCostPerHour", "50 USD"}}}});
    RunUntilStable();
    api::Gang gang;
    gang.metadata.name = api::GangName(api::kTrainingJobKind, "a");
    gang.metadata.namespace_name = "team";
    gang.metadata.uid = "gang";
    gang.owner.uid = "job";
    gang.job.workers = 2;
    gang.status.outcome = placement::Outcome::kNotNow;
    gang.status.reasons.emplace_back();  // without one it waits for pods, and hosts do not help
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }
  std::string Rental() { return Status()["capacity"]["phase"]; }
  // The price rises above the cap: `leader` gives everything back.
  void GiveBack(Leader& leader, bool claims) {
    for (const json& pod : client_.All(kube::Pods())) {
      ASSERT_TRUE(client_.Delete({kube::Pods(), "team", kube::NameOf(pod), ""}, {}).ok());
    }
    SetPrice("100", claims);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(leader.Reconcile().ok());
    ASSERT_EQ(Rental(), "None") << Status()["capacity"].dump(1);
    ASSERT_TRUE(client_.All(kube::NodeClaims()).empty());
    ASSERT_TRUE(client_.All(kube::ProvisioningRequests()).empty());
  }
  // A leader chooses hosts, is paused before it asks for the last of them, and asks while the next
  // one has given the rental back.
  void AskLate(Leader& next, bool claims) {
    SetPrice("10", claims);
    SeedWaitingJob();
    Leader former(*this);
    const std::string last = claims ? "nodeclaims" : "provisioningrequests";
    int asked = 0;
    client_.SetHook([&](const kube::Call& call) {
      if (call.verb != kube::Verb::kCreate || kube::WhereOf(call.target) != last) {
        return absl::OkStatus();
      }
      if (++asked < (claims ? 2 : 1)) return absl::OkStatus();
      client_.SetHook({});
      GiveBack(next, claims);
      return absl::OkStatus();
    });
    ASSERT_TRUE(former.Reconcile().ok());
    ASSERT_EQ(Rental(), "None");
  }
  json OnlyClaim() {
    const auto claims = client_.All(kube::NodeClaims());
    EXPECT_EQ(claims.size(), 1U);
    return claims.empty() ? json() : claims[0];
  }
};

TEST_F(RentalSweeperTest, AClaimThatNoDecisionNamesIsGivenBackThoughItsJobLives) {
  Leader next(*this);
  AskLate(next, true);
  ASSERT_EQ(client_.All(kube::NodeClaims()).size(), 1U);
  next.SweepForAWhile();
  EXPECT_TRUE(client_.All(kube::NodeClaims()).empty());
  EXPECT_EQ(CountNotices("LateCapacityRemoved"), 1);
}

TEST_F(RentalSweeperTest, ARequestThatNoDecisionNamesIsGivenBackThoughItsJobLives) {
  Leader next(*this);
  AskLate(next, false);
  ASSERT_EQ(client_.All(kube::ProvisioningRequests()).size(), 1U);
  next.SweepForAWhile();
  EXPECT_TRUE(client_.All(kube::ProvisioningRequests()).empty());
}

TEST_F(RentalSweeperTest, ARightThatIsMissingForOneKindKeepsTheOtherFromNothing) {
  Leader next(*this);
  AskLate(next, true);
  for (int i = 0; i < 2; ++i) {
    next.See();
    client_.FailNext(kube::Verb::kList, "provisioningrequests", absl::PermissionDeniedError("no"));
    EXPECT_TRUE(absl::IsPermissionDenied(next.controller_.Sweep()));
    clock_.Advance(60'000);
  }
  EXPECT_TRUE(client_.All(kube::NodeClaims()).empty());
}

TEST_F(RentalSweeperTest, WhatOneObjectFailsForKeepsNoOtherFromBeingGivenBack) {
  for (const std::string name : {"a", "b", "c", "d"}) {
    client_.Seed(kube::NodeClaims(),
                 {{"apiVersion", "karpenter.sh/v1"},
                  {"kind", "NodeClaim"},
                  {"metadata",
                   {{"name", name},
                    {"uid", name},
                    {"labels", {{api::kRentalLabel, "gone-" + name}}},
                    {"annotations", {{api::kRentalJobAnnotation, "team/gone-" + name}}}}}});
  }
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    if (call.verb == kube::Verb::kDelete && call.target.name == "a") {
      return absl::PermissionDeniedError("its webhook refuses");
    }
    if (call.verb == kube::Verb::kGet && call.target.name == "gone-c") {
      return absl::UnavailableError("its shard is down");
    }
    return absl::OkStatus();
  });
  Leader leader(*this);
  leader.See();
  const absl::Status swept = leader.controller_.Sweep();
  EXPECT_EQ(MessageOf(swept), "NodeClaim a: its webhook refuses; NodeClaim c: its shard is down");
  std::vector<std::string> left;
  for (const json& claim : client_.All(kube::NodeClaims())) left.push_back(kube::NameOf(claim));
  EXPECT_EQ(left, (std::vector<std::string>{"a", "c"}));
}

TEST_F(RentalSweeperTest, AnObjectOfAnotherShapeKeepsNoOtherFromBeingGivenBack) {
  Leader next(*this);
  AskLate(next, false);
  client_.Seed(kube::ProvisioningRequests(),
               {{"apiVersion", "autoscaling.x-k8s.io/v1"},
                {"kind", "ProvisioningRequest"},
                {"metadata",
                 {{"name", "a"},
                  {"namespace", "team"},
                  {"labels", {{api::kJobLabel, "a"}}},
                  {"ownerReferences", json::array({7, {{"kind", 7}}})}}}});
  next.SweepForAWhile();
  const auto left = client_.All(kube::ProvisioningRequests());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(kube::NameOf(left[0]), "a");
}

TEST_F(RentalSweeperTest, AClaimThatTheOperatorHasNotMadeStays) {
  Leader leader(*this);
  // Of a NodePool whose template has the label of rented hosts.
  client_.Seed(kube::NodeClaims(),
               {{"apiVersion", "karpenter.sh/v1"},
                {"kind", "NodeClaim"},
                {"metadata", {{"name", "pool-1"}, {"labels", {{api::kRentalLabel, "pool"}}}}}});
  leader.SweepForAWhile();
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 1U);
}

TEST_F(RentalSweeperTest, AClaimStaysWhileAPodRunsOnItsNode) {
  Leader next(*this);
  AskLate(next, true);
  json claim = OnlyClaim();
  claim["status"]["nodeName"] = "late";
  client_.Seed(kube::NodeClaims(), claim);
  SetNode("late", true);
  const auto put = [this](const char* name, const char* gpus, const char* owner) {
    json pod = {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata",
                 {{"name", name},
                  {"namespace", "other"},
                  {"uid", name},
                  {"ownerReferences", json::array({{{"apiVersion", "apps/v1"},
                                                    {"kind", owner},
                                                    {"name", "x"},
                                                    {"uid", "x"},
                                                    {"controller", true}}})}}},
                {"spec",
                 {{"nodeName", "late"},
                  {"containers",
                   json::array({{{"name", "c"},
                                 {"resources", {{"limits", {{api::kGpuResource, gpus}}}}}}})}}},
                {"status", {{"phase", "Running"}}}};
    client_.Seed(kube::Pods(), pod);
  };
  put("log-shipper", "0", "DaemonSet");
  put("train", "8", "Job");
  next.SweepForAWhile();
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 1U);
  json pod = *client_.Find(kube::Pods(), "other", "train");
  pod["status"]["phase"] = "Succeeded";
  client_.Seed(kube::Pods(), pod);
  next.SweepForAWhile();
  EXPECT_TRUE(client_.All(kube::NodeClaims()).empty()) << "pods of every host keep none";
}

// Another controller's finalizer may hold a job for ever.
TEST_F(RentalSweeperTest, ClaimsOfAJobThatIsBeingDeletedGoOnceNoPodIsThere) {
  SetPrice("10");
  SeedWaitingJob();
  Leader leader(*this);
  ASSERT_TRUE(leader.Reconcile().ok());
  json claim = client_.All(kube::NodeClaims())[0];
  claim["status"]["nodeName"] = "n0";
  client_.Seed(kube::NodeClaims(), claim);
  SetPod(0, "Running", "n0");
  json job = Job();
  job["metadata"]["finalizers"] = {"example.com/hold"};
  client_.Seed(kube::TrainingJobs(), job);
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  leader.SweepForAWhile();
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 1U) << "a pod writes its checkpoint there";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  leader.SweepForAWhile();
  EXPECT_TRUE(client_.All(kube::NodeClaims()).empty());
}

TEST_F(RentalSweeperTest, WhatTheDecisionNamesStaysAlsoForAProcessThatIsBehind) {
  SetPrice("10");
  SeedWaitingJob();
  Leader behind(*this), leader(*this);
  behind.See();
  ASSERT_TRUE(leader.Reconcile().ok());
  ASSERT_EQ(Rental(), "Requested");
  ASSERT_EQ(client_.All(kube::NodeClaims()).size(), 2U);
  behind.SweepForAWhile(false);
  leader.SweepForAWhile();
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 2U);
  EXPECT_EQ(CountNotices("LateCapacityRemoved"), 0);
}

TEST_F(RentalSweeperTest, AProcessThatDoesNotLeadAnyMoreAsksForNoFurtherHost) {
  SetPrice("10");
  SeedWaitingJob();
  int left = 1;
  Leader former(*this, [&left] { return left-- > 0; });
  EXPECT_TRUE(absl::IsUnavailable(former.Reconcile()));
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 1U);
  Leader next(*this);
  ASSERT_TRUE(next.Reconcile().ok());
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 2U);
}

// Pods of a later rental never run on a host of an earlier one, so that it can be given back at any
// time.
TEST_F(RentalSweeperTest, TheHostsOfEachRentalAreKnownByItsNumber) {
  SetPrice("10");
  SeedWaitingJob();
  Leader leader(*this);
  ASSERT_TRUE(leader.Reconcile().ok());
  const json labels = client_.All(kube::NodeClaims())[0]["metadata"]["labels"];
  EXPECT_EQ(labels.value("yardmaster.dev/rental-generation", ""), "1");
  EXPECT_EQ(
      Status()["capacity"]["hosts"][0]["nodeLabels"].value("yardmaster.dev/rental-generation", ""),
      "1");
}

}  // namespace
}  // namespace yardmaster::op
