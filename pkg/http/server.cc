#include "pkg/http/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/http/connection.h"
#include "pkg/http/connection_table.h"
#include "pkg/http/event_loop.h"
#include "pkg/http/handshake_queue.h"
#include "pkg/http/listener.h"
#include "pkg/http/socket_transport.h"
#include "pkg/http/tls_context.h"

namespace yardmaster::http {
namespace {

// How long Stop waits for connections to close. They wait for nothing, so it never takes that long.
constexpr std::int64_t kAbortMs = 10'000;
// While connections wait for their handshakes, this often is looked whether some may begin.
constexpr auto kHandshakeTick = std::chrono::milliseconds(5);
// Of the threads that accept connections and do handshakes.
constexpr int kFrontNiceness = 10;

// The TLS material in use, replaced as a whole.
class TlsHolder {
 public:
  void Set(std::shared_ptr<const TlsContext> context) {
    MutexLock lock(mutex_);
    context_ = std::move(context);
  }
  std::shared_ptr<const TlsContext> Get() const {
    MutexLock lock(mutex_);
    return context_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const TlsContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler handler);

  absl::Status SetTls(const TlsSettings& settings);
  absl::Status Start();
  absl::Status Drain(std::int64_t timeout_ms);
  void Stop();
  int port() const { return port_; }
  ServerStats stats() const;

 private:
  void OnAccept(Accepted accepted);
  bool Admit(const Accepted& accepted);
  void BeginHandshakes();
  // Looks again soon if connections wait for their handshakes, until StopTicking.
  void KeepTicking(bool is_tick);
  void StopTicking();

  const ServerOptions options_;
  const std::shared_ptr<ConnectionContext> context_;
  ConnectionTable table_;
  HandshakeQueue handshakes_;
  TlsHolder tls_;
  std::atomic<bool> started_{false};
  std::atomic<int> port_{0};
  // New connections cost system calls and handshakes cost signatures: on threads of their own,
  // behind all others, a flood of them delays no request.
  std::shared_ptr<EventLoop> accept_loop_;
  std::unique_ptr<EventLoop> handshake_loop_;
  std::shared_ptr<EventLoop> loop_;
  std::shared_ptr<Listener> listener_;
  Mutex tick_mutex_;
  std::unique_ptr<boost::asio::steady_timer> tick_ ABSL_GUARDED_BY(tick_mutex_);
  bool ticks_ ABSL_GUARDED_BY(tick_mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(tick_mutex_) = false;
};

Server::Impl::Impl(ServerOptions options, Handler handler)
    : options_(std::move(options)),
      context_(std::make_shared<ConnectionContext>()),
      table_(options_.limits.connections,
             options_.trusts
                 ? std::min(options_.limits.reserved_connections, options_.limits.connections - 1)
                 : 0,
             options_.limits.connections_per_peer),
      handshakes_(options_.limits.handshakes, static_cast<std::size_t>(options_.limits.connections),
                  options_.deadlines.handshake_ms) {
  context_->limits = options_.limits;
  context_->deadlines = options_.deadlines;
  context_->handler = std::move(handler);
  context_->on_closed = [this](Connection& connection) { table_.Remove(connection); };
  context_->trusts = options_.trusts;
  context_->on_trusted = [this](Connection& connection) {
    handshakes_.Know(table_.Trust(connection), RealClock().SteadyMs());
  };
}

absl::Status Server::Impl::SetTls(const TlsSettings& settings) {
  if (started_ && tls_.Get() == nullptr) {
    return absl::FailedPreconditionError("the server was started without TLS");
  }
  YM_ASSIGN_OR_RETURN(auto context, TlsContext::Make(settings));
  tls_.Set(std::move(context));
  return absl::OkStatus();
}

absl::Status Server::Impl::Start() {
  YM_RETURN_IF_ERROR(Validate(options_));
  if (started_) return absl::FailedPreconditionError("the server has been started already");
  const auto count = [context = context_] { context->stats.Count(Rejection::kInternalError); };
  auto accept_loop = std::make_shared<EventLoop>(count);
  YM_ASSIGN_OR_RETURN(
      listener_,
      Listener::Open(accept_loop, options_.bind_address, options_.port,
                     {.on_accept = [this](Accepted accepted) { OnAccept(std::move(accepted)); },
                      .on_error = [this] { context_->stats.Count(Rejection::kAcceptError); }}));
  accept_loop_ = std::move(accept_loop);
  {
    MutexLock lock(tick_mutex_);
    tick_ = std::make_unique<boost::asio::steady_timer>(accept_loop_->context());
  }
  loop_ = std::make_shared<EventLoop>(count);
  started_ = true;
  port_ = listener_->port();
  if (tls_.Get() != nullptr) {
    handshake_loop_ = std::make_unique<EventLoop>(count);
    handshake_loop_->Start(1, kFrontNiceness);
  }
  loop_->Start(options_.io_threads);
  listener_->Start();
  accept_loop_->Start(1, kFrontNiceness);
  return absl::OkStatus();
}

bool Server::Impl::Admit(const Accepted& accepted) {
  const ConnectionTable::Admission admission =
      table_.Admit(accepted.address, RealClock().SteadyMs());
  switch (admission.verdict) {
    case ConnectionTable::Verdict::kAdmitted:
      if (admission.evicted == nullptr) return true;
      context_->stats.Count(Rejection::kEvicted);
      admission.evicted->Abort();
      return true;
    case ConnectionTable::Verdict::kFull:
      context_->stats.Count(Rejection::kConnectionLimit);
      return false;
    case ConnectionTable::Verdict::kPeerFull:
      context_->stats.Count(Rejection::kPeerLimit);
      return false;
    case ConnectionTable::Verdict::kClosed:
      return false;
  }
  return false;
}

void Server::Impl::OnAccept(Accepted accepted) {
  context_->stats.CountAccepted();
  if (!Admit(accepted)) return;
  const auto tls = tls_.Get();
  auto session = tls == nullptr ? nullptr : tls->NewSession();
  const auto known = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<ConnectionTransport> transport;
  if (tls == nullptr || session != nullptr) {
    transport = MakeSocketTransport(
        loop_, std::move(accepted.fd), accepted.ipv6, accepted.remote, std::move(session),
        // Where an accepted client was lately, its handshake does not stand in line behind those of
        // a flood.
        [this, known](std::function<void()> task) {
          (*known ? loop_.get() : handshake_loop_.get())->Post(std::move(task));
        });
  }
  if (transport == nullptr) {
    context_->stats.Count(Rejection::kInternalError);
    return;
  }
  auto connection = std::make_shared<Connection>(transport, context_);
  if (!table_.Add(connection, accepted.address)) return;
  if (tls == nullptr) return connection->PostStart();
  const auto begin = [known](Connection& own, bool is_known) {
    *known = is_known;
    own.PostStart();
  };
  handshakes_.Add(accepted.address, connection, begin, RealClock().SteadyMs());
  BeginHandshakes();
  KeepTicking(false);
}

void Server::Impl::BeginHandshakes() {
  while (const auto turn = handshakes_.Next(RealClock().SteadyMs())) {
    if (turn->verdict == HandshakeLimiter::Verdict::kRefused) {
      context_->stats.Count(Rejection::kHandshakeRate);
      turn->connection->Abort();
    } else {
      turn->begin(*turn->connection, turn->verdict == HandshakeLimiter::Verdict::kKnown);
    }
  }
}

void Server::Impl::KeepTicking(bool is_tick) {
  MutexLock lock(tick_mutex_);
  if (is_tick) ticks_ = false;
  if (ticks_ || stopped_ || handshakes_.size() == 0) return;
  ticks_ = true;
  tick_->expires_after(kHandshakeTick);
  tick_->async_wait([this](boost::system::error_code error) {
    if (!error) BeginHandshakes();
    KeepTicking(true);
  });
}

void Server::Impl::StopTicking() {
  MutexLock lock(tick_mutex_);
  stopped_ = true;
  if (tick_ != nullptr) tick_->cancel();
}

absl::Status Server::Impl::Drain(std::int64_t timeout_ms) {
  if (loop_ == nullptr) return absl::OkStatus();
  listener_->AcceptWaitingAndClose();
  table_.Seal();
  for (const auto& connection : table_.All()) connection->BeginDrain();
  if (table_.WaitEmpty(timeout_ms)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      StrCat(Count(static_cast<std::int64_t>(table_.size()), "connection"), " still open after ",
             timeout_ms, " ms"));
}

void Server::Impl::Stop() {
  if (loop_ == nullptr) return;
  listener_->Close();
  StopTicking();
  table_.Seal();
  for (const auto& connection : table_.All()) connection->Abort();
  accept_loop_->Stop();
  if (handshake_loop_ != nullptr) handshake_loop_->StopNow();
  table_.WaitEmpty(kAbortMs);
  loop_->Stop();
  listener_.reset();
  {
    MutexLock lock(tick_mutex_);
    tick_.reset();
  }
  handshake_loop_.reset();
  accept_loop_.reset();
  loop_.reset();
}

ServerStats Server::Impl::stats() const {
  ServerStats stats = context_->stats.Read();
  stats.open_connections = static_cast<std::int64_t>(table_.size());
  return stats;
}

Server::Server(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
Server::~Server() { Stop(); }
absl::Status Server::SetTls(const TlsSettings& settings) { return impl_->SetTls(settings); }
absl::Status Server::Start() { return impl_->Start(); }
int Server::port() const { return impl_->port(); }
absl::Status Server::Drain(std::int64_t timeout_ms) { return impl_->Drain(timeout_ms); }
void Server::Stop() { impl_->Stop(); }
ServerStats Server::stats() const { return impl_->stats(); }

}  // namespace yardmaster::http
