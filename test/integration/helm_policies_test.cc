// The admission policies of the chart against a real API server: who may write what, what is added
// to pods.
#include <regex>

#include "gmock/gmock.h"

#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPod[] = R"({"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "NAME", "namespace": "default", "annotations": {ANNOTATIONS}},
  "spec": {"automountServiceAccountToken": false, "schedulingGates": [GATES],
           "containers": [{"name": "c", "image": "registry.example/c"}]}})";

std::string PodNamed(const std::string& name, const std::string& annotations,
                     const std::string& gates) {
  std::string pod = std::regex_replace(kPod, std::regex("NAME"), name);
  pod = std::regex_replace(pod, std::regex("ANNOTATIONS"), annotations);
  return std::regex_replace(pod, std::regex("GATES"), gates);
}

TEST_F(HelmTest, PodsThatAskForAGangAndNoOthersAreGated) {
  constexpr char kAsks[] = R"("yardmaster.dev/parallelism": "tp=8")";
  int tries = 0;
  ASSERT_TRUE(Eventually([&] {
    const std::string name = StrCat("probe-", tries++);
    EXPECT_TRUE(plane_->Apply(PodNamed(name, kAsks, "")).ok());
    return !GatesOf(name).empty();
  }));
  ASSERT_TRUE(plane_->Apply(PodNamed("asks", kAsks, "")).ok());
  ASSERT_TRUE(plane_->Apply(PodNamed("plain", "", "")).ok());
  ASSERT_TRUE(plane_->Apply(PodNamed("other-gate", kAsks, R"({"name": "other/gate"})")).ok());
  ASSERT_TRUE(
      plane_->Apply(PodNamed("own-gate", kAsks, R"({"name": "yardmaster.dev/placement"})")).ok());
  EXPECT_THAT(GatesOf("asks"), ElementsAre("yardmaster.dev/placement"));
  EXPECT_THAT(GatesOf("plain"), ElementsAre());
  EXPECT_THAT(GatesOf("other-gate"), ElementsAre("other/gate", "yardmaster.dev/placement"));
  EXPECT_THAT(GatesOf("own-gate"), ElementsAre("yardmaster.dev/placement"));
}

TEST_F(HelmTest, AnAgentChangesItsAnnotationsOfItsOwnNodeAndItsPods) {
  for (const char* node : {"n1", "n2"}) {
    ASSERT_TRUE(plane_
                    ->Apply(StrCat(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ")",
                                   node, R"(", "annotations": {"a": "b"}}})"))
                    .ok());
  }
  const auto token = plane_->Kubectl({"create", "token", "yardmaster-agent", "-n", kNamespace,
                                      "--bound-object-kind", "Node", "--bound-object-name", "n1"});
  ASSERT_TRUE(token.ok()) << token.status();
  const std::string bearer = token->substr(0, token->find('\n'));
  const auto patch = [&](const std::string& node, const std::string& body) {
    return RunProgram({plane_->bin() + "/kubectl", "--kubeconfig=/dev/null",
                       "--server=" + plane_->api_server(),
                       "--certificate-authority=" + plane_->ca_file(), "--token=" + bearer, "patch",
                       "node", node, "--type=merge", "--patch", body})
        .status();
  };
  constexpr char kDown[] =
      R"({"metadata": {"annotations": {"yardmaster.dev/down-ports": "r0p1",
                                       "yardmaster.dev/lossy-ports": "r0p0=9"}}})";
  constexpr char kUp[] = R"({"metadata": {"annotations": {"yardmaster.dev/down-ports": null}}})";
  EXPECT_TRUE(Eventually([&] { return IsRefused(patch("n2", kDown), "its own Node only"); }))
      << patch("n2", kDown);
  EXPECT_TRUE(patch("n1", kDown).ok()) << patch("n1", kDown);
  EXPECT_TRUE(patch("n1", kUp).ok()) << patch("n1", kUp);
  for (const char* body :
       {R"({"metadata": {"annotations": {"a": "c"}}})",
        R"({"metadata": {"annotations": {"a": null}}})",
        R"({"metadata": {"annotations": {"x": "y"}}})", R"({"metadata": {"labels": {"x": "y"}}})",
        R"({"spec": {"unschedulable": true}})"}) {
    EXPECT_THAT(MessageOf(patch("n1", body)), HasSubstr("nothing of its Node but")) << body;
  }

  // Of the pods of its node it changes the measured profile.
  for (const char* node : {"n1", "n2"}) {
    const std::string pod = StrCat(
        R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-)", node,
        R"(", "namespace": "default", "annotations": {"a": "b"}}, "spec": {"nodeName": ")", node,
        R"(", "automountServiceAccountToken": false, "tolerations": [{"operator": "Exists"}],)",
        R"("containers": [{"name": "c", "image": "registry.example/c"}]}})");
    ASSERT_TRUE(plane_->Apply(pod).ok());
  }
  const auto patch_pod = [&](const std::string& pod, const std::string& type,
                             const std::string& body) {
    return RunProgram({plane_->bin() + "/kubectl", "--kubeconfig=/dev/null",
                       "--server=" + plane_->api_server(),
                       "--certificate-authority=" + plane_->ca_file(), "--token=" + bearer, "patch",
                       "pod", pod, "-n", "default", "--type=" + type, "--patch", body})
        .status();
  };
  constexpr char kProfile[] = R"({"metadata": {"annotations": {"yardmaster.dev/profile": "x"}}})";
  // The agent's policy and that of our annotations both refuse; the API server names either.
  EXPECT_TRUE(Eventually([&] {
    const absl::Status refused = patch_pod("on-n2", "merge", kProfile);
    return IsRefused(refused, "pods of its own node only") ||
           IsRefused(refused, "by the agent of the pod's own node alone");
  }));
  EXPECT_TRUE(patch_pod("on-n1", "merge", kProfile).ok());
  for (const char* body : {R"({"metadata": {"annotations": {"a": "c"}}})",
                           R"({"metadata": {"annotations": {"yardmaster.dev/slot": "x"}}})",
                           R"({"metadata": {"labels": {"x": "y"}}})"}) {
    EXPECT_THAT(
        MessageOf(patch_pod("on-n1", "merge", body)),
        AnyOf(HasSubstr("nothing of a pod but"), HasSubstr("is written by yardmaster-extender")))
        << body;
  }
  constexpr char kImage[] =
      R"([{"op": "replace", "path": "/spec/containers/0/image", "value": "registry.example/evil"}])";
  EXPECT_THAT(MessageOf(patch_pod("on-n1", "json", kImage)), HasSubstr("nothing of a pod but"));
}

// As one of our processes, or as the cluster's administrator.
absl::Status Annotate(const ControlPlane& plane, const std::string& process, const std::string& pod,
                      const std::string& annotation) {
  std::vector<std::string> arguments = {"annotate", "--overwrite", "pod", pod, annotation};
  if (!process.empty()) {
    arguments.push_back(StrCat("--as=system:serviceaccount:", kNamespace, ":yardmaster-", process));
  }
  return plane.Kubectl(arguments).status();
}

TEST_F(HelmTest, OnlyOurProcessesWriteOurAnnotations) {
  ASSERT_TRUE(plane_->Apply(PodNamed("annotated", "", R"({"name": "other/gate"})")).ok());
  constexpr char kSlot[] = "yardmaster.dev/slot={}";
  ASSERT_TRUE(Eventually([&] {
    return IsRefused(Annotate(*plane_, "", "annotated", kSlot),
                     "is written by yardmaster-extender and yardmaster-operator alone");
  }));
  EXPECT_TRUE(Annotate(*plane_, "extender", "annotated", kSlot).ok());
  EXPECT_TRUE(Annotate(*plane_, "operator", "annotated", "yardmaster.dev/slot={1}").ok());
  EXPECT_FALSE(Annotate(*plane_, "agent", "annotated", "yardmaster.dev/slot={2}").ok());
  for (const char* taken : {"yardmaster.dev/slot-", "yardmaster.dev/slot="}) {
    EXPECT_THAT(MessageOf(Annotate(*plane_, "", "annotated", taken)),
                HasSubstr("is written by yardmaster-extender and yardmaster-operator alone"));
  }
  EXPECT_TRUE(Annotate(*plane_, "extender", "annotated", "yardmaster.dev/network-priority=1").ok());
  for (const char* mine :
       {"yardmaster.dev/network-priority=7", "yardmaster.dev/path-plan={}",
        "yardmaster.dev/network-generation=1", "yardmaster.dev/nccl-conf=NCCL_IB_TC=128"}) {
    EXPECT_THAT(MessageOf(Annotate(*plane_, "", "annotated", mine)),
                HasSubstr("is written by yardmaster-operator alone"));
    EXPECT_FALSE(Annotate(*plane_, "agent", "annotated", mine).ok()) << mine;
    const absl::Status written = Annotate(*plane_, "operator", "annotated", mine);
    EXPECT_TRUE(written.ok()) << written;
  }
  constexpr char kProfile[] = "yardmaster.dev/profile={}";
  EXPECT_THAT(MessageOf(Annotate(*plane_, "operator", "annotated", kProfile)),
              HasSubstr("is written by yardmaster-agent alone"));
  constexpr char kConnections[] = "yardmaster.dev/connections={}";
  EXPECT_THAT(MessageOf(Annotate(*plane_, "operator", "annotated", kConnections)),
              HasSubstr("is written by yardmaster-agent alone"));
  // Every client may write annotations that are not ours, also beside ours.
  EXPECT_TRUE(Annotate(*plane_, "", "annotated", "note=x").ok());

  const auto created =
      plane_->Apply(PodNamed("forged", R"("yardmaster.dev/network-priority": "7")", ""));
  EXPECT_THAT(MessageOf(created), HasSubstr("cannot be given to a new pod"));
  // The operator alone makes pods with their place.
  const auto create_as = [](const std::string& process) {
    const std::string pod =
        PodNamed(StrCat("placed-by-", process),
                 R"("yardmaster.dev/slot": "{}", "yardmaster.dev/network-generation": "1")", "");
    return plane_
        ->Kubectl({"create", "-f", "-",
                   StrCat("--as=system:serviceaccount:", kNamespace, ":yardmaster-", process)},
                  pod)
        .status();
  };
  const absl::Status by_operator = create_as("operator");
  EXPECT_TRUE(by_operator.ok()) << by_operator;
  EXPECT_FALSE(create_as("agent").ok());
  const auto status = plane_->Kubectl(
      {"patch", "pod", "annotated", "--subresource=status", "--type=merge", "--patch",
       R"({"metadata": {"annotations": {"yardmaster.dev/network-priority": "0"}}})"});
  EXPECT_FALSE(status.ok());
}

const nlohmann::json& Named(const nlohmann::json& list, const std::string& name) {
  static const nlohmann::json none;
  for (const nlohmann::json& entry : list) {
    if (entry.value("name", "") == name) return entry;
  }
  return none;
}

TEST_F(HelmTest, APodThatAsksForTheShimsGetsThemAndKeepsWhatItSetsItself) {
  const auto create = [](const std::string& name, const std::string& shims) {
    nlohmann::json pod = nlohmann::json::parse(PodNamed(
        name, StrCat(R"("yardmaster.dev/network-shim": ")", shims, "\""), R"({"name": "x/y"})"));
    pod["spec"]["containers"][0]["env"] = {{{"name", "NCCL_IB_TC"}, {"value", "96"}},
                                           {{"name", "LD_PRELOAD"}, {"value", "own.so"}}};
    pod["spec"]["containers"].push_back({{"name", "other"}, {"image", "registry.example/o"}});
    return plane_->Kubectl({"create", "-f", "-"}, pod.dump());
  };
  int tries = 0;
  ASSERT_TRUE(Eventually([&] {
    const std::string name = StrCat("shim-", ++tries);
    if (!create(name, "verbs, socket").ok()) return false;
    return !Named((*Get({"pod", name}))["spec"]["volumes"], "yardmaster-network").is_null();
  })) << "the policy is not in force";
  const nlohmann::json pod = *Get({"pod", StrCat("shim-", tries)});
  const nlohmann::json& spec = pod["spec"];
  const auto& items = Named(spec["volumes"], "yardmaster-network")["downwardAPI"]["items"];
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[1]["fieldRef"]["fieldPath"], "metadata.annotations['yardmaster.dev/path-plan']");
  EXPECT_EQ(spec["initContainers"][0]["command"][0], "cp");
  EXPECT_EQ(spec["initContainers"][0]["securityContext"]["capabilities"]["drop"][0], "ALL");
  const nlohmann::json& own = spec["containers"][0]["env"];
  EXPECT_EQ(Named(own, "LD_PRELOAD")["value"], "own.so");
  EXPECT_EQ(Named(own, "NCCL_CONF_FILE")["value"], "/etc/yardmaster/network/nccl.conf");
  const nlohmann::json& other = spec["containers"][1]["env"];
  EXPECT_EQ(Named(other, "LD_PRELOAD")["value"], "/opt/yardmaster/libyardmaster-socket.so");
  EXPECT_EQ(Named(other, "NCCL_IBVERBS_LIB")["value"], "/opt/yardmaster/libyardmaster-verbs.so");
  for (const nlohmann::json& container : spec["containers"]) {
    EXPECT_EQ(container["volumeMounts"].size(), 3u) << container.dump();
  }
  EXPECT_EQ(pod["metadata"]["annotations"]["yardmaster.dev/kept-environment"],
            "LD_PRELOAD,NCCL_IB_TC");

  ASSERT_TRUE(create("shim-none", "none").ok());
  const nlohmann::json files = (*Get({"pod", "shim-none"}))["spec"];
  EXPECT_FALSE(files.contains("initContainers"));
  EXPECT_EQ(files["volumes"].size(), 1u);
  EXPECT_TRUE(Named(files["containers"][1]["env"], "NCCL_IBVERBS_LIB").is_null());

  ASSERT_TRUE(plane_->Kubectl({"create", "-f", "-"}, PodNamed("shim-not-asked", "", "")).ok());
  EXPECT_FALSE((*Get({"pod", "shim-not-asked"}))["spec"].contains("volumes"));
}

}  // namespace
}  // namespace yardmaster::testing
