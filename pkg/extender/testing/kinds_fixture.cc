#include "pkg/extender/testing/kinds_fixture.h"

#include <algorithm>
#include <fstream>

#include "pkg/api/slot.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::extender {

KindsTest::KindsTest() {
  // Larger than the fixture's: the recorded jobs have up to 12 workers of 8 GPUs.
  for (int h = kHostsPerSegment; h < 12; ++h) {
    AddNode(0, h);
    AddNode(1, h);
  }
  // Recorded pods select the rack of their leader; racks are segments here.
  for (json node : client_.All(kube::Nodes())) {
    const std::string segment = node["metadata"]["labels"][api::kSegmentLabel];
    node["metadata"]["labels"]["example.com/topology-rack"] = StrCat("rack-", segment.substr(1));
    client_.Seed(kube::Nodes(), node);
  }
}

void KindsTest::Apply(const std::string& file) {
  std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/test/data/kinds/", file, ".json"));
  ASSERT_TRUE(in.good()) << file;
  const json objects = json::parse(in);
  std::set<std::string> uids;
  for (const json& object : objects) uids.insert(object["metadata"]["uid"]);
  for (json pod : client_.All(kube::Pods())) {
    if (uids.count(pod["metadata"]["uid"]) == 0) Remove(std::move(pod));
  }
  for (const auto& [key, resource] : owners_) {
    if (client_.Find(resource, key.namespace_name, key.name)) {
      ASSERT_TRUE(client_.Delete({resource, key.namespace_name, key.name, ""}, {}).ok());
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

void KindsTest::Remove(json pod) {
  pod["metadata"].erase("finalizers");
  client_.Seed(kube::Pods(), pod);
  client_.Delete({kube::Pods(), pod["metadata"]["namespace"], pod["metadata"]["name"], ""}, {})
      .IgnoreError();
}

void KindsTest::CollectGarbage(const std::set<std::string>& uids) {
  for (const json& gang : client_.All(kube::Gangs())) {
    const auto ns = gang["metadata"]["namespace"].get<std::string>();
    const auto name = gang["metadata"]["name"].get<std::string>();
    const NamespacedName owner{ns, gang["spec"]["owner"]["name"].get<std::string>()};
    const std::string uid = gang["spec"]["owner"].value("uid", std::string());
    const bool named = std::any_of(owners_.begin(), owners_.end(),
                                   [&](const auto& there) { return there.first == owner; });
    if (!named || uid.empty() || uids.count(uid) != 0) continue;
    ASSERT_TRUE(client_.Delete({kube::Gangs(), ns, name, ""}, {}).ok());
  }
}

json KindsTest::WithSizes(json owner, const json& objects) {
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

void KindsTest::ApplyOwner(const json& object) {
  api::OwnerReference owner;
  owner.api_version = object["apiVersion"];
  owner.kind = object["kind"];
  const auto resource = gather::ResourceOfOwner(owner);
  if (!resource) return;  // TrainJob, Workload: not asked for
  client_.Seed(*resource, object);
  owners_.push_back({{object["metadata"]["namespace"], object["metadata"]["name"]}, *resource});
}

void KindsTest::ApplyPod(const json& recorded) {
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

void KindsTest::TakeFromKueue(const json& recorded, json& pod) {
  json gates = recorded["spec"].value("schedulingGates", json::array());
  for (const json& gate : pod["spec"].value("schedulingGates", json::array())) {
    if (gate["name"] == api::kPlacementGate) gates.push_back(gate);
  }
  pod["spec"]["schedulingGates"] = gates;
  if (recorded["spec"].contains("nodeSelector")) {
    pod["spec"]["nodeSelector"] = recorded["spec"]["nodeSelector"];
  }
}

void KindsTest::Run() {
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

std::map<std::string, std::string> KindsTest::Promises(int* placed) {
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

void KindsTest::Check(const KindStage& stage, const PassReport& report) {
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

void KindsTest::Replay(const std::vector<KindStage>& stages) {
  Process process(*this, true);
  for (const KindStage& stage : stages) {
    SCOPED_TRACE(stage.file);
    Apply(stage.file);
    if (HasFatalFailure()) return;
    PassReport report;
    for (int i = 0; i < passes_; ++i) {
      clock_.Advance(11'000);  // past every wait for an owner
      report = process.Pass();
      Run();
    }
    Check(stage, process.Pass());
  }
  // Everything is deleted, the owner last.
  for (const json& pod : client_.All(kube::Pods())) Remove(pod);
  for (const auto& [key, resource] : owners_) {
    if (client_.Find(resource, key.namespace_name, key.name)) {
      ASSERT_TRUE(client_.Delete({resource, key.namespace_name, key.name, ""}, {}).ok());
    }
  }
  clock_.Advance(11'000);
  process.Pass();
  int placed = 0;
  Promises(&placed);
  EXPECT_EQ(placed, 0) << "a deleted job keeps hosts";
}

}  // namespace yardmaster::extender
