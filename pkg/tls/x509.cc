#include "pkg/tls/x509.h"

#include <arpa/inet.h>
#include <array>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <optional>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::tls {
namespace {

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;

BioPtr OpenText(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without it OpenSSL asks the terminal for the passphrase of an encrypted key, and waits.
int RefusePassphrase(char*, int, int, void*) { return -1; }

std::optional<std::string> TextOf(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, value);
  if (length < 0) {
    ERR_clear_error();
    return std::nullopt;
  }
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

std::vector<std::string> SubjectEntries(const X509_NAME* subject, int nid) {
  std::vector<std::string> out;
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    auto text = TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (text) out.push_back(std::move(*text));
  }
  return out;
}

std::optional<std::string> AddressText(const ASN1_OCTET_STRING* octets) {
  const int length = ASN1_STRING_length(octets);
  if (length != 4 && length != 16) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = length == 4 ? AF_INET : AF_INET6;
  if (inet_ntop(family, ASN1_STRING_get0_data(octets), text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  return std::string(text.data());
}

void AddAlternativeName(const GENERAL_NAME* name, CertificateNames& names) {
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(name, &type);
  if (type == GEN_DNS || type == GEN_URI) {
    auto text = TextOf(static_cast<const ASN1_STRING*>(value));
    if (text) (type == GEN_DNS ? names.dns_names : names.uris).push_back(std::move(*text));
  } else if (type == GEN_IPADD) {
    auto text = AddressText(static_cast<const ASN1_OCTET_STRING*>(value));
    if (text) names.ip_addresses.push_back(std::move(*text));
  }
}

}  // namespace

void X509Deleter::operator()(x509_st* certificate) const { X509_free(certificate); }
void KeyDeleter::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

std::string DrainOpenSslErrors() {
  std::string out;
  std::array<char, 256> text{};
  while (const unsigned long code = ERR_get_error()) {
    ERR_error_string_n(code, text.data(), text.size());
    if (!out.empty()) out.append("; ");
    out.append(text.data());
  }
  return out;
}

absl::StatusOr<std::vector<X509Ptr>> ReadCertificates(std::string_view pem, std::string_view what) {
  const BioPtr bio = OpenText(pem);
  std::vector<X509Ptr> out;
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, RefusePassphrase, nullptr)) {
    out.emplace_back(certificate);
  }
  // The text has simply ended when the last error is that no further block starts.
  const unsigned long last = ERR_peek_last_error();
  const bool ended =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string errors = DrainOpenSslErrors();
  if (!ended) {
    return FieldError(what, StrCat("certificate ", out.size() + 1, " is damaged (", errors, ")"),
                      "give certificates in PEM form");
  }
  if (out.empty()) {
    return FieldError(what, "holds no certificate", "give certificates in PEM form");
  }
  return out;
}

absl::StatusOr<KeyPtr> ReadPrivateKey(std::string_view pem, std::string_view what) {
  const BioPtr bio = OpenText(pem);
  ERR_clear_error();
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, RefusePassphrase, nullptr));
  const std::string errors = DrainOpenSslErrors();
  if (key == nullptr) {
    return FieldError(what, "is not a usable private key (" + errors + ")",
                      "give one PEM private key without a passphrase");
  }
  return key;
}

CertificateNames NamesOf(const x509_st* certificate) {
  CertificateNames names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  std::vector<std::string> common = SubjectEntries(subject, NID_commonName);
  // Of several CNs the last is the most specific.
  if (!common.empty()) names.common_name = std::move(common.back());
  names.organizations = SubjectEntries(subject, NID_organizationName);
  auto* alternatives = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    AddAlternativeName(sk_GENERAL_NAME_value(alternatives, i), names);
  }
  GENERAL_NAMES_free(alternatives);
  return names;
}

}  // namespace yardmaster::tls
