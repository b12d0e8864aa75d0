#include "pkg/cli/man_page.h"

#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/invoke.h"

namespace yardmaster::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ManPageTest, TextIsNeitherAMacroNorAnEscape) {
  const std::string page = ManPage("0.1.0-dev", {{"get", "a-b", ".so x\n'y\\n\n  --flag\n\n"}});
  EXPECT_THAT(page, StartsWith(".TH KUBECTL\\-YARDMASTER 1 \"\" \"0.1.0\\-dev\" \"Yardmaster\"\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n.B get\na\\-b\n"));
  EXPECT_THAT(page, HasSubstr(".SS get\n.nf\n\\&.so x\n\\&'y\\en\n  \\-\\-flag\n.fi\n"));
}

// The verbs that the program's own help lists, each with its flags.
TEST(ManPageTest, HasEveryVerbAndItsFlags) {
  const Invocation man = Invoke({"man"});
  ASSERT_EQ(man.code, 0) << man.err;
  int verbs = 0;
  const std::regex entry("^  ([a-z-]+(?: [a-z]+)?)  ");
  for (const std::string& line : Split(Invoke({"--help"}).out, '\n')) {
    std::smatch match;
    if (!std::regex_search(line, match, entry)) continue;
    const std::string words = std::regex_replace(match[1].str(), std::regex("-"), "\\-");
    EXPECT_THAT(man.out, HasSubstr(StrCat("\n.SS ", words, "\n"))) << line;
    ++verbs;
  }
  EXPECT_GT(verbs, 25);
  EXPECT_THAT(man.out, HasSubstr("\\-\\-avoid\\-contention"));
}

TEST(ManPageTest, TakesNoArguments) {
  EXPECT_EQ(Invoke({"man", "plan"}).code, 2);
  EXPECT_THAT(Invoke({"man", "--help"}).out, HasSubstr("man -l -"));
}

}  // namespace
}  // namespace yardmaster::cli
