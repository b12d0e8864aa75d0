// Loads the verbs shim as NCCL does, by dlopen and dlvsym, in its own process with a stand-in for
// libibverbs. For tests only.
//
// Thread safety: the fixture belongs to one test; its functions are called in the child.
#pragma once

#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <infiniband/verbs.h>
#include <string>

#include "gtest/gtest.h"

#include "pkg/shim/testing/child.h"
#include "pkg/shim/testing/standin_verbs.h"

namespace yardmaster::shim {

// The functions of a verbs library that NCCL uses.
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

inline Verbs Open(const char* library = VERBS_SHIM) {
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

inline StandinQp* MakeQp(const Verbs& verbs, int device = 0, unsigned max_recv_wr = 0,
                         ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr init = {};
  init.qp_type = type;
  init.cap.max_recv_wr = max_recv_wr;
  return reinterpret_cast<StandinQp*>(verbs.create_qp(verbs.pd[device], &init));
}

// Returns the attributes of NCCL's transition to RTR, to 10.0.0.<peer>.
inline ibv_qp_attr RtrTo(int peer) {
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

inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN;

inline int Connect(const Verbs& verbs, StandinQp* qp, int peer) {
  ibv_qp_attr attr = RtrTo(peer);
  const ibv_qp_attr before = attr;
  const int result = verbs.modify_qp(&qp->qp, &attr, kRtrMask);
  EXPECT_EQ(std::memcmp(&attr, &before, sizeof attr), 0) << "the program's own is not touched";
  return result;
}

inline void SetState(const Verbs& verbs, StandinQp* qp, ibv_qp_state state) {
  ibv_qp_attr attr = {};
  attr.qp_state = state;
  EXPECT_EQ(verbs.modify_qp(&qp->qp, &attr, IBV_QP_STATE), 0);
}

inline int PortOf(const StandinQp* qp) {
  const std::uint32_t label = qp->last.ah_attr.grh.flow_label;
  return label == 0 ? 0 : static_cast<int>(0xC000 | ((label & 0x3FFF) ^ (label >> 14)));
}

inline int ClassOf(const StandinQp* qp) { return qp->last.ah_attr.grh.traffic_class; }

inline constexpr char kPlan[] = R"({"version":1,"expires":"2099-01-02T03:04:05Z","trafficClass":104,
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

}  // namespace yardmaster::shim
