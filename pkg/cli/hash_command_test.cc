#include "pkg/cli/hash_command.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "pkg/base/status.h"
#include "pkg/cli/commands.h"

namespace yardmaster::cli {
namespace {

using testing::HasSubstr;

struct Answered {
  int code = 0;
  std::string out;
  std::string err;
};

class HashCommandTest : public testing::Test {
 protected:
  Answered Run(const std::string& model, const std::string& packets,
               const std::string& members = "60") {
    const std::string file = testing::TempDir() + std::to_string(getpid()) + "-model.yaml";
    std::ofstream(file) << model;
    return RunWith({"-f", file, "--members", members, "-o", "json"}, packets);
  }
  Answered RunWith(const std::vector<std::string>& args, const std::string& packets) {
    std::istringstream in(packets);
    std::ostringstream out;
    std::ostringstream err;
    Answered answered;
    answered.code = RunHashCommand(args, in, out, err);
    answered.out = out.str();
    answered.err = err.str();
    return answered;
  }
};

constexpr char kCrc[] = R"(model: crc
fields: [sip, dip, protocol, sport, dport]
crc: {width: 32, polynomial: 0x04C11DB7, init: 0xFFFFFFFF, reflectIn: true, reflectOut: true, xorOut: 0xFFFFFFFF}
seed: 0
rotateRight: 0
keepBits: 32
)";

// CRC-32 of the thirteen key bytes 0a000001 0a000002 11 c001 12b7 and of the same with the
// protocol 6.
TEST_F(HashCommandTest, AnswersLineByLineInOrder) {
  const Answered a =
      Run(kCrc, "10.0.0.1,10.0.0.2,17,49153,4791\n10.0.0.1,10.0.0.2,tcp,49153,4791\n");
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out,
            "{\"hash\": 99683568, \"index\": 48}\n"
            "{\"hash\": 3610330978, \"index\": 58}\n");
}

TEST_F(HashCommandTest, TakesBothKindsOfAddressesAndBothFormsOfProtocols) {
  const Answered a = Run(kCrc,
                         "# a comment\n"
                         "2001:db8::1,2001:db8::2,udp,49153,4791,7\r\n"
                         "\n"
                         " 2001:0db8:0::1 , 2001:db8::2 , 17 , 49153 , 4791 \n");
  EXPECT_EQ(a.code, 0) << a.err;
  const std::size_t newline = a.out.find('\n');
  EXPECT_EQ(a.out.substr(0, newline + 1), a.out.substr(newline + 1));
}

// By hash threshold, weighted where there is a weight for every member.
TEST_F(HashCommandTest, LinuxChoosesByThreshold) {
  constexpr char kPacket[] = "10.0.0.1,10.9.0.1,17,50001,4791\n";
  const std::string plain = "model: linux\nseed: 74565\n";
  const std::string weighted = plain + "group: {weights: [1, 1, 2]}\n";
  const auto hash = [](const Answered& a) { return std::stoul(a.out.substr(a.out.find(' '))); };
  const Answered a = Run(plain, kPacket, "2");
  EXPECT_EQ(a.code, 0) << a.err;
  const std::string index = hash(a) < (1ul << 30) ? "0" : "1";
  EXPECT_EQ(a.out, "{\"hash\": " + std::to_string(hash(a)) + ", \"index\": " + index + "}\n");
  const Answered b = Run(weighted, kPacket, "3");
  EXPECT_EQ(b.code, 0) << b.err;
  const std::string share = hash(b) >= (1ul << 30) ? "2" : hash(b) >= (1ul << 29) ? "1" : "0";
  EXPECT_THAT(b.out, HasSubstr("\"index\": " + share));
  EXPECT_EQ(Run(weighted, kPacket, "2").out, a.out);
  EXPECT_THAT(Run("model: linux\n", kPacket).err, HasSubstr("seed"));
}

// The index would be that of a group without weights.
TEST_F(HashCommandTest, WeightsOfOtherModelsAreRefusedWhereTheyWouldCount) {
  constexpr char kPacket[] = "10.0.0.1,10.0.0.2,17,49153,4791\n";
  const std::string weighted = std::string(kCrc) + "group: {weights: [1, 1, 2]}\n";
  const Answered refused = Run(weighted, kPacket, "3");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("model.yaml: group.weights"));
  EXPECT_EQ(Run(weighted, kPacket, "4").out, Run(kCrc, kPacket, "4").out);
  const std::string random = "model: sai\nsai: {algorithm: random}\ngroup: {weights: [1, 2]}\n";
  EXPECT_EQ(Run(random, kPacket, "2").out, "{\"unpredictable\": \"per-packet random\"}\n");
}

TEST_F(HashCommandTest, UnpredictableModelsSayWhy) {
  const Answered a = Run("model: sai\nsai: {algorithm: random}\n", "10.0.0.1,10.0.0.2,17,1,2\n");
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out, "{\"unpredictable\": \"per-packet random\"}\n");
}

TEST_F(HashCommandTest, PacketsMayBeginWithAByteOrderMark) {
  const std::string packet = "10.0.0.1,10.0.0.2,17,49153,4791\n";
  const Answered a = Run(kCrc, "\xEF\xBB\xBF" + packet);
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out, Run(kCrc, packet).out);
}

TEST_F(HashCommandTest, ABadLineIsNamedByItsNumber) {
  for (const char* line :
       {"10.0.0.1,10.0.0.2,17,1", "10.0.0.256,10.0.0.2,17,1,2", "10.0.0.1,::1,17,1,2",
        "10.0.0.1,10.0.0.2,icmpx,1,2", "10.0.0.1,10.0.0.2,17,65536,2", "10.0.0.1,10.0.0.2,17,1,-2",
        "10.0.0.1,10.0.0.2,17,1,2,x", "10.0.0.1,10.0.0.2,17,1,2,3,4",
        "sip,dip,protocol,sport,dport"}) {
    const Answered a = Run(kCrc, std::string("10.0.0.1,10.0.0.2,17,1,2\n\n") + line + "\n");
    EXPECT_EQ(a.code, 1) << line;
    EXPECT_THAT(a.err, HasSubstr("line 3")) << line;
  }
}

TEST_F(HashCommandTest, ABadModelIsNamedByFileAndField) {
  const Answered a = Run("model: crc\ncrc: {width: 99}\n", "");
  EXPECT_EQ(a.code, 1);
  EXPECT_THAT(a.err, HasSubstr("model.yaml"));
  EXPECT_THAT(a.err, HasSubstr("crc.width"));
  EXPECT_EQ(Run("model: [", "").code, 1);
  EXPECT_EQ(RunWith({"-f", "/no/such/file", "--members", "4"}, "").code, 1);
}

TEST_F(HashCommandTest, EveryLineOfAnErrorNamesTheFile) {
  const Answered a = Run("model: crc\ncrc: {width: 99}\nseeed: 1\n", "");
  ASSERT_EQ(std::count(a.err.begin(), a.err.end(), '\n'), 2) << a.err;
  EXPECT_THAT(a.err, HasSubstr("model.yaml: crc.width"));
  EXPECT_THAT(a.err, HasSubstr("model.yaml: seeed"));
}

TEST_F(HashCommandTest, WrongUseIsToldFromWrongInput) {
  EXPECT_EQ(RunWith({}, "").code, 2);
  EXPECT_EQ(RunWith({"-f", "x"}, "").code, 2);
  EXPECT_EQ(RunWith({"-f", "-", "--members", "4"}, "").code, 2);
  EXPECT_EQ(RunWith({"-f", "x", "--members", "0"}, "").code, 2);
  EXPECT_EQ(RunWith({"-f", "x", "--members", "4", "-o", "yaml"}, "").code, 2);
  EXPECT_EQ(RunWith({"--help"}, "").code, 0);
}

}  // namespace
}  // namespace yardmaster::cli
