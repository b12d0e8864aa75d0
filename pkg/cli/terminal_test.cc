// What others wrote reaches no terminal as a command to it, whatever verb prints it.
#include "pkg/cli/output/terminal.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(const std::string& text) {
  std::ostringstream out;
  {
    const TerminalGuard guard(out);
    out << text;
  }
  return out.str();
}

TEST(TerminalTest, WhatATerminalActsOnIsWrittenAsAnEscape) {
  EXPECT_EQ(Printed("a\x1b]0;title\x07 b"), "a\\u001b]0;title\\u0007 b");
  EXPECT_EQ(Printed("\r\b\x7f"), "\\u000d\\u0008\\u007f");
  EXPECT_EQ(Printed("\xC2\x9B"
                    "2J"),
            "\\u009b2J");
  EXPECT_EQ(Printed("\xE2\x80\xAE"
                    "gpj"),
            "\\u202egpj");
  EXPECT_EQ(Printed("\x9B"
                    "2J \xC2"),
            "\xEF\xBF\xBD"
            "2J ");
  EXPECT_EQ(Printed("tabs\tand lines\n, \xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x9A\x82"),
            "tabs\tand lines\n, \xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x9A\x82");
}

TEST(TerminalTest, CharactersInPiecesAreSeenWhole) {
  std::ostringstream out;
  {
    const TerminalGuard guard(out);
    for (const char byte : std::string("\xC2\x9B \xE2\x80\xAE \xC3\xA9")) out << byte;
  }
  EXPECT_EQ(out.str(), "\\u009b \\u202e \xC3\xA9");
}

TEST(TerminalTest, JsonStaysTheSameJson) {
  const nlohmann::json value = {{"a", "\x1b[2J\xC2\x9B\x7F\xE2\x80\xAE\r\n"}};
  const std::string printed = Printed(value.dump());
  EXPECT_EQ(nlohmann::json::parse(printed), value);
  EXPECT_THAT(printed, Not(HasSubstr("\x7F")));
}

TEST(TerminalTest, OurOwnSequencesAreWritten) {
  std::ostringstream out;
  {
    const TerminalGuard guard(out);
    WriteControl(out, "\x1b[32m");
    out << "Placed";
    WriteControl(out, "\x1b[0m");
  }
  EXPECT_EQ(out.str(), "\x1b[32mPlaced\x1b[0m");
}

TEST(TerminalTest, AFailureOfTheStreamIsNotForgotten) {
  std::ostringstream out;
  {
    const TerminalGuard guard(out);
    out.setstate(std::ios::badbit);
  }
  EXPECT_TRUE(out.bad());
}

// The example: a tenant's label in a message of the plan. Errors go the same way as answers.
TEST(TerminalTest, NoVerbPrintsThemBeItAnAnswerOrAnError) {
  const std::string evil = "x\\u001b]0;owned\\u0007\\u009b2J";
  std::istringstream in(
      R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "a"},
    "spec": {"workers": 1, "gpusPerWorker": 8, "template": {"spec": {"nodeSelector": {"team": ")" +
      evil + R"("}, "containers": [{"name": "c", "image": ")" + evil + R"("}]}}}})");
  std::ostringstream out, err;
  Dispatch({"plan", "--offline", "-f", "-"}, in, out, err);
  const std::string all = out.str() + err.str();
  EXPECT_FALSE(all.empty());
  for (const char* raw : {"\x1b", "\x07", "\xC2\x9B"}) EXPECT_THAT(all, Not(HasSubstr(raw)));
  std::istringstream none;
  std::ostringstream out2, err2;
  EXPECT_EQ(Dispatch({"pl\x1b[2Jan"}, none, out2, err2), 2);
  EXPECT_THAT(err2.str(), HasSubstr("pl\\u001b[2Jan"));
}

}  // namespace
}  // namespace yardmaster::cli
