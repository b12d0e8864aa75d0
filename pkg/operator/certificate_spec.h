// What one certificate of the operator's own authority says, and the Secret that holds it.
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/tls/certificate.h"

namespace yardmaster::op {

struct CertificateSpec {
  std::string secret = {};
  std::string common_name = {};
  // At least one of the two.
  bool server = false;
  bool client = false;
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};  // as IpAddress writes them

  bool operator==(const CertificateSpec&) const = default;
};

// The operator's flag --certificate: "SECRET/server/COMMON-NAME/NAME,NAME". The use is server or
// client; names are DNS names and addresses, and may be left out. InvalidArgument names the text.
absl::StatusOr<CertificateSpec> ParseCertificateSpec(std::string_view text);

// Whether the certificate has the names of the spec and no others, and at least its uses.
bool IsFor(const CertificateSpec& spec, const tls::Certificate& certificate);

}  // namespace yardmaster::op
