// One connection's bytes and its clock, without saying how: sockets and TLS in production, a script
// in tests. It is the seam between what HTTP demands (connection.h) and how bytes move.
//
// Every callback runs in the connection's own sequence, never two at once and never inside the call
// that asked for it. At most one of Handshake, Read, Write, CloseWrite and Discard is under way,
// except that Write and CloseWrite may follow CancelRead at once.
// Callbacks are kept until the operation ends, so they may own the caller. After Close they may run
// once more or not at all.
// Thread safety: Post from any thread, everything else from the sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/tls/certificate_names.h"

namespace yardmaster::http {

class ConnectionTransport {
 public:
  virtual ~ConnectionTransport() = default;

  // Runs `task` in the sequence; at once when already there.
  virtual void Post(std::function<void()> task) = 0;

  // Makes the connection ready for requests. ok = false: it will never be.
  virtual void Handshake(std::function<void(bool ok)> callback) = 0;
  // At least one byte into `out`; 0 bytes = the other end has closed, or the connection is broken.
  // `out` must stay valid until the callback or CancelRead.
  virtual void Read(char* out, std::size_t capacity,
                    std::function<void(std::size_t bytes)> callback) = 0;
  // Forgets a Read under way: its callback will not run and `out` will not be written.
  virtual void CancelRead() = 0;
  // All of `head` and then all of `body`; both must stay valid until the callback. Two pieces, so
  // that a large body need not be copied behind its headers.
  virtual void Write(std::string_view head, std::string_view body,
                     std::function<void(bool ok)> callback) = 0;
  // Tells the other end that nothing more comes (TLS close_notify, then FIN).
  virtual void CloseWrite(std::function<void()> callback) = 0;
  // Reads and throws away until the other end closes.
  virtual void Discard(std::function<void()> callback) = 0;
  // Drops the connection. May be called again.
  virtual void Close() = 0;

  // One deadline at a time: the later call replaces the earlier. `on_deadline` is the one set last
  // by OnDeadline.
  virtual void OnDeadline(std::function<void()> on_deadline) = 0;
  virtual void SetDeadline(std::int64_t after_ms) = 0;

  // "10.0.0.7:40312".
  virtual const std::string& remote() const = 0;
  // Names from the verified client certificate, null without one. Valid after Handshake.
  virtual std::shared_ptr<const tls::CertificateNames> peer_identity() const = 0;
};

}  // namespace yardmaster::http
