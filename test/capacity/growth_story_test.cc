// An elastic TrainingJob whose workers form their group again by themselves, with the real job
// controller and the real extender over an API server in memory: it grows beside the pods that run,
// and gives a growth up that finds no room.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

class GrowthStoryTest : public JobStoryFixture {
 protected:
  GrowthStoryTest()
      : operator_(*this, [this](const op::JobNotice& notice) { ++told_[notice.reason]; }),
        extender_(*this, true) {}

  // Two to four workers; `spec` over it.
  void SeedElasticJob(int workers, const json& spec = json::object()) {
    json elastic = {
        {"workers", workers},
        {"elastic",
         {{"minData", 2}, {"maxData", 4}, {"shrinkAfterSeconds", 60}, {"growAfterSeconds", 20}}},
        {"recovery", {{"onHostLoss", "Replace"}, {"onWorkerFailure", "Replace"}}}};
    elastic.merge_patch(spec);
    SeedJob(elastic);
  }
  void Scale(int workers) { Change("workers", workers); }
  int Running() {
    int running = 0;
    for (const json& pod : client_.All(kube::Pods())) {
      running += pod["metadata"]["namespace"] == "team" && pod["status"]["phase"] == "Running";
    }
    return running;
  }
  std::string Env(const std::string& pod_name, const std::string& name) {
    const json pod = *client_.Find(kube::Pods(), "team", pod_name);
    for (const json& variable : pod["spec"]["containers"][0]["env"]) {
      if (variable["name"] == name) return variable["value"];
    }
    return "";
  }

  void RunJobs() {
    operator_.See();
    const auto done = operator_.jobs.Reconcile("team/a");
    ASSERT_TRUE(done.ok()) << done.status();
  }
  // Ten seconds. A job that runs stays so.
  void Pass(bool with_extender = true) {
    for (int i = 0; i < 4; ++i) {
      RunJobs();
      if (!with_extender) continue;
      extender_.Pass();
      RunReleasedPods();
      if (ran_) {
        EXPECT_EQ(Is("Running"), "True");
        EXPECT_NE(Is("Degraded"), "True");
      }
    }
    clock_.Advance(10'000);
  }
  bool PassUntil(const std::function<bool()>& done, bool with_extender = true) {
    for (int i = 0; i < 40 && !done(); ++i) Pass(with_extender);
    return done();
  }
  void ExpectSamePods(const std::map<std::string, std::string>& before) {
    const auto now = Uids();
    for (const auto& [name, uid] : before) {
      ASSERT_EQ(now.count(name), 1U) << name;
      EXPECT_EQ(now.at(name), uid) << name << " was recreated";
    }
  }

  Operator operator_;
  Process extender_;
  std::map<std::string, int> told_;
  bool ran_ = false;
};

TEST_F(GrowthStoryTest, PodsJoinBesideThoseThatRun) {
  SeedElasticJob(2);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  ran_ = true;
  EXPECT_EQ(Env("a-0", "PET_NNODES"), "2:4");
  EXPECT_EQ(Env("a-0", "PET_RDZV_BACKEND"), "c10d");
  EXPECT_EQ(Env("a-0", "PET_RDZV_ENDPOINT"), "a-0.a.team.svc:29500");
  EXPECT_EQ(Env("a-0", "PET_RDZV_ID"), "uid-a");
  const auto before = Uids();
  Scale(4);
  ASSERT_TRUE(PassUntil([&] { return Running() == 4; })) << Job().dump(1);
  Pass();
  ExpectSamePods(before);
  EXPECT_EQ(Elastic()["data"], 4);
  EXPECT_EQ(Elastic()["previousData"], 0) << "it is complete";
  EXPECT_EQ(Job()["status"]["restarts"], 0);
  EXPECT_TRUE(Job()["status"]["recovery"]["incidents"].empty());
  EXPECT_EQ(told_["Resizing"], 1);
  CheckPromises();
}

TEST_F(GrowthStoryTest, AJobWhoseWorkersCannotJoinRestartsAtTheNewSize) {
  SeedElasticJob(2, {{"recovery", {{"onHostLoss", "Restart"}}}});
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  EXPECT_EQ(Env("a-0", "PET_NNODES"), "2");
  EXPECT_EQ(Env("a-0", "PET_RDZV_BACKEND"), "");
  const auto before = Uids();
  Scale(4);
  ASSERT_TRUE(PassUntil([&] { return Running() == 4; })) << Job().dump(1);
  EXPECT_NE(Uids()["a-0"], before.at("a-0"));
}

TEST_F(GrowthStoryTest, AGrowthThatFindsNoRoomIsGivenUpAndNothingRestarts) {
  SeedElasticJob(2);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  ran_ = true;
  const auto before = Uids();
  Scale(4);
  // The hosts that were free are lost to others between the decision and the plan.
  ASSERT_TRUE(PassUntil([&] { return Uids().size() == 4; }, false)) << Job().dump(1);
  ASSERT_TRUE(
      PassUntil([&] { return Uids().size() == 2 && Elastic()["previousData"] == 0; }, false))
      << Job().dump(1);
  ExpectSamePods(before);
  EXPECT_EQ(Elastic()["data"], 2);
  EXPECT_EQ(Is("Running"), "True");
  EXPECT_EQ(Is("Stalled"), "(none)");
  EXPECT_EQ(told_["Resizing"], 2);
  // Later there is room.
  ASSERT_TRUE(PassUntil([&] { return Running() == 4; })) << Job().dump(1);
  ExpectSamePods(before);
  CheckPromises();
}

TEST_F(GrowthStoryTest, AWorkerThatFailsWhileOthersJoinIsAnIncidentOfItsOwn) {
  SeedElasticJob(2);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  Scale(4);
  ASSERT_TRUE(PassUntil([&] { return Uids().size() == 4; }, false)) << Job().dump(1);
  const auto before = Uids();
  json pod = *client_.Find(kube::Pods(), "team", "a-1");
  pod["status"]["phase"] = "Failed";
  client_.Seed(kube::Pods(), pod);
  ASSERT_TRUE(PassUntil([&] { return Running() == 4; })) << Job().dump(1);
  EXPECT_EQ(Uids()["a-0"], before.at("a-0"));
  EXPECT_NE(Uids()["a-1"], before.at("a-1"));
  EXPECT_EQ(Job()["status"]["recovery"]["incidents"].size(), 1U);
  EXPECT_EQ(Elastic()["previousData"], 0);
  CheckPromises();
}

}  // namespace
}  // namespace yardmaster
