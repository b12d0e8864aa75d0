#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "pkg/cli/commands.h"
#include "pkg/cli/hash_command.h"
#include "pkg/cli/testing/small_fabric.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kHash[] =
    "model: rtag7\nrtag7: {function: crc32c-lo, preMix: false}\nseed: 0x12345678\n";

struct Answered {
  int code = 0;
  json out;
  std::string err;
};

class PathCommandTest : public testing::Test {
 protected:
  Answered Ask(const std::string& from, const std::string& to, int port,
               const std::vector<std::string>& down = {},
               const std::string& fabric = kSmallFabric) {
    const std::string file = testing::TempDir() + std::to_string(getpid()) + "-fabric.yaml";
    std::ofstream(file) << fabric;
    std::vector<std::string> args = {"--fabric", file, "--from", from, "--to", to};
    args.insert(args.end(), {"--source-port", std::to_string(port), "-o", "json"});
    for (const std::string& link : down) args.insert(args.end(), {"--down", link});
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Answered answered;
    answered.code = RunPathCommand(args, in, out, err);
    answered.out = json::parse(out.str(), nullptr, false);
    answered.err = err.str();
    return answered;
  }
  json Hash(const std::string& packet, const std::string& members) {
    const std::string file = testing::TempDir() + std::to_string(getpid()) + "-hash.yaml";
    std::ofstream(file) << kHash;
    std::istringstream in(packet);
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunHashCommand({"-f", file, "--members", members}, in, out, err), 0) << err.str();
    return json::parse(out.str());
  }
};

TEST_F(PathCommandTest, AgreesWithTheHashCommand) {
  for (int port : {49153, 50000, 65535}) {
    const Answered a = Ask("p00s00h000/3/1", "p00s01h001/3/1", port);
    ASSERT_EQ(a.code, 0) << a.err;
    EXPECT_EQ(a.out["predictable"], true);
    EXPECT_EQ(a.out["plane"], 1);
    ASSERT_EQ(a.out["hops"].size(), 3u);
    const json& tor = a.out["hops"][0];
    EXPECT_EQ(tor["switch"], "p00/p00s00/tor-r3-p1");
    EXPECT_EQ(tor["members"], 4);
    // Host 0 and host 3 with eight rails each: 10.0.0.3 and 10.0.0.27.
    const json hash = Hash("10.0.0.3,10.0.0.27,17," + std::to_string(port) + ",4791\n", "4");
    EXPECT_EQ(tor["hash"], hash["hash"]);
    EXPECT_EQ(tor["index"], hash["index"]);
    EXPECT_EQ(tor["link"],
              "p00/p00s00/tor-r3-p1:u" + std::to_string(hash["index"].get<int>()) + ".up");
    EXPECT_EQ(a.out["links"].front(), "p00s00h000:r3p1.up");
    EXPECT_EQ(a.out["links"].back(), "p00s01h001:r3p1.down");
  }
}

TEST_F(PathCommandTest, LostLinksShrinkGroups) {
  const Answered a = Ask("p00s00h000/0/0", "p00s01h000/0/0", 49153,
                         {"p00/p00s00/tor-r0-p0:u1", "p00/p00s01/tor-r0-p0:u2.down"});
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["hops"][0]["members"], 2);
  const Answered gone = Ask("p00s00h000/0/0", "p00s01h000/0/0", 49153, {"p00/p00s01/tor-r0-p0"});
  ASSERT_EQ(gone.code, 0) << gone.err;
  EXPECT_EQ(gone.out["predictable"], false);
  EXPECT_THAT(gone.out["reason"].get<std::string>(), HasSubstr("no link left"));
}

TEST_F(PathCommandTest, WhatIsNotKnownIsSaid) {
  std::string fabric = kSmallFabric;
  fabric.replace(fabric.find("model: rtag7"), std::string::npos,
                 "model: unpredictable\n      reason: firmware unknown\n");
  const Answered a = Ask("p00s00h000/0/0", "p00s01h000/0/0", 49153, {}, fabric);
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out["predictable"], false);
  EXPECT_THAT(a.out["reason"].get<std::string>(), HasSubstr("firmware unknown"));
  EXPECT_TRUE(a.out["hops"].empty());
}

TEST_F(PathCommandTest, WrongInputIsNamed) {
  EXPECT_THAT(Ask("none/0/0", "p00s01h000/0/0", 1).err, HasSubstr("--from"));
  EXPECT_THAT(Ask("p00s00h000/8/0", "p00s01h000/0/0", 1).err, HasSubstr("rail 8"));
  EXPECT_THAT(Ask("p00s00h000/0/0", "p00s01h000/0/2", 1).err, HasSubstr("--to"));
  EXPECT_THAT(Ask("p00s00h000/0/0", "p00s01h000/0", 1).err, HasSubstr("HOST/RAIL/PORT"));
  EXPECT_THAT(Ask("p00s00h000/0/0", "p00s01h000/0/1", 1).err, HasSubstr("plane"));
  EXPECT_THAT(Ask("p00s00h000/0/0", "p00s01h000/0/0", 1, {"x"}).err, HasSubstr("--down"));
  EXPECT_EQ(Ask("p00s00h000/0/0", "p00s01h000/0/0", 1, {"x"}).code, 1);
  EXPECT_EQ(Ask("p00s00h000/0/0", "p00s01h000/0/0", 65536).code, 2);
  EXPECT_EQ(Ask("p00s00h000/0/0", "p00s01h000/0/0", 1, {}, "kind: Pod\n").code, 1);
  std::string wrong = kSmallFabric;
  wrong.replace(wrong.find("crc32c-lo"), 9, "crc33");
  const Answered a = Ask("p00s00h000/0/0", "p00s01h000/0/0", 1, {}, wrong);
  EXPECT_EQ(a.code, 1);
  EXPECT_THAT(a.err, HasSubstr("spec.ecmpHash.tor.rtag7.function"));
}

}  // namespace
}  // namespace yardmaster::cli
