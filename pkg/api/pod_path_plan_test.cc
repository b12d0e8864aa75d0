#include "pkg/api/pod_path_plan.h"

#include "gtest/gtest.h"

#include "pkg/api/annotation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

// What a pod of a 1,920-host job with rings and pipeline neighbours gets: on each rail the next and
// previous worker of its ring and of its pipeline, in both planes.
PodPathPlan LargePlan(int ports_per_peer) {
  PodPathPlan plan{7, 1'767'323'045'000, {}};
  for (int rail = 0; rail < 8; ++rail) {
    RailPaths paths{rail, {}};
    for (int peer = 0; peer < 4; ++peer) {
      for (int plane = 0; plane < 2; ++plane) {
        paths.peers.push_back({1916 + peer, StrCat("gpu-host-p00s14h13", peer), "10.123.234.21",
                               plane, std::vector<std::uint16_t>(ports_per_peer, 65535)});
      }
    }
    plan.rails.push_back(std::move(paths));
  }
  return plan;
}

TEST(PathPlanTest, ReadsBackAsItWasWritten) {
  const PodPathPlan plan = LargePlan(2);
  auto text = EncodePathPlan(plan);
  ASSERT_TRUE(text.ok()) << text.status();
  auto again = DecodePathPlan(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, plan);
}

TEST(PathPlanTest, WhatShimsNeedReadsBackAndIsLeftOutWhereItIsNotTold) {
  PodPathPlan plan = LargePlan(1);
  EXPECT_EQ(EncodePathPlan(plan)->find("trafficClass"), std::string::npos);
  EXPECT_EQ(EncodePathPlan(plan)->find("device"), std::string::npos);
  plan.traffic_class = 104;
  plan.rails[0].address = "10.0.0.1";
  plan.rails[0].device = "mlx5_0/1";
  const auto again = DecodePathPlan(*EncodePathPlan(plan));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, plan);
}

TEST(PathPlanTest, PlansOfEarlierOperatorsAreReadAndUnknownRulesRefused) {
  EXPECT_TRUE(DecodePathPlan(R"({"version":1,"rails":[{"rail":0,"peers":[]}]})").ok());
  const auto plan = DecodePathPlan(R"({"version":1,"ordinals":"modulo","rails":[]})");
  EXPECT_EQ(MessageOf(plan.status()).rfind("ordinals: \"modulo\" is not a known rule", 0), 0u);
}

TEST(PathPlanTest, APodOfALargeJobStaysBelowTheLimit) {
  auto text = EncodePathPlan(LargePlan(8));
  ASSERT_TRUE(text.ok());
  EXPECT_LT(text->size(), kMaxAnnotationBytes / 4);
}

TEST(PathPlanTest, OneThatIsTooLongIsRefused) {
  EXPECT_FALSE(EncodePathPlan(LargePlan(1000)).ok());
}

TEST(PathPlanTest, WrongPortsAreNamed) {
  auto plan =
      DecodePathPlan(R"({"version":1,"rails":[{"rail":0,"peers":[{"sourcePorts":[70000]}]}]})");
  EXPECT_EQ(MessageOf(plan.status()).rfind("rails[0].peers[0].sourcePorts[0]: expected", 0), 0u);
}

TEST(PathPlanTest, TcpPathsAndAlternatesReadBackAndTheFabricIsTold) {
  PodPathPlan plan = LargePlan(2);
  plan.fabric_uid = "u";
  PeerPaths& peer = plan.rails[0].peers[0];
  peer.alternate_ports = {0, 50'012};
  peer.tcp = {{29'500, {50'001, 50'077}}, {0, {}}};
  const auto again = DecodePathPlan(*EncodePathPlan(plan));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, plan);
}

TEST(PathPlanTest, AlternatesStandForEverySourcePortOrForNone) {
  auto decode = [](const char* ports) {
    return DecodePathPlan(StrCat(
        R"({"version":1,"rails":[{"rail":0,"peers":[{"sourcePorts":[7,8],)", ports, "}]}]}"));
  };
  EXPECT_TRUE(decode(R"("alternatePorts":[])").ok());
  EXPECT_TRUE(decode(R"("alternatePorts":[0,0])").ok());
  for (const char* ports : {R"("alternatePorts":[9])", R"("alternatePorts":[9,9,9])"}) {
    EXPECT_EQ(MessageOf(decode(ports).status()),
              "rails[0].peers[0].alternatePorts: has not one port for each source port; give 0 "
              "where there is none");
  }
}

TEST(PathPlanTest, OnlyAnAlternatePortMayBeZero) {
  for (const char* peer : {R"({"sourcePorts":[0]})", R"({"tcp":[{"sourcePorts":[0]}]})",
                           R"({"alternatePorts":[65536]})", R"({"plane":64})"}) {
    EXPECT_FALSE(DecodePathPlan(StrCat(R"({"version":1,"rails":[{"peers":[)", peer, "]}]}")).ok())
        << peer;
  }
}

TEST(SocketPortsTest, PortsAscendEachOnce) {
  EXPECT_EQ(*DecodeSocketPorts("29501,29500,29501"), (std::vector<int>{29'500, 29'501}));
  EXPECT_EQ(*DecodeSocketPorts("65535,1"), (std::vector<int>{1, 65'535}));
}

TEST(SocketPortsTest, MoreThanEightAreRefusedAndRepeatedOnesCountOnce) {
  EXPECT_EQ(DecodeSocketPorts("1,2,3,4,5,6,7,8,8,1")->size(), 8u);
  EXPECT_EQ(MessageOf(DecodeSocketPorts("1,2,3,4,5,6,7,8,9").status()),
            "yardmaster.dev/socket-ports: has 9 ports; give at most 8");
}

TEST(SocketPortsTest, WhatIsNoPortIsNamed) {
  for (const char* part : {"", "0", "65536", "-1", " 29500", "http", "1.5"}) {
    EXPECT_EQ(MessageOf(DecodeSocketPorts(StrCat("29500,", part)).status())
                  .rfind(StrCat("yardmaster.dev/socket-ports: \"", part, "\" is not a port"), 0),
              0u)
        << part;
  }
}

}  // namespace
}  // namespace yardmaster::api
