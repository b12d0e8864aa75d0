// The table of verbs, and input that no verb takes: through the same door as people.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/invoke.h"

namespace yardmaster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(DispatchTest, UsageErrorsAreTwoAndHelpIsZeroOnStandardOutput) {
  EXPECT_EQ(Invoke({}).code, 2);
  EXPECT_THAT(Invoke({}).err, HasSubstr("fabric render"));
  EXPECT_EQ(Invoke({"--help"}).code, 0);
  EXPECT_THAT(Invoke({"--help"}).out, HasSubstr("plan"));
  EXPECT_EQ(Invoke({"pln"}).code, 2);
  EXPECT_THAT(Invoke({"pln"}).err, HasSubstr("did you mean plan?"));
  EXPECT_EQ(Invoke({"fabric"}).code, 2);
  EXPECT_EQ(Invoke({"version", "x"}).code, 2);
  EXPECT_THAT(Invoke({"version"}).out, StartsWith("kubectl-yardmaster "));
}

TEST(DispatchTest, HelpOfAVerbMayBeAskedForBeforeIt) {
  EXPECT_EQ(Invoke({"help", "crux"}).out, Invoke({"crux", "--help"}).out);
  EXPECT_EQ(Invoke({"help", "fabric", "render"}).out, Invoke({"fabric", "render", "--help"}).out);
  EXPECT_EQ(Invoke({"help", "fabric"}).out, Invoke({"fabric", "--help"}).out);
  EXPECT_EQ(Invoke({"help", "help"}).out, Invoke({"--help"}).out);
  EXPECT_EQ(Invoke({"help", "pln"}).code, 2);
}

TEST(DispatchTest, AShortFlagTakesItsValueAfterAnEqualsSign) {
  const std::vector<std::string> render = {"fabric",  "render", "--preset",   "hpn-small",
                                           "--hosts", "1",      "--segments", "1"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> args = render;
    args.push_back(flag);
    return Invoke(args);
  };
  EXPECT_EQ(with("-o=json").code, 0);
  EXPECT_EQ(with("-o=json").out, with("-ojson").out);
  EXPECT_THAT(with("-o=jsn").err, HasSubstr("jsn not in"));
  EXPECT_EQ(with("-x=1").code, 2);
}

TEST(DispatchTest, AFlagBeforeTheVerbIsToldItsPlace) {
  const Invocation result = Invoke({"--context", "prod", "get"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("the verb comes first, its flags after it: "
                                    "kubectl yardmaster VERB --context\n"));
}

TEST(DispatchTest, AMisspeltFlagNamesTheOneThatWasMeant) {
  EXPECT_THAT(Invoke({"plan", "--ofline", "-f", "x"}).err,
              HasSubstr("--ofline; did you mean --offline?\n"));
  EXPECT_THAT(Invoke({"plan", "--outptu=json"}).err, HasSubstr("did you mean --output?\n"));
  EXPECT_THAT(Invoke({"plan", "--nothing-like-it"}).err, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Invoke({"explain", "one", "two"}).err, Not(HasSubstr("did you mean")));
}

TEST(DispatchTest, AVerbOfTwoWordsListsItsSecondWords) {
  const Invocation help = Invoke({"fabric", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("fabric render"));
  EXPECT_THAT(help.out, Not(HasSubstr("backup")));
  const Invocation none = Invoke({"backup"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("missing subcommand; use list or set"));
  EXPECT_THAT(Invoke({"backup", "lst"}).err, HasSubstr("unknown subcommand lst; use list or set"));
}

TEST(DispatchTest, AFolderOrASecondStandardInputIsNamed) {
  const std::string folder = testing::TempDir();
  const std::string fabric =
      Invoke({"fabric", "render", "--preset", "hpn-small", "--hosts", "4"}).out;
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"crux", "-f", folder},
        {"hash", "-f", folder, "--members", "2"},
        {"fabric", "import", "--from", "simai", folder},
        {"fabric", "verify", "--fabric", "-", "--reports", folder}}) {
    const Invocation result = Invoke(args, fabric);
    EXPECT_EQ(result.code, 1) << Join(args, " ");
    EXPECT_THAT(result.err, HasSubstr(folder + ": is a folder")) << Join(args, " ");
  }
  const Invocation twice = Invoke({"fabric", "verify", "--fabric", "-", "--reports", "-"}, fabric);
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("standard input: is named twice"));
}

TEST(DispatchTest, EveryVerbHasHelp) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan"}, {"fabric", "render"}, {"crux"}, {"hash"}, {"version"}}) {
    std::vector<std::string> args = words;
    args.push_back("--help");
    const Invocation result = Invoke(args);
    EXPECT_EQ(result.code, 0) << Join(words, " ");
    EXPECT_FALSE(result.out.empty()) << Join(words, " ");
    EXPECT_TRUE(result.err.empty()) << Join(words, " ");
  }
}

TEST(PlanTest, NoObjectStandsTwice) {
  const char* const objects[] = {
      R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 1})",
      R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
          "metadata": {"name": "a", "namespace": "default"}, "spec": {"selector": {}}})",
      R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "CapacityPool", "metadata": {"name": "a"},
          "spec": {"instanceType": "x", "allocatable": {"nvidia.com/gpu": 8}, "fabricPod": "p0",
                   "offers": [{"type": "Spot", "maxHosts": 4, "pricePerHour": "1 USD"}]}})",
      R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "default"},
          "spec": {"completionMode": "Indexed", "template": {
            "metadata": {"annotations": {"yardmaster.dev/parallelism": "tp=8"}},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}})"};
  for (const char* object : objects) {
    const Invocation once = Invoke({"plan", "--offline", "-f", "-"}, object);
    EXPECT_THAT(once.err, Not(HasSubstr("twice"))) << object;
    const Invocation twice =
        Invoke({"plan", "--offline", "-f", "-"}, StrCat("---\n", object, "\n---\n", object, "\n"));
    EXPECT_EQ(twice.code, 1) << object;
    EXPECT_THAT(twice.err, HasSubstr("is there twice, first at standard input:")) << object;
  }
}

}  // namespace
}  // namespace yardmaster::cli
