// What a certificate says, without OpenSSL in the header. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/tls/certificate_names.h"

namespace yardmaster::tls {

struct Certificate {
  CertificateNames names;
  bool is_ca = false;
  // By its extended key usage; without one it is good for both.
  bool for_servers = true;
  bool for_clients = true;
  // Milliseconds since the Unix epoch.
  std::int64_t not_before_ms = 0;
  std::int64_t not_after_ms = 0;
};

// The first certificate of a PEM text. InvalidArgument when a certificate of the text is unreadable
// or there is none.
absl::StatusOr<Certificate> ParseCertificate(std::string_view pem);

// InvalidArgument when one of them is unreadable or the key belongs to another certificate.
absl::Status CheckKeyMatches(std::string_view certificate_pem, std::string_view key_pem);

// Whether the key of the first certificate of `authority_pem` has signed the first of
// `certificate_pem`; dates are not looked at. InvalidArgument when it has not, or one is
// unreadable.
absl::Status CheckIssuedBy(std::string_view certificate_pem, std::string_view authority_pem);

}  // namespace yardmaster::tls
