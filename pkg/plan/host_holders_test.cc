#include "pkg/plan/host_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::ReasonCode;
using testing::HasSubstr;

// Sixteen ordinary hosts and a backup host.
Snapshot MakeHosts() { return MakeSnapshot(fabric::SmallHpn(1, 1, 17)); }

std::vector<HostId> Hosts(const Snapshot& s, int first, int count) {
  std::vector<HostId> out;
  for (const HostId host : s.places->hosts()) {
    if (s.cluster.hosts[host.index()].backup) continue;
    if (first-- > 0) continue;
    if (count-- > 0) out.push_back(host);
  }
  return out;
}

// A job of that name that has `count` ordinary hosts from the `first` on.
void Hold(Snapshot& s, const std::string& name, int first, int count, int priority) {
  JobState& job = AddJob(s, name, count);
  job.owner = StrCat("TrainingJob default/", name);
  job.job.priority = priority;
  job.released = true;
  Place(s, LastJob(s), Hosts(s, first, count));
}

// An ordinary pod takes a whole host.
void Occupy(Snapshot& s, HostId host, const std::string& pod, int priority) {
  s.ordinary_pods.resize(s.cluster.hosts.size());
  s.ordinary_pods[host.index()] = std::make_shared<const std::vector<OrdinaryPod>>(
      std::vector<OrdinaryPod>{{pod, priority, 8}});
  s.cluster.hosts[host.index()].free_gpus = 0;
}

// Of the last job, which is too large.
std::string WhyOccupied(const Snapshot& s) {
  const Plan plan = MakePlan(s);
  for (const placement::Reason& reason : Of(plan, LastJob(s)).gang.reasons) {
    if (reason.code == ReasonCode::kHostsOccupied) return reason.message;
  }
  return "";
}

TEST(HostHoldersTest, TheReasonNamesTheJobThatHasTheHosts) {
  Snapshot s = MakeHosts();
  Hold(s, "bert", 0, 8, 0);
  AddJob(s, "gpt", 16);
  EXPECT_EQ(WhyOccupied(s), "8 hosts held by TrainingJob default/bert (running, priority 0)");
}

TEST(HostHoldersTest, TheLargestHolderComesFirstAndOrdinaryPodsAreNamedWithTheirPriority) {
  Snapshot s = MakeHosts();
  Hold(s, "small", 0, 2, 7);
  Hold(s, "bert", 2, 8, 0);
  for (int i = 0; i < 3; ++i) Occupy(s, Hosts(s, 10 + i, 1)[0], StrCat("web/p", i), 5);
  AddJob(s, "gpt", 16);
  EXPECT_EQ(WhyOccupied(s),
            "8 hosts held by TrainingJob default/bert (running, priority 0), 3 by 3 ordinary pods "
            "(priority 5: web/p0, web/p1 and 1 more), which no gang stops and 2 by TrainingJob "
            "default/small (running, priority 7)");
}

TEST(HostHoldersTest, PodsOfSeveralPrioritiesSayFromWhichToWhich) {
  Snapshot s = MakeHosts();
  Occupy(s, Hosts(s, 0, 1)[0], "web/a", -10);
  Occupy(s, Hosts(s, 1, 1)[0], "web/b", 100);
  AddJob(s, "gpt", 16);
  EXPECT_EQ(WhyOccupied(s),
            "2 hosts held by 2 ordinary pods (priorities -10 to 100: web/a, web/b), which no gang "
            "stops");
}

TEST(HostHoldersTest, WhatAHolderDoesIsSaid) {
  Snapshot s = MakeHosts();
  Hold(s, "bert", 0, 8, 0);
  s.jobs[0].released = false;
  AddJob(s, "gpt", 16);
  EXPECT_THAT(WhyOccupied(s), HasSubstr("default/bert (starting, priority 0)"));
  s.jobs[0].leaving = true;
  EXPECT_THAT(WhyOccupied(s), HasSubstr("default/bert (being stopped, priority 0)"));
}

TEST(HostHoldersTest, AJobThatThisPlanPlacesBeforeItIsAHolder) {
  Snapshot s = MakeHosts();
  AddJob(s, "first", 8).job.priority = 3;
  AddJob(s, "second", 16);
  EXPECT_EQ(WhyOccupied(s), "8 hosts held by default/first (placed before it, priority 3)");
}

TEST(HostHoldersTest, OfManyHoldersTheLargestAreNamed) {
  Snapshot s = MakeHosts();
  for (int i = 0; i < 6; ++i) Hold(s, StrCat("j", i), 2 * i, i == 5 ? 3 : 2, 0);
  AddJob(s, "gpt", 16);
  const std::string why = WhyOccupied(s);
  EXPECT_THAT(why, testing::StartsWith("3 hosts held by TrainingJob default/j5 (running"));
  EXPECT_THAT(why, testing::EndsWith(" and 6 by 3 other holders"));
}

TEST(HostHoldersTest, AHostThatNothingKnownHasIsOfGangsThatAreNotPlanned) {
  Snapshot s = MakeHosts();
  s.cluster.hosts[Hosts(s, 0, 1)[0].index()].free_gpus = 0;
  AddJob(s, "gpt", 16);
  EXPECT_EQ(WhyOccupied(s), "1 host held by pods or promises of gangs that are not planned now");
}

}  // namespace
}  // namespace yardmaster::plan
