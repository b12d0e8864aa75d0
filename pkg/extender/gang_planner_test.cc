#include "pkg/extender/gang_planner.h"

#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/decisions.h"
#include "pkg/kube/fake_client.h"

namespace yardmaster::extender {
namespace {

using nlohmann::json;

constexpr int kHostsPerSegment = 4;  // one of them a backup host

// A cluster in memory: nodes of two segments, pods of jobs, our planner over it.
class GangPlannerTest : public ::testing::Test {
 protected:
  GangPlannerTest() : client_(clock_) {
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) AddNode(s, h);
    }
  }

  static std::string NodeName(int segment, int host) { return StrCat("s", segment, "h", host); }

  void AddNode(int segment, int host, bool ready = true) {
    json node = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", NodeName(segment, host)},
          {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, StrCat("s", segment)}}}}},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions",
           json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
    if (host == kHostsPerSegment - 1) node["metadata"]["labels"][api::kBackupKey] = "true";
    client_.Seed(kube::Nodes(), node);
  }

  void AddJob(const std::string& name, int workers, const char* placement = "{}") {
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "job-" + name}}},
                {"spec",
                 {{"workers", workers},
                  {"gpusPerWorker", 8},
                  {"parallelism", {{"tensor", 8}, {"data", workers}}},
                  {"placement", json::parse(placement)},
                  {"template", {{"spec", {{"containers", json::array()}}}}}}}};
    client_.Seed(kube::TrainingJobs(), job);
    for (int rank = 0; rank < workers; ++rank) AddPod(name, rank);
  }

  void AddPod(const std::string& job, int rank, const std::string& owner_uid = "") {
    static int life = 0;
    client_.Seed(
        kube::Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", StrCat(job, "-", rank)},
           {"namespace", "team"},
           {"uid", StrCat("pod-", job, "-", rank, "-", ++life)},
           {"labels", {{api::kJobLabel, job}, {api::kRankLabel, StrCat(rank)}}},
           {"ownerReferences", json::array({{{"apiVersion", api::kGroupVersion},
                                             {"kind", "TrainingJob"},
                                             {"name", job},
                                             {"uid", owner_uid.empty() ? "job-" + job : owner_uid},
                                             {"controller", true}}})}}},
         {"spec",
          {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
           {"containers",
            json::array(
                {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
         {"status", {{"phase", "Pending"}}}});
  }

  // What a process that has just started would see.
  PassReport PassOfANewProcess(bool leader = true) {
    state::WorldCache cache;
    for (const json& o : client_.All(kube::Nodes())) cache.Deliver(state::Kind::kNode, o);
    for (const json& o : client_.All(kube::Pods())) cache.Deliver(state::Kind::kPod, o);
    for (const json& o : client_.All(kube::TrainingJobs())) {
      cache.Deliver(state::Kind::kTrainingJob, o);
    }
    for (const json& o : client_.All(kube::Gangs())) cache.Deliver(state::Kind::kGang, o);
    GangPlanner planner(
        client_, cache, clock_, [leader] { return leader; },
        [this](auto view) { view_ = std::move(view); },
        [this](const Notice& notice) { notices_.push_back(notice); }, {1, {}});
    return planner.Pass();
  }

  static bool Gated(const json& pod) {
    return pod["spec"].contains("schedulingGates") && !pod["spec"]["schedulingGates"].empty();
  }
  static std::string PinnedTo(const json& pod) {
    const json::json_pointer at(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
        "nodeSelectorTerms/0/matchFields/0/values/0");
    return pod.contains(at) ? pod[at].get<std::string>() : "";
  }
  json GangStatus(const std::string& job) {
    auto gang = client_.Find(kube::Gangs(), "team", "trainingjob-" + job);
    return gang && gang->contains("status") ? (*gang)["status"] : json::object();
  }

  // The promises that hold at every instant, whoever was killed where.
  void CheckPromises() {
    std::map<std::string, std::string> holder;  // host -> gang/rank
    std::map<std::string, json> slots;          // job-rank -> assignment
    for (const json& gang : client_.All(kube::Gangs())) {
      const json assignments = gang.value("/status/assignments"_json_pointer, json::array());
      const int workers = gang["spec"]["workers"];
      EXPECT_TRUE(assignments.empty() || static_cast<int>(assignments.size()) == workers)
          << "a gang is committed whole or not at all";
      const std::string job = gang["spec"]["owner"]["name"];
      for (const json& slot : assignments) {
        const std::string who = StrCat(job, "-", slot["rank"].get<int>());
        EXPECT_TRUE(holder.emplace(slot["host"], who).second)
            << slot["host"] << " is promised to " << holder[slot["host"]] << " and " << who;
        slots[who] = slot;
      }
    }
    for (const json& pod : client_.All(kube::Pods())) {
      const std::string name = pod["metadata"]["name"];
      if (Gated(pod)) {
        EXPECT_EQ(PinnedTo(pod), "");
        continue;
      }
      ASSERT_TRUE(slots.count(name)) << name << " was released without a committed slot";
      EXPECT_EQ(PinnedTo(pod), slots[name]["host"]);
    }
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::shared_ptr<const View> view_;
  std::vector<Notice> notices_;
};

TEST_F(GangPlannerTest, ACompleteGangIsCommittedInOneWriteAndItsPodsPinnedAndReleased) {
  AddJob("a", 3);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.errors, std::vector<std::string>());
  EXPECT_EQ(report.gangs_created, 1);
  EXPECT_EQ(report.committed, 1);
  EXPECT_EQ(report.released_pods, 3);
  CheckPromises();
  std::set<std::string> segments;
  const json status = GangStatus("a");
  for (const json& slot : status["assignments"]) segments.insert(slot["segment"]);
  EXPECT_EQ(segments.size(), 1u) << "three workers fit one segment";
  for (const json& pod : client_.All(kube::Pods())) EXPECT_FALSE(Gated(pod));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "Placed");
  EXPECT_EQ(PassOfANewProcess().committed, 0) << "nothing is left to do";
}

TEST_F(GangPlannerTest, AnIncompleteGangHoldsNothing) {
  AddJob("a", 3);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_TRUE(client_.All(kube::Gangs()).empty());
  for (const json& pod : client_.All(kube::Pods())) EXPECT_TRUE(Gated(pod));
}

TEST_F(GangPlannerTest, WhatIsLeftOfADeletedJobIsNoNewGang) {
  AddJob("a", 2);
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  EXPECT_EQ(PassOfANewProcess().gangs_created, 0);
}

TEST_F(GangPlannerTest, KilledAtAnyWriteAnotherProcessFinishesAndNoPromiseIsBroken) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    for (const kube::Resource& resource : {kube::Pods(), kube::Gangs(), kube::TrainingJobs()}) {
      for (const json& o : client_.All(resource)) {
        ASSERT_TRUE(client_.Delete({resource, "team", o["metadata"]["name"], ""}, {}).ok());
      }
    }
    AddJob("a", 2);
    AddJob("b", 3);
    // From the n-th write on this process does nothing any more.
    int writes = 0;
    client_.SetHook([&](const kube::Call& call) -> absl::Status {
      const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
      if (reads || ++writes < killed_at) return absl::OkStatus();
      return absl::UnavailableError("killed");
    });
    PassOfANewProcess();
    client_.SetHook(nullptr);
    CheckPromises();
    PassOfANewProcess();
    CheckPromises();
    for (const json& pod : client_.All(kube::Pods())) EXPECT_FALSE(Gated(pod));
    if (writes < killed_at) break;  // it was never killed
  }
}

TEST_F(GangPlannerTest, ALostAnswerToTheCommitIsNotASecondCommit) {
  AddJob("a", 2);
  client_.FailNext(kube::Verb::kReplace, "gangs/status", absl::UnavailableError("lost"), 1,
                   kube::FaultWhen::kAfterEffect);
  EXPECT_EQ(PassOfANewProcess().committed, 0);
  CheckPromises();
  PassOfANewProcess();
  CheckPromises();
  EXPECT_EQ(GangStatus("a")["planGeneration"], 1);
}

TEST_F(GangPlannerTest, AJobThatCanNeverFitIsToldSoOnce) {
  AddJob("big", 5, R"({"data": {"within": "Segment", "mode": "Required"}})");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(GangStatus("big")["outcome"], "Never");
  EXPECT_FALSE(GangStatus("big")["reasons"].empty());
  PassOfANewProcess();
  ASSERT_EQ(notices_.size(), 2u) << "one on the job, one on its first pod, none again";
  EXPECT_EQ(notices_[0].regarding.kind, "TrainingJob");
  EXPECT_EQ(notices_[1].regarding.name, "big-0");
  for (const Notice& notice : notices_) {
    EXPECT_EQ(notice.reason, "NotPlaced");
    EXPECT_EQ(notice.note, notices_[0].note);
    EXPECT_TRUE(notice.warning);
  }
  for (const json& pod : client_.All(kube::Pods())) EXPECT_TRUE(Gated(pod));
}

TEST_F(GangPlannerTest, ARankOfALostHostMovesToTheBackupHostOfItsSegmentAndNobodyElseMoves) {
  AddJob("a", 3);
  PassOfANewProcess();
  const json before = GangStatus("a")["assignments"];
  const std::string lost = before[1]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  PassOfANewProcess();
  EXPECT_EQ(GangStatus("a")["assignments"], before) << "its old pod may still run";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  AddPod("a", 1);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.replaced_ranks, 1) << Join(report.errors, "\n");
  const json after = GangStatus("a")["assignments"];
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[2], before[2]);
  EXPECT_EQ(after[1]["segment"], before[1]["segment"]);
  EXPECT_EQ(after[1]["host"], NodeName(lost[1] - '0', kHostsPerSegment - 1));
  EXPECT_EQ(GangStatus("a")["planGeneration"], 2);
  CheckPromises();
}

TEST_F(GangPlannerTest, APodMadeAgainOnAHealthyHostGoesBackToIt) {
  AddJob("a", 2);
  PassOfANewProcess();
  const json before = GangStatus("a")["assignments"];
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  AddPod("a", 0);
  EXPECT_EQ(PassOfANewProcess().released_pods, 1);
  EXPECT_EQ(GangStatus("a")["assignments"], before);
  CheckPromises();
}

TEST_F(GangPlannerTest, AFollowerPublishesAViewAndWritesNothing) {
  AddJob("a", 2);
  const PassReport report = PassOfANewProcess(/*leader=*/false);
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_TRUE(client_.All(kube::Gangs()).empty());
  ASSERT_NE(view_, nullptr);
  EXPECT_EQ(Judge(*view_, {workload::JobKey{"team", "trainingjob-a"}, 0, 8}, NodeName(0, 0)),
            Verdict::kGangNotPlanned);
}

TEST_F(GangPlannerTest, ANewLeaderReadsTheLedgerItselfBeforeItPlans) {
  AddJob("a", 3);
  AddJob("b", 3);
  state::WorldCache behind;  // has seen everything but the Gangs
  for (const json& o : client_.All(kube::Nodes())) behind.Deliver(state::Kind::kNode, o);
  for (const json& o : client_.All(kube::Pods())) behind.Deliver(state::Kind::kPod, o);
  for (const json& o : client_.All(kube::TrainingJobs())) {
    behind.Deliver(state::Kind::kTrainingJob, o);
  }
  PassOfANewProcess();
  GangPlanner next(
      client_, behind, clock_, [] { return true; }, [](auto) {}, [](const Notice&) {}, {1, {}});
  const PassReport report = next.Pass();
  EXPECT_EQ(report.committed, 0);
  CheckPromises();
}

TEST_F(GangPlannerTest, AWriterThatLosesTheLeaseCommitsNothingMore) {
  AddJob("a", 3);
  AddJob("b", 3);
  state::WorldCache cache;
  for (const json& o : client_.All(kube::Nodes())) cache.Deliver(state::Kind::kNode, o);
  for (const json& o : client_.All(kube::Pods())) cache.Deliver(state::Kind::kPod, o);
  for (const json& o : client_.All(kube::TrainingJobs()))
    cache.Deliver(state::Kind::kTrainingJob, o);
  int asked = 0;
  GangPlanner planner(
      client_, cache, clock_, [&] { return ++asked <= 2; }, [](auto) {}, [](const Notice&) {},
      {1, {}});
  EXPECT_EQ(planner.Pass().committed, 1);
  CheckPromises();
}

TEST_F(GangPlannerTest, AJobMadeAgainUnderItsNameDoesNotInheritTheOldGang) {
  AddJob("a", 2);
  PassOfANewProcess();
  // The job and its pods are gone and made again; the garbage collector has not taken the Gang yet.
  for (const json& pod : client_.All(kube::Pods())) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).ok());
  }
  AddPod("a", 0, "job-a-again");
  AddPod("a", 1, "job-a-again");
  EXPECT_EQ(PassOfANewProcess().released_pods, 0);
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
  EXPECT_EQ(PassOfANewProcess().released_pods, 2);
  CheckPromises();
}

TEST_F(GangPlannerTest, AFinishedGangGivesItsHostsBack) {
  AddJob("a", 6);
  PassOfANewProcess();
  AddJob("b", 6);
  EXPECT_EQ(PassOfANewProcess().waiting, 1);
  for (json pod : client_.All(kube::Pods())) {
    if (pod["metadata"]["labels"][api::kJobLabel] != "a") continue;
    pod["status"]["phase"] = "Succeeded";
    client_.Seed(kube::Pods(), pod);
  }
  EXPECT_EQ(PassOfANewProcess().committed, 1);
  EXPECT_EQ(GangStatus("b")["outcome"], "Placed");
}

}  // namespace
}  // namespace yardmaster::extender
