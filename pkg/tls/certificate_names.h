// The names that a certificate carries, and which of them a server lets in.
// Thread safety: a value and a pure function.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace yardmaster::tls {

struct CertificateNames {
  // Subject: CN (Kubernetes: the user) and every O (Kubernetes: the groups).
  std::string common_name = {};
  std::vector<std::string> organizations = {};
  // Subject alternative names by kind. Addresses are written as inet_ntop writes them.
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  std::vector<std::string> uris = {};

  bool operator==(const CertificateNames&) const = default;
};

// Whether the common name or a DNS name is one of `allowed`, letter by letter; "*" allows every
// name.
inline bool HasAllowedName(const CertificateNames& names, const std::vector<std::string>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
    if (name == "*") return true;
    return !name.empty() &&
           (names.common_name == name || std::find(names.dns_names.begin(), names.dns_names.end(),
                                                   name) != names.dns_names.end());
  });
}

}  // namespace yardmaster::tls
