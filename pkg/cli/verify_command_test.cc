#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "pkg/cli/commands.h"
#include "pkg/cli/testing/small_fabric.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

struct Answered {
  int code = 0;
  json out;
  std::string text;
  std::string err;
};

using Command = int (*)(const std::vector<std::string>&, std::istream&, std::ostream&,
                        std::ostream&);

class VerifyCommandTest : public testing::Test {
 protected:
  VerifyCommandTest() { std::ofstream(file_) << kSmallFabric; }

  Answered Ask(Command command, std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.end(), {"--fabric", file_});
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Answered answered;
    answered.code = command(args, in, out, err);
    answered.text = out.str();
    answered.out = json::parse(answered.text, nullptr, false);
    answered.err = err.str();
    return answered;
  }
  Answered Verify(const std::string& reports, const std::string& output = "json") {
    return Ask(RunFabricVerifyCommand, {"--reports", "-", "-o", output}, reports);
  }
  Answered Trust(const std::string& observed, const std::string& output = "json") {
    return Ask(RunFabricTrustCommand, {"--observed", "-", "-o", output}, observed);
  }
  // Twelve packets of one NIC port and where they really go.
  json TruePaths() {
    json paths = json::array();
    for (int port = 50000; port < 50012; ++port) {
      const Answered path =
          Ask(RunPathCommand, {"--from", "p00s00h000/0/0", "--to", "p00s01h000/0/0",
                               "--source-port", std::to_string(port)});
      EXPECT_EQ(path.code, 0) << path.err;
      paths.push_back({{"from", "p00s00h000/0/0"},
                       {"to", "p00s01h000/0/0"},
                       {"sourcePort", port},
                       {"links", path.out["links"]}});
    }
    return paths;
  }

  const std::string file_ = testing::TempDir() + std::to_string(getpid()) + "-verify.yaml";
};

TEST_F(VerifyCommandTest, RightCablesAreOk) {
  const Answered a = Verify(R"({"neighbours": [
    {"local": "p00s00h000:r0p0", "remote": "p00/p00s00/tor-r0-p0:d1"},
    {"local": "p00/p00s00/tor-r0-p0:d2", "remote": "p00s00h001:r0p0"}]})");
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["ok"], true);
  EXPECT_EQ(a.out["checked"], 2);
  EXPECT_TRUE(a.out["faults"].empty());
}

TEST_F(VerifyCommandTest, ExchangedPlugsAreNamedWithTheirSwap) {
  const std::string reports = R"({"neighbours": [
    {"local": "p00s00h000:r0p0", "remote": "p00/p00s00/tor-r0-p0:d2"},
    {"local": "p00s00h001:r0p0", "remote": "p00/p00s00/tor-r0-p0:d1"}]})";
  const Answered a = Verify(reports);
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["ok"], false);
  ASSERT_EQ(a.out["faults"].size(), 2u);
  EXPECT_EQ(a.out["faults"][0]["port"], "p00s00h000:r0p0");
  EXPECT_EQ(a.out["faults"][0]["expected"], "p00/p00s00/tor-r0-p0:d1");
  EXPECT_EQ(a.out["faults"][0]["found"], "p00/p00s00/tor-r0-p0:d2");
  EXPECT_EQ(a.out["swaps"],
            json::parse(R"([{"first": "p00s00h000:r0p0", "second": "p00s00h001:r0p0"}])"));
  EXPECT_TRUE(a.out["unexplained"].empty());
  EXPECT_THAT(Verify(reports, "table").text, HasSubstr("swap"));
}

TEST_F(VerifyCommandTest, PortsNobodyKnowsAreNotOk) {
  const Answered a =
      Verify(R"({"neighbours": [{"local": "none:r0p0", "remote": "p00/p00s00/tor-r0-p0:d1"}]})");
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["ok"], false);
  EXPECT_EQ(a.out["unknownPorts"], json::parse(R"(["none:r0p0"])"));
}

TEST_F(VerifyCommandTest, WrongReportsAreRefusedByField) {
  EXPECT_EQ(Verify("{").code, 1);
  EXPECT_EQ(Verify("[]").code, 1);
  EXPECT_THAT(Verify(R"({"neighbors": []})").err, HasSubstr("neighbors: unknown key"));
  EXPECT_THAT(Verify(R"({"neighbours": [{"local": "a"}]})").err, HasSubstr("neighbours[0].remote"));
  EXPECT_THAT(Verify(R"({"neighbours": [7]})").err, HasSubstr("neighbours[0]"));
  EXPECT_EQ(Verify("{}", "yaml").code, 2);
  EXPECT_EQ(Ask(RunFabricVerifyCommand, {}).code, 2);
  EXPECT_THAT(Ask(RunFabricVerifyCommand, {"--help"}).text, HasSubstr("\"ok\" is false"));
}

TEST_F(VerifyCommandTest, WhatThePathCommandPredictsIsTrusted) {
  const Answered a = Trust(json({{"paths", TruePaths()}}).dump());
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["ok"], true);
  EXPECT_EQ(a.out["paths"], 12);
  EXPECT_EQ(a.out["roles"][0]["role"], "tor");
  EXPECT_EQ(a.out["roles"][0]["verdict"], "trusted");
  EXPECT_EQ(a.out["roles"][0]["checked"], 12);
  EXPECT_EQ(a.out["roles"][1]["verdict"], "unknown");
}

TEST_F(VerifyCommandTest, AnotherUplinkMakesTheRoleMistrusted) {
  json paths = TruePaths();
  const std::string tor = "p00/p00s00/tor-r0-p0:u";
  const std::string other = tor + (paths[0]["links"][1] == tor + "0.up" ? "1" : "0");
  paths[0]["links"] = {other + ".up"};
  const Answered a = Trust(json({{"paths", paths}}).dump());
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["ok"], false);
  EXPECT_EQ(a.out["roles"][0]["verdict"], "mistrusted");
  EXPECT_EQ(a.out["roles"][0]["wrong"], 1);
  EXPECT_THAT(a.out["roles"][0]["example"].get<std::string>(), HasSubstr(other));
  EXPECT_THAT(Trust(json({{"paths", paths}}).dump(), "table").text, HasSubstr("mistrusted"));
}

TEST_F(VerifyCommandTest, HopsThatDidNotAnswerProveNothing) {
  json paths = TruePaths();
  for (json& path : paths) path["links"] = {nullptr};
  const Answered a = Trust(json({{"paths", paths}}).dump());
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["roles"][0]["verdict"], "unknown");
  EXPECT_EQ(a.out["roles"][0]["checked"], 0);
}

TEST_F(VerifyCommandTest, WrongObservationsAreRefusedByField) {
  const json path = TruePaths()[0];
  const auto with = [&](const char* key, const json& value) {
    json changed = path;
    changed[key] = value;
    const Answered a = Trust(json({{"paths", json::array({changed})}}).dump());
    EXPECT_EQ(a.code, 1);
    return a.err;
  };
  EXPECT_THAT(with("from", "none/0/0"), StartsWith("standard input: paths[0].from"));
  EXPECT_THAT(with("to", "p00s01h000/0/1"), HasSubstr("another plane"));
  EXPECT_THAT(with("to", "p00s00h000/0/0"), HasSubstr("paths[0].to"));
  EXPECT_THAT(with("sourcePort", 65536), HasSubstr("paths[0].sourcePort"));
  EXPECT_THAT(with("sourcePort", "x"), HasSubstr("paths[0].sourcePort"));
  EXPECT_THAT(with("links", json::array({"x"})), HasSubstr("paths[0].links[0]"));
  EXPECT_THAT(with("links", json::array({1})), HasSubstr("paths[0].links[0]"));
  EXPECT_THAT(with("links", json::array({"p00/p00s01/tor-r0-p0:u0.up"})),
              HasSubstr("does not begin"));
  EXPECT_THAT(with("link", json::array()), HasSubstr("unknown key"));
  EXPECT_THAT(with("a b.c", 1), HasSubstr("standard input: paths[0][\"a b.c\"]: unknown key"));
}

}  // namespace
}  // namespace yardmaster::cli
