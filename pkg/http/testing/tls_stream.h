// For tests: the client side of TLS for a RawClient, with every choice an attacker or a careful
// client has. Blocking. Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pkg/http/testing/raw_client.h"
#include "pkg/tls/authority.h"

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;

namespace yardmaster::http {

struct TlsStreamOptions {
  std::string server_ca_pem = {};
  tls::KeyPair client = {};  // empty: no client certificate
  int max_version = 0;       // 0 = the newest; else OpenSSL's number, such as TLS1_2_VERSION
  std::string alpn = {};     // protocol list in wire form
  ssl_session_st* resume = nullptr;  // a session to resume; may be null
  std::string source = {};           // IPv4 address to come from; empty: the kernel's choice
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(int port, const TlsStreamOptions& options);
  ~TlsStream() override;

  // The handshake went through, as far as a client can tell (in TLS 1.3 a refused client
  // certificate shows only at the first read).
  bool connected() const { return connected_; }
  std::string alpn() const;
  int version() const;
  bool resumed() const;
  // The session as it is now, after the first answer with what TLS 1.3 needs to resume it. The
  // caller frees it with FreeSession.
  ssl_session_st* TakeSession() const;
  static void FreeSession(ssl_session_st* session);
  // CN of the server's certificate.
  std::string server_common_name() const;

  bool Send(std::string_view bytes) override;
  bool Receive(std::string& out) override;
  bool ended_cleanly() const override;

  // Whether the server has closed the connection, as far as is known without waiting: what a client
  // with a pool of connections looks at before it sends a request.
  bool GoneByNow();

  // TLS 1.3: asks the server for new keys. TLS 1.2: asks for a renegotiation; false when refused.
  bool UpdateKeys();
  bool Renegotiate();

 private:
  SocketStream socket_;
  ssl_ctx_st* context_ = nullptr;
  ssl_st* session_ = nullptr;
  bool connected_ = false;
};

// The bytes of a real ClientHello.
std::string ClientHello();

}  // namespace yardmaster::http
