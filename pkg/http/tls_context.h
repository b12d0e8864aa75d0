// Server side TLS settings, checked and ready, and one TLS session made from them. A session is a
// filter: encrypted bytes in and out, plain bytes in and out, no socket, so it can be tested alone.
//
// TLS 1.2 and 1.3, forward-secret ciphers, no renegotiation, no compression, no early data. ALPN
// answers http/1.1.
//
// Sessions are resumed from a cache in memory, 1,024 of them for an hour, which spares both sides
// their signatures. A resumed handshake verifies the client's certificate again. The cache belongs
// to the context: new settings begin with an empty one.
// Thread safety: a TlsContext is immutable and may be shared; a TlsSession is for one thread at a
// time and keeps its context's material alive by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/http/options.h"
#include "pkg/tls/certificate_names.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace yardmaster::http {

class TlsSession;

class TlsContext {
 public:
  // InvalidArgument when the certificate, key or client CA is unreadable, the certificate is
  // expired or not valid yet, or the key does not belong to it; Internal when OpenSSL fails. The
  // dates of the client CA are not checked here.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> Make(const TlsSettings& settings);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // Null when OpenSSL is out of memory.
  std::unique_ptr<TlsSession> NewSession() const;

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* const context_;
};

class TlsSession {
 public:
  enum class Step { kDone, kWantInput, kFailed };

  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  // Encrypted bytes from the other end.
  void Feed(std::string_view encrypted);
  // Encrypted bytes for the other end since the last call; to be sent after every step, failed
  // ones included (they carry the alert).
  std::string TakeOutput();

  Step Handshake();
  // kDone with `read` > 0; kWantInput when no plain byte can be made yet; kFailed also when the
  // other end has said goodbye.
  Step Read(char* out, std::size_t capacity, std::size_t& read);
  // Encrypts all of `plain`. False when the session is broken.
  bool Write(std::string_view plain);
  // Puts close_notify into the output, unless the session is broken.
  void CloseNotify();

  // Names of the verified client certificate; null when there is none.
  std::shared_ptr<const tls::CertificateNames> PeerIdentity() const;

 private:
  friend class TlsContext;
  TlsSession(ssl_st* session, bio_st* input, bio_st* output)
      : session_(session), input_(input), output_(output) {}
  Step Fail();

  ssl_st* const session_;
  bio_st* const input_;   // owned by session_
  bio_st* const output_;  // owned by session_
  bool broken_ = false;
};

}  // namespace yardmaster::http
