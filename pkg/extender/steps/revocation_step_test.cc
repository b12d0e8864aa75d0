#include "pkg/extender/steps/revocation_step.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

class RevocationStepTest : public PlannerFixture {
 protected:
  // Two gangs of two, placed; nothing of them is released.
  void PlaceTwo(const json& more_of_b = json::object()) {
    AddJob("a", 2);
    AddJob("b", 2, "{}", more_of_b);
    client_.SetHook([](const kube::Call& call) -> absl::Status {
      const bool release = call.verb == kube::Verb::kPatch && call.target.resource == kube::Pods();
      return release ? absl::UnavailableError("not now") : absl::OkStatus();
    });
    PassOfANewProcess();
    client_.SetHook(nullptr);
    ASSERT_TRUE(Placed("a") && Placed("b"));
  }
  // Another writer puts a's hosts into b's status.
  void PromiseTheHostsOfAToB() {
    json b = *client_.Find(kube::Gangs(), "team", "trainingjob-b");
    b["status"]["assignments"] = Slots("a");
    client_.Seed(kube::Gangs(), b);
  }
  void Bind(const std::string& name, const std::string& host, const char* phase = "Running") {
    json pod = *client_.Find(kube::Pods(), "team", name);
    pod["spec"].erase("schedulingGates");
    if (!host.empty()) pod["spec"]["nodeName"] = host;
    pod["status"]["phase"] = phase;
    client_.Seed(kube::Pods(), pod);
  }
  bool SameHosts() {
    return !Slots("a").empty() && !Slots("b").empty() &&
           Slots("a")[0]["host"] == Slots("b")[0]["host"];
  }
};

TEST_F(RevocationStepTest, TheGangOfHigherPriorityKeepsTheHostsAndTheOtherOneIsPlacedAgain) {
  PlaceTwo({{"priority", 5}});
  const json hosts = Slots("a");
  PromiseTheHostsOfAToB();
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.revoked, 1);
  EXPECT_EQ(CountNotices("PromiseRevoked"), 1);
  EXPECT_EQ(Slots("b"), hosts);
  EXPECT_TRUE(Placed("a")) << "in the same pass";
  EXPECT_EQ(Condition("a", "Expedited")["reason"], "Placed") << "before others of its priority";
  EXPECT_FALSE(SameHosts());
  CheckPromises();
  EXPECT_EQ(PassOfANewProcess().revoked, 0);
}

TEST_F(RevocationStepTest, OfEqualPriorityTheEarlierCommitKeepsTheHosts) {
  PlaceTwo();
  PromiseTheHostsOfAToB();
  json a = *client_.Find(kube::Gangs(), "team", "trainingjob-a");
  a["status"]["committedTime"] = "2024-01-01T00:00:00Z";
  client_.Seed(kube::Gangs(), a);
  const json hosts = Slots("b");
  EXPECT_EQ(PassOfANewProcess().revoked, 1);
  EXPECT_EQ(Slots("b"), hosts);
  CheckPromises();
}

TEST_F(RevocationStepTest, AGangThatHasStartedKeepsTheHostsWhateverThePriorities) {
  PlaceTwo({{"priority", 5}});
  PromiseTheHostsOfAToB();
  for (int rank = 0; rank < 2; ++rank) Bind(StrCat("a-", rank), Slots("a")[rank]["host"]);
  const json hosts = Slots("a");
  EXPECT_EQ(PassOfANewProcess().revoked, 1);
  EXPECT_EQ(Slots("a"), hosts);
  EXPECT_TRUE(Placed("b"));
  EXPECT_FALSE(SameHosts());
}

TEST_F(RevocationStepTest, ReleasedPodsOfTheLosingGangAreEvictedFirst) {
  PlaceTwo({{"priority", 5}});
  PromiseTheHostsOfAToB();
  for (int rank = 0; rank < 2; ++rank) Bind(StrCat("a-", rank), Slots("a")[rank]["host"]);
  Bind("b-0", "", "Pending");
  EXPECT_EQ(PassOfANewProcess().revoked, 0);
  EXPECT_FALSE(client_.Find(kube::Pods(), "team", "b-0"));
  MakeMissingPods();
  EXPECT_EQ(PassOfANewProcess().revoked, 1);
  EXPECT_TRUE(Placed("b"));
  EXPECT_FALSE(SameHosts());
}

TEST_F(RevocationStepTest, WhereBothRunNothingIsStoppedAndPeopleAreTold) {
  PlaceTwo();
  PromiseTheHostsOfAToB();
  Bind("a-0", Slots("a")[0]["host"]);
  Bind("b-1", Slots("a")[1]["host"]);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.revoked, 0);
  EXPECT_TRUE(SameHosts());
  int told = 0;
  for (const std::string& problem : report.problems) {
    told += problem.find("both have running pods") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(told, 1);
}

TEST_F(RevocationStepTest, AHostThatHasLostGpusBreaksNoPromiseOfOneGang) {
  PlaceTwo();
  const std::string host = Slots("a")[0]["host"];
  json node = *client_.Find(kube::Nodes(), "", host);
  node["status"]["allocatable"][api::kGpuResource] = "7";
  client_.Seed(kube::Nodes(), node);
  EXPECT_EQ(PassOfANewProcess().revoked, 0);
}

}  // namespace
}  // namespace yardmaster::extender
