#include "pkg/kube/tcp_keepalive.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace yardmaster::kube {

namespace {

constexpr int kIdleSeconds = 5;
constexpr int kIntervalSeconds = 2;
constexpr int kProbes = 3;
constexpr unsigned kUnacknowledgedMs = 10'000;

template <typename T>
void Set(int socket, int level, int option, T value) {
  (void)setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void ProbePeer(int socket) {
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kIntervalSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

std::optional<int> FirstAddressFamily(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return std::nullopt;
  }
  const int family = found->ai_family;
  freeaddrinfo(found);
  return family;
}

}  // namespace yardmaster::kube
