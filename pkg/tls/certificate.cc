#include "pkg/tls/certificate.h"

#include <ctime>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/tls/x509.h"

namespace yardmaster::tls {
namespace {

absl::StatusOr<std::int64_t> Milliseconds(const ASN1_TIME* time) {
  std::tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the certificate holds an unreadable date");
  }
  return static_cast<std::int64_t>(timegm(&utc)) * 1000;
}

}  // namespace

absl::StatusOr<Certificate> ParseCertificate(std::string_view pem) {
  YM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain, ReadCertificates(pem, "certificate"));
  X509* first = chain[0].get();
  Certificate certificate;
  certificate.names = NamesOf(first);
  certificate.is_ca = X509_check_ca(first) == 1;
  const std::uint32_t usage = X509_get_extended_key_usage(first);
  certificate.for_servers = (usage & XKU_SSL_SERVER) != 0;
  certificate.for_clients = (usage & XKU_SSL_CLIENT) != 0;
  YM_ASSIGN_OR_RETURN(certificate.not_before_ms, Milliseconds(X509_get0_notBefore(first)));
  YM_ASSIGN_OR_RETURN(certificate.not_after_ms, Milliseconds(X509_get0_notAfter(first)));
  return certificate;
}

absl::Status CheckKeyMatches(std::string_view certificate_pem, std::string_view key_pem) {
  YM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain,
                      ReadCertificates(certificate_pem, "certificate"));
  YM_ASSIGN_OR_RETURN(const KeyPtr key, ReadPrivateKey(key_pem, "key"));
  if (X509_check_private_key(chain[0].get(), key.get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  return FieldError("key", "does not belong to the certificate",
                    "give the key that the certificate was issued for");
}

absl::Status CheckIssuedBy(std::string_view certificate_pem, std::string_view authority_pem) {
  YM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain,
                      ReadCertificates(certificate_pem, "certificate"));
  YM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> authority,
                      ReadCertificates(authority_pem, "authority"));
  if (X509_verify(chain[0].get(), X509_get0_pubkey(authority[0].get())) == 1)
    return absl::OkStatus();
  ERR_clear_error();
  return FieldError("certificate", "is not signed by the authority",
                    "issue it by the authority that is in use");
}

}  // namespace yardmaster::tls
