// Which clients a server lets in, by the names in their certificates. Thread safety: pure function.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pkg/tls/certificate_names.h"

namespace yardmaster::tls {

// Whether the common name or a DNS name is one of `allowed`, letter by letter; "*" allows every name.
inline bool HasAllowedName(const CertificateNames& names, const std::vector<std::string>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
    if (name == "*") return true;
    return !name.empty() &&
           (names.common_name == name || std::find(names.dns_names.begin(), names.dns_names.end(),
                                                   name) != names.dns_names.end());
  });
}

}  // namespace yardmaster::tls
