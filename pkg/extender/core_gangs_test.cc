// Gangs whose pods name core PodGroups (scheduling.k8s.io).
#include "gtest/gtest.h"

#include "pkg/extender/steps/adoption.h"
#include "pkg/extender/testing/batch_job_fixture.h"
#include "pkg/extender/webhook/webhook.h"

namespace yardmaster::extender {
namespace {

class CoreGangsTest : public BatchJobFixture {
 protected:
  static kube::Resource Groups() {
    return {"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", true};
  }
  static kube::Resource Composites() {
    return {"scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup", true};
  }
  static json Object(const std::string& kind, const std::string& name, const json& spec) {
    return {{"apiVersion", "scheduling.k8s.io/v1beta1"},
            {"kind", kind},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec", spec}};
  }
  void AddGroup(const std::string& name, int min_count, const std::string& parent = "") {
    json spec = {{"schedulingPolicy", {{"gang", {{"minCount", min_count}}}}}};
    if (!parent.empty()) spec["parentCompositePodGroupName"] = parent;
    client_.Seed(Groups(), Object("PodGroup", name, spec));
  }
  void AddComposite(const std::string& name, int min_groups) {
    client_.Seed(Composites(),
                 Object("CompositePodGroup", name,
                        {{"schedulingPolicy", {{"gang", {{"minGroupCount", min_groups}}}}}}));
  }
  // A pod of job g that does not say how many they are.
  void AddPodOf(const std::string& group, int index) {
    json pod = *client_.Find(kube::Pods(), "team", AddJobPod("g", index, "tp=8"));
    pod["spec"]["schedulingGroup"] = {{"podGroupName", group}};
    client_.Seed(kube::Pods(), pod);
  }
  // What an API server of one version answers to reads of others.
  void ServeOnly(const std::string& version) {
    client_.SetHook([version](const kube::Call& call) -> absl::Status {
      const kube::Resource& resource = call.target.resource;
      const bool unknown = resource.group == "scheduling.k8s.io" && resource.version != version;
      return unknown ? absl::NotFoundError("404 page not found") : absl::OkStatus();
    });
  }
  // A pod that its job made without our gate.
  std::string AddPodLeftToCore(int index) {
    const std::string name = AddJobPod("g", index, "tp=8");
    json pod = *client_.Find(kube::Pods(), "team", name);
    pod["spec"]["schedulingGroup"] = {{"podGroupName", "group"}};
    pod["spec"].erase("schedulingGates");
    client_.Seed(kube::Pods(), pod);
    return name;
  }
  void Bind(const std::string& pod, const std::string& node) {
    json object = *client_.Find(kube::Pods(), "team", pod);
    object["spec"]["nodeName"] = node;
    object["status"]["phase"] = "Running";
    client_.Seed(kube::Pods(), object);
  }
  json NodesFor(const std::string& pod) {
    Webhook webhook;
    webhook.Publish(view_);
    json names = json::array();
    for (int h = 0; h < kHostsPerSegment; ++h) names.push_back(NodeName(0, h));
    const json args = {{"Pod", *client_.Find(kube::Pods(), "team", pod)}, {"NodeNames", names}};
    const auto answer = webhook.Filter(args.dump());
    return answer.ok() ? json::parse(*answer)["NodeNames"] : json();
  }
  std::string PlannedReason() {
    const json gang = Gang("job-g");
    for (const json& c : gang.value("/status/conditions"_json_pointer, json::array())) {
      if (c["type"] == api::kPlannedCondition) return c["reason"];
    }
    return "";
  }
  static bool Says(const PassReport& report, const std::string& text) {
    return Join(report.problems, "\n").find(text) != std::string::npos;
  }
};

TEST_F(CoreGangsTest, EachServedVersionSaysHowManyPodsThereAre) {
  for (const char* version : {"v1beta1", "v1alpha3", "v1alpha2"}) {
    SCOPED_TRACE(version);
    ServeOnly(version);
    AddGroup("group", 2);
    for (int index = 0; index < 2; ++index) AddPodOf("group", index);
    Process process(*this, true);
    process.Pass();
    EXPECT_EQ(HostsOf("job-g").size(), 2u);
    DeletePodsOf("g");
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-g", ""}, {}).ok());
  }
}

TEST_F(CoreGangsTest, TheVersionThatAnsweredIsReadFirst) {
  ServeOnly("v1alpha2");
  AddGroup("group", 2);
  AddPodOf("group", 0);
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "podgroups"), 3);
  client_.ClearCalls();
  AddPodOf("group", 1);
  process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "podgroups"), 1);
  EXPECT_EQ(HostsOf("job-g").size(), 2u);
}

TEST_F(CoreGangsTest, AnApiThatIsNotServedIsNamed) {
  ServeOnly("v1");
  AddPodOf("group", 0);
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(Says(report,
                   "PodGroup team/group cannot be read: the API server serves "
                   "podgroups.scheduling.k8s.io in none of the versions v1beta1, "
                   "v1alpha3, v1alpha2"))
      << Join(report.problems, "\n");
}

TEST_F(CoreGangsTest, AGroupThatDoesNotExistIsNamed) {
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    if (call.target.resource.plural != "podgroups") return absl::OkStatus();
    return absl::NotFoundError("podgroups.scheduling.k8s.io \"group\" not found");
  });
  AddPodOf("group", 0);
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(Says(report, "PodGroup team/group does not exist")) << Join(report.problems, "\n");
}

TEST_F(CoreGangsTest, AMissingRightIsNamedAndAFormerAnswerHolds) {
  AddGroup("group", 2);
  AddPodOf("group", 0);
  Process process(*this, true);
  process.Pass();
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    if (call.target.resource.plural != "podgroups") return absl::OkStatus();
    return absl::PermissionDeniedError("cannot get resource \"podgroups\"");
  });
  clock_.Advance(11'000);
  process.Pass();
  clock_.Advance(11'000);
  process.Pass();
  EXPECT_NE(NoticesAbout("Incomplete").find("cannot get resource"), std::string::npos)
      << NoticesAbout("Incomplete");
  AddPodOf("group", 1);
  process.Pass();
  EXPECT_EQ(HostsOf("job-g").size(), 2u);
}

TEST_F(CoreGangsTest, AGroupThatAsksForNoGangIsNamed) {
  client_.Seed(Groups(),
               Object("PodGroup", "group", {{"schedulingPolicy", {{"basic", json::object()}}}}));
  AddPodOf("group", 0);
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(Says(report, "PodGroup team/group has no spec.schedulingPolicy.gang.minCount"))
      << Join(report.problems, "\n");
}

TEST_F(CoreGangsTest, SeveralGroupsTogetherSayHowManyPodsThereAre) {
  AddGroup("leaders", 1);
  AddGroup("workers", 2);
  AddPodOf("leaders", 0);
  AddPodOf("workers", 1);
  Process process(*this, true);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-g").empty());
  AddPodOf("workers", 2);
  process.Pass();
  EXPECT_EQ(HostsOf("job-g").size(), 3u);
}

TEST_F(CoreGangsTest, ACompositeGroupSaysHowManyGroupsBelongTogether) {
  AddComposite("all", 2);
  AddGroup("leaders", 1, "all");
  AddGroup("workers", 2, "all");
  AddPodOf("leaders", 0);
  Process process(*this, true);
  const PassReport before = process.Pass();
  EXPECT_TRUE(HostsOf("job-g").empty());
  EXPECT_TRUE(Says(before, "CompositePodGroup team/all asks for 2 PodGroups, and pods of 1 are"))
      << Join(before.problems, "\n");
  AddPodOf("workers", 1);
  AddPodOf("workers", 2);
  process.Pass();
  EXPECT_EQ(HostsOf("job-g").size(), 3u);
}

TEST_F(CoreGangsTest, AGangWithoutOurGateIsLeftToKubeSchedulerAndObservedOnceItRuns) {
  AddGroup("group", 2);
  const std::string first = AddPodLeftToCore(0);
  const std::string second = AddPodLeftToCore(1);
  Process process(*this, true);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-g").empty());
  EXPECT_EQ(NodesFor(first), json::array({NodeName(0, 0), NodeName(0, 1), NodeName(0, 2)}))
      << "all but the backup host";
  Bind(first, NodeName(1, 1));
  process.Pass();
  EXPECT_TRUE(HostsOf("job-g").empty()) << "a gang has all of its hosts or none";
  Bind(second, NodeName(0, 2));
  process.Pass();
  EXPECT_EQ(HostsOf("job-g"), (std::vector<std::string>{NodeName(1, 1), NodeName(0, 2)}));
  EXPECT_EQ(PlannedReason(), kObservedReason);
  for (const json& pod : PodsOf("g")) {
    EXPECT_TRUE(pod["metadata"]["annotations"].contains(api::kSlotAnnotation));
    EXPECT_EQ(PinnedTo(pod), "");
  }
  for (const kube::Call& call : client_.calls()) {
    const bool taints = call.verb == kube::Verb::kPatch && call.target.resource == kube::Nodes();
    EXPECT_FALSE(taints) << call.target.name << ": " << call.body;
  }
}

TEST_F(CoreGangsTest, AnObservedGangFollowsAPodThatIsMadeAgain) {
  AddGroup("group", 2);
  const std::string first = AddPodLeftToCore(0);
  Bind(first, NodeName(0, 0));
  Bind(AddPodLeftToCore(1), NodeName(0, 1));
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-g").size(), 2u);
  DeletePod(first);
  const std::string again = AddPodLeftToCore(0);
  process.Pass();
  EXPECT_EQ(NodesFor(again), json::array({NodeName(0, 0), NodeName(0, 2)}))
      << "the host of its rank, and one that is free";
  Bind(again, NodeName(1, 0));
  clock_.Advance(11'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-g"), (std::vector<std::string>{NodeName(1, 0), NodeName(0, 1)}));
}

TEST_F(CoreGangsTest, AGangOfACorePodGroupBehindOurGateIsPlacedByUs) {
  AddGroup("group", 2);
  for (int index = 0; index < 2; ++index) AddPodOf("group", index);
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-g");
  ASSERT_EQ(hosts.size(), 2u);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::string pod = PodsOf("g")[rank]["metadata"]["name"];
    EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", pod)), hosts[rank]);
    // Whatever placement kube-scheduler tries for the group.
    EXPECT_LE(NodesFor(pod).size(), 1u);
  }
}

}  // namespace
}  // namespace yardmaster::extender
