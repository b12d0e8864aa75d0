// A small certificate authority, for clusters without another issuer and for tests. EC P-256 keys,
// SHA-256 signatures, random serial numbers. Deterministic but for keys and serials: the caller
// gives the time. Errors: InvalidArgument names the field that cannot be used; Internal when
// OpenSSL fails. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::tls {

inline constexpr std::int64_t kDayMs = 24LL * 60 * 60 * 1000;
// Certificates begin this long before the time they are made at, since clocks differ.
inline constexpr std::int64_t kClockSkewMs = 60LL * 60 * 1000;

struct KeyPair {
  std::string certificate_pem = {};
  std::string key_pem = {};  // PKCS #8, no passphrase
};

struct AuthorityRequest {
  std::string common_name = {};           // 1 to 64 bytes
  std::int64_t now_ms = 0;                // milliseconds since the Unix epoch
  std::int64_t valid_ms = 3650 * kDayMs;  // at least a second
};

struct CertificateRequest {
  std::string common_name = {};  // 1 to 64 bytes
  std::vector<std::string> organizations = {};
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  // At least one of the two.
  bool server = false;                   // the certificate may serve as a server's
  bool client = false;                   // the certificate may serve as a client's
  std::int64_t now_ms = 0;               // milliseconds since the Unix epoch
  std::int64_t valid_ms = 365 * kDayMs;  // at least a second
};

// A self-signed authority.
absl::StatusOr<KeyPair> MakeAuthority(const AuthorityRequest& request);

// A certificate signed by `authority`; never valid longer than the authority itself.
absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const CertificateRequest& request);

// At most this many authorities are trusted at a time: the present one and those before it.
inline constexpr std::size_t kMaxTrusted = 3;
// What is to be trusted while peers may still have certificates of the authorities before: the
// first certificate of `authority_pem`, then those of `trusted_pem` that have not ended, each once.
// A `trusted_pem` that cannot be read counts as empty. Merging the answer again changes nothing.
absl::StatusOr<std::string> MergeTrusted(const std::string& authority_pem,
                                         const std::string& trusted_pem, std::int64_t now_ms);

}  // namespace yardmaster::tls
