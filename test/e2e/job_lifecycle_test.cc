// Jobs of others on a real control plane: retried, suspended, resumed, and bound where
// kube-scheduler agrees.
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

class JobLifecycleTest : public StoryTest {
 protected:
  // `more`: further lines of the pod spec, indented by six.
  static std::string IndexedJob(const std::string& name, int size, const std::string& more = "") {
    return StrCat("apiVersion: batch/v1\nkind: Job\nmetadata: {name: ", name,
                  ", namespace: team}\nspec:\n  completions: ", size, "\n  parallelism: ", size,
                  "\n  completionMode: Indexed\n  backoffLimit: 6\n  template:\n    metadata: "
                  "{annotations: {yardmaster.dev/parallelism: \"tp=8,dp=",
                  size,
                  "\"}}\n    spec:\n      restartPolicy: Never\n      schedulingGates: [{name: "
                  "yardmaster.dev/placement}]\n",
                  more,
                  "      containers: [{name: t, image: i, resources: {limits: {nvidia.com/gpu: "
                  "8}}}]\n");
  }
  static void Delete(const std::string& name) {
    ASSERT_TRUE(
        cluster_->plane()
            .Kubectl({"delete", "job", name, "-n", "team", "--cascade=foreground", "--timeout=60s"})
            .ok());
  }
  static std::vector<std::string> Hosts(const std::string& name) {
    std::vector<std::string> hosts;
    const json gang = cluster_->Get({"gang", "-n", "team", "job-" + name});
    if (!gang.is_object()) return hosts;
    const json slots = gang.value("/status/assignments"_json_pointer, json::array());
    for (const json& slot : slots) hosts.push_back(slot["host"]);
    return hosts;
  }
  static bool Ready(const std::string& name, int pods) {
    return WaitFor(kPatience, [&] {
      const json job = cluster_->Get({"job", "-n", "team", name});
      return job.is_object() && job.value("/status/ready"_json_pointer, 0) == pods;
    });
  }
  static int Failed(const std::string& name) {
    const json job = cluster_->Get({"job", "-n", "team", name});
    return job.is_object() ? job.value("/status/failed"_json_pointer, 0) : -1;
  }
  // The host on which a job of one worker is placed now.
  static std::string FirstChoice() {
    EXPECT_TRUE(cluster_->plane().Apply(IndexedJob("probe", 1)).ok());
    EXPECT_TRUE(Ready("probe", 1));
    const std::vector<std::string> hosts = Hosts("probe");
    Delete("probe");
    return hosts.empty() ? "" : hosts.front();
  }
  static bool Patch(const std::vector<std::string>& what, const std::string& patch) {
    std::vector<std::string> arguments = {"patch"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    arguments.insert(arguments.end(), {"--type=merge", "-p", patch});
    return cluster_->plane().Kubectl(arguments).ok();
  }
};

TEST_F(JobLifecycleTest, FailedPodsComeBackToTheirHostsAndASuspendedJobGivesThemBack) {
  ASSERT_TRUE(cluster_->plane().Apply(IndexedJob("life", 2)).ok());
  ASSERT_TRUE(Ready("life", 2));
  const auto hosts = Hosts("life");
  ASSERT_EQ(hosts.size(), 2u);
  for (const json& pod : Pods()) {
    ASSERT_TRUE(Patch({"pod", pod["metadata"]["name"], "-n", "team", "--subresource=status"},
                      R"({"status": {"phase": "Failed"}})"));
  }
  // The Job controller waits some ten seconds before it makes them again.
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    int running = 0;
    for (const json& pod : Pods()) {
      if (pod["status"]["phase"] != "Running") continue;
      const std::string index =
          pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
      EXPECT_EQ(pod["spec"]["nodeName"], hosts[std::stoul(index)]);
      ++running;
    }
    return running == 2;
  }));
  EXPECT_EQ(Hosts("life"), hosts);

  ASSERT_TRUE(Patch({"job", "life", "-n", "team"}, R"({"spec": {"suspend": true}})"));
  EXPECT_TRUE(WaitFor(kPatience, [&] { return Hosts("life").empty() && PromisedHosts().empty(); }));
  ASSERT_TRUE(Patch({"job", "life", "-n", "team"}, R"({"spec": {"suspend": false}})"));
  EXPECT_TRUE(Ready("life", 2));
  EXPECT_EQ(Hosts("life").size(), 2u);
  Delete("life");
}

// A volume that cannot follow is what kube-scheduler alone knows.
// Only kube-scheduler counts the pods of other owners by which a pod is to be spread.
TEST_F(JobLifecycleTest, ARankWhoseHostKubeSchedulerRefusesMovesWithinSeconds) {
  const std::string refused = FirstChoice();
  for (const char* name : {"neighbour-0", "neighbour-1"}) {
    const std::string pod =
        StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: ", name,
               ", namespace: team, labels: {app: spread}}\nspec:\n  nodeName: ", refused,
               "\n  containers: [{name: t, image: i}]\n");
    ASSERT_TRUE(cluster_->plane().Apply(pod).ok());
  }
  const std::string spread =
      "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "
      "whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Ignore, "
      "labelSelector: {matchLabels: {app: spread}}}]\n";
  ASSERT_TRUE(cluster_->plane().Apply(IndexedJob("moved", 1, spread)).ok());
  EXPECT_TRUE(Ready("moved", 1));
  const json gang = cluster_->Get({"gang", "-n", "team", "job-moved"});
  EXPECT_EQ(gang.value("/status/refusals/0/host"_json_pointer, ""), refused);
  EXPECT_NE(Hosts("moved").at(0), refused);
  EXPECT_EQ(Failed("moved"), 0) << "a pod that was never bound is no failure of its Job";
  Delete("moved");
  EXPECT_TRUE(cluster_->plane().Kubectl({"delete", "pods", "-n", "team", "-l", "app=spread"}).ok());
}

TEST_F(JobLifecycleTest, AGangIsPlacedAtOnceWhereItsBoundVolumeReaches) {
  const std::string outside = FirstChoice();
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", outside, "e2e/no-volume=true"}).ok());
  ASSERT_TRUE(cluster_->plane()
                  .Apply(R"yaml(
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  hostPath: {path: /data}
  claimRef: {namespace: team, name: data}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: e2e/no-volume, operator: DoesNotExist}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: team}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: data
  resources: {requests: {storage: 1Gi}}
)yaml")
                  .ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    const json claim = cluster_->Get({"pvc", "-n", "team", "data"});
    return claim.is_object() && claim.value("/status/phase"_json_pointer, "") == "Bound";
  }));
  ASSERT_TRUE(cluster_->plane()
                  .Apply(IndexedJob("stored", 1,
                                    "      volumes: [{name: d, persistentVolumeClaim: {claimName: "
                                    "data}}]\n"))
                  .ok());
  EXPECT_TRUE(Ready("stored", 1));
  const json gang = cluster_->Get({"gang", "-n", "team", "job-stored"});
  EXPECT_EQ(gang.value("/status/refusals"_json_pointer, json::array()), json::array());
  EXPECT_NE(Hosts("stored").at(0), outside);
  Delete("stored");
  cluster_->plane().Kubectl({"delete", "pvc", "data", "-n", "team"}).IgnoreError();
  cluster_->plane().Kubectl({"delete", "pv", "data"}).IgnoreError();
  cluster_->plane().Kubectl({"label", "node", outside, "e2e/no-volume-"}).IgnoreError();
}

}  // namespace
}  // namespace yardmaster::testing
