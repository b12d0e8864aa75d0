// The X.509 pieces that servers and clients share, without OpenSSL in the header: owning
// pointers, PEM in, names out. Thread safety: pure functions; a pointer has one owner.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/tls/certificate_names.h"

struct x509_st;
struct evp_pkey_st;

namespace yardmaster::tls {

struct X509Deleter {
  void operator()(x509_st* certificate) const;
};
struct KeyDeleter {
  void operator()(evp_pkey_st* key) const;
};
using X509Ptr = std::unique_ptr<x509_st, X509Deleter>;
using KeyPtr = std::unique_ptr<evp_pkey_st, KeyDeleter>;

// Every certificate of a PEM text, at least one. InvalidArgument when there is none or one is
// damaged; `what` names the text in the message ("client CA").
absl::StatusOr<std::vector<X509Ptr>> ReadCertificates(std::string_view pem, std::string_view what);

// A private key without a passphrase.
absl::StatusOr<KeyPtr> ReadPrivateKey(std::string_view pem, std::string_view what);

// Names with an embedded NUL are left out: they are only ever made to deceive.
CertificateNames NamesOf(const x509_st* certificate);

// Empties this thread's OpenSSL error queue into one line.
std::string DrainOpenSslErrors();

}  // namespace yardmaster::tls
