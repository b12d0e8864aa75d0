// Options of a server. Every limit and every deadline has a default for a webhook
// behind kube-scheduler; its comment says when to change it. Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/http/handshake_limiter.h"
#include "pkg/tls/certificate_names.h"

namespace yardmaster::http {

struct Limits {
  // Request line and headers together, and one chunk header or trailer, in bytes. A larger one is
  // answered 431. Raise it only when clients send very long bearer tokens.
  std::size_t header_bytes = 16 * 1024;
  // One request's body in bytes. A larger one is answered 413. Filter calls that carry whole Node
  // objects (nodeCacheCapable: false) need more: about 20 KB per node.
  std::size_t body_bytes = 8 * 1024 * 1024;
  // Bodies held at once by all connections, in bytes; past it a request is answered 503. Keep it
  // below a quarter of the container's memory.
  std::size_t total_body_bytes = 256 * 1024 * 1024;
  // Open connections. Beyond the limit a new one replaces one that waits for its client
  // (connection_table.h); if there is none, the new one is rejected. Keep it below the file
  // descriptor limit.
  int connections = 1024;
  // Of these, reserved for trusted clients (ServerOptions::trusts), whose connections are never
  // replaced.
  int reserved_connections = 128;
  // Open connections from one address, with the same rule. Raise it if many clients share an
  // address (a proxy).
  int connections_per_peer = 256;
  // Rate at which TLS handshakes begin; further connections wait for their turn (HandshakeQueue),
  // at most as long as a handshake may take.
  HandshakeRates handshakes;
  // Methods that reach the handler; other known methods are answered 405, unknown ones 501. Never
  // add TRACE, which reveals a client's own credentials to any page that can make it send a
  // request.
  std::vector<std::string> methods = {"GET", "HEAD", "POST"};
};

// All in milliseconds, all counted from the moment the state is entered; bytes that arrive do not
// extend them, so a client that sends one byte a second gains nothing.
struct Deadlines {
  // TLS handshake, and as long again for its turn before (HandshakeQueue). Raise it on links with
  // more than 1 s round trip.
  std::int64_t handshake_ms = 5'000;
  // From the first byte of a request (from the start for a connection's first request) to the end
  // of its headers; 408 after it.
  std::int64_t header_ms = 10'000;
  // From the end of the headers to the end of the body; 408 after it. Raise it together with
  // Limits::body_bytes on slow links.
  std::int64_t body_ms = 10'000;
  // From the complete request to the handler's answer; 503 after it. Keep it above the client's own
  // timeout, so that the client decides.
  std::int64_t handler_ms = 30'000;
  // For the client to take the whole response.
  std::int64_t write_ms = 20'000;
  // Between two requests of a connection. Keep it above the clients' own idle time (90 s in Go), so
  // that the client closes first, which it can do without a race.
  std::int64_t idle_ms = 120'000;
  // For the next request of a connection while the server drains. Keep it above the time between
  // two calls of a busy client; each is then told by an answer that its connection closes, and none
  // sends into one that is closed.
  std::int64_t drain_idle_ms = 3'000;
  // For the client to close after we did. What it still sends is read and thrown away, else the
  // kernel resets the connection and the client never sees our last answer.
  std::int64_t linger_ms = 2'000;
};

struct ServerOptions {
  // A literal address: "0.0.0.0", "127.0.0.1", "::" (IPv6 and IPv4), "::1". Empty: every address of
  // both families, or of the one that the host has.
  std::string bind_address = "";
  // 0 lets the kernel choose; Server::port() returns it.
  int port = 0;
  // Threads that do I/O and TLS and run handlers. A handler that may block hands its request to a
  // thread of its own. More than the cores does not help.
  int io_threads = 2;
  Limits limits;
  Deadlines deadlines;
  // Whether a client with this certificate may come in; others are answered 403 and closed. Empty:
  // every client may, and none is trusted more than another. Called once per connection.
  std::function<bool(const tls::CertificateNames&)> trusts;
};

// InvalidArgument naming the field for values no server can run with.
absl::Status Validate(const ServerOptions& options);

// All texts are PEM.
struct TlsSettings {
  // The server's certificate first, then the intermediates.
  std::string certificate_pem = {};
  std::string key_pem = {};
  // Authorities of client certificates: without one that is signed by them, no handshake. Empty:
  // none is asked for.
  std::string client_ca_pem = {};
};

}  // namespace yardmaster::http
