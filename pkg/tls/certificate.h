// What a certificate says, without OpenSSL in the header. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/tls/certificate_names.h"

namespace yardmaster::tls {

struct Certificate {
  CertificateNames names;
  std::string issuer_common_name;
  bool is_ca = false;
  // Milliseconds since the Unix epoch.
  std::int64_t not_before_ms = 0;
  std::int64_t not_after_ms = 0;
};

// The first certificate of a PEM text.
absl::StatusOr<Certificate> ParseCertificate(std::string_view pem);

// InvalidArgument when one of them is unreadable or the key belongs to another certificate.
absl::Status CheckKeyMatches(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace yardmaster::tls
