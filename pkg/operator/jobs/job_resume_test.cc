// The process that runs a job is killed at every write of a story: before the write, or after it
// and before its answer. The next process carries on, and the end is that of a story in which none
// was killed.
#include <atomic>
#include <functional>
#include <set>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/testing/job_fixture.h"
#include "pkg/operator/testing/pool_manifest.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

enum class Kill { kNever, kBeforeTheWrite, kBeforeTheAnswer };

class JobResumeTest : public JobFixture {
 public:  // stories are named by pointers to members
  using Story = void (JobResumeTest::*)();
  // No story may have more; each ends before.
  static constexpr int kMaxWrites = 60;

  // Looks at the job and its rental as the operator does; a process that is killed has a successor.
  void Look() {
    SyncAll();
    CapacityController capacity(
        client_, *cache_, *hosts_, clock_, [](const JobNotice&) {}, [this] { return !dead_; });
    (void)capacity.Reconcile("team/a");
    SyncAll();
    (void)controller_->Reconcile("team/a");
    if (!dead_) return;
    dead_ = false;
    client_.SetHook({});
    NewLeader();
  }
  void SyncAll() {
    Sync();
    kube::Relist(client_, kube::TrainingJobs(), cache_->sink(state::Kind::kTrainingJob));
    kube::Relist(client_, kube::CapacityPools(), cache_->sink(state::Kind::kCapacityPool));
  }
  bool Exists() { return client_.Find(kube::TrainingJobs(), "team", "a").has_value(); }

  // Kube-scheduler, kubelets and the program.
  void RunOthers() {
    std::set<std::string> taken;
    for (const json& pod : client_.All(kube::Pods())) {
      taken.insert(pod["spec"].value("nodeName", ""));
    }
    for (json pod : client_.All(kube::Pods())) {
      if (pod["status"].value("phase", "") == "Pending" || !pod["status"].contains("phase")) {
        for (int i = 0; i < 8; ++i) {
          const std::string name = StrCat("n", i);
          const auto node = client_.Find(kube::Nodes(), "", name);
          if (!node || (*node)["status"]["conditions"][0]["status"] != "True") continue;
          if (!taken.insert(name).second) continue;
          pod["spec"]["nodeName"] = name;
          pod["spec"].erase("schedulingGates");
          pod["status"]["phase"] = "Running";
          client_.Seed(kube::Pods(), pod);
          break;
        }
      }
      json& notes = pod["metadata"]["annotations"];
      if (!notes.contains(api::kCheckpointRequestAnnotation)) continue;
      notes[api::kCheckpointAnnotation] =
          api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 20});
      client_.Seed(kube::Pods(), pod);
    }
    if (Exists()) RestartAsAsked();
    for (json claim : client_.All(kube::NodeClaims())) {
      claim["status"]["conditions"] =
          json::array({{{"type", "Initialized"}, {"status", "True"}, {"reason", "x"}}});
      client_.Seed(kube::NodeClaims(), claim);
    }
  }
  void Live(int rounds) {
    int quiet = 0;
    for (int i = 0; i < rounds && quiet < 3; ++i) {
      const std::int64_t before = client_.version();
      Look();
      Look();
      RunOthers();
      clock_.Advance(5'000);
      quiet = client_.version() == before ? quiet + 1 : 0;
    }
  }

  static json Asked(json more = json::object()) {
    json spec = {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 300}}}};
    spec.merge_patch(more);
    return spec;
  }

  // What all stories come to: without times, uids and words.
  json Summary() {
    if (!Exists()) return {{"pods", client_.All(kube::Pods()).size()}};
    const json status = Status();
    json out = {{"restarts", status["restarts"]}, {"workers", status["workers"]}};
    for (const json& condition : status["conditions"]) {
      out["conditions"][condition["type"].get<std::string>()] = StrCat(
          condition["status"].get<std::string>(), " ", condition["reason"].get<std::string>());
    }
    const json& recovery = status["recovery"];
    for (const char* field : {"attempt", "minAttempt", "runningAttempt", "suspended",
                              "restartsInWindow", "consecutiveRestarts"}) {
      out[field] = recovery.value(field, json());
    }
    for (const json& incident : recovery["incidents"]) {
      out["incidents"].push_back({incident["cause"], incident["action"], incident["ranks"],
                                  incident["counted"], incident.contains("endTime")});
    }
    json elastic = status.value("elastic", json::object());
    elastic.erase("changed");
    out["elastic"] = elastic;
    for (const char* field : {"phase", "generation", "moves", "reason"}) {
      out["rental"][field] = status.value("capacity", json::object()).value(field, json());
    }
    for (const json& pod : client_.All(kube::Pods())) {
      out["pods"][kube::NameOf(pod)] =
          StrCat(pod["status"].value("phase", ""), " ",
                 pod["metadata"]["annotations"].value(api::kAttemptAnnotation, ""));
    }
    for (const json& claim : client_.All(kube::NodeClaims())) {
      out["claims"].push_back(kube::NameOf(claim));
    }
    return out;
  }

  // Tells a story with a cluster of its own.
  json Tell(Story prepare, Story story, Kill kill, int at) {
    for (const auto& resource : {kube::Pods(), kube::TrainingJobs(), kube::Nodes(),
                                 kube::NodeClaims(), kube::CapacityPools(), kube::Services()}) {
      for (json object : client_.All(resource)) {
        if (object["metadata"].contains("finalizers")) {
          object["metadata"].erase("finalizers");
          client_.Seed(resource, object);
        }
        (void)client_.Delete(
            {resource, object["metadata"].value("namespace", ""), kube::NameOf(object), ""}, {});
      }
    }
    started_for_.clear();
    NewLeader();
    (this->*prepare)();
    Live(5);
    std::atomic<int> writes = 0;  // several at a time
    client_.SetHook([this, kill, at, &writes](const kube::Call& call) {
      const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
      // People delete it.
      const bool ours =
          call.verb != kube::Verb::kDelete || kube::WhereOf(call.target) != "trainingjobs";
      if (reads || !ours) return absl::OkStatus();
      if (writes++ < at || kill == Kill::kNever) return absl::OkStatus();
      const bool first = !dead_.exchange(true);
      if (kill == Kill::kBeforeTheWrite || !first) return absl::CancelledError("killed");
      client_.FailNext(call.verb, kube::WhereOf(call.target), absl::UnavailableError("killed"), 1,
                       kube::FaultWhen::kAfterEffect);
      return absl::OkStatus();
    });
    (this->*story)();
    Live(12);
    last_writes_ = writes;
    client_.SetHook({});
    dead_ = false;
    return Summary();
  }
  void CheckEveryWrite(Story prepare, Story story) {
    const json whole = Tell(prepare, story, Kill::kNever, 0);
    ASSERT_GT(last_writes_, 0);
    for (const Kill kill : {Kill::kBeforeTheWrite, Kill::kBeforeTheAnswer}) {
      bool at_each = false;
      for (int at = 0; at < kMaxWrites && !at_each; at += kSanitized ? 7 : 1) {
        const json end = Tell(prepare, story, kill, at);
        ASSERT_EQ(end, whole) << "killed at write " << at
                              << (kill == Kill::kBeforeTheWrite ? "" : ", which had its effect")
                              << "\n"
                              << json::diff(whole, end).dump(1);
        at_each = last_writes_ <= at;  // the story has no more
      }
      EXPECT_TRUE(at_each) << "the story has more than " << kMaxWrites << " writes";
    }
  }

  void PrepareAsked() { SeedJob(3, 3, Asked()); }
  void PrepareInPlace() { SeedJob(3, 3, {{"recovery", {{"inPlaceSeconds", 45}}}}); }
  void PrepareRestart() { SeedJob(3, 5, {{"recovery", {{"onHostLoss", "Restart"}}}}); }
  void PrepareElastic() { SeedJob(3, 3, Asked({{"elastic", {{"minData", 8}, {"maxData", 24}}}})); }
  void PrepareRented() {
    client_.Seed(kube::CapacityPools(), PoolManifest({.name = "spot-a", .price = "10 USD"}));
    client_.Seed(kube::CapacityPools(), PoolManifest({.name = "spot-b", .price = "11 USD"}));
    SeedJob(3, 3, Asked({{"capacity", {{"maxCostPerHour", "50 USD"}}}}));
    json job = Job();
    job["status"]["capacity"] = {{"phase", "Provisioned"},
                                 {"since", FormatTime(clock_.WallMs())},
                                 {"generation", 1},
                                 {"hosts", json::array({{{"pool", "spot-a"},
                                                         {"type", "Spot"},
                                                         {"scaling", "NodeClaims"},
                                                         {"hosts", 3},
                                                         {"workers", 3},
                                                         {"pricePerHour", "10 USD"}}})}};
    client_.Seed(kube::TrainingJobs(), job);
  }

  void SuspendAndResume() {
    Suspend(true);
    Live(4);
    Suspend(false);
  }
  void FailOne() { EndContainer(1, 134); }
  void LoseAHost() {
    SetNode("n1", false);
    for (int i = 0; i < 8; ++i) Live(1);
    SetNode("n1", true);
  }
  void ScaleDown() {
    json job = Job();
    job["spec"]["workers"] = 2;
    client_.Seed(kube::TrainingJobs(), job);
  }
  void DeleteIt() { (void)client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}); }
  void RaiseThePrice() {
    json pool = *client_.Find(kube::CapacityPools(), "", "spot-a");
    pool["spec"]["offers"][0]["pricePerHour"] = "30 USD";
    client_.Seed(kube::CapacityPools(), pool);
  }
  void RemoveTheCap() {
    json job = Job();
    job["spec"].erase("capacity");
    client_.Seed(kube::TrainingJobs(), job);
  }

  std::atomic<bool> dead_ = false;
  int last_writes_ = 0;
};

TEST_F(JobResumeTest, ASuspensionWithItsCheckpointAndItsEnd) {
  CheckEveryWrite(&JobResumeTest::PrepareAsked, &JobResumeTest::SuspendAndResume);
}
TEST_F(JobResumeTest, ARestartInPlace) {
  CheckEveryWrite(&JobResumeTest::PrepareInPlace, &JobResumeTest::FailOne);
}
TEST_F(JobResumeTest, ALostHost) {
  CheckEveryWrite(&JobResumeTest::PrepareRestart, &JobResumeTest::LoseAHost);
}
TEST_F(JobResumeTest, AChangeOfSize) {
  CheckEveryWrite(&JobResumeTest::PrepareElastic, &JobResumeTest::ScaleDown);
}
TEST_F(JobResumeTest, ADeletion) {
  CheckEveryWrite(&JobResumeTest::PrepareAsked, &JobResumeTest::DeleteIt);
}
TEST_F(JobResumeTest, AMoveBetweenRentedHosts) {
  CheckEveryWrite(&JobResumeTest::PrepareRented, &JobResumeTest::RaiseThePrice);
}
TEST_F(JobResumeTest, TheEndOfARentalWhoseCapIsRemoved) {
  CheckEveryWrite(&JobResumeTest::PrepareRented, &JobResumeTest::RemoveTheCap);
}

}  // namespace
}  // namespace yardmaster::op
