// The shim as NCCL loads it: by dlopen and dlvsym, in a process of its own, before a stand-in for
// libibverbs.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <infiniband/verbs.h>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/shim/testing/child.h"
#include "pkg/shim/testing/standin_verbs.h"

namespace yardmaster::shim {
namespace {

// What NCCL takes of a verbs library, and how.
struct Verbs {
  void* handle = nullptr;
  ibv_device** (*get_device_list)(int*) = nullptr;
  ibv_context* (*open_device)(ibv_device*) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;
  ibv_pd* pd[2] = {};
};

template <typename Function>
void Look(void* handle, const char* name, Function** out) {
  *out = reinterpret_cast<Function*>(dlvsym(handle, name, "IBVERBS_1.1"));
  EXPECT_NE(*out, nullptr) << name;
}

Verbs Open(const char* library = VERBS_SHIM) {
  Verbs verbs;
  verbs.handle = dlopen(library, RTLD_NOW);
  EXPECT_NE(verbs.handle, nullptr) << dlerror();
  if (verbs.handle == nullptr) return verbs;
  Look(verbs.handle, "ibv_get_device_list", &verbs.get_device_list);
  Look(verbs.handle, "ibv_open_device", &verbs.open_device);
  Look(verbs.handle, "ibv_alloc_pd", &verbs.alloc_pd);
  Look(verbs.handle, "ibv_create_qp", &verbs.create_qp);
  Look(verbs.handle, "ibv_modify_qp", &verbs.modify_qp);
  Look(verbs.handle, "ibv_destroy_qp", &verbs.destroy_qp);
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  for (int i = 0; i < count; ++i) verbs.pd[i] = verbs.alloc_pd(verbs.open_device(devices[i]));
  return verbs;
}

StandinQp* MakeQp(const Verbs& verbs, int device = 0, unsigned max_recv_wr = 0,
                  ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr init = {};
  init.qp_type = type;
  init.cap.max_recv_wr = max_recv_wr;
  return reinterpret_cast<StandinQp*>(verbs.create_qp(verbs.pd[device], &init));
}

// The way to RTR as NCCL asks for it, to 10.0.0.<peer>.
ibv_qp_attr RtrTo(int peer) {
  ibv_qp_attr attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.hop_limit = 255;
  attr.ah_attr.grh.dgid.raw[10] = attr.ah_attr.grh.dgid.raw[11] = 0xff;
  attr.ah_attr.grh.dgid.raw[12] = 10;
  attr.ah_attr.grh.dgid.raw[15] = static_cast<std::uint8_t>(peer);
  return attr;
}

constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN;

int Connect(const Verbs& verbs, StandinQp* qp, int peer) {
  ibv_qp_attr attr = RtrTo(peer);
  const ibv_qp_attr before = attr;
  const int result = verbs.modify_qp(&qp->qp, &attr, kRtrMask);
  EXPECT_EQ(std::memcmp(&attr, &before, sizeof attr), 0) << "the program's own is not touched";
  return result;
}

void SetState(const Verbs& verbs, StandinQp* qp, ibv_qp_state state) {
  ibv_qp_attr attr = {};
  attr.qp_state = state;
  EXPECT_EQ(verbs.modify_qp(&qp->qp, &attr, IBV_QP_STATE), 0);
}

int PortOf(const StandinQp* qp) {
  const std::uint32_t label = qp->last.ah_attr.grh.flow_label;
  return label == 0 ? 0 : static_cast<int>(0xC000 | ((label & 0x3FFF) ^ (label >> 14)));
}

int ClassOf(const StandinQp* qp) { return qp->last.ah_attr.grh.traffic_class; }

constexpr char kPlan[] = R"({"version":1,"expires":"2099-01-02T03:04:05Z","trafficClass":104,
  "rails":[{"rail":0,"address":"10.0.0.1","peers":[
    {"address":"10.0.0.9","plane":0,"sourcePorts":[50001,50002],"alternatePorts":[60001,60002]},
    {"address":"10.0.0.9","plane":1,"sourcePorts":[50003,50004],"alternatePorts":[60003,0]}]},
   {"rail":1,"address":"10.0.0.2","peers":[{"address":"10.0.0.10","sourcePorts":[50005]}]}]})";

class VerbsShimTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = MakeFolder();
    status_ = folder_ + "/status";
    std::filesystem::create_directory(status_);
    WritePlan(kPlan);
    environment_ = {{"YARDMASTER_REAL_IBVERBS", STANDIN_VERBS},
                    {"YARDMASTER_PLAN", folder_ + "/plan"},
                    {"YARDMASTER_SHIM_STATUS", status_}};
  }
  void WritePlan(const std::string& text) { WriteFile(folder_ + "/plan", text); }
  bool Run(const std::function<void()>& body) { return RunInChild(environment_, body); }
  std::string Status() const { return ReadFolder(status_); }

  std::string folder_, status_;
  Environment environment_;
};

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

TEST_F(VerbsShimTest, SymbolsAreThereWhereTheRealLibraryHasThem) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    using Register = ibv_mr* (*)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned);
    auto* reg = reinterpret_cast<Register>(dlvsym(verbs.handle, "ibv_reg_mr_iova2", "IBVERBS_1.8"));
    ASSERT_NE(reg, nullptr);
    EXPECT_EQ(reg(nullptr, reinterpret_cast<void*>(1000), 200, 30, 4),
              reinterpret_cast<ibv_mr*>(1234))
        << "arguments pass untouched";
    EXPECT_NE(dlvsym(verbs.handle, "ibv_query_ece", "IBVERBS_1.10"), nullptr);
    EXPECT_NE(dlvsym(verbs.handle, "ibv_set_ece", "IBVERBS_1.10"), nullptr);
    EXPECT_EQ(dlvsym(verbs.handle, "ibv_reg_dmabuf_mr", "IBVERBS_1.12"), nullptr);
    EXPECT_EQ(dlvsym(verbs.handle, "ibv_query_port_speed", "IBVERBS_1.16"), nullptr);
    for (const char* name :
         {"ibv_free_device_list", "ibv_get_device_name", "ibv_close_device", "ibv_get_async_event",
          "ibv_ack_async_event", "ibv_query_device", "ibv_query_port", "ibv_query_gid",
          "ibv_query_qp", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_dereg_mr", "ibv_create_cq",
          "ibv_destroy_cq", "ibv_fork_init", "ibv_event_type_str"}) {
      EXPECT_NE(dlvsym(verbs.handle, name, "IBVERBS_1.1"), nullptr) << name;
    }
  }));
}

TEST_F(VerbsShimTest, InLibibverbsOwnPlaceDriversFindTheRealOne) {
  const std::string place = folder_ + "/libibverbs.so.1";
  std::filesystem::create_symlink(VERBS_SHIM, place);
  environment_["STANDIN_DRIVER"] = STANDIN_DRIVER;
  EXPECT_TRUE(Run([&] {
    const Verbs verbs = Open(place.c_str());
    ASSERT_NE(verbs.pd[0], nullptr) << "the driver did not load";
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(PortOf(qp), 50001);
  }));
}

TEST_F(VerbsShimTest, AProgramThatIsLinkedWithLibibverbsRunsOnIt) {
  std::filesystem::create_symlink(VERBS_SHIM, folder_ + "/libibverbs.so.1");
  environment_["LD_LIBRARY_PATH"] = folder_;
  environment_["STANDIN_DRIVER"] = STANDIN_DRIVER;  // finds the shim by the name libibverbs.so.1
  EXPECT_EQ(RunProgram(environment_, LINKED_PROGRAM), "4242\n");
  environment_.erase("STANDIN_DRIVER");
  environment_.erase("YARDMASTER_REAL_IBVERBS");  // the loader's cache names the machine's own
  EXPECT_EQ(RunProgram(environment_, LINKED_PROGRAM), "none\n");
  EXPECT_NE(Status().find(R"("why":"/)"), std::string::npos) << Status();
}

TEST_F(VerbsShimTest, WithoutARealLibraryThereAreNoDevicesAndNothingBreaks) {
  environment_["YARDMASTER_REAL_IBVERBS"] = VERBS_SHIM;  // itself: never that
  EXPECT_TRUE(Run([] {
    void* handle = dlopen(VERBS_SHIM, RTLD_NOW);
    ASSERT_NE(handle, nullptr);
    int (*fork_init)() = nullptr;
    Look(handle, "ibv_fork_init", &fork_init);
    fork_init();
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

TEST(VerbsShimFileTest, NeedsTheCLibraryAloneAndNoRecentOne) {
  for (const char* library : {VERBS_SHIM, SOCKET_SHIM}) {
    const std::string needed =
        RunProgram({}, std::string("readelf -d ") + library + " | grep NEEDED");
    const bool sanitized = needed.find("san.so") != std::string::npos;
    if (sanitized) GTEST_SKIP() << "built with a sanitizer";
    EXPECT_NE(needed.find("libc.so.6"), std::string::npos);
    EXPECT_EQ(needed.find("libstdc++"), std::string::npos) << needed;
    const std::string versions = RunProgram(
        {}, std::string("readelf -V ") + library + " | grep -o 'GLIBC_[0-9.]*' | sort -uV");
    // What distributions of 2018 have.
    for (int minor = 29; minor < 60; ++minor) {
      EXPECT_EQ(versions.find("GLIBC_2." + std::to_string(minor)), std::string::npos) << versions;
    }
  }
}

}  // namespace
}  // namespace yardmaster::shim
