#include "pkg/api/rank_resolver.h"

#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

using Labels = std::map<std::string, std::string>;

Pod PodWith(Labels labels, Labels annotations = {}) {
  Pod pod;
  pod.metadata.name = "p";
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

Pod OwnedBy(Pod pod, const char* kind, const char* name) {
  pod.metadata.owners = {{"kubeflow.org/v1", kind, name, "u9", true}};
  return pod;
}

TEST(RankResolverTest, EveryKindOfTheTable) {
  const Labels jobset = {{"jobset.sigs.k8s.io/jobset-name", "js"},
                         {"jobset.sigs.k8s.io/jobset-uid", "u2"},
                         {"jobset.sigs.k8s.io/job-global-index", "3"},
                         {"batch.kubernetes.io/job-name", "js-w-3"},
                         {"batch.kubernetes.io/job-completion-index", "5"}};
  Labels trainjob = jobset;
  trainjob["trainer.kubeflow.org/trainjob-ancestor-step"] = "trainer";
  const Case cases[] = {
      {"ours", PodWith({{"yardmaster.dev/job", "a"}, {"yardmaster.dev/rank", "4"}}), "TrainingJob",
       "trainingjob-a", "", "", 4},
      {"indexed job",
       PodWith({{"batch.kubernetes.io/job-name", "j"},
                {"batch.kubernetes.io/controller-uid", "u1"},
                {"batch.kubernetes.io/job-completion-index", "7"}}),
       "Job", "job-j", "u1", "", 7},
      {"index in the annotation",
       PodWith({{"batch.kubernetes.io/job-name", "j"}},
               {{"batch.kubernetes.io/job-completion-index", "7"}}),
       "Job", "job-j", "", "", 7},
      {"jobset", PodWith(jobset), "JobSet", "jobset-js", "u2", "3", 5},
      {"trainjob", PodWith(trainjob), "TrainJob", "trainjob-js", "u2", "3", 5},
      {"pytorch",
       OwnedBy(PodWith({{"training.kubeflow.org/job-name", "pt"},
                        {"training.kubeflow.org/replica-type", "worker"},
                        {"training.kubeflow.org/replica-index", "2"}}),
               "PyTorchJob", "pt"),
       "PyTorchJob", "pytorchjob-pt", "u9", "worker", 2},
      {"tensorflow, same labels",
       OwnedBy(PodWith({{"training.kubeflow.org/job-name", "tf"},
                        {"training.kubeflow.org/replica-type", "worker"},
                        {"training.kubeflow.org/replica-index", "2"}}),
               "TFJob", "tf"),
       "TFJob", "tfjob-tf", "u9", "worker", 2},
      {"mpi",
       PodWith({{"training.kubeflow.org/job-name", "m"},
                {"training.kubeflow.org/operator-name", "mpi-operator"},
                {"training.kubeflow.org/job-role", "worker"},
                {"training.kubeflow.org/replica-index", "1"}}),
       "MPIJob", "mpijob-m", "", "worker", 1},
      {"lws",
       PodWith({{"leaderworkerset.sigs.k8s.io/name", "l"},
                {"leaderworkerset.sigs.k8s.io/group-index", "2"},
                {"leaderworkerset.sigs.k8s.io/worker-index", "1"}},
               {{"leaderworkerset.sigs.k8s.io/size", "4"}}),
       "LeaderWorkerSet", "leaderworkerset-l-2", "", "", 1},
      {"volcano",
       PodWith({{"volcano.sh/job-name", "v"},
                {"volcano.sh/task-spec", "worker"},
                {"volcano.sh/task-index", "3"}}),
       "VolcanoJob", "volcanojob-v", "", "worker", 3},
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

TEST(RankResolverTest, TheGroupSizeOfALeaderWorkerSetIsRead) {
  auto member = ResolveMembership(PodWith({{"leaderworkerset.sigs.k8s.io/name", "l"},
                                           {"leaderworkerset.sigs.k8s.io/worker-index", "1"}},
                                          {{"leaderworkerset.sigs.k8s.io/size", "4"}}));
  ASSERT_TRUE(member.ok());
  EXPECT_EQ((*member)->size, std::optional<int>(4));
}

TEST(RankResolverTest, OurRankLabelGoesBeforeTheTable) {
  auto member = ResolveMembership(PodWith({{"batch.kubernetes.io/job-name", "j"},
                                           {"batch.kubernetes.io/job-completion-index", "7"},
                                           {"yardmaster.dev/rank", "1"}}));
  ASSERT_TRUE(member.ok());
  EXPECT_EQ((*member)->index, 1);
}

TEST(RankResolverTest, PodsOfUnknownOwnersAreInNoGang) {
  auto member = ResolveMembership(PodWith({{"app", "web"}, {"ray.io/cluster", "r"}}));
  ASSERT_TRUE(member.ok());
  EXPECT_FALSE(member->has_value());
}

TEST(RankResolverTest, AMissingOrWrongIndexNamesTheLabelAndTheFix) {
  auto missing = ResolveMembership(PodWith({{"batch.kubernetes.io/job-name", "j"}}));
  EXPECT_EQ(MessageOf(missing.status()),
            "metadata.labels[\"batch.kubernetes.io/job-completion-index\"]: is missing; let the "
            "Job have completionMode: Indexed");
  for (const char* index : {"-1", "x", "", "99999999999", "1.5"}) {
    EXPECT_FALSE(ResolveMembership(PodWith({{"batch.kubernetes.io/job-name", "j"},
                                            {"batch.kubernetes.io/job-completion-index", index}}))
                     .ok());
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
}

}  // namespace
}  // namespace yardmaster::api
