// A TrainingJob on rented hosts, from its queue to its end, with the real placement, job and
// capacity controllers over an API server in memory and a controller that plays the providers of
// hosts: it waits, hosts are rented, it runs, they are taken back, it moves with its checkpoint, a
// price rises, it moves again, it ends, and everything is given back. What it cost is checked
// against hosts times price times time. Either controller may be the first to see a change: each
// story is told in both orders, and in orders that a seed decides.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/base/random.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/testing/pool_controller.h"
#include "pkg/operator/testing/pool_manifest.h"
#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

constexpr std::int64_t kStepMs = 10'000;

// Which controller of a job looks first.
enum class Order { kCapacityFirst, kJobsFirst, kRandom };

class CapacityStoryTest : public JobStoryFixture {
 protected:
  CapacityStoryTest()
      : operator_(*this, [this](const op::JobNotice& n) { Tell(n); }),
        pools_(client_),
        extender_(*this, true) {
    SeedFabric(6);
  }

  void Tell(const op::JobNotice& notice) { told_.insert(notice.reason); }

  void SetPool(const std::string& name, const std::string& segment, const std::string& type,
               const std::string& price, bool claims) {
    json scaling = {{"provisioningClassName", "best-effort-atomic-scale-up.autoscaling.x-k8s.io"}};
    if (claims) {
      scaling = {{"nodeClassRef",
                  {{"group", "karpenter.k8s.aws"}, {"kind", "EC2NodeClass"}, {"name", "gpu"}}}};
    }
    prices_[name] = std::stod(price);
    client_.Seed(kube::CapacityPools(), op::PoolManifest({.name = name,
                                                          .price = price + " USD",
                                                          .segment = segment,
                                                          .type = type,
                                                          .scaling = scaling}));
  }

  // Four workers in one segment: the six hosts that are there and no backup are in two.
  void SeedRentedJob(const json& capacity) {
    SeedJob({{"workers", 4},
             {"parallelism", {{"data", 4}}},
             {"placement", {{"data", {{"within", "Segment"}, {"mode", "Required"}}}}},
             {"checkpoint", {{"request", "Annotation"}}},
             {"capacity", capacity}});
  }

  // The pool whose hosts the pods run on; empty: not all run, or on several.
  std::string RunsOn() {
    std::set<std::string> pools;
    for (int rank = 0; rank < 4; ++rank) {
      const auto pod = client_.Find(kube::Pods(), "team", StrCat("a-", rank));
      if (!pod || pod->value("/status/phase"_json_pointer, "") != "Running") return "";
      const auto node = client_.Find(kube::Nodes(), "", (*pod)["spec"].value("nodeName", ""));
      if (!node) return "";
      pools.insert((*node)["metadata"]["labels"].value("pool", ""));
      CheckTolerated(*pod, *node);
    }
    return pools.size() == 1 ? *pools.begin() : "";
  }
  // As kube-scheduler would: every NoSchedule taint that the node was made with is tolerated.
  static void CheckTolerated(const json& pod, const json& node) {
    for (const json& taint : node["spec"].value("taints", json::array())) {
      if (taint["key"] != api::kRentedKey) continue;
      bool tolerated = false;
      for (const json& t : pod["spec"].value("tolerations", json::array())) {
        tolerated =
            tolerated || (t["key"] == taint["key"] && t.value("value", "") == taint["value"]);
      }
      EXPECT_TRUE(tolerated) << pod["metadata"]["name"] << " on " << node["metadata"]["name"];
    }
  }

  // The program: writes the checkpoint that it is asked for.
  void WriteCheckpoints() {
    for (json pod : client_.All(kube::Pods())) {
      json& notes = pod["metadata"]["annotations"];
      const std::string asked = notes.value(api::kCheckpointRequestAnnotation, "");
      if (asked.empty() || pod["metadata"]["name"] != "a-0" || asked == answered_) continue;
      answered_ = asked;
      ++checkpoints_;
      notes[api::kCheckpointAnnotation] =
          api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 20});
      client_.Seed(kube::Pods(), pod);
    }
  }

  void RunJobs() {
    operator_.See();
    const auto done = operator_.jobs.Reconcile("team/a");
    ASSERT_TRUE(done.ok()) << done.status();
  }

  void RunCapacity() {
    operator_.See();
    const auto done = operator_.capacity.Reconcile("team/a");
    ASSERT_TRUE(done.ok()) << done.status();
  }
  bool JobsGoFirst() {
    return order_ == Order::kJobsFirst || (order_ == Order::kRandom && random_.Below(2) == 0);
  }

  // Ten seconds of everything, and what the hosts that exist cost in that time.
  void Pass() {
    for (int i = 0; i < 4; ++i) {
      const bool jobs_first = JobsGoFirst();
      if (jobs_first) RunJobs();
      RunCapacity();
      if (!jobs_first) RunJobs();
      extender_.Pass();
      RunReleasedPods();
      WriteCheckpoints();
    }
    pools_.Step();
    for (const auto& [name, for_what] : pools_.nodes()) {
      const auto node = client_.Find(kube::Nodes(), "", name);
      ASSERT_TRUE(node);
      bill_ += prices_.at((*node)["metadata"]["labels"]["pool"].get<std::string>()) * kStepMs /
               3'600'000;
    }
    const json rented = Capacity();
    if (rented.value("phase", "") == "Provisioned") {
      EXPECT_LE(std::stod(rented["ratePerHour"].get<std::string>()), 50.0);
    }
    clock_.Advance(kStepMs);
  }
  bool PassUntil(const std::function<bool()>& done, int passes = 200) {
    for (int i = 0; i < passes; ++i) {
      if (done()) return true;
      Pass();
    }
    return done();
  }
  void EndJob() {
    for (json pod : client_.All(kube::Pods())) {
      pod["status"]["phase"] = "Succeeded";
      client_.Seed(kube::Pods(), pod);
    }
  }
  double Spent() { return std::stod(Capacity()["spent"].get<std::string>()); }

  void TellTheStory(bool claims) {
    SetPool("spot-a", "s2", "Spot", "10", claims);
    SetPool("spot-b", "s3", "Spot", "11", claims);
    SetPool("spot-c", "s4", "Spot", "12", claims);
    SeedRentedJob({{"maxCostPerHour", "50 USD"}});
    ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
    EXPECT_TRUE(IsTrue("CapacityReady"));
    EXPECT_EQ(pools_.nodes().size(), 4U);
    for (int i = 0; i < 40; ++i) Pass();
    // Taken back with a notice.
    pools_.Reclaim("pool", "spot-a");
    ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-b"; })) << Job().dump(1);
    EXPECT_EQ(checkpoints_, 1);
    EXPECT_EQ(Capacity()["moves"], 1);
    EXPECT_EQ(pools_.nodes().size(), 4U) << "what was left is given back";
    for (int i = 0; i < 40; ++i) Pass();
    // A price above the cap.
    SetPool("spot-b", "s3", "Spot", "20", claims);
    ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-c"; })) << Job().dump(1);
    EXPECT_EQ(checkpoints_, 2);
    for (int i = 0; i < 40; ++i) Pass();
    // Gone without a notice. The first pool is to be had again by then.
    for (const auto& [name, for_what] : std::map(pools_.nodes())) {
      ASSERT_TRUE(client_.Delete({kube::Nodes(), "", name, ""}, {}).ok());
    }
    pools_.Forget();
    ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
    EXPECT_EQ(Capacity()["moves"], 3);
    for (int i = 0; i < 40; ++i) Pass();
    CheckPromises();
    EndJob();
    ASSERT_TRUE(PassUntil([&] { return IsTrue("Succeeded") && pools_.nodes().empty(); }))
        << Job().dump(1);
    Pass();
    EXPECT_EQ(Capacity()["phase"], "None");
    EXPECT_TRUE(client_.All(kube::ProvisioningRequests()).empty());
    EXPECT_TRUE(client_.All(kube::PodTemplates()).empty());
    EXPECT_TRUE(client_.All(kube::NodeClaims()).empty());
    for (const char* event :
         {"CapacityRequested", "CapacityProvided", "CapacityLeft", "Succeeded"}) {
      EXPECT_EQ(told_.count(event), 1U) << event;
    }
    EXPECT_EQ(told_.count("RecoveryHeld"), 0U) << "it left each host as soon as it had to";
  }

  Operator operator_;
  op::PoolController pools_;
  Process extender_;
  std::set<std::string> told_;
  std::map<std::string, double> prices_;
  std::string answered_;
  int checkpoints_ = 0;
  double bill_ = 0;
  Order order_ = Order::kCapacityFirst;
  Random random_{1};
};

struct Telling {
  const char* name;
  Order order;
  std::uint64_t seed = 1;
};

class CapacityOrderTest : public CapacityStoryTest, public ::testing::WithParamInterface<Telling> {
 protected:
  CapacityOrderTest() {
    order_ = GetParam().order;
    random_ = Random(GetParam().seed);
  }
};

TEST_P(CapacityOrderTest, AJobMovesWithItsCheckpointsBetweenHostsOfProvisioningRequests) {
  TellTheStory(false);
  // Hosts are seen, and are gone, up to one pass after the fact: nine changes of four hosts.
  EXPECT_NEAR(Spent(), bill_, 9 * 4 * 12.0 * kStepMs / 3'600'000);
  // Four times forty steps on four hosts, none of them cheaper than 10 an hour.
  EXPECT_GT(Spent(), 4 * 40 * 4 * 10.0 * kStepMs / 3'600'000);
}

TEST_P(CapacityOrderTest, AJobMovesWithItsCheckpointsBetweenHostsOfNodeClaims) {
  TellTheStory(true);
  EXPECT_NEAR(Spent(), bill_, 9 * 4 * 12.0 * kStepMs / 3'600'000);
}

TEST_P(CapacityOrderTest, AJobWhosePodsWereRemovedWithTheirNodesMovesOnce) {
  SetPool("spot-a", "s2", "Spot", "10", true);
  SetPool("spot-b", "s3", "Spot", "11", true);
  SeedRentedJob({{"maxCostPerHour", "50 USD"}});
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
  for (int i = 0; i < 10; ++i) Pass();
  for (const auto& [name, for_what] : std::map(pools_.nodes())) {
    ASSERT_TRUE(client_.Delete({kube::Nodes(), "", name, ""}, {}).ok());
  }
  for (int rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", StrCat("a-", rank), ""}, {}).ok());
  }
  pools_.Forget();
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-b"; }, 40)) << Job().dump(1);
  EXPECT_EQ(Capacity()["moves"], 1);
  EXPECT_EQ(pools_.nodes().size(), 4U);
}

TEST_P(CapacityOrderTest, AJobOneOfWhoseHostsIsNotReadyMovesOnceWithAllOfThem) {
  SetPool("spot-a", "s2", "Spot", "10", true);
  SetPool("spot-b", "s3", "Spot", "11", true);
  SeedRentedJob({{"maxCostPerHour", "50 USD"}});
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
  for (int i = 0; i < 10; ++i) Pass();
  json node = *client_.Find(kube::Nodes(), "", pools_.nodes().begin()->first);
  for (json& condition : node["status"]["conditions"]) {
    if (condition["type"] == "Ready") condition["status"] = "Unknown";
  }
  client_.Seed(kube::Nodes(), node);
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-b"; }, 40)) << Job().dump(1);
  EXPECT_EQ(Capacity()["moves"], 1);
  EXPECT_EQ(pools_.nodes().size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Orders, CapacityOrderTest,
                         ::testing::Values(Telling{"CapacityFirst", Order::kCapacityFirst},
                                           Telling{"JobsFirst", Order::kJobsFirst},
                                           Telling{"RandomSeed1", Order::kRandom, 1},
                                           Telling{"RandomSeed2", Order::kRandom, 2},
                                           Telling{"RandomSeed3", Order::kRandom, 3}),
                         [](const ::testing::TestParamInfo<Telling>& telling) {
                           return telling.param.name;
                         });

TEST_F(CapacityStoryTest, APoolWithoutRoomIsLeftForTheNextOneAndHalfAGangIsNeverKept) {
  SetPool("spot-a", "s2", "Spot", "10", true);
  SetPool("spot-b", "s3", "Spot", "11", true);
  pools_.SetRoom("pool", "spot-a", 3);
  SeedRentedJob({{"maxCostPerHour", "50 USD"}});
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-b"; })) << Job().dump(1);
  EXPECT_EQ(pools_.nodes().size(), 4U);
}

TEST_F(CapacityStoryTest, WithoutAffordableHostsTheJobWaitsAndSaysWhatItWouldCost) {
  SetPool("spot-a", "s2", "Spot", "13", false);
  SeedRentedJob({{"maxCostPerHour", "50 USD"}});
  for (int i = 0; i < 5; ++i) Pass();
  EXPECT_TRUE(IsTrue("Queued"));
  EXPECT_TRUE(pools_.nodes().empty());
  EXPECT_EQ(Capacity()["reason"], "PriceAboveCap");
  EXPECT_NE(Capacity()["message"].get<std::string>().find("52.00 USD/h"), std::string::npos);
  SetPool("spot-a", "s2", "Spot", "12", false);
  EXPECT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
}

TEST_F(CapacityStoryTest, TheClaimsOfADeletedJobAreSwept) {
  SetPool("spot-a", "s2", "Spot", "10", true);
  SeedRentedJob({{"maxCostPerHour", "50 USD"}});
  ASSERT_TRUE(PassUntil([&] { return RunsOn() == "spot-a"; })) << Job().dump(1);
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  // It is asked for a checkpoint and its pods end first.
  for (int i = 0; i < 8; ++i) {
    RunJobs();
    WriteCheckpoints();
  }
  ASSERT_FALSE(client_.Find(kube::TrainingJobs(), "team", "a").has_value());
  operator_.See();
  ASSERT_TRUE(operator_.capacity.Sweep().ok());
  pools_.Step();
  EXPECT_TRUE(pools_.nodes().empty());
}

}  // namespace
}  // namespace yardmaster
