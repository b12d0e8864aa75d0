// An elastic TrainingJob whose workers form their group again by themselves, with the real job controller and
// the real extender over an API server in memory: it grows beside the pods that run, and gives a growth up
// that finds no room.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "pkg/kube/testing/relist.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/jobs/job_controller.h"
#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

class GrowthStoryTest : public JobStoryFixture {
 protected:
  GrowthStoryTest()
      : marker_(client_, cache_, {}, [](const op::HostNotice&) {}),
        jobs_(client_, cache_, hosts_, marker_, clock_,
              [this](const op::JobNotice& notice) { ++told_[notice.reason]; }),
        extender_(*this, true) {}

  // Two to four workers; `spec` over it.
  void SeedJob(int workers, const json& spec = json::object()) {
    json job = {
        {"apiVersion", api::kGroupVersion},
        {"kind", "TrainingJob"},
        {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "uid-a"}}},
        {"spec",
         {{"workers", workers},
          {"gpusPerWorker", 8},
          {"parallelism", {{"tensor", 8}}},
          {"elastic",
           {{"minData", 2}, {"maxData", 4}, {"shrinkAfterSeconds", 60}, {"growAfterSeconds", 20}}},
          {"recovery", {{"onHostLoss", "Replace"}, {"onWorkerFailure", "Replace"}}},
          {"template",
           {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
    job["spec"].merge_patch(spec);
    client_.Seed(kube::TrainingJobs(), job);
  }
  void Scale(int workers) {
    json job = Job();
    job["spec"]["workers"] = workers;
    client_.Seed(kube::TrainingJobs(), job);
  }
  // Of the job's pods, by name.
  std::map<std::string, std::string> Uids() {
    std::map<std::string, std::string> uids;
    for (const json& pod : client_.All(kube::Pods())) {
      const json& metadata = pod["metadata"];
      if (metadata["namespace"] == "team") uids[metadata["name"]] = metadata["uid"];
    }
    return uids;
  }
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
    kube::Relist(client_, kube::Nodes(), cache_.sink(state::Kind::kNode), [&](const json& node) {
      op::ObserveNode(cache_, op::DefaultFaultRules(), node["metadata"]["name"], clock_.SteadyMs(),
                      hosts_);
    });
    kube::Relist(client_, kube::Fabrics(), cache_.sink(state::Kind::kFabric));
    kube::Relist(client_, kube::Pods(), cache_.sink(state::Kind::kPod));
    kube::Relist(client_, kube::Gangs(), cache_.sink(state::Kind::kGang));
    kube::Relist(client_, kube::TrainingJobs(), cache_.sink(state::Kind::kTrainingJob));
    const auto done = jobs_.Reconcile("team/a");
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
      EXPECT_EQ(now.at(name), uid) << name << " was made anew";
    }
  }

  op::HostHealth hosts_;
  state::ClusterCache cache_;
  op::HostMarker marker_;
  op::JobController jobs_;
  Process extender_;
  std::map<std::string, int> told_;
  bool ran_ = false;
};

TEST_F(GrowthStoryTest, PodsJoinBesideThoseThatRun) {
  SeedJob(2);
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
  SeedJob(2, {{"recovery", {{"onHostLoss", "Restart"}}}});
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  EXPECT_EQ(Env("a-0", "PET_NNODES"), "2");
  EXPECT_EQ(Env("a-0", "PET_RDZV_BACKEND"), "");
  const auto before = Uids();
  Scale(4);
  ASSERT_TRUE(PassUntil([&] { return Running() == 4; })) << Job().dump(1);
  EXPECT_NE(Uids()["a-0"], before.at("a-0"));
}

TEST_F(GrowthStoryTest, AGrowthThatFindsNoRoomIsGivenUpAndNothingRestarts) {
  SeedJob(2);
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
  SeedJob(2);
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
