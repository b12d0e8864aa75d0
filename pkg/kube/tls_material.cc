#include "pkg/kube/tls_material.h"

#include <array>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string_view>
#include <utility>
#include <vector>

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

// Every certificate of a PEM text, at least one. `field` names the text in the errors.
absl::StatusOr<std::vector<Owned<X509>>> ReadCertificates(std::string_view field,
                                                          const std::string& pem) {
  Owned<BIO> bio = Memory(pem);
  std::vector<Owned<X509>> out;
  ERR_clear_error();
  while (Owned<X509> cert{PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    out.push_back(std::move(cert));
  }
  // The text has ended, and is not damaged, when the reader found no further block.
  const unsigned long last = ERR_peek_last_error();
  const bool ended =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!ended) {
    return OpenSslError(StrCat(field, ": certificate ", out.size() + 1, " is damaged"));
  }
  ERR_clear_error();
  if (out.empty()) return FieldError(field, "holds no PEM certificate", "check the data");
  return out;
}

absl::Status TrustAuthorities(const std::string& pem, SSL_CTX* context) {
  YM_ASSIGN_OR_RETURN(const std::vector<Owned<X509>> authorities,
                      ReadCertificates("certificate-authority", pem));
  Owned<X509_STORE> store(X509_STORE_new());
  for (const Owned<X509>& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  SSL_CTX_set_cert_store(context, store.release());
  return absl::OkStatus();
}

absl::Status UseCertificate(const TlsMaterial& material, SSL_CTX* context) {
  YM_ASSIGN_OR_RETURN(const std::vector<Owned<X509>> chain,
                      ReadCertificates("client-certificate", material.cert_pem));
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1) {
    return OpenSslError("client-certificate");
  }
  SSL_CTX_clear_chain_certs(context);
  for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context, chain[i].get());
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
