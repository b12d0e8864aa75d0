// For tests: a ConnectionTransport that a test plays by hand, with a clock that moves only when
// told. It checks its caller's promises (one operation at a time).
// Thread safety: Post from any thread; everything else from the test's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/http/connection_transport.h"

namespace yardmaster::http {

class FakeConnectionTransport final : public ConnectionTransport {
 public:
  // The client's side.
  void ClientSends(std::string_view bytes);
  void ClientCloses();
  // Runs what is due until nothing is.
  void Run();
  // Moves the clock, running what becomes due.
  void Advance(std::int64_t ms);
  // Until released, writes stay under way.
  void HoldWrites(bool hold) { hold_writes_ = hold; }
  void FailHandshake() { handshake_ok_ = false; }
  // Until released, the handshake stays under way.
  void HoldHandshake() { hold_handshake_ = true; }
  void ReleaseHandshake();

  // What the client has received since the last call.
  std::string TakeWritten() { return std::exchange(written_, {}); }
  bool write_closed() const { return write_closed_; }
  bool closed() const { return closed_; }

  void Post(std::function<void()> task) override;
  void Handshake(std::function<void(bool)> callback) override;
  void Read(char* out, std::size_t capacity, std::function<void(std::size_t)> callback) override;
  void CancelRead() override { read_.reset(); }
  void Write(std::string_view head, std::string_view body,
             std::function<void(bool)> callback) override;
  void CloseWrite(std::function<void()> callback) override;
  void Discard(std::function<void()> callback) override;
  void Close() override;
  void OnDeadline(std::function<void()> on_deadline) override { on_deadline_ = on_deadline; }
  void SetDeadline(std::int64_t after_ms) override { deadline_ms_ = now_ms_ + after_ms; }
  const std::string& remote() const override { return remote_; }
  std::shared_ptr<const tls::CertificateNames> peer_identity() const override { return nullptr; }

 private:
  struct PendingRead {
    char* out;
    std::size_t capacity;
    std::function<void(std::size_t)> callback;
  };
  struct PendingWrite {
    std::string_view head;
    std::string_view body;
    std::function<void(bool)> callback;
  };

  bool RunOne();
  bool DeliverRead();

  const std::string remote_ = "192.0.2.1:40000";
  Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::string incoming_;
  bool incoming_ended_ = false;
  std::optional<PendingRead> read_;
  std::optional<PendingWrite> write_;
  std::function<void()> discard_;
  std::string written_;
  bool hold_writes_ = false;
  bool hold_handshake_ = false;
  std::function<void(bool)> handshake_;
  bool handshake_ok_ = true;
  bool write_closed_ = false;
  bool closed_ = false;
  std::function<void()> on_deadline_;
  std::int64_t now_ms_ = 0;
  std::optional<std::int64_t> deadline_ms_;
};

}  // namespace yardmaster::http
