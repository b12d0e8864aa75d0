// A certificate authority, a server and a client certificate made on the spot, for tests of TLS.
// Thread safety: pure function (random keys).
#pragma once

#include <string>

namespace yardmaster::kube {

struct TestCertificates {
  std::string ca_pem;
  // For the names in MakeTestCertificates' argument.
  std::string server_cert_pem;
  std::string server_key_pem;
  // Common name "client".
  std::string client_cert_pem;
  std::string client_key_pem;
};

// `server_names`: OpenSSL's form of subjectAltName.
TestCertificates MakeTestCertificates(
    const std::string& server_names = "DNS:localhost,IP:127.0.0.1");

}  // namespace yardmaster::kube
