#include "pkg/kube/testing/test_certificates.h"

#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace yardmaster::kube {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

struct Pair {
  Owned<EVP_PKEY> key;
  Owned<X509> cert;
};

void AddExtension(X509* cert, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself without one.
Pair Make(const std::string& name, long serial, const Pair* issuer, const std::string& names) {
  Pair pair{Owned<EVP_PKEY>(EVP_EC_gen("P-256")), Owned<X509>(X509_new())};
  X509* cert = pair.cert.get();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
  X509_set_pubkey(cert, pair.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* issuer_cert = issuer == nullptr ? cert : issuer->cert.get();
  X509_set_issuer_name(cert, X509_get_subject_name(issuer_cert));
  AddExtension(cert, issuer_cert, NID_basic_constraints,
               issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!names.empty()) AddExtension(cert, issuer_cert, NID_subject_alt_name, names);
  X509_sign(cert, issuer == nullptr ? pair.key.get() : issuer->key.get(), EVP_sha256());
  return pair;
}

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}
std::string CertPem(const Pair& pair) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), pair.cert.get());
  return Text(bio.get());
}
std::string KeyPem(const Pair& pair) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return Text(bio.get());
}

}  // namespace

TestCertificates MakeTestCertificates(const std::string& server_names) {
  const Pair ca = Make("test authority", 1, nullptr, "");
  const Pair server = Make("server", 2, &ca, server_names);
  const Pair client = Make("client", 3, &ca, "");
  return {CertPem(ca), CertPem(server), KeyPem(server), CertPem(client), KeyPem(client)};
}

}  // namespace yardmaster::kube
