#include "pkg/kube/tls_material.h"

#include <array>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string_view>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::Status OpenSslError(std::string_view what) {
  std::array<char, 200> text = {};
  ERR_error_string_n(ERR_peek_last_error(), text.data(), text.size());
  ERR_clear_error();
  return absl::InvalidArgumentError(StrCat(what, ": ", text.data()));
}

Owned<BIO> Memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a passphrase is an error and never a question on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::Status TrustAuthorities(const std::string& pem, SSL_CTX* context) {
  Owned<X509_STORE> store(X509_STORE_new());
  Owned<BIO> bio = Memory(pem);
  int count = 0;
  while (Owned<X509> cert{PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    X509_STORE_add_cert(store.get(), cert.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) {
    return FieldError("certificate-authority", "holds no PEM certificate", "check the data");
  }
  SSL_CTX_set_cert_store(context, store.release());
  return absl::OkStatus();
}

absl::Status UseCertificate(const TlsMaterial& material, SSL_CTX* context) {
  Owned<BIO> bio = Memory(material.cert_pem);
  Owned<X509> own(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (own == nullptr) return OpenSslError("client-certificate is not a PEM certificate");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) return OpenSslError("client-certificate");
  SSL_CTX_clear_chain_certs(context);
  while (Owned<X509> link{PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    SSL_CTX_add1_chain_cert(context, link.get());
  }
  ERR_clear_error();
  Owned<BIO> key_bio = Memory(material.key_pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return OpenSslError("client-key is not a PEM key without a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return FieldError("client-key", "does not belong to client-certificate", "check both");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTlsMaterial(const TlsMaterial& material) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return OpenSslError("OpenSSL");
  return ApplyTlsMaterial(material, context.get());
}

absl::Status ApplyTlsMaterial(const TlsMaterial& material, ssl_ctx_st* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (!material.ca_pem.empty()) YM_RETURN_IF_ERROR(TrustAuthorities(material.ca_pem, context));
  if (!material.cert_pem.empty()) YM_RETURN_IF_ERROR(UseCertificate(material, context));
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
