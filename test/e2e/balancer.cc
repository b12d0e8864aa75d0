#include "test/e2e/balancer.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/http/testing/raw_client.h"

namespace yardmaster::testing {

namespace {

constexpr int kPollMs = 50;
constexpr std::int64_t kProbeTimeoutMs = 1'000;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd Connect(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return UniqueFd();
  }
  return fd;
}

void SendAtOnce(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool SendAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Passes on what has come. False when this direction has ended, which the other end is told.
bool PassOn(int from, int to) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
  if (got < 0 && errno == EINTR) return true;
  if (got > 0 && SendAll(to, buffer.data(), static_cast<std::size_t>(got))) return true;
  ::shutdown(to, SHUT_WR);
  return false;
}

}  // namespace

Balancer::Balancer(Options options)
    : options_(options), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = Loopback(options.port);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, length) != 0 || ::listen(listener_.get(), SOMAXCONN) != 0) {
    return;  // port() stays 0
  }
  ::getsockname(listener_.get(), generic, &length);
  port_ = ntohs(address.sin_port);
  accepting_ = std::jthread([this](const std::stop_token& stop) { Accept(stop); });
  probing_ = std::jthread([this](const std::stop_token& stop) { Probe(stop); });
}

Balancer::~Balancer() {
  accepting_.request_stop();
  probing_.request_stop();
  if (accepting_.joinable()) accepting_.join();
  if (probing_.joinable()) probing_.join();
}

void Balancer::Add(int port, int health_port) {
  MutexLock lock(mutex_);
  endpoints_.push_back({port, health_port});
}

void Balancer::Terminate(int port) {
  MutexLock lock(mutex_);
  for (Endpoint& endpoint : endpoints_) endpoint.terminating |= endpoint.port == port;
}

bool Balancer::Uses(int port) const {
  MutexLock lock(mutex_);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port == port) return endpoint.used;
  }
  return false;
}

std::int64_t Balancer::connections(int port) const {
  MutexLock lock(mutex_);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port == port) return endpoint.connections;
  }
  return 0;
}

void Balancer::Probe(const std::stop_token& stop) {
  std::int64_t probed_ms = 0;
  while (!stop.stop_requested()) {
    const std::int64_t now_ms = RealClock().SteadyMs();
    std::vector<std::pair<int, bool>> seen;
    if (now_ms - probed_ms >= options_.probe_ms) {
      probed_ms = now_ms;
      {
        MutexLock lock(mutex_);
        for (const Endpoint& endpoint : endpoints_) seen.push_back({endpoint.health_port, false});
      }
      for (auto& [health_port, ready] : seen) {
        http::RawClient kubelet(
            std::make_unique<http::SocketStream>(health_port, "127.0.0.1", kProbeTimeoutMs));
        const auto answer = kubelet.Call("GET", "/readyz", "", "Connection: close\r\n");
        ready = answer && answer->status == 200;
      }
    }
    {
      MutexLock lock(mutex_);
      for (const auto& [health_port, ready] : seen) {
        for (Endpoint& endpoint : endpoints_) {
          if (endpoint.health_port == health_port) endpoint.ready = ready;
        }
      }
    }
    Follow(now_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
}

void Balancer::Follow(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  for (Endpoint& endpoint : endpoints_) {
    const bool should_be_used = endpoint.ready && !endpoint.terminating;
    if (endpoint.used == should_be_used) endpoint.changed_ms = now_ms;
    if (now_ms - endpoint.changed_ms >= options_.delay_ms) endpoint.used = should_be_used;
  }
}

std::optional<int> Balancer::Next() {
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    Endpoint& endpoint = endpoints_[turn_++ % endpoints_.size()];
    if (!endpoint.used) continue;
    ++endpoint.connections;
    return endpoint.port;
  }
  return std::nullopt;
}

void Balancer::Accept(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    connections_.emplace_back([this, fd](const std::stop_token& end) { Serve(UniqueFd(fd), end); });
  }
  connections_.clear();  // stops and joins each
}

void Balancer::Serve(UniqueFd client, const std::stop_token& stop) {
  const std::optional<int> port = Next();
  const UniqueFd replica = port ? Connect(*port) : UniqueFd();
  if (replica.get() < 0) {
    ++refused_;
    return;
  }
  SendAtOnce(client.get());
  SendAtOnce(replica.get());
  std::array<pollfd, 2> ends = {pollfd{client.get(), POLLIN, 0}, pollfd{replica.get(), POLLIN, 0}};
  while (!stop.stop_requested() && (ends[0].fd >= 0 || ends[1].fd >= 0)) {
    if (::poll(ends.data(), ends.size(), kPollMs) <= 0) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(options_.latency_ms));
    for (pollfd& end : ends) {
      if (end.fd < 0 || end.revents == 0) continue;
      const int other = end.fd == client.get() ? replica.get() : client.get();
      if (!PassOn(end.fd, other)) end.fd = -1;  // poll skips it from now on
    }
  }
}

}  // namespace yardmaster::testing
