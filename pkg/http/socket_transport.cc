#include "pkg/http/socket_transport.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>
#include <vector>

namespace yardmaster::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCipherBytes = 16 * 1024;
// What is encrypted ahead of the socket: more only costs memory.
constexpr std::size_t kEncryptBytes = 64 * 1024;
constexpr std::size_t kTrashBytes = 16 * 1024;

// Sockets, the strand that is the connection's sequence, and the timer. What is common to both.
class SocketTransport : public ConnectionTransport,
                        public std::enable_shared_from_this<SocketTransport> {
 public:
  SocketTransport(std::shared_ptr<EventLoop> loop, std::string remote)
      : loop_(std::move(loop)),
        remote_(std::move(remote)),
        socket_(asio::make_strand(loop_->context())),
        timer_(socket_.get_executor()) {}

  bool Assign(UniqueFd& fd, bool ipv6) {
    error_code error;
    socket_.assign(ipv6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd.get(), error);
    if (error) return false;
    fd.release();
    socket_.set_option(asio::ip::tcp::no_delay(true), error);
    return true;
  }

  void Post(std::function<void()> task) override {
    asio::dispatch(socket_.get_executor(), std::move(task));
  }

  void CancelRead() override {
    ++read_turn_;
    error_code ignored;
    socket_.cancel(ignored);
  }

  void Discard(std::function<void()> callback) override {
    auto self = shared_from_this();
    trash_.resize(kTrashBytes);
    socket_.async_read_some(asio::buffer(trash_), [this, self, callback = std::move(callback)](
                                                      error_code error, std::size_t) mutable {
      if (error) return callback();
      Discard(std::move(callback));
    });
  }

  void Close() override {
    ++read_turn_;
    closed_ = true;
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

  void OnDeadline(std::function<void()> on_deadline) override {
    on_deadline_ = std::move(on_deadline);
  }

  void SetDeadline(std::int64_t after_ms) override {
    deadline_ = Clock::now() + std::chrono::milliseconds(after_ms);
    if (!armed_ || deadline_ < armed_for_) ArmTimer();
  }

  const std::string& remote() const override { return remote_; }

 protected:
  // Runs `task` later in the sequence.
  void Later(std::function<void()> task) { asio::post(socket_.get_executor(), std::move(task)); }

  void SendAll(std::string_view head, std::string_view body, std::function<void(bool)> callback) {
    auto self = shared_from_this();
    const std::array<asio::const_buffer, 2> pieces = {asio::buffer(head.data(), head.size()),
                                                      asio::buffer(body.data(), body.size())};
    asio::async_write(socket_, pieces,
                      [self, callback = std::move(callback)](error_code error, std::size_t) {
                        callback(!error);
                      });
  }

  void ReceiveSome(char* out, std::size_t capacity, std::function<void(std::size_t)> callback) {
    auto self = shared_from_this();
    socket_.async_read_some(asio::buffer(out, capacity),
                            [self, turn = read_turn_, callback = std::move(callback)](
                                error_code error, std::size_t bytes) {
                              // A read that was cancelled too late to stop must not be seen any
                              // more.
                              if (turn != self->read_turn_) return;
                              callback(error ? 0 : bytes);
                            });
  }

  void SendFin() {
    error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  // Steps that continue a Read check that it was not cancelled meanwhile.
  std::uint64_t read_turn() const { return read_turn_; }

 private:
  // The timer is moved only to an earlier time; a later one is looked at when it fires. Thus a
  // request on a busy connection costs no timer operation at all.
  void ArmTimer() {
    armed_ = true;
    armed_for_ = deadline_;
    timer_.expires_at(armed_for_);
    timer_.async_wait([weak = weak_from_this()](error_code error) {
      auto self = weak.lock();
      if (error || self == nullptr || self->closed_) return;
      self->armed_ = false;
      if (Clock::now() < self->deadline_) return self->ArmTimer();
      if (self->on_deadline_) self->on_deadline_();
    });
  }

  const std::shared_ptr<EventLoop> loop_;  // first: outlives the socket
  const std::string remote_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::function<void()> on_deadline_;
  Clock::time_point deadline_;
  Clock::time_point armed_for_;
  bool armed_ = false;
  bool closed_ = false;
  std::uint64_t read_turn_ = 0;
  std::vector<char> trash_;
};

class PlainTransport final : public SocketTransport {
 public:
  using SocketTransport::SocketTransport;

  void Handshake(std::function<void(bool)> callback) override {
    Later([callback = std::move(callback)] { callback(true); });
  }
  void Read(char* out, std::size_t capacity, std::function<void(std::size_t)> callback) override {
    ReceiveSome(out, capacity, std::move(callback));
  }
  void Write(std::string_view head, std::string_view body,
             std::function<void(bool)> callback) override {
    SendAll(head, body, std::move(callback));
  }
  void CloseWrite(std::function<void()> callback) override {
    SendFin();
    Later(std::move(callback));
  }
  std::shared_ptr<const tls::CertificateNames> peer_identity() const override { return nullptr; }
};

// Every step of the session may leave output, which is sent before the step's outcome is reported.
class TlsTransport final : public SocketTransport {
 public:
  TlsTransport(std::shared_ptr<EventLoop> loop, std::string remote,
               std::unique_ptr<TlsSession> session, RunTask run_handshake)
      : SocketTransport(std::move(loop), std::move(remote)),
        session_(std::move(session)),
        run_handshake_(std::move(run_handshake)) {}

  // While a step runs elsewhere nothing else touches the session: a connection in its handshake is
  // closed at once or waits.
  void Handshake(std::function<void(bool)> callback) override {
    ReceiveSome(cipher_.data(), cipher_.size(),
                [this, callback = std::move(callback)](std::size_t bytes) mutable {
                  if (bytes == 0) return callback(false);
                  session_->Feed({cipher_.data(), bytes});
                  ContinueHandshake(std::move(callback));
                });
  }

  void ContinueHandshake(std::function<void(bool)> callback) {
    run_handshake_([this, self = shared_from_this(), callback = std::move(callback)]() mutable {
      const TlsSession::Step step = session_->Handshake();
      if (step == TlsSession::Step::kDone) identity_ = session_->PeerIdentity();
      Post([this, self, step, callback = std::move(callback)]() mutable {
        AfterHandshakeStep(step, std::move(callback));
      });
    });
  }

  void AfterHandshakeStep(TlsSession::Step step, std::function<void(bool)> callback) {
    Flush(
        [this, self = shared_from_this(), step, callback = std::move(callback)](bool sent) mutable {
          if (!sent || step == TlsSession::Step::kFailed) return callback(false);
          if (step == TlsSession::Step::kDone) return callback(true);
          Handshake(std::move(callback));
        });
  }

  void Read(char* out, std::size_t capacity, std::function<void(std::size_t)> callback) override {
    std::size_t read = 0;
    const TlsSession::Step step = session_->Read(out, capacity, read);
    Flush([this, self = shared_from_this(), turn = read_turn(), step, read, out, capacity,
           callback = std::move(callback)](bool sent) mutable {
      if (turn != read_turn()) return;
      if (!sent || step == TlsSession::Step::kFailed) return callback(0);
      if (step == TlsSession::Step::kDone) return callback(read);
      ReceiveSome(cipher_.data(), cipher_.size(),
                  [this, out, capacity, callback = std::move(callback)](std::size_t bytes) mutable {
                    if (bytes == 0) return callback(0);
                    session_->Feed({cipher_.data(), bytes});
                    Read(out, capacity, std::move(callback));
                  });
    });
  }

  void Write(std::string_view head, std::string_view body,
             std::function<void(bool)> callback) override {
    // Headers and a small body go into one record.
    const std::string_view piece = body.substr(0, kEncryptBytes);
    std::string first(head);
    if (!first.empty()) first += piece;
    const bool ok = session_->Write(first.empty() ? piece : first);
    Flush([this, self = shared_from_this(), ok, rest = body.substr(piece.size()),
           callback = std::move(callback)](bool sent) mutable {
      if (!ok || !sent || rest.empty()) return callback(ok && sent);
      Write({}, rest, std::move(callback));
    });
  }

  void CloseWrite(std::function<void()> callback) override {
    session_->CloseNotify();
    Flush([this, self = shared_from_this(), callback = std::move(callback)](bool) {
      SendFin();
      callback();
    });
  }

  std::shared_ptr<const tls::CertificateNames> peer_identity() const override { return identity_; }

 private:
  void Flush(std::function<void(bool)> then) {
    std::string output = session_->TakeOutput();
    if (output.empty()) {
      return Later([then = std::move(then)] { then(true); });
    }
    // An output under way belongs to a read that was cancelled. Nothing may be sent into the middle
    // of it, so the connection is given up.
    if (sending_) {
      return Later([then = std::move(then)] { then(false); });
    }
    sending_ = true;
    sent_ = std::move(output);
    SendAll(sent_, {}, [this, then = std::move(then)](bool ok) {
      sending_ = false;
      then(ok);
    });
  }

  const std::unique_ptr<TlsSession> session_;
  const RunTask run_handshake_;
  std::shared_ptr<const tls::CertificateNames> identity_;
  std::string sent_;
  bool sending_ = false;
  std::array<char, kCipherBytes> cipher_;
};

}  // namespace

std::shared_ptr<ConnectionTransport> MakeSocketTransport(std::shared_ptr<EventLoop> loop,
                                                         UniqueFd fd, bool ipv6, std::string remote,
                                                         std::unique_ptr<TlsSession> session,
                                                         RunTask run_handshake) {
  std::shared_ptr<SocketTransport> transport;
  if (session == nullptr) {
    transport = std::make_shared<PlainTransport>(std::move(loop), std::move(remote));
  } else {
    transport = std::make_shared<TlsTransport>(std::move(loop), std::move(remote),
                                               std::move(session), std::move(run_handshake));
  }
  if (transport->Assign(fd, ipv6)) return transport;
  return nullptr;
}

}  // namespace yardmaster::http
