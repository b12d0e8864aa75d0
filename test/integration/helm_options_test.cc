// Options of the chart together: each pair of them is accepted by a real API server, and what a
// process does under an option is what its rights and the policies let it do, and nothing without
// the option.
#include <set>
#include <tuple>

#include "gmock/gmock.h"

#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HelmOptionsTest : public HelmTest {};

// Of each option the ways to set it, the default first.
const std::vector<std::vector<std::string>>& Options() {
  static const auto* options = new std::vector<std::vector<std::string>>{
      {"", "agent.restrictToOwnNode=false"},
      {"", "agent.readCheckpointMarks=true"},
      {"", "agent.readShimReports=true"},
      {"", "agent.podResources=true", "agent.enabled=false"},
      {"", "agent.reports.enabled=false"},
      {"", "agent.defaultTrafficClass=96"},
      {"", "agent.nicPorts[0].rail=0,agent.nicPorts[0].port=0,agent.nicPorts[0].interface=eth2"},
      {"", "scheduler.enabled=true"},
      {"", "scheduler.bindVerb=true"},
      {"", "tls.extraIpAddresses={192.0.2.7,fd00::}"},
      {"", "gatePolicy.mode=Webhook", "gatePolicy.enabled=false"},
      {"", "networkShim.enabled=false"},
      {"", "annotationPolicy.enabled=false"},
      {"", "priorityPolicy.enabled=false",
       "priorityPolicy.max=7,priorityPolicy.classes={gold,a.b}"},
      {"", "networkPolicy.enabled=false",
       "networkPolicy.pageFrom[0].ipBlock.cidr=192.0.2.0/24,"
       "networkPolicy.metricsFrom[0].ipBlock.cidr=192.0.2.0/24"},
      {"", "capacity.enabled=true"},
      {"", "kueue.enabled=true"},
      {"", "computeDomains.enabled=true"},
      {"", "operator.page.enabled=false"},
      {"", "operator.nodeFaultRules[0].taint=x/y,operator.nodeFaultRules[0].action=Ignore"},
      {"", "monitoring.dashboards.enabled=true"},
      {"", "traces.endpoint=https://collector:4318,traces.caSecret=collector-ca"},
      {"", "fabric.preset=rail-only", "crds.install=false"},
      {"", "fullnameOverride=a-name-that-is-as-long-as-helm-lets-a-release-be-called"}};
  return *options;
}

// Rows of choices that have each pair of choices in one row at least: every row takes of each
// option the choice that brings most pairs which no row has yet.
std::vector<std::vector<std::size_t>> PairwiseRows() {
  const auto& options = Options();
  using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  std::set<Pair> left;
  for (std::size_t a = 0; a < options.size(); ++a) {
    for (std::size_t b = a + 1; b < options.size(); ++b) {
      for (std::size_t x = 0; x < options[a].size(); ++x) {
        for (std::size_t y = 0; y < options[b].size(); ++y) left.insert({a, x, b, y});
      }
    }
  }
  std::vector<std::vector<std::size_t>> rows;
  while (!left.empty()) {
    const auto [a, x, b, y] = *left.begin();
    std::vector<std::size_t> row(options.size());
    for (std::size_t o = 0; o < options.size(); ++o) {
      std::size_t best = 0, most = 0;
      for (std::size_t choice = 0; choice < options[o].size(); ++choice) {
        std::size_t brings = (o == a && choice == x) || (o == b && choice == y) ? 1000 : 1;
        for (std::size_t p = 0; p < o; ++p) brings += left.count({p, row[p], o, choice});
        if (brings > most) std::tie(best, most) = std::pair(choice, brings);
      }
      row[o] = best;
    }
    for (std::size_t p = 0; p < options.size(); ++p) {
      for (std::size_t o = p + 1; o < options.size(); ++o) left.erase({p, row[p], o, row[o]});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST_F(HelmOptionsTest, EveryPairOfOptionsIsAccepted) {
  const auto rows = PairwiseRows();
  EXPECT_LT(rows.size(), 40u);
  for (const std::vector<std::size_t>& row : rows) {
    std::vector<std::string> sets;
    for (std::size_t o = 0; o < row.size(); ++o) {
      if (row[o] != 0) sets.push_back(Options()[o][row[o]]);
    }
    const auto rendered = Render(sets);
    ASSERT_TRUE(rendered.ok()) << Join(sets, ",") << ": " << rendered.status();
    const auto applied = plane_->Kubectl({"apply", "--server-side", "--force-conflicts",
                                          "--dry-run=server", "--validate=strict", "-f", "-"},
                                         *rendered);
    EXPECT_TRUE(applied.ok()) << Join(sets, ",") << ": " << applied.status();
  }
}

TEST_F(HelmOptionsTest, WhatMovesMayCostIsPassedOnAsItIsAndOnlyWhereItIsSet) {
  const std::string flag = "--moves-gpu-seconds-per-day=";
  const auto render = [](const std::string& seconds) {
    return Helm({"template", "yardmaster", kChart, "--set", "moves.mode=Auto", "--set-json",
                 StrCat("moves.gpuSecondsPerDay=", seconds)});
  };
  const auto rendered = render("null");
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_THAT(*rendered, Not(HasSubstr(flag)));
  for (const char* seconds : {"0", "0.5", "3.6e+06"}) {
    const auto set = render(seconds);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_THAT(*set, HasSubstr(StrCat(flag, seconds, "\n")));
  }
}

TEST_F(HelmOptionsTest, NamesFitWithReleaseNamesOfEveryLength) {
  std::set<std::string> operators;
  for (const std::string& release :
       {std::string("r"), std::string(36, 'a'), std::string(37, 'a'), std::string(53, 'a'),
        std::string(52, 'a') + "b", "yardmaster-" + std::string(42, 'a')}) {
    const auto rendered =
        Helm({"template", release, kChart, "--namespace", kNamespace, "--skip-tests",
              "--kube-version", StrCat("1.", plane_->kubernetes_minor(), ".0"), "--set",
              "scheduler.enabled=true,monitoring.dashboards.enabled=true"});
    ASSERT_TRUE(rendered.ok()) << release << rendered.status();
    const auto applied = plane_->Kubectl({"apply", "--server-side", "--force-conflicts",
                                          "--dry-run=server", "--validate=strict", "-f", "-"},
                                         *rendered);
    EXPECT_TRUE(applied.ok()) << release << ": " << applied.status();
    const std::size_t at = rendered->find("-reports\n");
    const std::size_t line = rendered->rfind('\n', at) + 1;
    EXPECT_TRUE(operators.insert(rendered->substr(line, at - line)).second)
        << "another release has the name of " << release;
  }
}

TEST_F(HelmOptionsTest, AProcessHasTheRightsThatAnOptionNeedsAndOnlyThen) {
  struct Right {
    std::string set;
    std::string process;
    std::vector<std::string> call;
  };
  const std::vector<Right> rights = {
      {"scheduler.bindVerb=true", "extender", {"create", "pods", "--subresource=binding"}},
      // Not of NodeClaims: kubectl asks of a kind that the server does not know in the wrong group.
      {"capacity.enabled=true", "operator", {"create", "podtemplates"}},
      {"capacity.enabled=true", "operator", {"delete", "podtemplates"}},
      {"capacity.enabled=true", "operator", {"get", "namespaces"}},
      // Nor of Workloads.
      {"kueue.enabled=true", "operator", {"get", "priorityclasses.scheduling.k8s.io"}},
      {"gatePolicy.mode=Webhook",
       "operator",
       {"patch", "mutatingwebhookconfigurations/yardmaster-gate"}}};
  const auto may = [](const Right& right) {
    std::vector<std::string> arguments = {"auth", "can-i"};
    arguments.insert(arguments.end(), right.call.begin(), right.call.end());
    arguments.push_back(
        StrCat("--as=system:serviceaccount:", kNamespace, ":yardmaster-", right.process));
    return plane_->Kubectl(arguments).ok();
  };
  for (const Right& right : rights) EXPECT_FALSE(may(right)) << right.set << " " << right.call[1];
  ASSERT_TRUE(Install("upgrade",
                      ",scheduler.bindVerb=true,capacity.enabled=true,kueue.enabled=true,"
                      "gatePolicy.mode=Webhook")
                  .ok());
  for (const Right& right : rights) EXPECT_TRUE(may(right)) << right.set << " " << right.call[1];
  const Right reviews = {"", "operator", {"create", "tokenreviews.authentication.k8s.io"}};
  EXPECT_TRUE(may(reviews));
  ASSERT_TRUE(Install("upgrade", ",agent.reports.enabled=false").ok());
  EXPECT_FALSE(may(reviews));
  for (const Right& right : rights) EXPECT_FALSE(may(right)) << right.set << " " << right.call[1];
}

TEST_F(HelmOptionsTest, AnAgentWritesOfPodsWhatItsOptionsAskFor) {
  ASSERT_TRUE(
      plane_->Apply(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}})").ok());
  ASSERT_TRUE(plane_
                  ->Apply(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-n3",
      "namespace": "default"}, "spec": {"nodeName": "n3", "automountServiceAccountToken": false,
      "tolerations": [{"operator": "Exists"}],
      "containers": [{"name": "c", "image": "registry.example/c"}]}})")
                  .ok());
  const auto token = plane_->Kubectl({"create", "token", "yardmaster-agent", "-n", kNamespace,
                                      "--bound-object-kind", "Node", "--bound-object-name", "n3"});
  ASSERT_TRUE(token.ok()) << token.status();
  int value = 0;
  const auto write = [&](const std::string& name) {
    const std::string body = StrCat(R"({"metadata": {"annotations": {"yardmaster.dev/)", name,
                                    R"(": ")", ++value, "\"}}}");
    return MessageOf(RunProgram({plane_->bin() + "/kubectl", "--kubeconfig=/dev/null",
                                 "--server=" + plane_->api_server(),
                                 "--certificate-authority=" + plane_->ca_file(),
                                 "--token=" + token->substr(0, token->find('\n')), "patch", "pod",
                                 "on-n3", "-n", "default", "--type=merge", "--patch", body})
                         .status());
  };
  ASSERT_TRUE(Eventually([&] { return write("profile").empty(); })) << write("profile");
  for (const auto& [name, option] : {std::pair{"checkpoint", "agent.readCheckpointMarks"},
                                     {"connections", "agent.readShimReports"}}) {
    ASSERT_TRUE(Install("upgrade").ok());
    EXPECT_TRUE(Eventually([&] {
      return write(name).find("nothing of a pod but") != std::string::npos;
    })) << write(name);
    ASSERT_TRUE(Install("upgrade", StrCat(",", option, "=true")).ok());
    EXPECT_TRUE(Eventually([&] { return write(name).empty(); })) << option << ": " << write(name);
    EXPECT_EQ(write("profile"), "");
    EXPECT_THAT(write("slot"), HasSubstr("yardmaster"));
  }
}

// `helm upgrade --reuse-values` knows no option that the version before did not have: what a
// process is told then is what it is told by default, or nothing.
TEST_F(HelmOptionsTest, AnUpgradeWithTheValuesOfTheVersionBeforeGivesNoOptionAnotherValue) {
  const std::string before = YARDMASTER_SOURCE_DIR "/test/data/charts/before.tgz";
  ASSERT_TRUE(plane_->Kubectl({"create", "namespace", "earlier"}).ok());
  const auto helm = [](const std::string& verb, const std::string& chart,
                       const std::string& values) {
    // An option whose default has changed keeps its old value: here it has the new one at once.
    return Helm({verb, "earlier", chart, "--namespace", "earlier", "--set",
                 "crds.install=false,gatePolicy.enabled=false,kubeApi.qps=500,kubeApi.burst=1000",
                 values})
        .status();
  };
  const auto arguments = [] {
    std::set<std::string> out;
    const auto found = Get({"deployments,daemonsets", "-n", "earlier"});
    EXPECT_TRUE(found.ok()) << found.status();
    for (const nlohmann::json& workload : found->at("items")) {
      for (const auto& argument :
           workload.at("/spec/template/spec/containers/0/args"_json_pointer)) {
        out.insert(StrCat(workload.at("/metadata/name"_json_pointer).get<std::string>(), " ",
                          argument.get<std::string>()));
      }
    }
    return out;
  };
  ASSERT_EQ(helm("install", before, "--timeout=5m"), absl::OkStatus());
  ASSERT_EQ(helm("upgrade", kChart, "--reuse-values"), absl::OkStatus());
  const std::set<std::string> reused = arguments();
  EXPECT_THAT(reused, ::testing::Contains("earlier-yardmaster-extender --verbosity=2"));
  ASSERT_EQ(helm("upgrade", kChart, "--reset-values"), absl::OkStatus());
  EXPECT_THAT(arguments(), ::testing::IsSupersetOf(reused));
  EXPECT_TRUE(Helm({"uninstall", "earlier", "--namespace", "earlier"}).ok());
}

TEST_F(HelmOptionsTest, OnlyWhomTheValuesNameReachesMetricsAndPage) {
  const auto policy = [](const std::string& component) {
    return *Get({"networkpolicy", StrCat("yardmaster-", component), "-n", kNamespace});
  };
  const auto ports = [&](const std::string& component) {
    std::set<std::string> open;
    const nlohmann::json found = policy(component);
    for (const auto& rule : found["spec"]["ingress"]) {
      for (const auto& port : rule["ports"]) open.insert(port["port"].get<std::string>());
    }
    return open;
  };
  ASSERT_TRUE(Install("upgrade").ok());
  EXPECT_EQ(ports("agent"), (std::set<std::string>{"health"}));
  EXPECT_EQ(ports("operator"), (std::set<std::string>{"health", "reports"}));
  EXPECT_EQ(ports("extender"), (std::set<std::string>{"health", "https"}));
  ASSERT_TRUE(Install("upgrade",
                      ",networkPolicy.metricsFrom[0].ipBlock.cidr=192.0.2.0/24,"
                      "networkPolicy.pageFrom[0].ipBlock.cidr=198.51.100.0/24")
                  .ok());
  EXPECT_EQ(ports("agent"), (std::set<std::string>{"health", "metrics"}));
  EXPECT_EQ(ports("operator"), (std::set<std::string>{"health", "metrics", "page", "reports"}));
  EXPECT_THAT(policy("operator").dump(), HasSubstr(R"({"ipBlock":{"cidr":"198.51.100.0/24"}})"));
}

}  // namespace
}  // namespace yardmaster::testing
