#include "pkg/tls/authority.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <memory>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string_view>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/tls/x509.h"

namespace yardmaster::tls {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(GENERAL_NAME* name) const { GENERAL_NAME_free(name); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::Status OpenSslFailure(std::string_view what) {
  return absl::InternalError(StrCat(what, ": ", DrainOpenSslErrors()));
}

template <typename Write>
absl::StatusOr<std::string> ToPem(Write write) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return OpenSslFailure("cannot write PEM");
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(length));
}

absl::Status SetSerial(X509* certificate) {
  const Owned<BIGNUM> serial(BN_new());
  if (serial == nullptr || BN_rand(serial.get(), 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return OpenSslFailure("cannot make a serial number");
  }
  return absl::OkStatus();
}

absl::Status SetSubject(X509* certificate, const std::string& common_name,
                        const std::vector<std::string>& organizations) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const auto add = [&](int nid, const std::string& value) {
    return X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
  };
  for (const std::string& organization : organizations) {
    if (organization.empty() || !add(NID_organizationName, organization)) {
      return FieldError("organizations",
                        "'" + organization + "' cannot be used (" + DrainOpenSslErrors() + ")",
                        "use 1 to 64 bytes of UTF-8");
    }
  }
  if (common_name.empty() || !add(NID_commonName, common_name)) {
    return FieldError("common_name",
                      "'" + common_name + "' cannot be used (" + DrainOpenSslErrors() + ")",
                      "use 1 to 64 bytes of UTF-8");
  }
  return absl::OkStatus();
}

absl::Status SetValidity(X509* certificate, std::int64_t from_ms, std::int64_t to_ms) {
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), from_ms / 1000) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), to_ms / 1000) == nullptr) {
    return OpenSslFailure("cannot write the validity");
  }
  return absl::OkStatus();
}

// `text` is always one of our own constants: OpenSSL's little language must see no outside input.
absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, text));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpenSslFailure(StrCat("cannot add the extension ", text));
  }
  return absl::OkStatus();
}

bool PushName(GENERAL_NAMES* names, int type, std::string_view bytes) {
  ASN1_STRING* value =
      ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  Owned<GENERAL_NAME> name(GENERAL_NAME_new());
  if (value == nullptr || name == nullptr ||
      ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    ASN1_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), type, value);
  if (sk_GENERAL_NAME_push(names, name.get()) == 0) return false;
  (void)name.release();
  return true;
}

absl::Status PushAddress(GENERAL_NAMES* names, const std::string& text) {
  std::array<char, 16> bytes{};
  std::size_t size = 0;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    size = 4;
  } else if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    size = 16;
  } else {
    return FieldError("ip_addresses", "'" + text + "' is not an IP address",
                      "use a literal such as 10.0.0.1 or fd00::1");
  }
  if (!PushName(names, GEN_IPADD, {bytes.data(), size})) return OpenSslFailure("out of memory");
  return absl::OkStatus();
}

bool PlausibleDnsName(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const char c : name) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '.' || c == '*' || c == '_';
    if (!ok) return false;
  }
  return true;
}

absl::Status AddAlternativeNames(X509* certificate, const CertificateRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return absl::OkStatus();
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  for (const std::string& name : request.dns_names) {
    if (!PlausibleDnsName(name)) {
      return FieldError("dns_names", "'" + name + "' is not a DNS name",
                        "use letters, digits, '-' and '.'");
    }
    if (!PushName(names.get(), GEN_DNS, name)) return OpenSslFailure("out of memory");
  }
  for (const std::string& address : request.ip_addresses) {
    YM_RETURN_IF_ERROR(PushAddress(names.get(), address));
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) !=
      1) {
    return OpenSslFailure("cannot add the alternative names");
  }
  return absl::OkStatus();
}

// A certificate with everything that authorities and leaves have in common.
absl::StatusOr<X509Ptr> NewCertificate(EVP_PKEY* key, const std::string& common_name,
                                       const std::vector<std::string>& organizations) {
  X509Ptr certificate(X509_new());
  if (certificate == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return OpenSslFailure("cannot make a certificate");
  }
  YM_RETURN_IF_ERROR(SetSerial(certificate.get()));
  YM_RETURN_IF_ERROR(SetSubject(certificate.get(), common_name, organizations));
  return certificate;
}

absl::StatusOr<KeyPair> Sign(X509* certificate, EVP_PKEY* key, EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0) return OpenSslFailure("cannot sign");
  KeyPair pair;
  YM_ASSIGN_OR_RETURN(pair.certificate_pem,
                      ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); }));
  YM_ASSIGN_OR_RETURN(pair.key_pem, ToPem([&](BIO* bio) {
                        return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr,
                                                             nullptr);
                      }));
  return pair;
}

absl::StatusOr<KeyPtr> NewKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailure("cannot make a key");
  return key;
}

absl::Status CheckLife(std::int64_t valid_ms) {
  if (valid_ms >= 1'000) return absl::OkStatus();
  return FieldError("valid_ms", "is below 1000", "give at least one second");
}

}  // namespace

absl::StatusOr<KeyPair> MakeAuthority(const AuthorityRequest& request) {
  ERR_clear_error();
  YM_RETURN_IF_ERROR(CheckLife(request.valid_ms));
  YM_ASSIGN_OR_RETURN(const KeyPtr key, NewKey());
  YM_ASSIGN_OR_RETURN(const X509Ptr certificate,
                      NewCertificate(key.get(), request.common_name, {}));
  X509* raw = certificate.get();
  YM_RETURN_IF_ERROR(
      SetValidity(raw, request.now_ms - kClockSkewMs, request.now_ms + request.valid_ms));
  X509_set_issuer_name(raw, X509_get_subject_name(raw));
  YM_RETURN_IF_ERROR(AddExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  YM_RETURN_IF_ERROR(AddExtension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign"));
  YM_RETURN_IF_ERROR(AddExtension(raw, raw, NID_subject_key_identifier, "hash"));
  return Sign(raw, key.get(), key.get());
}

absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const CertificateRequest& request) {
  ERR_clear_error();
  YM_RETURN_IF_ERROR(CheckLife(request.valid_ms));
  if (!request.server && !request.client) {
    return FieldError("server, client", "are both false", "say what the certificate is for");
  }
  YM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> issuers,
                      ReadCertificates(authority.certificate_pem, "authority"));
  YM_ASSIGN_OR_RETURN(const KeyPtr signer, ReadPrivateKey(authority.key_pem, "authority"));
  X509* issuer = issuers[0].get();
  if (X509_check_private_key(issuer, signer.get()) != 1) {
    ERR_clear_error();
    return FieldError("authority", "has the key of another certificate", "give the matching key");
  }
  YM_ASSIGN_OR_RETURN(const KeyPtr key, NewKey());
  YM_ASSIGN_OR_RETURN(const X509Ptr certificate,
                      NewCertificate(key.get(), request.common_name, request.organizations));
  X509* raw = certificate.get();
  YM_RETURN_IF_ERROR(
      SetValidity(raw, request.now_ms - kClockSkewMs, request.now_ms + request.valid_ms));
  if (ASN1_TIME_compare(X509_get0_notAfter(raw), X509_get0_notAfter(issuer)) > 0) {
    X509_set1_notAfter(raw, X509_get0_notAfter(issuer));
  }
  X509_set_issuer_name(raw, X509_get_subject_name(issuer));
  YM_RETURN_IF_ERROR(AddExtension(raw, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  YM_RETURN_IF_ERROR(AddExtension(raw, issuer, NID_key_usage, "critical,digitalSignature"));
  const char* usage = "serverAuth,clientAuth";
  if (!request.client) usage = "serverAuth";
  if (!request.server) usage = "clientAuth";
  YM_RETURN_IF_ERROR(AddExtension(raw, issuer, NID_ext_key_usage, usage));
  YM_RETURN_IF_ERROR(AddExtension(raw, issuer, NID_authority_key_identifier, "keyid:always"));
  YM_RETURN_IF_ERROR(AddAlternativeNames(raw, request));
  return Sign(raw, key.get(), signer.get());
}

absl::StatusOr<std::string> MergeTrusted(const std::string& authority_pem,
                                         const std::string& trusted_pem, std::int64_t now_ms) {
  ERR_clear_error();
  YM_ASSIGN_OR_RETURN(std::vector<X509Ptr> candidates,
                      ReadCertificates(authority_pem, "authority"));
  candidates.resize(1);
  if (auto before = ReadCertificates(trusted_pem, "trusted authorities"); before.ok()) {
    const std::time_t now = now_ms / 1000;
    for (X509Ptr& one : *before) {
      if (X509_cmp_time(X509_get0_notAfter(one.get()), const_cast<std::time_t*>(&now)) > 0) {
        candidates.push_back(std::move(one));
      }
    }
  }
  std::vector<std::string> trusted;
  for (const X509Ptr& one : candidates) {
    YM_ASSIGN_OR_RETURN(std::string pem,
                        ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, one.get()); }));
    if (std::find(trusted.begin(), trusted.end(), pem) == trusted.end() &&
        trusted.size() < kMaxTrusted) {
      trusted.push_back(std::move(pem));
    }
  }
  return Join(trusted, "");
}

}  // namespace yardmaster::tls
