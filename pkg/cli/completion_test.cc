#include "pkg/cli/completion.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(CompletionTest, AScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish", "kubectl"}) {
    std::ostringstream out, err;
    EXPECT_EQ(RunCompletionCommand({shell}, out, err), 0) << shell;
    EXPECT_THAT(out.str(), HasSubstr("kubectl-yardmaster __complete")) << shell;
  }
  std::ostringstream out, err;
  EXPECT_EQ(RunCompletionCommand({"tcsh"}, out, err), 2);
}

}  // namespace
}  // namespace yardmaster::cli
