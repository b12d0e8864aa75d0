#include "pkg/shim/testing/standin_verbs.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

// The headers make macros and inline functions of these.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace {

using yardmaster::shim::StandinQp;

struct Devices {
  ibv_device device[2] = {};
  ibv_context context[2] = {};
  ibv_device* list[3] = {};
  Devices() {
    for (int i = 0; i < 2; ++i) {
      std::strcpy(device[i].name, i == 0 ? "mlx5_0" : "mlx5_1");
      std::strcpy(device[i].ibdev_path, "/nonexistent");
      context[i].device = &device[i];
      list[i] = &device[i];
    }
  }
};

Devices& All() {
  static Devices devices;
  return devices;
}

bool Set(const char* variable) { return std::getenv(variable) != nullptr; }

std::atomic<std::uint32_t> next_number = 100;

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): verbs' own names
int standin_private_function() { return 34; }

ibv_device** ibv_get_device_list(int* count) {
  if (const char* driver = std::getenv("STANDIN_DRIVER")) {
    void* handle = dlopen(driver, RTLD_NOW);
    using Function = int (*)();
    auto* probe = handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, "Probe"));
    if (probe == nullptr || probe() != 34) {
      if (count != nullptr) *count = 0;
      return nullptr;
    }
  }
  if (count != nullptr) *count = 2;
  return All().list;
}
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
__be64 ibv_get_device_guid(ibv_device*) { return 7; }
ibv_context* ibv_open_device(ibv_device* device) {
  return device == &All().device[0] ? &All().context[0] : &All().context[1];
}
int ibv_close_device(ibv_context*) { return 0; }
int ibv_fork_init() { return 0; }
const char* ibv_event_type_str(ibv_event_type) { return "event"; }
int ibv_get_async_event(ibv_context*, ibv_async_event*) { return -1; }
void ibv_ack_async_event(ibv_async_event*) {}
int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  attr->max_qp = 4242;
  return 0;
}
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr*) { return 0; }
ibv_mr* ibv_reg_mr(ibv_pd*, void*, std::size_t, int) { return nullptr; }
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  // The sum tells whether all arguments arrived.
  return reinterpret_cast<ibv_mr*>(reinterpret_cast<std::uintptr_t>(address) + length + iova +
                                   access);
}
int ibv_dereg_mr(ibv_mr*) { return 0; }
ibv_cq* ibv_create_cq(ibv_context*, int, void*, ibv_comp_channel*, int) { return nullptr; }
int ibv_destroy_cq(ibv_cq*) { return 0; }
ibv_comp_channel* ibv_create_comp_channel(ibv_context*) { return nullptr; }
int ibv_query_ece(ibv_qp*, ibv_ece*) { return 10; }
int ibv_set_ece(ibv_qp*, ibv_ece*) { return 11; }

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 3) return -1;
  std::memset(gid, 0, sizeof *gid);
  gid->raw[10] = gid->raw[11] = 0xff;
  gid->raw[12] = 10;
  gid->raw[15] = context == &All().context[0] ? 1 : 2;
  return 0;
}
int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t, std::size_t) {
  entry->gid_type = Set("STANDIN_GID_TYPE") ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
  return ibv_query_gid(context, static_cast<std::uint8_t>(port), static_cast<int>(index),
                       &entry->gid);
}

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{context, 1}; }
int ibv_dealloc_pd(ibv_pd* pd) {
  delete pd;
  return 0;
}
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  auto* standin = new StandinQp{};
  standin->qp.context = pd->context;
  standin->qp.qp_type = init->qp_type;
  standin->qp.qp_num = next_number++;
  standin->max_recv_wr = init->cap.max_recv_wr;
  return &standin->qp;
}
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  const auto* standin = reinterpret_cast<const StandinQp*>(qp);
  init->cap.max_recv_wr = attr->cap.max_recv_wr = standin->max_recv_wr;
  return 0;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  auto* standin = reinterpret_cast<StandinQp*>(qp);
  ++standin->modifications;
  if (attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV) != 0) {
    if (attr->ah_attr.grh.flow_label != 0 && Set("STANDIN_REFUSE_LABELS")) {
      ++standin->refused;
      return EINVAL;
    }
    if (attr->dest_qp_num == 0xdead) return ENETUNREACH;
    standin->last = *attr;
  }
  return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
  delete reinterpret_cast<StandinQp*>(qp);
  return 0;
}
// NOLINTEND(readability-identifier-naming)
}
