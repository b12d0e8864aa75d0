// Pods and owners as the job controllers really write them (test/data/kinds), stage by stage:
// gathered, placed, retried, suspended, resumed, scaled, deleted.
#include <algorithm>
#include <fstream>
#include <set>

#include "gtest/gtest.h"

#include "pkg/api/slot.h"
#include "pkg/extender/owner_state.h"
#include "pkg/extender/testing/job_fixture.h"

namespace yardmaster::extender {
namespace {

// What is true after a stage.
struct Stage {
  const char* file;
  int placed = 1;          // gangs that hold hosts
  int running = 0;         // unfinished pods on the host of their slot
  bool same_hosts = true;  // as after the stage before
  int strays = 0;          // pods with an event that they are in no gang
};

class KindsTest : public JobFixture {
 protected:
  KindsTest() {
    // Larger than the fixture's: the recorded jobs have up to 12 workers of 8 GPUs.
    for (int h = kHostsPerSegment; h < 12; ++h) {
      AddNode(0, h);
      AddNode(1, h);
    }
  }

  // Brings pods and owners to what was recorded. Pods that are new come behind our gate and on no
  // node, as admission has it; those that are there keep where we sent them.
  void Apply(const std::string& file) {
    std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/test/data/kinds/", file, ".json"));
    ASSERT_TRUE(in.good()) << file;
    const json objects = json::parse(in);
    std::set<std::string> uids;
    for (const json& object : objects) uids.insert(object["metadata"]["uid"]);
    for (json pod : client_.All(kube::Pods())) {
      if (uids.count(pod["metadata"]["uid"]) == 0) Remove(std::move(pod));
    }
    for (const auto& [key, resource] : owners_) {
      if (client_.Find(resource, key.first, key.second)) {
        ASSERT_TRUE(client_.Delete({resource, key.first, key.second, ""}, {}).ok());
      }
    }
    owners_.clear();
    for (const json& object : objects) {
      if (object["kind"] != "Pod") ApplyOwner(WithSizes(object, objects));
    }
    CollectGarbage(uids);
    for (const json& object : objects) {
      if (object["kind"] == "Pod") ApplyPod(object);
    }
  }
  void Remove(json pod) {
    pod["metadata"].erase("finalizers");
    client_.Seed(kube::Pods(), pod);
    client_.Delete({kube::Pods(), pod["metadata"]["namespace"], pod["metadata"]["name"], ""}, {})
        .IgnoreError();
  }
  // As the garbage collector: Gangs of an owner of which another life is there.
  void CollectGarbage(const std::set<std::string>& uids) {
    for (const json& gang : client_.All(kube::Gangs())) {
      const auto ns = gang["metadata"]["namespace"].get<std::string>();
      const auto name = gang["metadata"]["name"].get<std::string>();
      const NameKey owner(ns, gang["spec"]["owner"]["name"].get<std::string>());
      const std::string uid = gang["spec"]["owner"].value("uid", std::string());
      const bool named = std::any_of(owners_.begin(), owners_.end(),
                                     [&](const auto& there) { return there.first == owner; });
      if (!named || uid.empty() || uids.count(uid) != 0) continue;
      ASSERT_TRUE(client_.Delete({kube::Gangs(), ns, name, ""}, {}).ok());
    }
  }
  // The recordings leave pod templates out, and with them how many pods the owner wants: as many as
  // there are of each replica type or task that are not being deleted.
  static json WithSizes(json owner, const json& objects) {
    std::map<std::string, int> pods;
    bool launcher_works = false;
    for (const json& pod : objects) {
      const json labels = pod["metadata"].value("labels", json::object());
      if (pod["kind"] != "Pod" || pod["metadata"].contains("deletionTimestamp")) continue;
      launcher_works |= labels.value("training.kubeflow.org/job-role", "") == "launcher" &&
                        labels.contains("training.kubeflow.org/replica-index");
      for (const char* label : {"training.kubeflow.org/replica-type", "volcano.sh/task-spec",
                                "training.kubeflow.org/job-role"}) {
        if (!labels.contains(label)) continue;
        ++pods[labels[label].get<std::string>()];
        break;
      }
    }
    json specs = json::object();
    for (const auto& [type, count] : pods) specs[type]["replicas"] = count;
    if (owner["kind"] == "PyTorchJob") owner["spec"]["pytorchReplicaSpecs"] = specs;
    if (owner["kind"] == "MPIJob" && pods.count("worker") != 0) {
      owner["spec"]["mpiReplicaSpecs"]["Worker"] = specs["worker"];
      owner["spec"]["runLauncherAsWorker"] = launcher_works;
    }
    if (owner["kind"] == "Job" && owner["apiVersion"] == "batch.volcano.sh/v1alpha1") {
      for (const auto& [task, count] : pods) {
        owner["spec"]["tasks"].push_back({{"name", task}, {"replicas", count}});
      }
    }
    return owner;
  }
  void ApplyOwner(const json& object) {
    api::OwnerReference owner;
    owner.api_version = object["apiVersion"];
    owner.kind = object["kind"];
    const auto resource = ResourceOfOwner(owner);
    if (!resource) return;  // TrainJob, Workload: not asked for
    client_.Seed(*resource, object);
    owners_.push_back({{object["metadata"]["namespace"], object["metadata"]["name"]}, *resource});
  }
  void ApplyPod(const json& recorded) {
    const json& meta = recorded["metadata"];
    json pod = recorded;
    const auto known = client_.Find(kube::Pods(), meta["namespace"], meta["name"]);
    if (known && (*known)["metadata"]["uid"] == meta["uid"]) {
      pod = *known;
      // It runs once it is bound, which is ours to see to.
      const bool bound = pod["spec"].contains("nodeName");
      if (bound || recorded["status"]["phase"] != "Running") {
        pod["status"]["phase"] = recorded["status"]["phase"];
      }
      if (meta.contains("deletionTimestamp")) {
        pod["metadata"]["deletionTimestamp"] = meta["deletionTimestamp"];
      }
      // Controllers change what is theirs: Kueue its gates and selectors.
      if (meta["namespace"].get<std::string>().rfind("kueue", 0) == 0) TakeFromKueue(recorded, pod);
    } else {
      if (known) Remove(*known);
      pod["spec"].erase("nodeName");
      // The fixture's Nodes have GPUs and nothing else.
      for (json& container : pod["spec"]["containers"]) container["resources"].erase("requests");
      if (pod["status"]["phase"] == "Running") pod["status"]["phase"] = "Pending";
      if (meta.value("annotations", json::object()).contains(api::kParallelismAnnotation)) {
        pod["spec"]["schedulingGates"].push_back({{"name", api::kPlacementGate}});
      }
    }
    pod["metadata"].erase("finalizers");
    client_.Seed(kube::Pods(), pod);
  }
  static void TakeFromKueue(const json& recorded, json& pod) {
    json gates = recorded["spec"].value("schedulingGates", json::array());
    for (const json& gate : pod["spec"].value("schedulingGates", json::array())) {
      if (gate["name"] == api::kPlacementGate) gates.push_back(gate);
    }
    pod["spec"]["schedulingGates"] = gates;
    if (recorded["spec"].contains("nodeSelector")) {
      pod["spec"]["nodeSelector"] = recorded["spec"]["nodeSelector"];
    }
  }

  // As kube-scheduler and kubelets would.
  void Run() {
    for (json pod : client_.All(kube::Pods())) {
      if (Gated(pod) || pod["status"]["phase"] != "Pending") continue;
      std::string host = PinnedTo(pod);
      const json selector = pod["spec"].value("nodeSelector", json::object());
      if (host.empty()) host = selector.value("kubernetes.io/hostname", "");
      if (!host.empty()) pod["spec"]["nodeName"] = host;
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }

  // host of every (gang, rank) that is promised; each host once.
  std::map<std::string, std::string> Promises(int* placed) {
    std::map<std::string, std::string> slots;
    std::set<std::string> hosts;
    *placed = 0;
    for (const json& gang : client_.All(kube::Gangs())) {
      bool finished = false;
      for (const json& c : gang.value("/status/conditions"_json_pointer, json::array())) {
        finished |= c["type"] == "Finished" && c["status"] == "True";
      }
      const json assignments = gang.value("/status/assignments"_json_pointer, json::array());
      if (finished || assignments.empty()) continue;
      ++*placed;
      for (const json& slot : assignments) {
        EXPECT_TRUE(hosts.insert(slot["host"]).second) << slot["host"] << " is promised twice";
        slots[StrCat(gang["metadata"]["name"].get<std::string>(), "/", slot["rank"].get<int>())] =
            slot["host"];
      }
    }
    return slots;
  }

  void Check(const Stage& stage, const PassReport& report) {
    int placed = 0;
    const auto slots = Promises(&placed);
    EXPECT_EQ(placed, stage.placed) << Join(report.problems, "\n");
    int running = 0;
    std::set<std::string> ranks;
    for (const json& pod : client_.All(kube::Pods())) {
      const json notes = pod["metadata"].value("annotations", json::object());
      if (pod["status"]["phase"] != "Running" || !notes.contains(api::kSlotAnnotation)) continue;
      const auto slot = api::DecodeSlot(notes[api::kSlotAnnotation].get<std::string>());
      ASSERT_TRUE(slot.ok()) << slot.status();
      const std::string who = StrCat(slot->gang, "/", slot->rank);
      if (slots.count(who) != 0) {
        EXPECT_EQ(pod["spec"].value("nodeName", std::string()), slots.at(who)) << who;
      }
      EXPECT_TRUE(ranks.insert(who).second) << who << " has two pods";
      ++running;
    }
    EXPECT_EQ(running, stage.running) << Join(report.problems, "\n");
    int strays = 0;
    for (const std::string& problem : report.problems) {
      strays += problem.find("lies outside gang") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(strays, stage.strays) << Join(report.problems, "\n");
    EXPECT_TRUE(report.errors.empty()) << Join(report.errors, "\n");
    if (stage.same_hosts) {
      EXPECT_EQ(slots, slots_before_);
    }
    slots_before_ = slots;
  }

  void Replay(const std::vector<Stage>& stages) {
    Process process(*this, true);
    for (const Stage& stage : stages) {
      SCOPED_TRACE(stage.file);
      Apply(stage.file);
      if (HasFatalFailure()) return;
      PassReport report;
      for (int i = 0; i < 3; ++i) {
        clock_.Advance(11'000);  // past every wait for an owner
        report = process.Pass();
        Run();
      }
      Check(stage, process.Pass());
    }
    // Everything is deleted, the owner last.
    for (const json& pod : client_.All(kube::Pods())) Remove(pod);
    for (const auto& [key, resource] : owners_) {
      if (client_.Find(resource, key.first, key.second)) {
        ASSERT_TRUE(client_.Delete({resource, key.first, key.second, ""}, {}).ok());
      }
    }
    clock_.Advance(11'000);
    process.Pass();
    int placed = 0;
    Promises(&placed);
    EXPECT_EQ(placed, 0) << "a deleted job keeps hosts";
  }

  std::vector<std::pair<NameKey, kube::Resource>> owners_;
  std::map<std::string, std::string> slots_before_;
};

TEST_F(KindsTest, JobSet) {
  Replay({{"jobset/0-created", 1, 9, false},
          {"jobset/1-running", 1, 9},
          {"jobset/2-pod-failed-transient", 1, 5},
          {"jobset/3-restarted", 1, 9},
          {"jobset/4-suspended", 0, 0, false},
          {"jobset/5-resumed", 1, 9, false},
          {"jobset/6-scaled-up", 1, 9, true, 2},
          {"jobset/7-deleting", 1, 9, true}});
}

TEST_F(KindsTest, JobSetWhoseOldPodsAreStillBeingDeleted) {
  Replay({{"jobset/0-created", 1, 9, false},
          {"jobset/1-running", 1, 9},
          {"jobset/3-restart-old-pods-deleting", 1, 8},
          {"jobset/3-restarted", 1, 9}});
}

TEST_F(KindsTest, JobSetWithDefaultGates) {
  Replay({{"jobset/default-gates-1-running", 1, 9, false},
          {"jobset/default-gates-2-restarted", 1, 9}});
}

// Their annotation counts the pods of one Job where the set has two: they get an event and are not placed
// in part.
TEST_F(KindsTest, JobSetsThatSayAWrongSizeAreNotPlacedInPart) {
  Replay({{"jobset/rules-1-running", 0, 0, false}, {"jobset/rules-2-one-job-restarted", 0, 0}});
  Apply("jobset/podretry-1-pod-replaced");
  const PassReport report = PassOfANewProcess();
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("its pods say that they are 4 and there are 8"),
            std::string::npos)
      << Join(report.problems, "\n");
}

TEST_F(KindsTest, JobSetWithExclusivePlacement) {
  Replay({{"jobset/exclusive-1-running", 1, 8, false}});
}

TEST_F(KindsTest, LeaderWorkerSetHasAGangForEveryGroup) {
  Replay({{"lws/0-created", 2, 8, false},
          {"lws/1-running", 2, 8},
          {"lws/2-pod-failed-transient", 2, 8},
          {"lws/3-after-pod-failed", 2, 8},
          {"lws/4-scaled-up", 3, 12, false},
          {"lws/5-scaled-down", 1, 4, false},
          {"lws/6-scaled-to-zero", 0, 0, false},
          {"lws/7-scaled-back", 2, 8, false},
          {"lws/9-rolling-updated", 2, 8},
          {"lws/10-deleting", 2, 8}});
}

TEST_F(KindsTest, LeaderWorkerSetWithSubgroups) {
  Replay({{"lws/subgroup-1-running", 2, 8, false}});
}

TEST_F(KindsTest, TrainJobIsTheGangOfItsJobSet) {
  Replay({{"trainjob/0-created", 1, 4, false},
          {"trainjob/1-running", 1, 4},
          {"trainjob/2-restarted", 1, 4},
          {"trainjob/3-suspended", 0, 0, false},
          {"trainjob/4-resumed", 1, 4, false},
          {"trainjob/5-deleting", 1, 4}});
  const json gang = Gang("jobset-llama");
  EXPECT_TRUE(gang.empty()) << "it is in the job's namespace";
}

TEST_F(KindsTest, MpiJob) {
  Replay({{"mpijob/plain-0-created", 1, 4, false},
          {"mpijob/plain-1-running", 1, 4},
          {"mpijob/plain-2-worker-failed", 1, 3},
          {"mpijob/plain-3-launcher-failed", 1, 3},
          {"mpijob/plain-4-suspended", 0, 0, false},
          {"mpijob/plain-5-resumed", 0, 0}});
}

TEST_F(KindsTest, MpiJobThatIsResumedAndScaled) {
  Replay({{"mpijob/plain-6-fresh", 1, 4, false},
          {"mpijob/plain-7-fresh-suspended", 0, 0, false},
          {"mpijob/plain-8-fresh-resumed", 1, 4, false},
          {"mpijob/plain-9-worker-deleted", 1, 4},
          {"mpijob/plain-10-scaled-up", 1, 6, false},
          {"mpijob/plain-11-scaled-down", 1, 3, false},
          {"mpijob/plain-12-deleting", 1, 3}});
}

TEST_F(KindsTest, MpiJobWhoseLauncherWorks) {
  Replay({{"mpijob/launcher-as-worker-0-created", 1, 5, false},
          {"mpijob/launcher-as-worker-1-running", 1, 5},
          {"mpijob/launcher-as-worker-2-worker-failed", 1, 4},
          {"mpijob/launcher-as-worker-3-launcher-failed", 1, 4},
          {"mpijob/launcher-as-worker-4-suspended", 0, 0, false},
          {"mpijob/launcher-as-worker-5-resumed", 0, 0}});
}

TEST_F(KindsTest, PyTorchJob) {
  Replay({{"pytorchjob/plain-0-created", 1, 4, false},
          {"pytorchjob/plain-1-running", 1, 4},
          {"pytorchjob/plain-2-worker-failed", 1, 4},
          {"pytorchjob/plain-3-suspended", 0, 0, false},
          {"pytorchjob/plain-4-resumed", 1, 4, false},
          {"pytorchjob/plain-5-scaled-up", 1, 7, false},
          {"pytorchjob/plain-6-scaled-down", 1, 3, false},
          {"pytorchjob/plain-7-deleting", 1, 3}});
}

TEST_F(KindsTest, ElasticPyTorchJob) {
  Replay({{"pytorchjob/elastic-0-created", 1, 4, false},
          {"pytorchjob/elastic-1-running", 1, 4},
          {"pytorchjob/elastic-2-worker-failed", 1, 4},
          {"pytorchjob/elastic-3-suspended", 0, 0, false},
          {"pytorchjob/elastic-4-resumed", 1, 4, false},
          {"pytorchjob/elastic-5-scaled-up", 1, 6, false},
          {"pytorchjob/elastic-6-scaled-down", 1, 2, false},
          {"pytorchjob/elastic-7-deleting", 1, 2}});
}

TEST_F(KindsTest, VolcanoJob) {
  Replay({{"volcano/0-created", 1, 4, false},
          {"volcano/1-running", 1, 4},
          {"volcano/2-pod-failed-transient", 1, 4},
          {"volcano/3-restarted", 1, 4},
          {"volcano/4-suspended", 0, 0, false},
          {"volcano/5-resumed", 1, 4, false},
          {"volcano/6-scaled-up", 1, 6, false},
          {"volcano/7-scale-down-failed-the-job", 0, 0, false},
          {"volcano/8-scaled-down", 1, 4, false},
          {"volcano/9-deleting", 1, 4}});
}

// Kueue's gates are respected, its hosts are observed and followed, and never pinned.
class KueueTest : public KindsTest {
 protected:
  KueueTest() {
    for (int h = 0; h < 24; ++h) AddNamedNode(StrCat("gpu-", h < 10 ? "0" : "", h), h / 8);
  }
  void AddNamedNode(const std::string& name, int segment) {
    json node = *client_.Find(kube::Nodes(), "", NodeName(0, 0));
    node["metadata"]["name"] = name;
    node["metadata"].erase("uid");
    node["metadata"].erase("resourceVersion");
    node["metadata"]["labels"][api::kSegmentLabel] = StrCat("k", segment);
    client_.Seed(kube::Nodes(), node);
  }
  void ExpectNothingIsPinned() {
    for (const json& pod : client_.All(kube::Pods())) EXPECT_EQ(PinnedTo(pod), "");
  }
};

TEST_F(KueueTest, Job) {
  Replay({{"kueue/job-1-queued", 0, 0},
          {"kueue/job-1b-pods-gated", 0, 0},
          {"kueue/job-2-admitted-running", 1, 4, false},
          {"kueue/job-3-pod-replaced", 1, 4},
          {"kueue/job-4-evicted", 0, 0, false},
          {"kueue/job-5b-readmitted-pods-gated", 0, 0},
          {"kueue/job-5-readmitted", 1, 4, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, JobSet) {
  Replay({{"kueue/jobset-1-queued", 0, 0},
          {"kueue/jobset-1b-pods-gated", 0, 0},
          {"kueue/jobset-2-admitted-running", 1, 9, false},
          {"kueue/jobset-3-restarted", 1, 9, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, LeaderWorkerSet) {
  Replay({{"kueue/lws-1-created", 0, 0}, {"kueue/lws-2-admitted-running", 2, 8, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, PlainPodGroupsHaveNoRanksAndHearIt) {
  Apply("kueue/podgroup-1-created");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.problems.size(), 3u);
  EXPECT_EQ(CountNotices("NotInGang"), 3);
}

}  // namespace
}  // namespace yardmaster::extender
