// libyardmaster-socket.so, for LD_PRELOAD: TCP connections leave from the planned local port and
// carry the planned traffic class. For Gloo, MPI over TCP, parameter servers; off unless
// YARDMASTER_PLAN names a plan.
//
// connect() of an unbound TCP socket to a peer of the plan binds the first planned port that is
// free. The port is bound without SO_REUSEADDR, so that it is in use by no other connection, and
// connect() cannot fail because of it. With no planned port free, or one bound by the program, the
// socket gets only the class; without a usable plan or a peer of it, the socket is left as it is.
// accept() gives the class to connections that come from a peer of the plan: the way back belongs
// to the same job. A class that the program set itself stays.
//
// Calls return what the C library returns and leave its errno. No lock, no allocation.
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include "pkg/shim/glibc_versions.h"
#include "pkg/shim/plan_cache.h"
#include "pkg/shim/report.h"

namespace yardmaster::shim {

namespace {

using ConnectFunction = int (*)(int, const sockaddr*, socklen_t);
using AcceptFunction = int (*)(int, sockaddr*, socklen_t*);
using Accept4Function = int (*)(int, sockaddr*, socklen_t*, int);

constinit PlanCache plans;
constinit Report report;
constinit std::atomic<bool> active = false;

template <typename Function>
Function Next(std::atomic<Function>& slot, const char* name) {
  Function function = slot.load();
  if (function == nullptr) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    slot.store(function);
  }
  return function;
}

constinit std::atomic<ConnectFunction> next_connect = nullptr;
constinit std::atomic<AcceptFunction> next_accept = nullptr;
constinit std::atomic<Accept4Function> next_accept4 = nullptr;

[[gnu::constructor]] void Initialise() {
  const char* path = std::getenv("YARDMASTER_PLAN");
  const char* mode = std::getenv("YARDMASTER_SHIM");
  if (path == nullptr || (mode != nullptr && std::strcmp(mode, "off") == 0)) return;
  plans.SetPath(path);
  report.Open(std::getenv("YARDMASTER_SHIM_STATUS"), "socket");
  active.store(true);
}

// The address and port of an IPv4 or IPv6 socket address.
bool Read(const sockaddr* address, socklen_t size, Address* out, std::uint16_t* port) {
  if (address == nullptr || size < sizeof(sa_family_t)) return false;
  *out = Address();
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    out->bytes[10] = out->bytes[11] = 0xff;
    std::memcpy(out->bytes + 12, &in->sin_addr, 4);
    *port = ntohs(in->sin_port);
    return true;
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(address);
    std::memcpy(out->bytes, &in->sin6_addr, 16);
    *port = ntohs(in->sin6_port);
    return true;
  }
  return false;
}

int Option(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

bool IsTcp(int fd) {
  return Option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM &&
         Option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP;
}

// Returns the class that the socket has then.
int SetClass(int fd, int family, int traffic_class) {
  const bool v6 = family == AF_INET6;
  const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  const int name = v6 ? IPV6_TCLASS : IP_TOS;
  const int present = Option(fd, level, name);
  // The two lowest bits are congestion notification's.
  if (traffic_class < 0 || present < 0 || (present & ~3) != 0) return present;
  if (setsockopt(fd, level, name, &traffic_class, sizeof traffic_class) != 0) return present;
  if (v6) setsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class, sizeof traffic_class);
  // Priorities above 6 need a capability; the highest classes share 6.
  int priority = traffic_class >> 5;
  if (priority > 6) priority = 6;
  setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority);
  return traffic_class;
}

// Whether the socket has a local address already. `local` has its family and room for its address.
bool IsBound(int fd, sockaddr_storage* local, socklen_t* size) {
  Address address;
  std::uint16_t port = 0;
  *size = sizeof *local;
  auto* generic = reinterpret_cast<sockaddr*>(local);
  return getsockname(fd, generic, size) != 0 || !Read(generic, *size, &address, &port) || port != 0;
}

void SetPort(sockaddr_storage* local, std::uint16_t port) {
  if (local->ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(local)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(local)->sin_port = htons(port);
  }
}

bool Usable(const PlanFile* plan) {
  return plan != nullptr && plan->state == PlanFileState::kReady &&
         (plan->expires_s == 0 || plan->expires_s > static_cast<std::int64_t>(time(nullptr)));
}

// Binds the first planned port that is free.
void BindPlanned(int fd, const PlanFile& plan, const Match& match, ReportEvent* event) {
  sockaddr_storage local{};
  socklen_t size = 0;
  event->why = "bound by the program";
  if (IsBound(fd, &local, &size)) return;
  const int reuse = Option(fd, SOL_SOCKET, SO_REUSEADDR);
  const int no = 0;
  if (reuse > 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &no, sizeof no);
  event->why = "no planned port is free";
  for (int ordinal = 0; ordinal < match.connections; ++ordinal) {
    const PathPorts path = PathAt(plan, match, ordinal);
    SetPort(&local, path.port);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&local), size) != 0) continue;
    event->ordinal = ordinal;
    event->planned = event->actual = path.port;
    event->plane = path.plane;
    event->how = "bind";
    event->why = "";
    break;
  }
  if (reuse > 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
}

void BeforeConnect(int fd, const sockaddr* address, socklen_t size) {
  Endpoint endpoint;
  endpoint.tcp = true;
  if (!Read(address, size, &endpoint.remote, &endpoint.listen_port) || !IsTcp(fd)) return;
  const PlanCache::Use use(plans);
  if (!Usable(use.plan())) return;
  const Match match = FindPeer(*use.plan(), endpoint);
  if (match.entries == 0) return;
  ReportEvent event;
  event.event = "connected";
  event.peer = endpoint.remote;
  BindPlanned(fd, *use.plan(), match, &event);
  event.traffic_class = SetClass(fd, address->sa_family, use.plan()->traffic_class);
  report.Write(event);
}

void AfterAccept(int fd) {
  sockaddr_storage remote{};
  socklen_t size = sizeof remote;
  Address address;
  std::uint16_t port = 0;
  auto* generic = reinterpret_cast<sockaddr*>(&remote);
  if (getpeername(fd, generic, &size) != 0 || !Read(generic, size, &address, &port)) return;
  if (!IsTcp(fd)) return;
  const PlanCache::Use use(plans);
  if (!Usable(use.plan())) return;
  for (int i = 0; i < use.plan()->peers; ++i) {
    const Peer& peer = use.plan()->peer[i];
    if (!peer.tcp || !(peer.address == address)) continue;
    ReportEvent event;
    event.event = "accepted";
    event.peer = address;
    event.traffic_class = SetClass(fd, remote.ss_family, use.plan()->traffic_class);
    report.Write(event);
    return;
  }
}

int Accepted(int fd) {
  const int error = errno;
  if (fd >= 0 && active.load()) AfterAccept(fd);
  errno = error;
  return fd;
}

}  // namespace

}  // namespace yardmaster::shim

// Exported under the C library's names. Their declarations differ between C libraries in exception
// specification and transparent unions, so they get the names by the linker.
extern "C" {

[[gnu::visibility("default")]] int YmConnect(int fd, const sockaddr* address,
                                             socklen_t size) asm("connect");
[[gnu::visibility("default")]] int YmAccept(int fd, sockaddr* address,
                                            socklen_t* size) asm("accept");
[[gnu::visibility("default")]] int YmAccept4(int fd, sockaddr* address, socklen_t* size,
                                             int flags) asm("accept4");

int YmConnect(int fd, const sockaddr* address, socklen_t size) {
  using namespace yardmaster::shim;  // NOLINT: the body of an exported function
  const int error = errno;
  const ConnectFunction next = Next(next_connect, "connect");
  if (active.load()) BeforeConnect(fd, address, size);
  errno = error;
  return next(fd, address, size);
}

int YmAccept(int fd, sockaddr* address, socklen_t* size) {
  using namespace yardmaster::shim;  // NOLINT
  return Accepted(Next(next_accept, "accept")(fd, address, size));
}

int YmAccept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  using namespace yardmaster::shim;  // NOLINT
  return Accepted(Next(next_accept4, "accept4")(fd, address, size, flags));
}
}
