#include "pkg/api/rank_resolver.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

using Labels = std::map<std::string, std::string>;

Pod PodWith(Labels labels, Labels annotations = {}) {
  Pod pod;
  pod.metadata.name = "p";
  workload::SetAmount(pod.requests, kGpuResource, 8);
  pod.metadata.labels = std::move(labels);
  pod.metadata.annotations = std::move(annotations);
  return pod;
}

struct Case {
  const char* what;
  Pod pod;
  const char* kind;
  const char* gang;
  const char* uid;
  const char* subgroup;
  int index;
};

Pod OwnedBy(Pod pod, const char* api_version, const char* kind, const char* name,
            const char* uid = "u9") {
  pod.metadata.owners = {{api_version, kind, name, uid, true}};
  return pod;
}

Pod OfJob(Labels labels, const char* uid = "u1") {
  labels["batch.kubernetes.io/job-name"] = "j";
  labels["batch.kubernetes.io/controller-uid"] = "u1";
  return OwnedBy(PodWith(std::move(labels)), "batch/v1", "Job", "j", uid);
}

Pod OfMpiJob(const char* role, const char* index) {
  Pod pod = PodWith({{"training.kubeflow.org/job-name", "m"},
                     {"training.kubeflow.org/operator-name", "mpi-operator"},
                     {"training.kubeflow.org/job-role", role},
                     {"training.kubeflow.org/replica-index", index}});
  return role == std::string("launcher")
             ? OwnedBy(std::move(pod), "batch/v1", "Job", "m-launcher", "u8")
             : OwnedBy(std::move(pod), "kubeflow.org/v2beta1", "MPIJob", "m");
}

Pod OfLeaderWorkerSet(const char* worker, const char* set) {
  return OwnedBy(PodWith({{"leaderworkerset.sigs.k8s.io/name", "l"},
                          {"leaderworkerset.sigs.k8s.io/group-index", "2"},
                          {"leaderworkerset.sigs.k8s.io/worker-index", worker}},
                         {{"leaderworkerset.sigs.k8s.io/size", "4"}}),
                 "apps/v1", "StatefulSet", set);
}

TEST(RankResolverTest, EveryKindOfTheTable) {
  const Labels jobset = {{"jobset.sigs.k8s.io/jobset-name", "js"},
                         {"jobset.sigs.k8s.io/jobset-uid", "u2"},
                         {"jobset.sigs.k8s.io/job-global-index", "3"},
                         {"batch.kubernetes.io/job-name", "js-w-3"},
                         {"batch.kubernetes.io/job-completion-index", "5"}};
  const Case cases[] = {
      {"ours",
       OwnedBy(PodWith({{"yardmaster.dev/job", "a"}, {"yardmaster.dev/rank", "4"}}),
               "yardmaster.dev/v1alpha1", "TrainingJob", "a"),
       "TrainingJob", "trainingjob-a", "u9", "", 4},
      {"any kind with our labels",
       OwnedBy(PodWith({{"yardmaster.dev/job", "a"}, {"yardmaster.dev/rank", "4"}}), "ray.io/v1",
               "RayCluster", "ray-x"),
       "RayCluster", "raycluster-a", "u9", "", 4},
      {"indexed job", OfJob({{"batch.kubernetes.io/job-completion-index", "7"}}), "Job", "job-j",
       "u1", "", 7},
      {"jobset", OwnedBy(PodWith(jobset), "batch/v1", "Job", "js-w-3"), "JobSet", "jobset-js", "u2",
       "3", 5},
      {"pytorch",
       OwnedBy(PodWith({{"training.kubeflow.org/job-name", "pt"},
                        {"training.kubeflow.org/replica-type", "worker"},
                        {"training.kubeflow.org/replica-index", "2"}}),
               "kubeflow.org/v1", "PyTorchJob", "pt"),
       "PyTorchJob", "pytorchjob-pt", "u9", "worker", 2},
      {"tensorflow, same labels",
       OwnedBy(PodWith({{"training.kubeflow.org/job-name", "tf"},
                        {"training.kubeflow.org/replica-type", "worker"},
                        {"training.kubeflow.org/replica-index", "2"}}),
               "kubeflow.org/v1", "TFJob", "tf"),
       "TFJob", "tfjob-tf", "u9", "worker", 2},
      {"mpi worker", OfMpiJob("worker", "1"), "MPIJob", "mpijob-m", "", "", 1},
      {"mpi launcher that works", OfMpiJob("launcher", "0"), "MPIJob", "mpijob-m", "", "", 0},
      {"lws leader", OfLeaderWorkerSet("0", "l"), "LeaderWorkerSet", "leaderworkerset-l-2", "", "",
       0},
      {"lws worker", OfLeaderWorkerSet("1", "l-2"), "LeaderWorkerSet", "leaderworkerset-l-2", "",
       "", 1},
      {"volcano",
       OwnedBy(PodWith({{"volcano.sh/job-name", "v"},
                        {"volcano.sh/task-spec", "worker"},
                        {"volcano.sh/task-index", "3"}}),
               "batch.volcano.sh/v1alpha1", "Job", "v"),
       "Job", "volcanojob-v", "u9", "worker", 3},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    auto member = ResolveMembership(c.pod);
    ASSERT_TRUE(member.ok()) << member.status();
    ASSERT_TRUE(member->has_value());
    EXPECT_EQ((*member)->owner.kind, c.kind);
    EXPECT_EQ((*member)->owner.uid, c.uid);
    EXPECT_EQ((*member)->gang_name, c.gang);
    EXPECT_EQ((*member)->subgroup, c.subgroup);
    EXPECT_EQ((*member)->index, c.index);
  }
}

TEST(RankResolverTest, PodsWithoutAControllerMakeAGangOfTheirOwnBySize) {
  Pod pod = PodWith({{"yardmaster.dev/job", "a"}, {"yardmaster.dev/rank", "2"}},
                    {{"yardmaster.dev/gang-size", "4"}});
  auto member = ResolveMembership(pod);
  ASSERT_TRUE(member.ok() && *member) << member.status();
  EXPECT_EQ((*member)->gang_name, "pods-a") << "not that of a TrainingJob of that name";
  EXPECT_EQ((*member)->owner.kind, kPlainPodKind);
  EXPECT_EQ((*member)->index, 2);
  EXPECT_EQ((*member)->size, 4);
  // With a controller it is that object's.
  member = ResolveMembership(OwnedBy(pod, "yardmaster.dev/v1alpha1", "TrainingJob", "a"));
  ASSERT_TRUE(member.ok() && *member) << member.status();
  EXPECT_EQ((*member)->gang_name, "trainingjob-a");
  for (const char* wrong : {"", "0", "-1", "four", "99999999999"}) {
    pod.metadata.annotations["yardmaster.dev/gang-size"] = wrong;
    EXPECT_EQ(ResolveMembership(pod).status().message(),
              StrCat("metadata.annotations[\"yardmaster.dev/gang-size\"]: \"", wrong,
                     "\" is not a size; write how many pods the gang has"));
  }
}

TEST(RankResolverTest, TheSizeOfAKueuePodGroupIsThatOfItsGang) {
  const Pod pod = PodWith({{"yardmaster.dev/job", "a"},
                           {"yardmaster.dev/rank", "0"},
                           {"kueue.x-k8s.io/pod-group-name", "a"}},
                          {{"kueue.x-k8s.io/pod-group-total-count", "3"}});
  const auto member = ResolveMembership(pod);
  ASSERT_TRUE(member.ok() && *member) << member.status();
  EXPECT_EQ((*member)->size, 3);
  EXPECT_EQ((*member)->gang_name, "pods-a");
}

TEST(RankResolverTest, TheIndexMayStandInTheAnnotation) {
  Pod pod = OfJob({});
  pod.metadata.annotations["batch.kubernetes.io/job-completion-index"] = "7";
  auto member = ResolveMembership(pod);
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_EQ((*member)->index, 7);
}

TEST(RankResolverTest, AGangIsCollectedWithAnObjectThatExists) {
  const auto root = [](const Pod& pod) {
    auto member = ResolveMembership(pod);
    EXPECT_TRUE(member.ok()) << member.status();
    return StrCat((*member)->root.kind, "/", (*member)->root.uid);
  };
  EXPECT_EQ(root(OfLeaderWorkerSet("0", "l")), "StatefulSet/u9");
  EXPECT_EQ(root(OfLeaderWorkerSet("1", "l-2")), "/") << "of this group only";
  EXPECT_EQ(root(OfMpiJob("worker", "1")), "MPIJob/u9");
  EXPECT_EQ(root(OfMpiJob("launcher", "0")), "/");
  EXPECT_EQ(root(OfJob({{"batch.kubernetes.io/job-completion-index", "7"}})), "Job/u1");
}

TEST(RankResolverTest, LabelsCopiedFromAnotherJobAreNamedWithTheFix) {
  const Labels index = {{"batch.kubernetes.io/job-completion-index", "0"}};
  EXPECT_EQ(MessageOf(ResolveMembership(OfJob(index, "u7")).status()),
            "metadata.labels[\"batch.kubernetes.io/controller-uid\"]: names Job u1 and the pod's "
            "controller is Job j of uid u7; remove the copied label, or let the Job make the pod");
  EXPECT_FALSE(ResolveMembership(OfLeaderWorkerSet("1", "l-3")).ok()) << "of another group";
  Pod volcano = OwnedBy(PodWith({{"volcano.sh/job-name", "v"},
                                 {"volcano.sh/task-spec", "worker"},
                                 {"volcano.sh/task-index", "3"}}),
                        "batch/v1", "Job", "v");
  EXPECT_FALSE(ResolveMembership(volcano).ok()) << "the kind alone does not say which";
}

TEST(RankResolverTest, TheGroupSizeOfALeaderWorkerSetIsRead) {
  auto member = ResolveMembership(OfLeaderWorkerSet("1", "l-2"));
  ASSERT_TRUE(member.ok());
  EXPECT_EQ((*member)->size, std::optional<int>(4));
}

TEST(RankResolverTest, OurRankLabelGoesBeforeTheTable) {
  auto member = ResolveMembership(
      OfJob({{"batch.kubernetes.io/job-completion-index", "7"}, {"yardmaster.dev/rank", "1"}}));
  ASSERT_TRUE(member.ok());
  EXPECT_EQ((*member)->index, 1);
}

TEST(RankResolverTest, PodsOfUnknownOwnersAreInNoGang) {
  auto member = ResolveMembership(PodWith({{"app", "web"}, {"workflows.example.com/name", "r"}}));
  ASSERT_TRUE(member.ok());
  EXPECT_FALSE(member->has_value());
}

TEST(RankResolverTest, AMissingOrWrongIndexNamesTheLabelAndTheFix) {
  EXPECT_EQ(MessageOf(ResolveMembership(OfJob({})).status()),
            "metadata.labels[\"batch.kubernetes.io/job-completion-index\"]: is missing; let the "
            "Job have completionMode: Indexed");
  for (const char* index : {"-1", "x", "", "99999999999", "1.5", "1000001"}) {
    EXPECT_FALSE(
        ResolveMembership(OfJob({{"batch.kubernetes.io/job-completion-index", index}})).ok());
  }
}

TEST(RankResolverTest, RanksNumberSubgroupsOneAfterAnother) {
  std::vector<Membership> members;
  for (const char* subgroup : {"10", "9"}) {
    for (int index = 0; index < 4; ++index) members.push_back({{}, "g", subgroup, index, {}});
  }
  const auto bases = RankBasesOf(members);
  EXPECT_EQ(bases, (std::vector<RankBase>{{"9", 0}, {"10", 4}}));
  EXPECT_EQ(RankOf(bases, {{}, "g", "10", 2, {}}), std::optional<int>(6));
  EXPECT_EQ(RankOf(bases, {{}, "g", "11", 2, {}}), std::nullopt);
  EXPECT_EQ(RankOf(bases, {{}, "g", "9", 4, {}}), std::nullopt) << "it was scaled up";
}

TEST(RankResolverTest, RanksStayInRangeHoweverManySubgroupsClaimTheHighestIndex) {
  std::vector<Membership> members;
  for (int i = 0; i < 5000; ++i) members.push_back({{}, "g", StrCat(i), 1'000'000, {}});
  for (const RankBase& base : RankBasesOf(members)) {
    EXPECT_GE(base.first_rank, 0);
    EXPECT_LE(base.first_rank, 1'000'000);
  }
}

TEST(RankResolverTest, TheMasterIsRankZero) {
  const auto bases = RankBasesOf(
      {{{}, "g", "worker", 0, {}}, {{}, "g", "worker", 1, {}}, {{}, "g", "master", 0, {}}});
  EXPECT_EQ(bases, (std::vector<RankBase>{{"master", 0}, {"worker", 1}}));
}

TEST(RankResolverTest, OnlyPodsThatAskForItAreGathered) {
  EXPECT_FALSE(WantsGang(PodWith({{"batch.kubernetes.io/job-name", "j"}})));
  EXPECT_TRUE(WantsGang(PodWith({}, {{"yardmaster.dev/parallelism", "tp=8"}})));
  EXPECT_TRUE(WantsGang(PodWith({{"yardmaster.dev/job", "a"}})));
  Pod gated = PodWith({});
  gated.scheduling_gates = {"yardmaster.dev/placement"};
  EXPECT_TRUE(WantsGang(gated));
  gated.requests.clear();
  EXPECT_FALSE(WantsGang(gated)) << "a launcher that only starts the others";
  gated.claims = {{"g", "", "eight"}};
  EXPECT_TRUE(WantsGang(gated)) << "its GPUs may come by claims";
  gated.scheduling_gates.clear();
  EXPECT_FALSE(WantsGang(gated)) << "an ordinary pod with claims";
}

TEST(RankResolverTest, StatesOfAPodSayTheSameGangUntilSomethingChangesThatTheAnswerIsMadeOf) {
  const Pod pod = OwnedBy(PodWith({{"yardmaster.dev/job", "a"}, {"yardmaster.dev/rank", "1"}}),
                          "yardmaster.dev/v1alpha1", "TrainingJob", "a", "u");
  Pod other = pod;
  other.phase = "Running";
  other.node_name = "n";
  other.metadata.resource_version = "2";
  EXPECT_TRUE(SameMembershipInputs(pod, other));
  const auto differs = [&](const auto& change) {
    Pod changed = pod;
    change(changed);
    return !SameMembershipInputs(pod, changed);
  };
  EXPECT_TRUE(differs([](Pod& p) { p.metadata.labels["yardmaster.dev/rank"] = "2"; }));
  EXPECT_TRUE(differs([](Pod& p) { p.metadata.annotations["yardmaster.dev/released"] = "now"; }));
  EXPECT_TRUE(differs([](Pod& p) { p.metadata.owners[0].uid = "v"; }));
  EXPECT_TRUE(differs([](Pod& p) { p.scheduling_gates = {"yardmaster.dev/placement"}; }));
  EXPECT_TRUE(differs([](Pod& p) { p.requests.clear(); }));
}

}  // namespace
}  // namespace yardmaster::api
