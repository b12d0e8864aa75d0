#include "pkg/agent/ports/neighbour_observer.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kSeen[] =
    R"({"lldp":{"interface":{"eth0":{"chassis":{"leaf-a1":{}},"port":{"id":{"type":"local","value":"swp3"}}}}}})";
constexpr char kNobody[] = R"({"lldp":{}})";
constexpr char kDocument[] =
    R"({"neighbours":[{"chassis":"leaf-a1","local":"n1:r0p0","remote":"tor:d3"}]})";
constexpr char kDocumentWithoutTable[] =
    R"({"neighbours":[{"chassis":"leaf-a1","local":"n1:r0p0"}]})";

class NeighbourObserverTest : public ::testing::Test {
 protected:
  NeighbourObserverTest() {
    options_.file = folder_.path() + "/lldp.json";
    options_.node = "n1";
    options_.names = NeighbourNames{{{"leaf-a1", "tor"}}, {{"swp", 1, 1}}};
  }
  NeighbourObserver Make() {
    return NeighbourObserver(options_, [this] { return ports_; });
  }

  TempFolder folder_;
  NeighbourOptions options_;
  std::vector<LocalNicPort> ports_ = {{0, 0, "eth0", "", 0}};
};

TEST_F(NeighbourObserverTest, AFileBecomesADocumentAndIsReadAgain) {
  NeighbourObserver observer = Make();
  folder_.Put("lldp.json", kSeen);
  observer.Step(0);
  EXPECT_EQ(observer.document(), kDocument);
  ASSERT_EQ(observer.seen().size(), 1u);
  folder_.Put("lldp.json", kNobody);
  observer.Step(29'000);
  EXPECT_EQ(observer.document(), kDocument);
  observer.Step(30'000);
  EXPECT_EQ(observer.document(), R"({"neighbours":[]})");
}

TEST_F(NeighbourObserverTest, ACommandsOutputIsReadWithoutAShell) {
  folder_.Put("lldp.json", kSeen);
  options_.command = StrCat("cat  ", options_.file);
  NeighbourObserver observer = Make();
  observer.Step(0);
  EXPECT_EQ(observer.document(), kDocument);
  options_.command = StrCat("cat ", options_.file, " ; true");
  NeighbourObserver shell = Make();
  shell.Step(0);
  EXPECT_EQ(shell.document(), std::nullopt);
  EXPECT_EQ(shell.failures(), 1);
}

TEST_F(NeighbourObserverTest, WhatWasSeenStaysWhileReadingFails) {
  NeighbourObserver observer = Make();
  folder_.Put("lldp.json", kSeen);
  observer.Step(0);
  EXPECT_TRUE(observer.problem().ok());
  folder_.Put("lldp.json", "{");
  observer.Step(30'000);
  EXPECT_EQ(observer.document(), kDocument);
  EXPECT_THAT(std::string(observer.problem().message()), HasSubstr("neighbours not read"));
}

TEST_F(NeighbourObserverTest, NothingIsSaidWhileTheHostsPortsAreNotKnown) {
  ports_.clear();
  NeighbourObserver observer = Make();
  folder_.Put("lldp.json", kSeen);
  observer.Step(0);
  EXPECT_EQ(observer.document(), std::nullopt);
  ports_ = {{0, 0, "eth0", "", 0}};
  observer.Step(1'000);
  EXPECT_EQ(observer.document(), kDocument);
}

TEST_F(NeighbourObserverTest, WithoutATableTheDocumentHasLldpsNamesAndUnknownNeighboursAreSaid) {
  folder_.Put("lldp.json", kSeen);
  options_.names->ports = {{"Ethernet", 0, 4}};
  NeighbourObserver unknown = Make();
  unknown.Step(0);
  EXPECT_EQ(unknown.document(), kDocumentWithoutTable);
  EXPECT_THAT(std::string(unknown.problem().message()), HasSubstr("--lldp-names-file"));
  options_.names.reset();
  NeighbourObserver observer = Make();
  observer.Step(0);
  EXPECT_EQ(observer.document(), kDocumentWithoutTable);
  EXPECT_EQ(observer.seen().size(), 1u);
  EXPECT_TRUE(observer.problem().ok());
}

}  // namespace
}  // namespace yardmaster::agent
