// Gangs whose pods ask for different numbers of GPUs: an MPIJob whose launcher works, a job of
// Volcano with parameter servers, a LeaderWorkerSet whose leader has no GPU. From pods behind the
// gate to pods on their hosts.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class RoleShapesTest : public BatchJobFixture {
 protected:
  // A gated pod with `gpus` GPUs; none: without the resource.
  static json PodOf(const std::string& name, int gpus, const json& labels, const json& owner,
                    const std::string& parallelism) {
    json limits = {{"cpu", "4"}};
    if (gpus > 0) limits[api::kGpuResource] = StrCat(gpus);
    return GatedPod(name, limits, labels, owner, parallelism);
  }
  static json Owner(const char* api_version, const char* kind, const std::string& name) {
    return {{"apiVersion", api_version},
            {"kind", kind},
            {"name", name},
            {"uid", "uid-" + name},
            {"controller", true}};
  }

  void AddMpiPod(int index, int gpus, const std::string& parallelism) {
    const bool launcher = index == 0;
    client_.Seed(kube::Pods(),
                 PodOf(launcher ? "mpi-launcher-x" : StrCat("mpi-worker-", index - 1), gpus,
                       {{"training.kubeflow.org/job-name", "mpi"},
                        {"training.kubeflow.org/operator-name", "mpi-operator"},
                        {"training.kubeflow.org/job-role", launcher ? "launcher" : "worker"},
                        {"training.kubeflow.org/replica-index", StrCat(index)}},
                       launcher ? Owner("batch/v1", "Job", "mpi-launcher")
                                : Owner("kubeflow.org/v2beta1", "MPIJob", "mpi"),
                       parallelism));
  }
  void AddTaskPod(const std::string& task, int index, int gpus, const std::string& parallelism) {
    client_.Seed(kube::Pods(), PodOf(StrCat("vc-", task, "-", index), gpus,
                                     {{"volcano.sh/job-name", "vc"},
                                      {"volcano.sh/task-spec", task},
                                      {"volcano.sh/task-index", StrCat(index)}},
                                     Owner("batch.volcano.sh/v1alpha1", "Job", "vc"), parallelism));
  }
  void AddVolcanoJob(int ps, int workers) {
    client_.Seed({"batch.volcano.sh", "v1alpha1", "jobs", "Job", true},
                 {{"apiVersion", "batch.volcano.sh/v1alpha1"},
                  {"kind", "Job"},
                  {"metadata", {{"name", "vc"}, {"namespace", "team"}, {"uid", "uid-vc"}}},
                  {"spec",
                   {{"tasks", json::array({{{"name", "ps"}, {"replicas", ps}},
                                           {{"name", "worker"}, {"replicas", workers}}})}}}});
  }

  // GPUs that the released pods pinned to a host ask for, by host.
  std::map<std::string, int> PinnedGpus() {
    std::map<std::string, int> out;
    for (const json& pod : client_.All(kube::Pods())) {
      if (PinnedTo(pod).empty()) continue;
      const json& limits = pod["spec"]["containers"][0]["resources"]["limits"];
      out[PinnedTo(pod)] += std::stoi(limits.value(api::kGpuResource, "0"));
    }
    return out;
  }
  int Released() {
    int count = 0;
    for (const json& pod : client_.All(kube::Pods())) count += Gated(pod) ? 0 : 1;
    return count;
  }
  void ExpectNoHostOvercommitted() {
    for (const auto& [host, gpus] : PinnedGpus()) EXPECT_LE(gpus, 8) << host;
  }
  // As kube-scheduler would.
  void RunReleased() {
    for (json pod : client_.All(kube::Pods())) {
      if (Gated(pod) || PinnedTo(pod).empty()) continue;
      pod["spec"]["nodeName"] = PinnedTo(pod);
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }
  std::string HostOfPod(const std::string& pod) {
    return PinnedTo(*client_.Find(kube::Pods(), "team", pod));
  }
};

TEST_F(RoleShapesTest, ALauncherWithoutGpusThatWorksIsPlacedWithItsWorkers) {
  for (int index = 0; index <= 3; ++index) AddMpiPod(index, index == 0 ? 0 : 8, "tp=8,dp=3");
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.problems.empty()) << Join(report.problems, "\n");
  ASSERT_EQ(HostsOf("mpijob-mpi").size(), 4u);
  EXPECT_EQ(Released(), 4);
  EXPECT_EQ(Gang("mpijob-mpi")["spec"]["gpusPerWorker"], 8);
  EXPECT_EQ(Gang("mpijob-mpi")["spec"]["roles"].size(), 2u);
  const std::vector<std::string> hosts = HostsOf("mpijob-mpi");
  std::set<std::string> of_workers(hosts.begin() + 1, hosts.end());
  EXPECT_EQ(of_workers.size(), 3u);
  ExpectNoHostOvercommitted();
  // A new process finds nothing to do, and no rank is missed.
  RunReleased();
  const PassReport again = PassOfANewProcess();
  EXPECT_TRUE(again.problems.empty()) << Join(again.problems, "\n");
  EXPECT_EQ(HostsOf("mpijob-mpi"), hosts);
}

TEST_F(RoleShapesTest, AGangOfRolesWaitsForItsLastPodWhicheverThatIs) {
  for (const int last : {0, 1, 3}) {
    SCOPED_TRACE(last);
    for (int index = 0; index <= 3; ++index) {
      if (index != last) AddMpiPod(index, index == 0 ? 2 : 8, "dp=26");
    }
    PassOfANewProcess();
    EXPECT_EQ(Released(), 0) << "a part was placed";
    AddMpiPod(last, last == 0 ? 2 : 8, "dp=26");
    PassOfANewProcess();
    EXPECT_EQ(Released(), 4);
    ExpectNoHostOvercommitted();
    for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "mpijob-mpi", ""}, {}).ok());
  }
}

TEST_F(RoleShapesTest, ParameterServersWithAGpuShareTheHostThatIsLeft) {
  // The segment has three hosts and a backup host: two workers of 8 fill two of them.
  for (int i = 0; i < 2; ++i) AddTaskPod("ps", i, 1, "dp=18");
  for (int i = 0; i < 2; ++i) AddTaskPod("worker", i, 8, "dp=18");
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.problems.empty()) << Join(report.problems, "\n");
  EXPECT_EQ(Released(), 4);
  ExpectNoHostOvercommitted();
  EXPECT_EQ(HostOfPod("vc-ps-0"), HostOfPod("vc-ps-1"));
  EXPECT_EQ(Gang("volcanojob-vc")["status"]["objective"]["segments"], 1);
}

TEST_F(RoleShapesTest, SizesThatCountTheWorkersAloneAreTakenWhenTheOwnerSaysHowManyPodsThereAre) {
  AddVolcanoJob(2, 2);
  for (int i = 0; i < 2; ++i) AddTaskPod("ps", i, 1, "tp=8,dp=2");
  for (int i = 0; i < 2; ++i) AddTaskPod("worker", i, 8, "tp=8,dp=2");
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.problems.empty()) << Join(report.problems, "\n");
  EXPECT_EQ(Released(), 4);
  ExpectNoHostOvercommitted();
  const json slots = Gang("volcanojob-vc")["status"]["assignments"];
  EXPECT_TRUE(slots[0]["stages"].empty()) << "a parameter server is in no stage";
  EXPECT_EQ(slots[2]["stages"], json::array({0}));
}

TEST_F(RoleShapesTest, RolesThatDoNotFitTogetherAreNotPlacedInPartAndSayWhichFindsNoPlace) {
  // Six ordinary hosts: five workers of 8 leave one host, and nine servers of one GPU need two.
  for (int i = 0; i < 9; ++i) AddTaskPod("ps", i, 1, "dp=49");
  for (int i = 0; i < 5; ++i) AddTaskPod("worker", i, 8, "dp=49");
  PassOfANewProcess();
  EXPECT_EQ(Released(), 0);
  EXPECT_TRUE(HostsOf("volcanojob-vc").empty());
  std::string why;
  const json status = Gang("volcanojob-vc")["status"];
  for (const json& condition : status["conditions"]) {
    if (condition["type"] == "Planned") why = condition["message"];
  }
  EXPECT_NE(why.find("ranks 9 to 13 (5 workers of 8 GPUs)"), std::string::npos) << why;
  EXPECT_NE(why.find("there is no place for"), std::string::npos) << why;
  // One server fewer fits.
  DeletePod("vc-ps-8");
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "volcanojob-vc", ""}, {}).ok());
  for (json pod : client_.All(kube::Pods())) {
    pod["metadata"]["annotations"][api::kParallelismAnnotation] = "dp=48";
    client_.Seed(kube::Pods(), pod);
  }
  PassOfANewProcess();
  EXPECT_EQ(Released(), 13);
  ExpectNoHostOvercommitted();
}

TEST_F(RoleShapesTest, HostsThatRolesShareAreCountedByWhatEachAsksFor) {
  for (int i = 0; i < 2; ++i) AddTaskPod("ps", i, 1, "dp=18");
  for (int i = 0; i < 2; ++i) AddTaskPod("worker", i, 8, "dp=18");
  PassOfANewProcess();
  // Six GPUs are left beside the servers: an ordinary gang of one worker with 8 goes elsewhere, and
  // the last of three finds another segment.
  AddBatchJob("j", 3);
  PassOfANewProcess();
  const std::vector<std::string> hosts = HostsOf("job-j");
  ASSERT_EQ(hosts.size(), 3u);
  for (const std::string& host : hosts) EXPECT_EQ(PinnedGpus()[host], 8);
  // The hosts of the servers are not tainted: they have room.
  const json node = *client_.Find(kube::Nodes(), "", HostOfPod("vc-ps-0"));
  EXPECT_TRUE(node["spec"].value("taints", json::array()).empty()) << node.dump();
}

TEST_F(RoleShapesTest, ALeaderWithoutGpusIsPlacedWithItsGroup) {
  for (int index = 0; index < 3; ++index) {
    json pod = PodOf(StrCat("lws-0-", index), index == 0 ? 0 : 8,
                     {{"leaderworkerset.sigs.k8s.io/name", "lws"},
                      {"leaderworkerset.sigs.k8s.io/group-index", "0"},
                      {"leaderworkerset.sigs.k8s.io/worker-index", StrCat(index)}},
                     index == 0 ? Owner("apps/v1", "StatefulSet", "lws")
                                : Owner("apps/v1", "StatefulSet", "lws-0"),
                     "tp=8");
    pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = "3";
    client_.Seed(kube::Pods(), pod);
  }
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.problems.empty()) << Join(report.problems, "\n");
  EXPECT_EQ(Released(), 3);
  ExpectNoHostOvercommitted();
}

TEST_F(RoleShapesTest, PodsOfGpusOfTwoResourcesAreRefusedWithTheFieldAndAFix) {
  AddTaskPod("worker", 0, 8, "dp=16");
  AddTaskPod("worker", 1, 8, "dp=16");
  json pod = *client_.Find(kube::Pods(), "team", "vc-worker-1");
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"amd.com/gpu", "8"}};
  client_.Seed(kube::Pods(), pod);
  const PassReport report = PassOfANewProcess();
  EXPECT_NE(Join(report.problems, "\n").find("spec.containers[].resources"), std::string::npos)
      << Join(report.problems, "\n");
  EXPECT_EQ(Released(), 0);
}

TEST_F(RoleShapesTest, AGangOfRolesIsNotResized) {
  AddVolcanoJob(2, 2);
  for (int i = 0; i < 2; ++i) AddTaskPod("ps", i, 1, "dp=18");
  for (int i = 0; i < 2; ++i) AddTaskPod("worker", i, 8, "dp=18");
  PassOfANewProcess();
  const std::vector<std::string> hosts = HostsOf("volcanojob-vc");
  ASSERT_EQ(hosts.size(), 4u);
  AddVolcanoJob(2, 3);
  AddTaskPod("worker", 2, 8, "dp=26");
  clock_.Advance(11'000);
  PassOfANewProcess();
  EXPECT_EQ(HostsOf("volcanojob-vc"), hosts);
  EXPECT_NE(NoticesAbout("NotResized").find("different numbers of GPUs"), std::string::npos)
      << NoticesAbout("NotResized");
}

TEST_F(RoleShapesTest, TheOrderInWhichPodsCameDoesNotMatter) {
  std::vector<std::pair<int, int>> pods = {{0, 2}, {1, 8}, {2, 8}, {3, 8}};  // index, GPUs
  std::vector<std::string> first;
  do {
    for (const auto& [index, gpus] : pods) AddMpiPod(index, gpus, "dp=26");
    PassOfANewProcess();
    const std::vector<std::string> hosts = HostsOf("mpijob-mpi");
    ASSERT_EQ(hosts.size(), 4u);
    if (first.empty()) first = hosts;
    EXPECT_EQ(hosts, first);
    for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "mpijob-mpi", ""}, {}).ok());
    PassOfANewProcess();
  } while (std::next_permutation(pods.begin(), pods.end()));
}

}  // namespace
}  // namespace yardmaster::extender
