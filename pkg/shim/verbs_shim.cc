// libyardmaster-verbs.so: stands before libibverbs and lets RoCEv2 connections take the planned
// paths.
//
// It changes two calls. ibv_modify_qp to RTR gets the planned flow label and traffic class; after
// the call to RTS, mlx5 devices get the UDP source port and the bond's port as well, where they
// can. ibv_destroy_qp forgets the connection. Everything else is the real library's. docs/wire.md
// has the rules and the environment.
//
// It never fails a call that the real library would not fail: when a call with planned values is
// refused, it is made again as the program wanted it. It takes no lock, allocates nothing, writes
// to no stream of the program, and keeps errno.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "pkg/shim/glibc_versions.h"
#include "pkg/shim/plan_cache.h"
#include "pkg/shim/queue_pair_table.h"
#include "pkg/shim/real_library.h"
#include "pkg/shim/report.h"
#include "pkg/shim/verbs_forward.h"

namespace yardmaster::shim {

namespace {

// What mlx5's own library adds; null: it is not loaded, or too old.
struct Mlx5 {
  bool (*is_supported)(ibv_device*) = nullptr;
  int (*modify_udp_sport)(ibv_qp*, std::uint16_t) = nullptr;
  int (*modify_lag_port)(ibv_qp*, std::uint8_t) = nullptr;
};

RealVerbs real;
bool off = false;
// NCCL_IB_TC as it was when the library was loaded, unless it is the plan's own: the container's
// variables win. -1: none.
int own_class = -1;
constinit PlanCache plans;
constinit QueuePairTable connections;
constinit Report report;

bool IsRoceV2(ibv_context* context, int port, int index) {
  if (real.query_gid_ex != nullptr) {
    ibv_gid_entry entry;
    std::memset(&entry, 0, sizeof entry);
    const auto at = static_cast<std::uint32_t>(index);
    return real.query_gid_ex(context, static_cast<std::uint32_t>(port), at, &entry, 0,
                             sizeof entry) == 0 &&
           entry.gid_type == IBV_GID_TYPE_ROCE_V2;
  }
  char path[512], type[16] = {};
  std::snprintf(path, sizeof path, "%s/ports/%d/gid_attrs/types/%d", context->device->ibdev_path,
                port, index);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = read(fd, type, sizeof type - 1);
  close(fd);
  return size >= 7 && std::strncmp(type, "RoCE v2", 7) == 0;
}

// Queue pairs without a receive queue only send: NCCL from 2.30 on makes those that carry data so.
TransferRole RoleOf(ibv_qp* qp) {
  // Room for a library whose structures have grown.
  union {
    ibv_qp_attr attr;
    char room[1024];
  } attr;
  union {
    ibv_qp_init_attr init;
    char room[1024];
  } init;
  std::memset(&attr, 0, sizeof attr);
  std::memset(&init, 0, sizeof init);
  if (real.query_qp == nullptr || real.query_qp(qp, &attr.attr, IBV_QP_CAP, &init.init) != 0) {
    return TransferRole::kReceives;
  }
  return init.init.cap.max_recv_wr == 0 && qp->srq == nullptr ? TransferRole::kSends
                                                              : TransferRole::kReceives;
}

struct Steering {
  ReportEvent event;
  PlannedQueuePair* connection = nullptr;  // null: pass through
  std::uint32_t flow_label = 0;            // 0: leave it
  int traffic_class = -1;                  // -1: leave it
  bool fresh = false;                      // the connection was made for this call
  bool alternate = false;
  std::uint32_t plan = 0;
};

// The classes of the plans that this process has seen, a bit each: NCCL has them from its
// configuration file, and keeps the one that it read when the level changes.
std::atomic<std::uint64_t> planned_classes[4];

void RememberClass(int traffic_class) {
  if (traffic_class < 0) return;
  planned_classes[traffic_class / 64].fetch_or(std::uint64_t{1} << traffic_class % 64,
                                               std::memory_order_relaxed);
}

bool WasPlanned(int traffic_class) {
  return (planned_classes[traffic_class / 64].load(std::memory_order_relaxed) >>
              traffic_class % 64 &
          1) != 0;
}

// Class 0 is that of programs that choose none. Any other that is not the plan's, now or before,
// was chosen on purpose: by NCCL_IB_FIFO_TC, a communicator's trafficClass, UCX_IB_TRAFFIC_CLASS.
void ChooseClass(const PlanFile& plan, const ibv_qp_attr& attr, Steering& out) {
  const int asked = attr.ah_attr.grh.traffic_class;
  out.event.traffic_class = asked;
  RememberClass(plan.traffic_class);
  if (plan.traffic_class < 0 || plan.traffic_class == asked) return;
  if (asked != 0 && !WasPlanned(asked)) {
    out.event.why = "the program chose its traffic class";
    return;
  }
  if (own_class >= 0) {
    out.event.why = "NCCL_IB_TC of the container wins";
    return;
  }
  out.traffic_class = out.event.traffic_class = plan.traffic_class;
}

void ChoosePath(const PlanFile& plan, const Match& match, std::uint32_t generation, Steering& out) {
  PlannedQueuePair& connection = *out.connection;
  const PathPorts path = PathAt(plan, match, connection.ordinal % match.connections);
  // Connected again by the same plan after a reset: the path failed, or so the program thinks.
  const bool again = !out.fresh && connection.was_reset && connection.plan == generation;
  out.alternate =
      path.alternate != 0 &&
      (again ? !connection.on_alternate : connection.on_alternate && connection.plan == generation);
  out.plan = generation;
  connection.port = out.alternate ? path.alternate : path.port;
  connection.plane = static_cast<std::int16_t>(path.plane);
  out.event.ordinal = connection.ordinal;
  out.event.planned = connection.port;
  out.event.plane = path.plane;
}

// What to change of the way to RTR; `out->event.why` says why nothing is.
void Decide(ibv_qp* qp, const ibv_qp_attr& attr, const PlanFile* plan, std::uint32_t generation,
            Steering* out) {
  const ibv_ah_attr& ah = attr.ah_attr;
  ReportEvent& event = out->event;
  event.device = qp->context->device->name;
  event.device_port = ah.port_num;
  event.queue_pair = qp->qp_num;
  if (ah.is_global) std::memcpy(event.peer.bytes, ah.grh.dgid.raw, 16);
  event.why = "not RoCEv2";
  if ((qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_UC) || !ah.is_global) return;
  if (!IsRoceV2(qp->context, ah.port_num, ah.grh.sgid_index)) return;
  event.why = "no plan";
  if (plan == nullptr || plan->state == PlanFileState::kAbsent) return;
  event.why = "plan unreadable";
  if (plan->state != PlanFileState::kReady) return;
  event.why = "plan expired";
  if (plan->expires_s != 0 && plan->expires_s <= static_cast<std::int64_t>(time(nullptr))) return;
  event.why = "the program set a flow label";
  if (ah.grh.flow_label != 0) return;

  ibv_gid gid;
  event.why = "own address unknown";
  if (real.query_gid == nullptr ||
      real.query_gid(qp->context, ah.port_num, ah.grh.sgid_index, &gid) != 0) {
    return;
  }
  Endpoint endpoint;
  std::memcpy(endpoint.local.bytes, gid.raw, 16);
  endpoint.remote = event.peer;
  endpoint.device = event.device;
  endpoint.device_port = event.device_port;
  const Match match = FindPeer(*plan, endpoint);
  event.why = "peer not in the plan";
  if (match.connections == 0) return;

  out->connection = connections.Find(qp, qp->qp_num);
  if (out->connection == nullptr) {
    out->fresh = true;
    out->connection = connections.Add(qp, qp->qp_num, endpoint, RoleOf(qp), match.connections);
    event.why = "too many connections";
    if (out->connection == nullptr) return;
  }
  event.why = "";
  ChooseClass(*plan, attr, *out);
  ChoosePath(*plan, match, generation, *out);
  out->flow_label = FlowLabelOf(out->connection->port);
}

// The members of ibv_qp_attr that every version of the structure has.
constexpr std::size_t kAttrBytes = offsetof(ibv_qp_attr, rate_limit);

int ToRtr(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const int error = errno;
  Steering steering;
  int result = 0;
  {
    const PlanCache::Use use(plans);
    Decide(qp, *attr, use.plan(), use.generation(), &steering);
  }
  ReportEvent& event = steering.event;
  PlannedQueuePair* connection = steering.connection;
  const bool changes = steering.flow_label != 0 || steering.traffic_class >= 0;
  errno = error;
  if (connection == nullptr || !changes) {
    result = real.modify_qp(qp, attr, mask);
    event.event = connection == nullptr ? "passed" : "connected";
  } else {
    ibv_qp_attr planned;
    std::memset(static_cast<void*>(&planned), 0, sizeof planned);
    std::memcpy(static_cast<void*>(&planned), attr,
                (mask & IBV_QP_RATE_LIMIT) != 0 ? sizeof planned : kAttrBytes);
    if (steering.flow_label != 0) planned.ah_attr.grh.flow_label = steering.flow_label;
    if (steering.traffic_class >= 0) {
      planned.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(steering.traffic_class);
    }
    result = real.modify_qp(qp, &planned, mask);
    event.event = "connected";
    if (steering.flow_label != 0) {
      event.how = "label";
      event.actual = connection->port;
    } else if (event.why[0] == '\0') {
      event.why = "no flow label makes this port";
    }
    if (result != 0) {
      errno = error;
      result = real.modify_qp(qp, attr, mask);
      event.event = "passed";
      event.why = "refused by the device";
      event.how = "";
      event.actual = 0;
      event.traffic_class = attr->ah_attr.grh.traffic_class;
    }
  }
  const int after = errno;
  if (result == 0 && connection != nullptr) {
    connection->was_reset = false;
    connection->on_alternate = steering.alternate;
    connection->plan = steering.plan;
  } else if (steering.fresh && connection != nullptr) {
    connections.Remove(qp);
  }
  if (result == 0) report.Write(event);
  errno = after;
  return result;
}

const Mlx5& Mlx5Library() {
  // Looked for at each use until it is there: it is loaded with the first mlx5 device.
  static Mlx5 mlx5;
  static std::atomic<int> state = 0;  // 1: being filled, 2: filled
  static const Mlx5 none;
  if (state.load() == 2) return mlx5;
  void* library = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_NOLOAD);
  int expected = 0;
  if (library == nullptr || !state.compare_exchange_strong(expected, 1)) return none;
  mlx5.is_supported =
      reinterpret_cast<bool (*)(ibv_device*)>(dlvsym(library, "mlx5dv_is_supported", "MLX5_1.8"));
  mlx5.modify_udp_sport = reinterpret_cast<int (*)(ibv_qp*, std::uint16_t)>(
      dlvsym(library, "mlx5dv_modify_qp_udp_sport", "MLX5_1.17"));
  mlx5.modify_lag_port = reinterpret_cast<int (*)(ibv_qp*, std::uint8_t)>(
      dlvsym(library, "mlx5dv_modify_qp_lag_port", "MLX5_1.14"));
  state.store(2);
  return mlx5;
}

void AfterRts(ibv_qp* qp) {
  const PlannedQueuePair* connection = connections.Find(qp, qp->qp_num);
  if (connection == nullptr || connection->port == 0) return;
  const int error = errno;
  const Mlx5& mlx5 = Mlx5Library();
  if (mlx5.is_supported != nullptr && mlx5.is_supported(qp->context->device)) {
    ReportEvent event;
    event.event = "steered";
    event.device = qp->context->device->name;
    event.queue_pair = qp->qp_num;
    event.planned = connection->port;
    event.ordinal = connection->ordinal;
    event.plane = connection->plane;
    if (mlx5.modify_udp_sport != nullptr && mlx5.modify_udp_sport(qp, connection->port) == 0) {
      event.how = "udp-sport";
      event.actual = connection->port;
    } else {
      event.why = "no UDP source port by the device";
    }
    // One-port devices refuse it.
    const auto lag_port = static_cast<std::uint8_t>(connection->plane + 1);
    if (mlx5.modify_lag_port != nullptr && lag_port <= 2) mlx5.modify_lag_port(qp, lag_port);
    report.Write(event);
  }
  errno = error;
}

int ClassOf(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 0);
  return end == text || value < 0 || value > 255 ? 0 : static_cast<int>(value);
}

[[gnu::constructor]] void Initialise() {
  const int error = errno;
  const char* mode = std::getenv("YARDMASTER_SHIM");
  off = mode != nullptr && std::strcmp(mode, "off") == 0;
  // In libibverbs' own place, drivers look for the real library's private functions in the process.
  const int scope = LoadedAs("libibverbs.so") ? RTLD_GLOBAL : RTLD_LOCAL;
  char path[256];
  void* handle =
      OpenReal("libibverbs.so.1", "YARDMASTER_REAL_IBVERBS", RTLD_NOW | scope, path, sizeof path);
  BindVerbs(handle, &real);
  if (!off) {
    plans.SetPath(std::getenv("YARDMASTER_PLAN"));
    report.Open(std::getenv("YARDMASTER_SHIM_STATUS"), "verbs");
    const PlanCache::Use use(plans);
    const PlanFile* plan = use.plan();
    if (plan != nullptr && plan->state == PlanFileState::kReady) RememberClass(plan->traffic_class);
    if (const char* own = std::getenv("NCCL_IB_TC")) {
      if (ClassOf(own) == 0 || !WasPlanned(ClassOf(own))) own_class = ClassOf(own);
    }
    ReportEvent event;
    event.event = "loaded";
    event.why = handle == nullptr ? "libibverbs not found" : path;
    report.Write(event);
  }
  errno = error;
}

}  // namespace

}  // namespace yardmaster::shim

extern "C" {

[[gnu::visibility("default")]] int YmModifyQp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  using namespace yardmaster::shim;  // NOLINT: the body of an exported function
  if (real.modify_qp == nullptr) return ENOSYS;
  if (off || qp == nullptr || attr == nullptr || (mask & IBV_QP_STATE) == 0) {
    return real.modify_qp(qp, attr, mask);
  }
  if (attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV) != 0) return ToRtr(qp, attr, mask);
  const int result = real.modify_qp(qp, attr, mask);
  if (result == 0 && attr->qp_state == IBV_QPS_RTS) {
    AfterRts(qp);
  } else if (result == 0 && attr->qp_state == IBV_QPS_RESET) {
    PlannedQueuePair* connection = connections.Find(qp, qp->qp_num);
    if (connection != nullptr) connection->was_reset = true;
  }
  return result;
}
asm(".symver YmModifyQp, ibv_modify_qp@@IBVERBS_1.1");

[[gnu::visibility("default")]] int YmDestroyQp(ibv_qp* qp) {
  using namespace yardmaster::shim;  // NOLINT
  if (real.destroy_qp == nullptr) return ENOSYS;
  if (off || qp == nullptr) return real.destroy_qp(qp);
  // libibverbs may reuse its address immediately, so it is removed before, not after.
  PlannedQueuePair* connection = connections.Find(qp, qp->qp_num);
  if (connection != nullptr) connections.Remove(qp);
  return real.destroy_qp(qp);
}
asm(".symver YmDestroyQp, ibv_destroy_qp@@IBVERBS_1.1");

[[gnu::visibility("default")]] ibv_device** YmGetDeviceList(int* count) {
  using namespace yardmaster::shim;  // NOLINT
  if (real.get_device_list != nullptr) return real.get_device_list(count);
  if (count != nullptr) *count = 0;
  errno = ENOSYS;
  return nullptr;
}
asm(".symver YmGetDeviceList, ibv_get_device_list@@IBVERBS_1.1");
}
