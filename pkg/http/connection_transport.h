// The interface for the bytes and timers of one connection: sockets and TLS in production, a script
// in tests. It separates the HTTP protocol (connection.h) from I/O.
//
// Every callback runs in the connection's own sequence: never two at once, and never inside the
// call that requested it. At most one of Handshake, Read, Write, CloseWrite and Discard is in
// progress, except that Write and CloseWrite may follow CancelRead at once. Callbacks are kept
// until the operation ends, so they may own the caller. After Close they may run once more or not
// at all.
//
// Thread safety: Post from any thread, everything else in the sequence.
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

  // Runs `task` in the sequence; immediately if called there.
  virtual void Post(std::function<void()> task) = 0;

  // Makes the connection ready for requests. ok = false: it has failed for good.
  virtual void Handshake(std::function<void(bool ok)> callback) = 0;
  // Reads at least one byte into `out`; 0 bytes: the peer has closed, or the connection is broken.
  // `out` must stay valid until the callback or CancelRead.
  virtual void Read(char* out, std::size_t capacity,
                    std::function<void(std::size_t bytes)> callback) = 0;
  // Cancels a Read in progress: its callback will not run and `out` will not be written.
  virtual void CancelRead() = 0;
  // Writes all of `head` and then all of `body`; both must stay valid until the callback. Two
  // pieces avoid copying a large body behind its headers.
  virtual void Write(std::string_view head, std::string_view body,
                     std::function<void(bool ok)> callback) = 0;
  // Ends the sending side (TLS close_notify, then FIN).
  virtual void CloseWrite(std::function<void()> callback) = 0;
  // Reads and discards until the peer closes.
  virtual void Discard(std::function<void()> callback) = 0;
  // Closes the connection. May be called again.
  virtual void Close() = 0;

  // Sets the deadline; there is one, and a later call replaces it. At the deadline the function
  // that OnDeadline set last is called.
  virtual void OnDeadline(std::function<void()> on_deadline) = 0;
  virtual void SetDeadline(std::int64_t after_ms) = 0;

  // "10.0.0.7:40312".
  virtual const std::string& remote() const = 0;
  // Names from the verified client certificate, null without one. Valid after Handshake.
  virtual std::shared_ptr<const tls::CertificateNames> peer_identity() const = 0;
};

}  // namespace yardmaster::http
