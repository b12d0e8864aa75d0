#include "pkg/cli/completion.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/cli/commands.h"
#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {
namespace {

using testing::HasSubstr;

std::string Completed(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(Dispatch(words, in, out, err), 0);
  return out.str();
}

TEST(CompletionTest, VerbsAndTheirWords) {
  EXPECT_EQ(Completed({"ge"}), "get\n:4\n");
  EXPECT_EQ(Completed({"backup", ""}), "list\nset\n:4\n");
  EXPECT_EQ(Completed({"fabric", "re"}), "render\n:4\n");
  EXPECT_EQ(Completed({"top", "l"}), "links\n:4\n");
  EXPECT_EQ(Completed({"get", "jobs", "-o", "js"}), "json\njsonpath=\n:4\n");
  EXPECT_EQ(Completed({"plan", "-f", ""}), ":0\n");
  EXPECT_EQ(Completed({"nonsense", ""}), ":4\n");
  EXPECT_THAT(Completed({""}), HasSubstr("explain\n"));
  EXPECT_THAT(Completed({}), HasSubstr("drain\n"));
}

TEST(CompletionTest, FlagsAreThoseOfTheVerbsHelp) {
  EXPECT_EQ(Completed({"drain", "--y"}), "--yes\n:4\n");
  EXPECT_EQ(Completed({"top", "--"}),
            "--context\n--help\n--kubeconfig\n--limit\n--namespace\n--output\n--watch\n:4\n");
  EXPECT_THAT(Completed({"fabric", "render", "-"}), HasSubstr("-o\n"));
  EXPECT_EQ(Completed({"backup", "set", "h1", "--o"}), "--off\n:4\n");
}

TEST(CompletionTest, ValuesAreThoseThatTheVerbTakes) {
  EXPECT_EQ(Completed({"fabric", "render", "-o", ""}), "json\nyaml\n:4\n");
  EXPECT_EQ(Completed({"simulate", "--policy", "e"}), "ecmp\n:4\n") << "exact is crux's alone";
  EXPECT_EQ(Completed({"crux", "--policy", "e"}), "ecmp\nexact\n:4\n");
  EXPECT_EQ(Completed({"completion", "f"}), "fish\n:4\n");
  EXPECT_EQ(Completed({"fabric", "import", "--from", "s"}), "simai\n:4\n");
}

TEST(CompletionTest, AFlagWithAnotherValueDoesNotOfferTheVerbsWords) {
  EXPECT_EQ(Completed({"top", "-n", ""}), ":4\n");
  EXPECT_EQ(Completed({"top", "--watch", "s"}), "segments\n:4\n") << "it takes no value";
  EXPECT_EQ(Completed({"drain", "--yes", "--k"}), "--kubeconfig\n:4\n") << "nor does this";
  EXPECT_EQ(Completed({"fabric", "verify", "--reports", ""}), ":0\n");
  EXPECT_EQ(Completed({"support-bundle", "--to", ""}), ":0\n");
  EXPECT_EQ(Completed({"path", "--to", ""}), ":4\n") << "a NIC port";
}

TEST(CompletionTest, NoBlankFollowsAWordThatGoesOn) {
  EXPECT_EQ(Completed({"explain", "no"}), "node/\n:6\n");
  EXPECT_EQ(Completed({"get", "-o", "jsonp"}), "jsonpath=\n:6\n");
  EXPECT_EQ(Completed({"get", "-o", "json"}), "json\njsonpath=\n:4\n");
}

TEST(CompletionTest, AScriptForEachShell) {
  std::istringstream in;
  for (const char* shell : {"bash", "zsh", "fish", "kubectl"}) {
    std::ostringstream out, err;
    EXPECT_EQ(RunCompletionCommand({shell}, in, out, err), 0) << shell;
    EXPECT_THAT(out.str(), HasSubstr("kubectl-yardmaster __complete")) << shell;
  }
  std::ostringstream out, err;
  EXPECT_EQ(RunCompletionCommand({"tcsh"}, in, out, err), 2);
}

}  // namespace
}  // namespace yardmaster::cli
