// The names a certificate carries. Thread safety: a value.
#pragma once

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

}  // namespace yardmaster::tls
