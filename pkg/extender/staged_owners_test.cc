// Owners that make their pods in stages, and those whose size changes.
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class StagedOwnersTest : public BatchJobFixture {
 protected:
  static kube::Resource JobSets() {
    return {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};
  }
  static kube::Resource LeaderWorkerSets() {
    return {"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", true};
  }
  // Job "a" of one pod, then job "w" of three.
  void AddJobSet(const json& more = json::object()) {
    json set = json::parse(R"({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "d", "namespace": "team", "uid": "uid-d"},
        "spec": {"replicatedJobs": [
            {"name": "a", "replicas": 1,
             "template": {"spec": {"completions": 1, "parallelism": 1}}},
            {"name": "w", "replicas": 1, "dependsOn": [{"name": "a", "status": "Ready"}],
             "template": {"spec": {"completions": 3, "parallelism": 3}}}]}})");
    set.merge_patch(more);
    client_.Seed(JobSets(), set);
  }
  std::string AddJobSetPod(int job, int index) {
    const std::string name = StrCat("d-", job, "-", index, "-", ++made_);
    const std::string job_name = job == 0 ? "d-a-0" : "d-w-0";
    client_.Seed(kube::Pods(),
                 GatedPod(name, {{api::kGpuResource, "8"}},
                          {{"jobset.sigs.k8s.io/jobset-name", "d"},
                           {"jobset.sigs.k8s.io/jobset-uid", "uid-d"},
                           {"jobset.sigs.k8s.io/job-global-index", StrCat(job)},
                           {"batch.kubernetes.io/job-name", job_name},
                           {"batch.kubernetes.io/job-completion-index", StrCat(index)}},
                          {{"apiVersion", "batch/v1"},
                           {"kind", "Job"},
                           {"name", job_name},
                           {"uid", Uid(job_name)},
                           {"controller", true}},
                          "tp=8,dp=4"));
    return name;
  }
  void AddGroup(int size, const json& more = json::object()) {
    json set = {{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
                {"kind", "LeaderWorkerSet"},
                {"metadata", {{"name", "l"}, {"namespace", "team"}, {"uid", "uid-l"}}},
                {"spec", {{"replicas", 1}, {"leaderWorkerTemplate", {{"size", size}}}}}};
    set.merge_patch(more);
    client_.Seed(LeaderWorkerSets(), set);
  }
  std::string AddGroupPod(int index, int size) {
    const std::string name = StrCat("l-0-", index);
    json pod = GatedPod(name, {{api::kGpuResource, "8"}},
                        {{"leaderworkerset.sigs.k8s.io/name", "l"},
                         {"leaderworkerset.sigs.k8s.io/group-index", "0"},
                         {"leaderworkerset.sigs.k8s.io/worker-index", StrCat(index)}},
                        {{"apiVersion", "apps/v1"},
                         {"kind", "StatefulSet"},
                         {"name", index == 0 ? "l" : "l-0"},
                         {"uid", index == 0 ? "uid-set" : "uid-set-0"},
                         {"controller", true}},
                        StrCat("tp=8,dp=", size));
    pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = StrCat(size);
    client_.Seed(kube::Pods(), pod);
    return name;
  }
  void RunUntilStable(Process& process) {
    for (int i = 0; i < 4; ++i) {
      process.Pass();
      RunReleasedPods();
      clock_.Advance(3'000);
    }
    process.Pass();
  }
  bool IsReleased(const std::string& pod) {
    const json object = *client_.Find(kube::Pods(), "team", pod);
    return !Gated(object) && !PinnedTo(object).empty();
  }

  int made_ = 0;
};

TEST_F(StagedOwnersTest, AJobSetWhoseJobsDependOnEachOtherStartsAndGrows) {
  AddJobSet();
  const std::string first = AddJobSetPod(0, 0);
  Process process(*this, true);
  process.Pass();
  EXPECT_FALSE(IsReleased(first)) << "the others may come at any moment";
  RunUntilStable(process);
  ASSERT_TRUE(IsReleased(first));
  const auto host = HostsOf("jobset-d");
  ASSERT_EQ(host.size(), 1u) << "no host is held for pods that are not there";
  for (int index = 0; index < 3; ++index) AddJobSetPod(1, index);
  RunUntilStable(process);
  EXPECT_EQ(HostsOf("jobset-d").size(), 4u);
  EXPECT_EQ(HostsOf("jobset-d")[0], host[0]);
  for (const json& pod : client_.All(kube::Pods())) EXPECT_FALSE(Gated(pod));
  EXPECT_EQ(CountNotices("NotInGang"), 0);
}

TEST_F(StagedOwnersTest, ItsNextStageIsPlacedAllOrNone) {
  AddJobSet();
  AddJobSetPod(0, 0);
  Process process(*this, true);
  RunUntilStable(process);
  const std::string worker = AddJobSetPod(1, 0);
  AddJobSetPod(1, 1);
  RunUntilStable(process);
  EXPECT_FALSE(IsReleased(worker));
  AddJobSetPod(1, 2);
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(worker));
}

TEST_F(StagedOwnersTest, AJobSetThatStartsInOrderIsFollowed) {
  AddJobSet({{"spec", {{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}}}});
  const std::string first = AddJobSetPod(0, 0);
  Process process(*this, true);
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(first));
}

TEST_F(StagedOwnersTest, WhatCannotBeFollowedIsSaidOnTheOwner) {
  AddJobSet(
      {{"metadata", {{"annotations", {{"alpha.jobset.sigs.k8s.io/exclusive-topology", "rack"}}}}}});
  const std::string first = AddJobSetPod(0, 0);
  Process process(*this, true);
  RunUntilStable(process);
  RunUntilStable(process);
  EXPECT_FALSE(IsReleased(first));
  EXPECT_EQ(CountNotices("NeverComplete"), 2) << "on the owner and the pod, once";
  EXPECT_NE(NoticesAbout("NeverComplete").find("remove the annotation"), std::string::npos);
}

TEST_F(StagedOwnersTest, ALeaderThatMustBeReadyFirstStartsAlone) {
  AddGroup(3, {{"spec", {{"startupPolicy", "LeaderReady"}}}});
  const std::string leader = AddGroupPod(0, 3);
  Process process(*this, true);
  RunUntilStable(process);
  ASSERT_TRUE(IsReleased(leader));
  AddGroupPod(1, 3);
  AddGroupPod(2, 3);
  RunUntilStable(process);
  EXPECT_EQ(HostsOf("leaderworkerset-l-0").size(), 3u);
  EXPECT_TRUE(IsReleased("l-0-2"));
}

TEST_F(StagedOwnersTest, AGroupThatGetsLargerGetsAHostForItsNewRank) {
  AddGroup(3);
  for (int index = 0; index < 3; ++index) AddGroupPod(index, 3);
  Process process(*this, true);
  RunUntilStable(process);
  const auto hosts = HostsOf("leaderworkerset-l-0");
  ASSERT_EQ(hosts.size(), 3u);
  AddGroup(4);
  AddGroupPod(3, 4);
  RunUntilStable(process);
  const auto after = HostsOf("leaderworkerset-l-0");
  ASSERT_EQ(after.size(), 4u);
  EXPECT_TRUE(std::equal(hosts.begin(), hosts.end(), after.begin()));
  EXPECT_TRUE(IsReleased("l-0-3"));
}

TEST_F(StagedOwnersTest, AnOwnerThatCannotBeReadForAWhileTakesNothingBack) {
  AddGroup(3);
  for (int index = 0; index < 3; ++index) AddGroupPod(index, 3);
  Process process(*this, true);
  RunUntilStable(process);
  AddGroup(5);
  AddGroupPod(3, 5);
  process.Pass();
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    return call.target.resource == LeaderWorkerSets() ? absl::UnavailableError("down")
                                                      : absl::OkStatus();
  });
  for (int i = 0; i < 5; ++i) {
    process.Pass();
    clock_.Advance(3'000);
  }
  EXPECT_EQ(CountNotices("NotInGang"), 0) << "it grows, and rank 4 is still to come";
}

TEST_F(StagedOwnersTest, AGroupThatGetsSmallerHoldsNoHostForNobody) {
  AddGroup(4);
  for (int index = 0; index < 4; ++index) AddGroupPod(index, 4);
  Process process(*this, true);
  RunUntilStable(process);
  ASSERT_EQ(HostsOf("leaderworkerset-l-0").size(), 4u);
  AddGroup(3);
  DeletePod("l-0-3");
  RunUntilStable(process);
  EXPECT_EQ(HostsOf("leaderworkerset-l-0").size(), 3u);
}

TEST_F(StagedOwnersTest, AGroupOfAnotherSizeThatWasMadeAgainIsPlacedWhole) {
  AddGroup(3);
  for (int index = 0; index < 3; ++index) AddGroupPod(index, 3);
  Process process(*this, true);
  RunUntilStable(process);
  for (int index = 0; index < 3; ++index) DeletePod(StrCat("l-0-", index));
  AddGroup(4);
  for (int index = 0; index < 4; ++index) AddGroupPod(index, 4);
  RunUntilStable(process);
  EXPECT_EQ(HostsOf("leaderworkerset-l-0").size(), 4u);
  for (int index = 0; index < 4; ++index) EXPECT_TRUE(IsReleased(StrCat("l-0-", index)));
}

}  // namespace
}  // namespace yardmaster::extender
