#include "pkg/operator/certificate_spec.h"

#include <algorithm>

#include "pkg/base/ip_address.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr char kForm[] =
    "write SECRET/server/COMMON-NAME/NAME,ADDRESS, or client in place of server";

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

absl::StatusOr<CertificateSpec> ParseCertificateSpec(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '/');
  if (parts.size() < 3 || parts.size() > 4 || parts[0].empty() || parts[2].empty() ||
      parts[2].size() > 64 || (parts[1] != "server" && parts[1] != "client")) {
    return FieldError("--certificate", StrCat("'", text, "' cannot be used"), kForm);
  }
  CertificateSpec spec{.secret = parts[0],
                       .common_name = parts[2],
                       .server = parts[1] == "server",
                       .client = parts[1] == "client"};
  if (parts.size() == 3 || parts[3].empty()) return spec;
  for (const std::string& name : Split(parts[3], ',')) {
    if (name.empty()) {
      return FieldError("--certificate", StrCat("'", text, "' has an empty name"), kForm);
    }
    if (const auto address = IpAddress::Parse(name); address.ok()) {
      spec.ip_addresses.push_back(address->ToString());
    } else {
      spec.dns_names.push_back(name);
    }
  }
  return spec;
}

bool IsFor(const CertificateSpec& spec, const tls::Certificate& certificate) {
  const tls::CertificateNames& names = certificate.names;
  return names.common_name == spec.common_name && names.uris.empty() &&
         Sorted(names.dns_names) == Sorted(spec.dns_names) &&
         Sorted(names.ip_addresses) == Sorted(spec.ip_addresses) &&
         (!spec.server || certificate.for_servers) && (!spec.client || certificate.for_clients);
}

}  // namespace yardmaster::op
