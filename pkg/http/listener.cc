#include "pkg/http/listener.h"

#include <arpa/inet.h>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kBackOff = std::chrono::milliseconds(100);
// Then other work of the loop has its turn.
constexpr int kAcceptsAtOnce = 64;
// As many as may wait by the system's default.
constexpr int kAcceptsBeforeClose = 4096;

Accepted Describe(UniqueFd fd, const sockaddr_storage& storage) {
  Accepted accepted;
  accepted.fd = std::move(fd);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    accepted.ipv6 = true;
    const int port = ntohs(v6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
      accepted.address = text.data();
      accepted.remote = StrCat(accepted.address, ":", port);
    } else {
      inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
      accepted.address = text.data();
      accepted.remote = StrCat("[", accepted.address, "]:", port);
    }
  } else {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    accepted.address = text.data();
    accepted.remote = StrCat(accepted.address, ":", static_cast<int>(ntohs(v4.sin_port)));
  }
  return accepted;
}

class AsioListener final : public Listener, public std::enable_shared_from_this<AsioListener> {
 public:
  AsioListener(std::shared_ptr<EventLoop> loop, Callbacks callbacks)
      : loop_(std::move(loop)),
        callbacks_(std::move(callbacks)),
        acceptor_(asio::make_strand(loop_->context())),
        timer_(acceptor_.get_executor()) {}

  error_code Bind(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.address().is_v6()) {
      acceptor_.set_option(asio::ip::v6_only(false), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.native_non_blocking(true, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void Unbind() {
    error_code ignored;
    acceptor_.close(ignored);
  }

  int port() const override { return port_; }

  void Start() override {
    asio::dispatch(acceptor_.get_executor(), [self = shared_from_this()] { self->Wait(); });
  }

  void Close() override {
    MutexLock lock(mutex_);
    CloseLocked();
  }

  void AcceptWaitingAndClose() override {
    MutexLock lock(mutex_);
    for (int i = 0; !closed_ && i < kAcceptsBeforeClose; ++i) {
      if (AcceptOne() != Outcome::kAgain) break;
    }
    CloseLocked();
  }

 private:
  enum class Outcome { kAgain, kNoneWaiting, kFailed };

  void CloseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
  }

  void Wait() {
    MutexLock lock(mutex_);
    if (closed_) return;
    acceptor_.async_wait(tcp::acceptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error) self->AcceptWaiting();
    });
  }

  void BackOff() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    callbacks_.on_error();
    timer_.expires_after(kBackOff);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->Wait();
    });
  }

  void AcceptWaiting() {
    {
      // Held so that Close returns only when no callback runs any more, and the descriptor is not
      // closed (and perhaps used again for another file) while it is accepted on.
      MutexLock lock(mutex_);
      if (closed_) return;
      for (int i = 0; i < kAcceptsAtOnce; ++i) {
        const Outcome outcome = AcceptOne();
        if (outcome == Outcome::kNoneWaiting) break;
        if (outcome == Outcome::kFailed) return BackOff();
      }
    }
    Wait();
  }

  Outcome AcceptOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    UniqueFd fd(::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &length,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kNoneWaiting;
      // The client has gone before it was accepted.
      const bool its_fault = errno == EINTR || errno == ECONNABORTED || errno == EPROTO;
      return its_fault ? Outcome::kAgain : Outcome::kFailed;
    }
    try {
      callbacks_.on_accept(Describe(std::move(fd), peer));
      return Outcome::kAgain;
    } catch (...) {
      return Outcome::kFailed;  // out of memory: as out of descriptors
    }
  }

  const std::shared_ptr<EventLoop> loop_;
  const Callbacks callbacks_;
  Mutex mutex_;
  tcp::acceptor acceptor_;  // guarded by mutex_ once started
  asio::steady_timer timer_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Listener>> Listener::Open(std::shared_ptr<EventLoop> loop,
                                                         const std::string& address, int port,
                                                         Callbacks callbacks) {
  error_code error;
  const auto parsed = address.empty() ? asio::ip::address(asio::ip::address_v6::any())
                                      : asio::ip::make_address(address, error);
  if (error) {
    return FieldError("bind_address", "'" + address + "' is not an IP address",
                      "use a literal such as 0.0.0.0, 127.0.0.1 or ::");
  }
  auto listener = std::make_shared<AsioListener>(std::move(loop), std::move(callbacks));
  const auto number = static_cast<unsigned short>(port);
  error = listener->Bind(tcp::endpoint(parsed, number));
  // A host without IPv6, be it not in the kernel or switched off.
  const bool no_ipv6 = error == boost::system::errc::address_family_not_supported ||
                       error == boost::system::errc::address_not_available;
  if (address.empty() && no_ipv6) {
    listener->Unbind();
    error = listener->Bind(tcp::endpoint(tcp::v4(), number));
  }
  if (error) {
    return absl::UnavailableError(StrCat("cannot listen on ",
                                         address.empty() ? std::string("all addresses,") : address,
                                         " port ", port, ": ", error.message()));
  }
  return std::shared_ptr<Listener>(std::move(listener));
}

}  // namespace yardmaster::http
