// The chart's `mode` and `namespaceSelector` on a real API server: who observes has no right to
// write and no policy, and only the namespaces that match are turned on.
#include "gmock/gmock.h"

#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HelmModeTest : public HelmTest {
 protected:
  static bool May(const std::string& process, const std::string& verb, const std::string& what) {
    return plane_
        ->Kubectl({"auth", "can-i", verb, what,
                   StrCat("--as=system:serviceaccount:", kNamespace, ":yardmaster-", process)})
        .ok();
  }
  static std::vector<std::string> NamesOf(const std::string& kind) {
    std::vector<std::string> names;
    const auto list = Get({kind});
    EXPECT_TRUE(list.ok()) << list.status();
    for (const auto& item : (*list)["items"]) {
      const std::string name = item["metadata"]["name"];
      if (name.starts_with("yardmaster")) names.push_back(name);
    }
    return names;
  }
  static absl::Status MakePod(const std::string& ns, const std::string& name) {
    return plane_->Apply(StrCat(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")",
                                name, R"(", "namespace": ")", ns, R"(", "annotations":
      {"yardmaster.dev/parallelism": "tp=8"}}, "spec": {"automountServiceAccountToken": false,
      "containers": [{"name": "c", "image": "registry.example/c"}]}})"));
  }
  static bool IsGated(const std::string& ns, const std::string& name) {
    const auto pod = Get({"pod", name, "-n", ns});
    EXPECT_TRUE(pod.ok()) << pod.status();
    return (*pod)["spec"].contains("schedulingGates");
  }
  // Whether a TrainingJob could be made there.
  static absl::Status MakeJob(const std::string& ns) {
    const std::string job =
        StrCat(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"name": "j", "namespace": ")",
               ns, R"("}, "spec": {"workers": 1, "template": {"spec":
      {"containers": [{"name": "t", "image": "i"}]}}}})");
    return plane_->Kubectl({"create", "--dry-run=server", "-f", "-"}, job).status();
  }
};

TEST_F(HelmModeTest, WhoObservesHasNoRightToWriteAndNoPolicy) {
  const std::vector<std::string> writes[] = {{"patch", "pods"},
                                             {"create", "pods/eviction"},
                                             {"patch", "pods/status"},
                                             {"delete", "pods"},
                                             {"create", "pods"},
                                             {"patch", "nodes"},
                                             {"create", "services"},
                                             {"create", "gangs.yardmaster.dev"},
                                             {"update", "gangs.yardmaster.dev/status"},
                                             {"create", "events.events.k8s.io"}};
  EXPECT_TRUE(May("extender", "patch", "pods"));
  EXPECT_TRUE(May("operator", "patch", "nodes"));
  EXPECT_THAT(NamesOf("mutatingadmissionpolicies"), Not(IsEmpty()));
  const auto installed = Install("upgrade", ",mode=Observe");
  ASSERT_TRUE(installed.ok()) << installed.status();
  for (const char* process : {"extender", "operator"}) {
    for (const auto& call : writes) {
      EXPECT_FALSE(May(process, call[0], call[1])) << process << " " << call[0] << " " << call[1];
    }
    for (const char* what : {"nodes", "pods", "gangs.yardmaster.dev", "fabrics.yardmaster.dev"}) {
      EXPECT_TRUE(May(process, "watch", what)) << process << " " << what;
    }
  }
  for (const char* kind : {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
                           "validatingadmissionpolicies", "validatingadmissionpolicybindings",
                           "mutatingwebhookconfigurations"}) {
    EXPECT_THAT(NamesOf(kind), IsEmpty()) << kind;
  }
  EXPECT_FALSE(Get({"daemonset", "yardmaster-agent", "-n", kNamespace}).ok());
  for (const char* process : {"extender", "operator"}) {
    const auto made = Get({"deployment", StrCat("yardmaster-", process), "-n", kNamespace});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(made->dump(), HasSubstr("--mode=Observe")) << process;
  }
  ASSERT_TRUE(MakePod("default", "observed").ok());
  EXPECT_FALSE(IsGated("default", "observed"));
  EXPECT_THAT(MessageOf(Render({"mode=Observe", "scheduler.bindVerb=true"}).status()),
              HasSubstr("a bind is a write"));
  ASSERT_TRUE(Install("upgrade", ",mode=Enforce").ok());
  EXPECT_TRUE(May("extender", "patch", "pods"));
}

TEST_F(HelmModeTest, TheNotesNameWhatIsStillMissing) {
  const auto notes = Helm({"get", "notes", "yardmaster", "--namespace", kNamespace});
  ASSERT_TRUE(notes.ok()) << notes.status();
  for (const char* missing :
       {"image.repository", "image.pullSecrets", "pod-security.kubernetes.io/enforce=privileged",
        "yardmaster.dev/segment=", "schedulerName: yardmaster", "networkPolicy.pageFrom"}) {
    EXPECT_THAT(*notes, HasSubstr(missing));
  }
  const auto observing = Helm({"install", "other", kChart, "--namespace", kNamespace, "--dry-run",
                               "--set", "mode=Observe,crds.install=false"});
  ASSERT_TRUE(observing.ok()) << observing.status();
  EXPECT_THAT(*observing, HasSubstr("It only observes"));
  EXPECT_THAT(*observing, HasSubstr("networkPolicy.pageFrom"));
  EXPECT_THAT(*observing, Not(HasSubstr("kubectl apply -f my-trainingjob.yaml")));
}

TEST_F(HelmModeTest, OnlyTheNamespacesThatMatchAreTurnedOn) {
  for (const char* ns : {"on", "off"}) {
    ASSERT_TRUE(plane_->Kubectl({"create", "namespace", ns}).ok());
  }
  ASSERT_TRUE(plane_->Kubectl({"label", "namespace", "on", "yardmaster.dev/enabled=true"}).ok());
  const auto installed =
      Helm({"upgrade", "yardmaster", kChart, "--namespace", kNamespace, "--set",
            "fabric.preset=hpn-small,scheduler.enabled=true", "--set-json",
            R"(namespaceSelector={"matchLabels": {"yardmaster.dev/enabled": "true"},
               "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x", "y"]}]})"});
  ASSERT_TRUE(installed.ok()) << installed.status();
  EXPECT_TRUE(Eventually([&] {
    return IsRefused(MakeJob("off"), "Yardmaster is not turned on in this namespace");
  })) << MakeJob("off");
  EXPECT_TRUE(MakeJob("on").ok()) << MakeJob("on");
  int tries = 0;
  EXPECT_TRUE(Eventually([&] {
    const std::string name = StrCat("pod-", tries++);
    EXPECT_TRUE(MakePod("on", name).ok());
    EXPECT_TRUE(MakePod("off", name).ok());
    return IsGated("on", name) && !IsGated("off", name);
  }));
  ASSERT_TRUE(plane_->Kubectl({"label", "namespace", "on", "team=x"}).ok());
  EXPECT_TRUE(Eventually([&] {
    return IsRefused(MakeJob("on"), "Yardmaster is not turned on in this namespace");
  })) << MakeJob("on");
  const auto made = Get({"deployment", "yardmaster-extender", "-n", kNamespace});
  EXPECT_THAT(made->dump(), HasSubstr("--gated-pods-only"));
}

}  // namespace
}  // namespace yardmaster::testing
