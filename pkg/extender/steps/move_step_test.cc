#include "pkg/extender/steps/move_step.h"

#include <map>
#include <set>

#include "gmock/gmock.h"

#include "pkg/extender/testing/placed_first_fixture.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

using testing::HasSubstr;

using Hosts = std::vector<std::string>;

class MoveStepTest : public PlacedFirstFixture {
 protected:
  // Its pods are on its hosts.
  void Run(const std::string& name, int workers) {
    AddRequest(name, workers);
    Process process(*this, true);
    process.Pass();
    MakePods(name);
    process.Pass();
    RunReleasedPods();
    process.Pass();
    ASSERT_TRUE(Released(name));
  }
  void MakePods(const std::string& job) {
    for (std::size_t rank = 0; rank < Slots(job).size(); ++rank) {
      MakePod(job, static_cast<int>(rank));
    }
  }
  Hosts HostsOf(const std::string& job) { return Names(Slots(job)); }
  Hosts NextOf(const std::string& job) {
    return Names(GangStatus(job).value("/move/assignments"_json_pointer, json::array()));
  }
  static Hosts Names(const json& slots) {
    Hosts names;
    for (const json& slot : slots) names.push_back(slot["host"]);
    return names;
  }
  void Ask(const std::string& job, const Hosts& hosts, const std::string& id = "m1") {
    ChangeJob(job, {{"status", {{"move", {{"id", id}, {"state", "Asked"}, {"hosts", hosts}}}}}});
  }
  // The operator has begun to end its pods.
  void SetMoving(const std::string& job) {
    ChangeJob(job, {{"status", {{"move", {{"state", "Moving"}}}}}});
  }
  void EndPods(const std::string& job) {
    for (const json& pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] == job) DeletePod(kube::NameOf(pod));
    }
  }
  std::string State(const std::string& job) {
    return GangStatus(job).value("/move/state"_json_pointer, "");
  }
  std::string Message(const std::string& job) {
    return GangStatus(job).value("/move/message"_json_pointer, "");
  }
  int FreeGpus(const std::string& host) {
    const plan::Snapshot& snapshot = view_->snapshot();
    return snapshot.cluster.hosts[snapshot.places->FindHost(host).index()].free_gpus;
  }
  // As CheckPromises, with next hosts.
  void CheckAllPromises() {
    CheckPromises();
    std::map<std::string, std::string> holder;
    for (const json& gang : client_.All(kube::Gangs())) {
      const std::string name = gang["metadata"]["name"];
      const Hosts next = Names(gang.value("/status/move/assignments"_json_pointer, json::array()));
      Hosts all = Names(gang.value("/status/assignments"_json_pointer, json::array()));
      EXPECT_TRUE(next.empty() || next.size() == all.size()) << name;
      EXPECT_TRUE(next.empty() || gang["status"]["move"]["state"] == "Promised") << gang;
      all.insert(all.end(), next.begin(), next.end());
      for (const std::string& host : std::set<std::string>(all.begin(), all.end())) {
        EXPECT_TRUE(holder.emplace(host, name).second) << host << " is promised twice";
      }
    }
  }
  const Hosts there_ = {"s1h0", "s1h1"};
};

TEST_F(MoveStepTest, TheNextHostsArePromisedBesideThePresentOnes) {
  Run("a", 2);
  const Hosts here = HostsOf("a");
  ASSERT_EQ(here, (Hosts{"s0h0", "s0h1"}));
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(State("a"), "Promised");
  EXPECT_EQ(NextOf("a"), there_);
  EXPECT_EQ(HostsOf("a"), here);
  EXPECT_TRUE(Released("a"));
  EXPECT_EQ(FreeGpus("s1h0"), 0) << "in the pass that promises them";
  AddRequest("b", 3);
  process.Pass();
  EXPECT_EQ(FreeGpus("s1h0"), 0);
  EXPECT_EQ(FreeGpus("s1h1"), 0);
  EXPECT_EQ(FreeGpus("s1h2"), 8);
  EXPECT_FALSE(Placed("b")) << "two hosts are left that are no spare ones";
  const auto node = client_.Find(kube::Nodes(), "", "s1h0");
  EXPECT_EQ((*node)["spec"]["taints"][0]["key"], api::kPromisedKey);
  CheckAllPromises();
}

TEST_F(MoveStepTest, OnceNoPodIsLeftTheNextPlaceIsTheOnlyOne) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  EndPods("a");
  process.Pass();
  EXPECT_EQ(State("a"), "Promised") << "the operator has not begun";
  SetMoving("a");
  MakePod("a", 1);
  process.Pass();
  EXPECT_EQ(State("a"), "Promised") << "a pod may still run on its host";
  EndPods("a");
  process.Pass();
  EXPECT_EQ(State("a"), "Done");
  EXPECT_EQ(HostsOf("a"), there_);
  EXPECT_EQ(NextOf("a"), Hosts{});
  EXPECT_EQ(GangStatus("a")["planGeneration"], 2);
  EXPECT_FALSE(Released("a"));
  EXPECT_EQ(FreeGpus("s0h0"), 8) << "in the pass that has moved it";
  EXPECT_EQ(FreeGpus("s1h0"), 0);
  MakePods("a");
  process.Pass();
  process.Pass();
  EXPECT_TRUE(Released("a"));
  CheckAllPromises();
}

// The next place may share hosts with the present one, also among other ranks.
TEST_F(MoveStepTest, RanksMayKeepOrExchangeTheirHosts) {
  Run("a", 2);
  Ask("a", {"s0h1", "s0h2"});
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(State("a"), "Promised") << Message("a");
  process.Pass();
  EXPECT_EQ(FreeGpus("s0h0"), 0);
  EXPECT_EQ(FreeGpus("s0h1"), 0);
  EXPECT_EQ(FreeGpus("s0h2"), 0);
  EndPods("a");
  SetMoving("a");
  process.Pass();
  EXPECT_EQ(HostsOf("a"), (Hosts{"s0h1", "s0h2"}));
  EXPECT_EQ(FreeGpus("s0h0"), 8);
}

TEST_F(MoveStepTest, WhatCannotBePromisedIsRefusedWithItsReason) {
  Run("a", 2);
  Run("b", 1);
  ASSERT_EQ(HostsOf("b"), Hosts{"s0h2"});
  const struct {
    Hosts hosts;
    const char* why;
  } cases[] = {{{"s1h0"}, "hosts of 1 ranks are asked for, and the gang has 2"},
               {{"s1h0", "s9h9"}, "there is no host s9h9"},
               {{"s0h0", "s0h1"}, "the gang is there already"},
               {{"s1h0", "s0h2"}, "GPUs"},
               {{"s1h0", "s1h0"}, "GPUs"},
               {{"s1h0", "s1h3"}, "backup"},
               {{"s0h0", "s1h0"}, "worse"}};
  int id = 0;
  Process process(*this, true);
  for (const auto& one : cases) {
    Ask("a", one.hosts, StrCat("m", ++id));
    process.Pass();
    EXPECT_EQ(State("a"), "Refused");
    EXPECT_THAT(Message("a"), HasSubstr(one.why));
    EXPECT_EQ(GangStatus("a")["move"]["id"], StrCat("m", id));
  }
  AddNode(1, 1, /*ready=*/false);
  Ask("a", there_, "unready");
  process.Pass();
  EXPECT_THAT(Message("a"), HasSubstr("out of service"));
  AddNode(1, 1);
  SetPods("a", "First");
  Ask("a", there_, "first");
  process.Pass();
  EXPECT_THAT(Message("a"), HasSubstr("its pods come before their place"));
  EXPECT_EQ(HostsOf("a"), (Hosts{"s0h0", "s0h1"}));
}

// A move takes nothing from those that wait.
TEST_F(MoveStepTest, AWaitingGangThatFitsGoesFirst) {
  Run("a", 2);
  Ask("a", there_);
  AddRequest("b", 3, 0);
  PassOfANewProcess();
  EXPECT_TRUE(Placed("b"));
  EXPECT_EQ(State("a"), "Refused");
  CheckAllPromises();
}

TEST_F(MoveStepTest, APromiseThatIsNotAskedForAnyMoreIsGivenUp) {
  const json ends[] = {{{"status", {{"move", {{"state", "Abandoned"}}}}}},
                       {{"status", {{"move", {{"id", "m2"}}}}}},
                       {{"status", {{"elastic", {{"data", 16}, {"targetData", 8}}}}}},
                       {{"spec", {{"suspend", true}}}},
                       {{"metadata", {{"uid", "another"}}}}};
  for (const json& end : ends) {
    SCOPED_TRACE(end.dump());
    DeleteAllJobs();
    Run("a", 2);
    Ask("a", there_);
    Process process(*this, true);
    process.Pass();
    ASSERT_EQ(State("a"), "Promised");
    ChangeJob("a", end);
    const bool is_later_request = end.dump().find("m2") != std::string::npos;
    PassOfANewProcess();
    EXPECT_EQ(State("a"), is_later_request ? "Promised" : "GivenUp");
    EXPECT_EQ(GangStatus("a")["move"]["id"], is_later_request ? "m2" : "m1");
    EXPECT_EQ(HostsOf("a"), (Hosts{"s0h0", "s0h1"}));
    EXPECT_EQ(CountNotices("MoveGivenUp"), 1);
    notices_.clear();
  }
}

TEST_F(MoveStepTest, APromiseExpires) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(kMoveMs + 119'000);  // and checkpoint.graceSeconds
  process.Pass();
  EXPECT_EQ(State("a"), "Promised");
  clock_.Advance(2'000);
  process.Pass();
  EXPECT_EQ(State("a"), "GivenUp");
  process.Pass();
  EXPECT_EQ(State("a"), "GivenUp") << "the same request is not granted again";
}

TEST_F(MoveStepTest, AHostThatIsLostMeanwhileEndsThePromiseAndTheGangGoesOn) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  SetMoving("a");
  EndPods("a");
  AddNode(1, 1, /*ready=*/false);
  process.Pass();
  EXPECT_EQ(State("a"), "GivenUp");
  EXPECT_THAT(Message("a"), HasSubstr("s1h1"));
  EXPECT_EQ(HostsOf("a"), (Hosts{"s0h0", "s0h1"}));
  // Nor does a host without its Node free what is kept there.
  Ask("a", {"s1h0", "s1h2"}, "m2");
  MakePods("a");
  process.Pass();
  ASSERT_EQ(State("a"), "Promised") << Message("a");
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", "s1h2", ""}, {}).ok());
  process.Pass();
  EXPECT_EQ(State("a"), "GivenUp");
}

// Written by hand, or restored from a backup.
TEST_F(MoveStepTest, APromiseOfAHostThatAnotherGangHasIsGivenUp) {
  Run("a", 2);
  Run("b", 1);
  Ask("a", there_);
  PassOfANewProcess();
  json gang = *client_.Find(kube::Gangs(), "team", GangName("a"));
  gang["status"]["move"]["assignments"][0]["host"] = HostsOf("b")[0];
  client_.Seed(kube::Gangs(), gang);
  SetMoving("a");
  EndPods("a");
  PassOfANewProcess();
  EXPECT_EQ(State("a"), "GivenUp");
  EXPECT_TRUE(Placed("b"));
  CheckAllPromises();
}

TEST_F(MoveStepTest, AGangThatEndsOrMakesRoomKeepsNoNextHosts) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  EndPods("a");
  process.Pass();
  process.Pass();
  EXPECT_EQ(NextOf("a"), Hosts{});
  EXPECT_EQ(FreeGpus("s1h0"), 8);
  EXPECT_EQ(FreeGpus("s0h0"), 8);
}

// A pod that the watch has not reported keeps the gang where it is.
TEST_F(MoveStepTest, APodThatOnlyTheApiServerKnowsKeepsTheGangWhereItIs) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  SetMoving("a");
  std::vector<json> pods;
  for (const json& pod : client_.All(kube::Pods())) pods.push_back(pod);
  EndPods("a");
  bool shown = false;
  client_.SetHook([&](const kube::Call& call) {
    // The pass reads the pods of its namespace before it writes.
    if (call.target.resource == kube::Pods() && !call.target.ns.empty() && !shown) {
      shown = true;
      for (const json& pod : pods) client_.Seed(kube::Pods(), pod);
    }
    return absl::OkStatus();
  });
  process.Pass();
  client_.SetHook({});
  EXPECT_TRUE(shown);
  EXPECT_EQ(State("a"), "Promised");
  EXPECT_EQ(HostsOf("a"), (Hosts{"s0h0", "s0h1"}));
}

// Of a job that has been told otherwise, but not yet this process.
TEST_F(MoveStepTest, AJobThatDoesNotMoveAnyMoreKeepsItsPlace) {
  Run("a", 2);
  Ask("a", there_);
  Process process(*this, true);
  process.Pass();
  SetMoving("a");
  EndPods("a");
  bool changed = false;
  client_.SetHook([&](const kube::Call& call) {
    const bool reads_job = call.target.resource == kube::TrainingJobs() && call.target.name == "a";
    if (reads_job && !std::exchange(changed, true)) {
      ChangeJob("a", {{"status", {{"move", {{"state", "Abandoned"}}}}}});
    }
    return absl::OkStatus();
  });
  process.Pass();
  client_.SetHook({});
  EXPECT_TRUE(changed);
  EXPECT_EQ(HostsOf("a"), (Hosts{"s0h0", "s0h1"}));
}

TEST_F(MoveStepTest, KilledAtAnyWriteOrWithoutAnAnswerTheNextProcessFinishes) {
  for (const absl::Status& end :
       {absl::CancelledError("killed"), absl::UnavailableError("no answer")}) {
    for (int killed_at = 0;; ++killed_at) {
      SCOPED_TRACE(StrCat(end.ToString(), " at write ", killed_at));
      DeleteAllJobs();
      Run("a", 2);
      Ask("a", there_);
      Process process(*this, true);
      int writes = 0;
      const auto pass = [&] {
        if (writes > killed_at) return;  // it is dead
        const kube::KillAtWrite kill(client_, killed_at - writes, end);
        process.Pass();
        writes += kill.writes();
      };
      pass();
      CheckAllPromises();
      SetMoving("a");
      if (State("a") == "Promised") EndPods("a");
      pass();
      CheckAllPromises();
      if (State("a") != "Promised" && State("a") != "Done") Ask("a", there_);
      PassOfANewProcess();
      SetMoving("a");
      EndPods("a");
      PassOfANewProcess();
      EXPECT_EQ(HostsOf("a"), there_);
      MakePods("a");
      PassOfANewProcess();
      PassOfANewProcess();
      EXPECT_TRUE(Released("a"));
      CheckAllPromises();
      if (writes <= killed_at) break;
    }
  }
}

// A commit of the leader before arrives when the next one has given the hosts away, and the other
// way round.
TEST_F(MoveStepTest, OfTwoLeadersOneAlonePromises) {
  Run("a", 2);
  Run("b", 2);
  ASSERT_EQ(HostsOf("b"), there_);
  Run("c", 1);
  Process former(*this, true);
  former.Pass();
  Ask("a", {"s0h2", "s1h2"});
  Process next(*this, true);
  next.Pass();
  const std::string answer = GangStatus("a").dump();
  Ask("c", {"s1h2"}, "m2");
  former.Pass();
  CheckAllPromises();
  EXPECT_EQ(GangStatus("a").dump(), answer) << "the former leader's token is refused";
  next.Pass();
  CheckAllPromises();
}

}  // namespace
}  // namespace yardmaster::extender
