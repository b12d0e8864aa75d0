// What the shim does to the connections that a program makes.
#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "pkg/shim/testing/verbs_fixture.h"

namespace yardmaster::shim {
namespace {

TEST_F(VerbsShimTest, ConnectionsTakeThePlannedPortsInTurnAndThePlannedClass) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    const int ports[] = {50001, 50003, 50002, 50004, 50001};
    for (int port : ports) {
      StandinQp* qp = MakeQp(verbs);
      EXPECT_EQ(Connect(verbs, qp, 9), 0);
      EXPECT_EQ(PortOf(qp), port);
      EXPECT_EQ(ClassOf(qp), 104);
      EXPECT_EQ(qp->last.ah_attr.grh.hop_limit, 255);
      SetState(verbs, qp, IBV_QPS_RTS);
    }
    StandinQp* other = MakeQp(verbs, 1);
    EXPECT_EQ(Connect(verbs, other, 10), 0);
    EXPECT_EQ(PortOf(other), 50005);
  }));
  EXPECT_NE(Status().find(R"("event":"loaded")"), std::string::npos);
  EXPECT_NE(Status().find(R"("device":"mlx5_0","port":1,"qp":100,"peer":"10.0.0.9","ordinal":0,)"
                          R"("planned":50001,"actual":50001,"class":104,"plane":0,"how":"label")"),
            std::string::npos)
      << Status();
}

TEST_F(VerbsShimTest, QueuePairsThatCarryDataAreCountedApart) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    // As in a ring over two hosts: each channel has a sending and a receiving queue pair.
    for (int port : {50001, 50003, 50002, 50004}) {
      StandinQp* sends = MakeQp(verbs, 0, 0);
      StandinQp* receives = MakeQp(verbs, 0, 256);
      EXPECT_EQ(Connect(verbs, sends, 9), 0);
      EXPECT_EQ(Connect(verbs, receives, 9), 0);
      EXPECT_EQ(PortOf(sends), port);
      EXPECT_EQ(PortOf(receives), port);
    }
  }));
}

TEST_F(VerbsShimTest, AQueuePairThatIsConnectedAgainKeepsItsPlace) {
  EXPECT_TRUE(Run([this] {
    const Verbs verbs = Open();
    StandinQp* first = MakeQp(verbs);
    StandinQp* second = MakeQp(verbs);
    Connect(verbs, first, 9);
    Connect(verbs, second, 9);
    Connect(verbs, first, 9);
    EXPECT_EQ(PortOf(first), 50001) << "not reset in between";
    SetState(verbs, first, IBV_QPS_ERR);
    SetState(verbs, first, IBV_QPS_RESET);
    Connect(verbs, first, 9);
    EXPECT_EQ(PortOf(first), 60001) << "its path failed: the alternate";
    SetState(verbs, first, IBV_QPS_RESET);
    Connect(verbs, first, 9);
    EXPECT_EQ(PortOf(first), 50001) << "and back";
    WritePlan(R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9",
        "sourcePorts":[51001,51002],"alternatePorts":[61001,61002]}]}]})");
    SetState(verbs, first, IBV_QPS_RESET);
    SetState(verbs, second, IBV_QPS_RESET);
    Connect(verbs, second, 9);
    Connect(verbs, first, 9);
    EXPECT_EQ(PortOf(first), 51001) << "a new plan knows of the failure";
    EXPECT_EQ(PortOf(second), 51002);
    verbs.destroy_qp(&first->qp);
    StandinQp* third = MakeQp(verbs);
    Connect(verbs, third, 9);
    EXPECT_EQ(PortOf(third), 51001) << "the place of the destroyed one";
  }));
}

TEST_F(VerbsShimTest, WhatIsNotPlannedPassesThrough) {
  EXPECT_TRUE(Run([this] {
    const Verbs verbs = Open();
    const auto passes = [&](StandinQp* qp, int peer) {
      EXPECT_EQ(Connect(verbs, qp, peer), 0);
      EXPECT_EQ(PortOf(qp), 0);
      EXPECT_EQ(ClassOf(qp), 0);
    };
    passes(MakeQp(verbs), 77);                   // unknown peer
    passes(MakeQp(verbs, 1), 9);                 // another rail's address
    passes(MakeQp(verbs, 0, 0, IBV_QPT_UD), 9);  // has its address in each message
    StandinQp* own = MakeQp(verbs);
    ibv_qp_attr attr = RtrTo(9);
    attr.ah_attr.grh.flow_label = 77;
    attr.ah_attr.grh.traffic_class = 32;
    EXPECT_EQ(verbs.modify_qp(&own->qp, &attr, kRtrMask), 0);
    EXPECT_EQ(own->last.ah_attr.grh.flow_label, 77U) << "the program's own label";
    EXPECT_EQ(ClassOf(own), 32);
    attr = RtrTo(9);
    attr.ah_attr.is_global = 0;  // InfiniBand
    EXPECT_EQ(verbs.modify_qp(&own->qp, &attr, kRtrMask), 0);
    EXPECT_EQ(own->last.ah_attr.grh.flow_label, 0U);
    for (const char* plan : {"", "{", R"({"version":9})",
                             R"({"version":1,"expires":"2020-01-01T00:00:00Z","rails":[{"peers":[
             {"address":"10.0.0.9","sourcePorts":[50001]}]}]})"}) {
      WritePlan(plan);
      passes(MakeQp(verbs), 9);
    }
  }));
  for (const char* why : {"peer not in the plan", "not RoCEv2", "the program set a flow label",
                          "no plan", "plan unreadable", "plan expired"}) {
    EXPECT_NE(Status().find(why), std::string::npos) << why;
  }
}

TEST_F(VerbsShimTest, AClassThatTheProgramChoseStaysAndItsPathIsPlannedAllTheSame) {
  EXPECT_TRUE(Run([this] {
    const Verbs verbs = Open();
    const auto connect = [&](int asked) {
      StandinQp* qp = MakeQp(verbs);
      ibv_qp_attr attr = RtrTo(9);
      attr.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(asked);
      EXPECT_EQ(verbs.modify_qp(&qp->qp, &attr, kRtrMask), 0);
      EXPECT_NE(qp->last.ah_attr.grh.flow_label, 0U) << asked;
      return ClassOf(qp);
    };
    EXPECT_EQ(connect(0), 104) << "none chosen: the plan's";
    EXPECT_EQ(connect(104), 104);
    for (const int chosen : {192, 106, 1, 255}) EXPECT_EQ(connect(chosen), chosen);
    WritePlan(R"({"version":1,"trafficClass":64,"rails":[{"peers":[{"address":"10.0.0.9",
        "sourcePorts":[50001]}]}]})");
    EXPECT_EQ(connect(104), 64) << "the plan's own of before, which NCCL has kept";
    EXPECT_EQ(connect(192), 192);
  }));
  EXPECT_NE(Status().find("the program chose its traffic class"), std::string::npos);
}

TEST_F(VerbsShimTest, OlderRoceHasNoUdpPort) {
  environment_["STANDIN_GID_TYPE"] = "1";
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(PortOf(qp), 0);
  }));
}

TEST_F(VerbsShimTest, ACallThatTheDeviceRefusesIsMadeAsTheProgramWantedIt) {
  environment_["STANDIN_REFUSE_LABELS"] = "1";
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(qp->refused, 1);
    EXPECT_EQ(PortOf(qp), 0);
    EXPECT_EQ(ClassOf(qp), 0);
  }));
  EXPECT_NE(Status().find("refused by the device"), std::string::npos);
}

TEST_F(VerbsShimTest, ErrorsOfTheRealLibraryAreTheProgramsErrors) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    ibv_qp_attr attr = RtrTo(9);
    attr.dest_qp_num = 0xdead;
    EXPECT_EQ(verbs.modify_qp(&qp->qp, &attr, kRtrMask), ENETUNREACH);
    StandinQp* next = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, next, 9), 0);
    EXPECT_EQ(PortOf(next), 50001) << "the failed one took no place";
  }));
}

TEST_F(VerbsShimTest, TheContainersTrafficClassWins) {
  environment_["NCCL_IB_TC"] = "0";
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(PortOf(qp), 50001) << "the port is not its concern";
    EXPECT_EQ(ClassOf(qp), 0);
  }));
  EXPECT_NE(Status().find("NCCL_IB_TC of the container wins"), std::string::npos);
  environment_["NCCL_IB_TC"] = "104";  // ours, by NCCL's configuration file
  EXPECT_TRUE(Run([this] {
    const Verbs verbs = Open();
    WritePlan(R"({"version":1,"trafficClass":64,"rails":[{"peers":[{"address":"10.0.0.9",
        "sourcePorts":[51001]}]}]})");
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(ClassOf(qp), 64) << "a level that changed";
  }));
}

TEST_F(VerbsShimTest, OffMeansOff) {
  environment_["YARDMASTER_SHIM"] = "off";
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(PortOf(qp), 0);
    EXPECT_EQ(verbs.destroy_qp(&qp->qp), 0);
  }));
  EXPECT_EQ(Status(), "");
}

TEST_F(VerbsShimTest, ThreadsConnectAndDestroyWhileThePlanChanges) {
  EXPECT_TRUE(Run([this] {
    const Verbs verbs = Open();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        const std::set<int> known = {50001, 50002, 50003, 50004, 60001, 60002, 60003, 51001, 0};
        for (int round = 0; round < 60; ++round) {
          StandinQp* qp = MakeQp(verbs);
          for (int again = 0; again < 3; ++again) {
            Connect(verbs, qp, 9);
            if (known.count(PortOf(qp)) == 0) ++wrong;
            SetState(verbs, qp, IBV_QPS_RTS);
            SetState(verbs, qp, IBV_QPS_RESET);
          }
          verbs.destroy_qp(&qp->qp);
        }
      });
    }
    for (int i = 0; i < 40; ++i) {
      WritePlan(i % 2 == 0 ? kPlan : R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9",
                                "sourcePorts":[51001]}]}]})");
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }));
}

TEST_F(VerbsShimTest, AForkedProcessGoesOn) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    StandinQp* qp = MakeQp(verbs);
    Connect(verbs, qp, 9);
    const pid_t child = fork();
    if (child == 0) {
      StandinQp* own = MakeQp(verbs);
      const bool right = Connect(verbs, own, 9) == 0 && PortOf(own) == 50003;
      verbs.destroy_qp(&qp->qp);
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    StandinQp* next = MakeQp(verbs);
    Connect(verbs, next, 9);
    EXPECT_EQ(PortOf(next), 50003) << "the parent knows nothing of its child's";
  }));
}

}  // namespace
}  // namespace yardmaster::shim
