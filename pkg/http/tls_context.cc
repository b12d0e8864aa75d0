#include "pkg/http/tls_context.h"

#include <algorithm>
#include <array>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/tls/x509.h"

namespace yardmaster::http {
namespace {

constexpr long kCachedSessions = 1024;
constexpr long kSessionSeconds = 3600;
constexpr std::array<unsigned char, 10> kSessionContext = {'y', 'a', 'r', 'd', 'm',
                                                           'a', 's', 't', 'e', 'r'};
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// Go's client offers h2 and http/1.1 and takes silence for http/1.1, others do not.
int SelectHttp11(SSL*, const unsigned char** out, unsigned char* out_length,
                 const unsigned char* offered, unsigned int offered_length, void*) {
  static constexpr std::array<unsigned char, 9> kHttp11 = {8,   'h', 't', 't', 'p',
                                                           '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, out_length, kHttp11.data(), kHttp11.size(),
                                           offered, offered_length);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

absl::Status Configure(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Without stateless tickets a ticket is a key into the cache, which alone keeps the client's
  // chain.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
  SSL_CTX_sess_set_cache_size(context, kCachedSessions);
  SSL_CTX_set_timeout(context, kSessionSeconds);
  SSL_CTX_set_num_tickets(context, 1);
  if (SSL_CTX_set_session_id_context(context, kSessionContext.data(), kSessionContext.size()) !=
      1) {
    return absl::InternalError("no session context: " + tls::DrainOpenSslErrors());
  }
  // Idle connections give their record buffers back.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, SelectHttp11, nullptr);
  if (SSL_CTX_set_cipher_list(context, kTls12Ciphers) != 1) {
    return absl::InternalError("OpenSSL has no forward-secret cipher: " +
                               tls::DrainOpenSslErrors());
  }
  return absl::OkStatus();
}

// What a full handshake checks of the client's certificate, once more for a resumed session.
bool ClientStillVerifies(SSL* session) {
  const tls::X509Ptr certificate(SSL_get1_peer_certificate(session));
  if (certificate == nullptr) return SSL_get_verify_mode(session) == SSL_VERIFY_NONE;
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free);
  if (check == nullptr ||
      X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(SSL_get_SSL_CTX(session)),
                          certificate.get(), SSL_get_peer_cert_chain(session)) != 1 ||
      X509_STORE_CTX_set_default(check.get(), "ssl_client") != 1) {
    return false;
  }
  return X509_verify_cert(check.get()) == 1;
}

absl::Status CheckValidNow(const X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) {
    return FieldError("certificate_pem", "the certificate has expired", "issue a new one");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0) {
    return FieldError("certificate_pem", "the certificate is not valid yet",
                      "check this machine's clock");
  }
  return absl::OkStatus();
}

absl::Status UseCertificate(SSL_CTX* context, const TlsSettings& settings) {
  YM_ASSIGN_OR_RETURN(std::vector<tls::X509Ptr> chain,
                      tls::ReadCertificates(settings.certificate_pem, "certificate_pem"));
  YM_ASSIGN_OR_RETURN(tls::KeyPtr key, tls::ReadPrivateKey(settings.key_pem, "key_pem"));
  YM_RETURN_IF_ERROR(CheckValidNow(chain[0].get()));
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return FieldError("key_pem", "does not belong to the first certificate of certificate_pem",
                      "give the key that the certificate was issued for");
  }
  bool ok = SSL_CTX_use_certificate(context, chain[0].get()) == 1 &&
            SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (std::size_t i = 1; ok && i < chain.size(); ++i) {
    ok = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  if (!ok) {
    return FieldError("certificate_pem", "OpenSSL refuses it (" + tls::DrainOpenSslErrors() + ")",
                      "use a P-256 key or RSA with 2048 bits or more");
  }
  return absl::OkStatus();
}

absl::Status UseClientCa(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.client_ca_pem.empty()) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(std::vector<tls::X509Ptr> authorities,
                      tls::ReadCertificates(settings.client_ca_pem, "client_ca_pem"));
  for (const tls::X509Ptr& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return FieldError("client_ca_pem", "OpenSSL refuses it (" + tls::DrainOpenSslErrors() + ")",
                        "give CA certificates in PEM form");
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Make(const TlsSettings& settings) {
  ERR_clear_error();
  SSL_CTX* raw = SSL_CTX_new(TLS_server_method());
  if (raw == nullptr) {
    return absl::InternalError("no TLS context: " + tls::DrainOpenSslErrors());
  }
  std::shared_ptr<const TlsContext> context(new TlsContext(raw));
  YM_RETURN_IF_ERROR(Configure(raw));
  YM_RETURN_IF_ERROR(UseCertificate(raw, settings));
  YM_RETURN_IF_ERROR(UseClientCa(raw, settings));
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsContext::NewSession() const {
  SSL* session = SSL_new(context_);
  BIO* input = BIO_new(BIO_s_mem());
  BIO* output = BIO_new(BIO_s_mem());
  if (session == nullptr || input == nullptr || output == nullptr) {
    SSL_free(session);
    BIO_free(input);
    BIO_free(output);
    return nullptr;
  }
  SSL_set_bio(session, input, output);
  SSL_set_accept_state(session);
  return std::unique_ptr<TlsSession>(new TlsSession(session, input, output));
}

TlsSession::~TlsSession() { SSL_free(session_); }

void TlsSession::Feed(std::string_view encrypted) {
  BIO_write(input_, encrypted.data(), static_cast<int>(encrypted.size()));
}

std::string TlsSession::TakeOutput() {
  std::string out(BIO_ctrl_pending(output_), '\0');
  if (!out.empty()) BIO_read(output_, out.data(), static_cast<int>(out.size()));
  return out;
}

TlsSession::Step TlsSession::Fail() {
  broken_ = true;
  ERR_clear_error();
  return Step::kFailed;
}

TlsSession::Step TlsSession::Handshake() {
  if (broken_) return Step::kFailed;
  ERR_clear_error();
  const int result = SSL_do_handshake(session_);
  if (result == 1) {
    const bool good = SSL_session_reused(session_) == 0 || ClientStillVerifies(session_);
    ERR_clear_error();
    return good ? Step::kDone : Fail();
  }
  if (SSL_get_error(session_, result) == SSL_ERROR_WANT_READ) return Step::kWantInput;
  return Fail();
}

TlsSession::Step TlsSession::Read(char* out, std::size_t capacity, std::size_t& read) {
  read = 0;
  if (broken_) return Step::kFailed;
  while (read < capacity) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(session_, out + read, capacity - read, &got);
    if (result == 1) {
      read += got;
      continue;
    }
    // What has been read is given first; the failure shows again at the next call.
    if (read > 0) break;
    const int error = SSL_get_error(session_, result);
    if (error == SSL_ERROR_WANT_READ) return Step::kWantInput;
    if (error == SSL_ERROR_ZERO_RETURN) return Step::kFailed;
    return Fail();
  }
  ERR_clear_error();
  return Step::kDone;
}

bool TlsSession::Write(std::string_view plain) {
  if (broken_) return false;
  ERR_clear_error();
  std::size_t written = 0;
  if (plain.empty() || SSL_write_ex(session_, plain.data(), plain.size(), &written) == 1) {
    return true;
  }
  Fail();
  return false;
}

void TlsSession::CloseNotify() {
  if (broken_ || SSL_in_init(session_) == 1) return;
  ERR_clear_error();
  SSL_shutdown(session_);
  ERR_clear_error();
}

std::shared_ptr<const tls::CertificateNames> TlsSession::PeerIdentity() const {
  const tls::X509Ptr certificate(SSL_get1_peer_certificate(session_));
  if (certificate == nullptr || SSL_get_verify_result(session_) != X509_V_OK) return nullptr;
  return std::make_shared<const tls::CertificateNames>(tls::NamesOf(certificate.get()));
}

}  // namespace yardmaster::http
