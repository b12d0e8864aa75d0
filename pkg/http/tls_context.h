// Validated TLS settings of a server, and TLS sessions made from them. A session is a filter
// without a socket: encrypted bytes in and out, plain bytes in and out.
//
// TLS 1.2 and 1.3, forward-secret ciphers, no renegotiation, no compression, no early data. ALPN
// answers http/1.1.
//
// Sessions are resumed from a cache in memory, 1,024 of them for an hour, which saves both sides
// their signatures. A resumed handshake verifies the client's certificate again. Each context has
// its own cache, so new settings begin with an empty one.
//
// Thread safety: a TlsContext is immutable and may be shared; a TlsSession is for one thread at a
// time and keeps the material of its context alive.
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
  // Returns the encrypted bytes for the peer since the last call. Send them after every step, also
  // after a failed one (they carry the alert).
  std::string TakeOutput();

  Step Handshake();
  // kDone with `read` > 0; kWantInput if no plain byte is available yet; kFailed also if the peer
  // has closed the session.
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
