#include "pkg/http/testing/tls_stream.h"

#include <array>
#include <csignal>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <vector>

#include "pkg/tls/certificate.h"
#include "pkg/tls/x509.h"

namespace yardmaster::http {

TlsStream::TlsStream(int port, const TlsStreamOptions& options)
    : socket_(port, "127.0.0.1", 10'000, options.source) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  ERR_clear_error();
  context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context_, 0);  // old versions too: refusing them is the server's part
  SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context_, options.max_version);
  if (!options.server_ca_pem.empty()) {
    const auto authorities = tls::ReadCertificates(options.server_ca_pem, "server CA");
    for (const tls::X509Ptr& authority : *authorities) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority.get());
    }
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  }
  if (!options.client.certificate_pem.empty()) {
    const auto chain = tls::ReadCertificates(options.client.certificate_pem, "client");
    const auto key = tls::ReadPrivateKey(options.client.key_pem, "client");
    SSL_CTX_use_certificate(context_, (*chain)[0].get());
    SSL_CTX_use_PrivateKey(context_, key->get());
  }
  session_ = SSL_new(context_);
  if (!options.alpn.empty()) {
    SSL_set_alpn_protos(session_, reinterpret_cast<const unsigned char*>(options.alpn.data()),
                        static_cast<unsigned int>(options.alpn.size()));
  }
  if (options.resume != nullptr) SSL_set_session(session_, options.resume);
  SSL_set_fd(session_, socket_.fd());
  connected_ = SSL_connect(session_) == 1;
}

TlsStream::~TlsStream() {
  SSL_free(session_);
  SSL_CTX_free(context_);
}

std::string TlsStream::alpn() const {
  const unsigned char* text = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(session_, &text, &length);
  return std::string(reinterpret_cast<const char*>(text), length);
}

bool TlsStream::resumed() const { return SSL_session_reused(session_) == 1; }

ssl_session_st* TlsStream::TakeSession() const { return SSL_get1_session(session_); }

void TlsStream::FreeSession(ssl_session_st* session) { SSL_SESSION_free(session); }

int TlsStream::version() const { return SSL_version(session_); }

std::string TlsStream::server_common_name() const {
  const tls::X509Ptr certificate(SSL_get1_peer_certificate(session_));
  return certificate == nullptr ? "" : tls::NamesOf(certificate.get()).common_name;
}

bool TlsStream::Send(std::string_view bytes) {
  ERR_clear_error();
  return SSL_write(session_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

bool TlsStream::Receive(std::string& out) {
  ERR_clear_error();
  std::array<char, 16384> buffer;
  const int got = SSL_read(session_, buffer.data(), static_cast<int>(buffer.size()));
  if (got <= 0) return false;
  out.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool TlsStream::ended_cleanly() const {
  return (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool TlsStream::GoneByNow() {
  // What comes may be a session ticket, after which OpenSSL would go on waiting for data.
  SSL_clear_mode(session_, SSL_MODE_AUTO_RETRY);
  bool gone = false;
  pollfd readable{socket_.fd(), POLLIN, 0};
  while (!gone && poll(&readable, 1, 0) > 0) {
    ERR_clear_error();
    char next = 0;
    const int got = SSL_peek(session_, &next, 1);
    if (got > 0) break;
    gone = SSL_get_error(session_, got) != SSL_ERROR_WANT_READ;
  }
  SSL_set_mode(session_, SSL_MODE_AUTO_RETRY);
  return gone;
}

bool TlsStream::UpdateKeys() {
  ERR_clear_error();
  return SSL_key_update(session_, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(session_) == 1;
}

bool TlsStream::Renegotiate() {
  ERR_clear_error();
  return SSL_renegotiate(session_) == 1 && SSL_do_handshake(session_) == 1;
}

std::string ClientHello() {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* session = SSL_new(context);
  BIO* output = BIO_new(BIO_s_mem());
  SSL_set_bio(session, BIO_new(BIO_s_mem()), output);
  SSL_connect(session);
  ERR_clear_error();
  char* data = nullptr;
  const long length = BIO_get_mem_data(output, &data);
  std::string hello(data, static_cast<std::size_t>(length));
  SSL_free(session);
  SSL_CTX_free(context);
  return hello;
}

}  // namespace yardmaster::http
