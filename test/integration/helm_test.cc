// The chart against a real API server: what it renders is accepted, what it promises holds.
#include <algorithm>

#include "gmock/gmock.h"

#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(HelmTest, LintFindsNothing) {
  const auto lint = Helm({"lint", "--strict", kChart});
  EXPECT_TRUE(lint.ok()) << lint.status();
}

TEST_F(HelmTest, WhatItRendersIsAcceptedWhateverIsTurnedOn) {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"scheduler.enabled=true", "extender.service.clusterIP=10.0.0.77",
            "fullnameOverride=fixed"},
           {"agent.nicPorts[0].rail=0", "agent.nicPorts[0].port=0",
            "agent.nicPorts[0].interface=eth2", "agent.fabric=hpn"},
           {"tls.source=existing", "tls.extenderSecret=a", "tls.schedulerSecret=b",
            "crds.install=false", "agent.enabled=false", "gatePolicy.enabled=false",
            "networkPolicy.enabled=false"},
           {"fullnameOverride=other", "commonLabels.team=x", "podAnnotations.note=y",
            "extender.replicas=1", "fabric.preset=rail-only"},
           {"annotationPolicy.enabled=false", "priorityPolicy.max=5", "priorityPolicy.min=-5"},
           {"scheduler.bindVerb=true", "tls.clientNames=null"},
           {"operator.page.enabled=false"},
           {"tls.validityDays=100", "tls.renewal.validityDays=30"},
           {"agent.reports.enabled=false"},
           {"gatePolicy.mode=Webhook", "gatePolicy.failurePolicy=Fail",
            "networkPolicy.gateFrom[0].ipBlock.cidr=192.0.2.0/24"},
           {"tls.source=existing", "tls.extenderSecret=a", "tls.schedulerSecret=b",
            "tls.operatorSecret=c", "tls.agentSecret=d", "operator.nodeFaultRules[0].taint=x/y",
            "operator.nodeFaultRules[0].action=Ignore"},
           {"networkPolicy.pageFrom[0].ipBlock.cidr=192.0.2.0/24"},
           {"priorityPolicy.enabled=false", "agent.restrictToOwnNode=false"},
           {"agent.podResources=true", "agent.readShimReports=true",
            "agent.readCheckpointMarks=true", "agent.defaultTrafficClass=96",
            "agent.measureTraffic=false", "networkShim.image=registry.example/shims:1",
            "networkShim.failurePolicy=Fail"}}) {
    const auto rendered = Render(sets);
    ASSERT_TRUE(rendered.ok()) << rendered.status();
    const auto applied = plane_->Kubectl({"apply", "--server-side", "--force-conflicts",
                                          "--dry-run=server", "--validate=strict", "-f", "-"},
                                         *rendered);
    EXPECT_TRUE(applied.ok()) << Join(sets, ",") << ": " << applied.status();
  }
}

TEST_F(HelmTest, ValuesThatCannotWorkAreRefused) {
  for (const char* set :
       {"extendr.replicas=2", "extender.replicas=0", "tls.source=magic", "scheduler.weight=0",
        "agent.nicPorts[0].rail=0", "agent.hostPath=relative", "fabric.preset=no-such-preset",
        "tls.source=existing", "tls.source=certManager", "scheduler.gpuResource=cpu",
        "priorityPolicy.max=-1", "annotationPolicy.failurePolicy=Maybe",
        "networkShim.failurePolicy=Maybe", "gatePolicy.mode=Perhaps",
        "tls.renewal.validityDays=0"}) {
    EXPECT_FALSE(Render({set}).ok()) << set;
  }
  EXPECT_THAT(MessageOf(Render({"fabric.preset=no-such-preset"}).status()), HasSubstr("rail-only"));
  EXPECT_THAT(MessageOf(Render({"tls.source=existing", "tls.extenderSecret=a",
                                "tls.schedulerSecret=b", "gatePolicy.mode=Webhook"})
                            .status()),
              HasSubstr("tls.caBundle"));
}

TEST_F(HelmTest, TheGateIsAPolicyWhereTheClusterHasThemAndElseAWebhook) {
  constexpr char kPolicy[] = "kind: MutatingAdmissionPolicy\n";
  constexpr char kWebhook[] = "kind: MutatingWebhookConfiguration\n";
  const auto rendered = [](const std::string& version, const std::string& more) {
    const auto text = Helm({"template", "yardmaster", kChart, "--namespace", kNamespace,
                            "--kube-version", version, "--set", StrCat("log.format=json", more)});
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  };
  EXPECT_THAT(rendered("1.36.0", ""), AllOf(HasSubstr(kPolicy), Not(HasSubstr(kWebhook))));
  for (const char* old : {"1.32.0", "1.35.9"}) {
    const std::string text = rendered(old, "");
    EXPECT_THAT(text, AllOf(HasSubstr(kWebhook), Not(HasSubstr(kPolicy))));
    EXPECT_THAT(text, AllOf(HasSubstr("--gate-bind-address"), HasSubstr("targetPort: gate"),
                            HasSubstr("ports: [{port: gate}]"), Not(HasSubstr("caBundle")),
                            HasSubstr("--certificate-webhook=yardmaster-gate")));
    EXPECT_THAT(text, Not(HasSubstr("yardmaster-shim")));
  }
  const std::string both = rendered("1.36.0", ",gatePolicy.mode=Webhook");
  EXPECT_THAT(both, AllOf(HasSubstr(kWebhook), HasSubstr("yardmaster-shim")));
  EXPECT_THAT(rendered("1.34.0", ",gatePolicy.enabled=false"),
              AllOf(Not(HasSubstr(kWebhook)), Not(HasSubstr("gate-bind-address"))));
  EXPECT_THAT(rendered("1.34.0", ",tls.source=certManager,tls.certManager.issuerRef.name=x"),
              AllOf(HasSubstr("inject-ca-from: yardmaster-system/yardmaster-extender-tls"),
                    Not(HasSubstr("caBundle"))));
  // The cluster's own word: what is installed here.
  EXPECT_TRUE(plane_->Kubectl({"get", "mutatingadmissionpolicy", "yardmaster-gate"}).ok());
  EXPECT_FALSE(plane_->Kubectl({"get", "mutatingwebhookconfiguration", "yardmaster-gate"}).ok());
}

TEST_F(HelmTest, TheAgentIsRootOnlyWhereItMustBe) {
  constexpr char kPrepared[] = "--prepare-folders-for=";
  const auto agent = [](const std::string& set) {
    const auto text = Render({set, "extender.replicas=2"});
    EXPECT_TRUE(text.ok()) << text.status();
    const std::string all = text.value_or("");
    const std::size_t begin = all.find("kind: DaemonSet");
    return all.substr(begin, all.find("\n---", begin) - begin);
  };
  EXPECT_THAT(agent("agent.podResources=false"),
              AllOf(HasSubstr("runAsNonRoot: true"), HasSubstr(StrCat(kPrepared, "65532"))));
  for (const char* set : {"agent.podResources=true", "agent.readShimReports=true",
                          "agent.readCheckpointMarks=true", "agent.defaultTrafficClass=0"}) {
    EXPECT_THAT(agent(set),
                AllOf(Not(HasSubstr("runAsNonRoot: true")), HasSubstr(StrCat(kPrepared, "0\n"))))
        << set;
  }
}

TEST_F(HelmTest, NoRoleAsksForMoreThanItsVerbs) {
  const auto roles =
      Get({"clusterroles,roles", "-A", "-l", "app.kubernetes.io/part-of=yardmaster"});
  ASSERT_TRUE(roles.ok()) << roles.status();
  EXPECT_GE((*roles)["items"].size(), 6u);
  for (const auto& role : (*roles)["items"]) {
    for (const auto& rule : role["rules"]) {
      for (const char* field : {"verbs", "resources", "apiGroups"}) {
        for (const std::string text : rule[field]) EXPECT_NE(text, "*") << role["metadata"]["name"];
      }
    }
  }
}

// The names and verbs of the rules about Secrets, by role: "Role/yardmaster-operator [get] a,b".
std::vector<std::string> RulesAboutSecrets(const nlohmann::json& roles) {
  std::vector<std::string> out;
  for (const auto& role : roles["items"]) {
    for (const auto& rule : role["rules"]) {
      const std::vector<std::string> resources = rule["resources"];
      if (std::find(resources.begin(), resources.end(), "secrets") == resources.end()) continue;
      const std::string name = role["metadata"]["name"];
      out.push_back(StrCat(role["kind"].get<std::string>(), "/", name, " ", rule["verbs"].dump(),
                           " ", rule.value("resourceNames", nlohmann::json()).dump()));
    }
  }
  return out;
}

TEST_F(HelmTest, TheOperatorReachesTheSecretsThatItMakesAndNoOthers) {
  const auto roles = [] {
    return *Get({"clusterroles,roles", "-A", "-l", "app.kubernetes.io/part-of=yardmaster"});
  };
  ASSERT_TRUE(Install("upgrade").ok());
  EXPECT_THAT(
      RulesAboutSecrets(roles()),
      ElementsAre(R"(Role/yardmaster-operator ["create"] null)",
                  R"(Role/yardmaster-operator ["get","patch"] )"
                  R"(["yardmaster-ca","yardmaster-extender-tls","yardmaster-scheduler-tls",)"
                  R"("yardmaster-operator-tls","yardmaster-agent-tls"])"));
  ASSERT_TRUE(
      Install("upgrade", ",tls.source=existing,tls.extenderSecret=a,tls.schedulerSecret=b").ok());
  EXPECT_THAT(RulesAboutSecrets(roles()), IsEmpty());
  ASSERT_TRUE(Install("upgrade").ok());
}

// What tools that only render need: the same bytes each time, and no keys in them or in the
// release's history.
TEST_F(HelmTest, RenderingMakesNoKeysAndTheSameBytesEachTime) {
  for (const char* set : {"tls.source=generated", "gatePolicy.mode=Webhook"}) {
    const auto first = Render({set}), second = Render({set});
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(*first, *second) << set;
    EXPECT_THAT(*first, Not(HasSubstr("kind: Secret\n"))) << set;
  }
  const auto manifest = Helm({"get", "manifest", "yardmaster", "--namespace", kNamespace});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(*manifest, Not(HasSubstr("kind: Secret\n")));
}

TEST_F(HelmTest, AnUpgradeKeepsTheFabric) {
  ASSERT_TRUE(plane_->Kubectl({"label", "fabric", "hpn-small", "mine=yes"}).ok());
  const auto upgraded = Install("upgrade");
  ASSERT_TRUE(upgraded.ok()) << upgraded.status();
  EXPECT_EQ((*Get({"fabric", "hpn-small"}))["metadata"]["labels"]["mine"], "yes");
}

}  // namespace
}  // namespace yardmaster::testing
