#include "pkg/kube/tls_material.h"

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/kube/testing/test_certificates.h"

namespace yardmaster::kube {
namespace {

using testing::HasSubstr;

constexpr char kDamaged[] =
    "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";

int AuthoritiesOf(SSL_CTX* context) {
  return sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context)));
}

TEST(TlsMaterialTest, EveryAuthorityOfABundleIsTrusted) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::string first = MakeTestCertificates().ca_pem;
  const std::string bundle =
      "# ours\n" + first + "\n# theirs\n" + MakeTestCertificates().ca_pem + first + "# the end\n";
  ASSERT_TRUE(ApplyTlsMaterial({bundle, "", ""}, context.get()).ok());
  EXPECT_EQ(AuthoritiesOf(context.get()), 2) << "one is given twice";
}

TEST(TlsMaterialTest, ABundleWithADamagedAuthorityIsRefusedAndTheAuthorityIsNamed) {
  const std::string good = MakeTestCertificates().ca_pem;
  const std::string cut = good.substr(0, good.size() / 2);
  for (const std::string& bundle : {good + kDamaged + good, good + kDamaged, good + cut}) {
    const absl::Status status = CheckTlsMaterial({bundle, "", ""});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("certificate-authority: certificate 2 is damaged"));
  }
}

TEST(TlsMaterialTest, ADamagedLinkOfTheClientsChainIsRefused) {
  const TestCertificates certs = MakeTestCertificates();
  EXPECT_TRUE(CheckTlsMaterial({"", certs.client_cert_pem, certs.client_key_pem}).ok());
  const absl::Status status =
      CheckTlsMaterial({"", certs.client_cert_pem + kDamaged, certs.client_key_pem});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("client-certificate: certificate 2 is damaged"));
}

}  // namespace
}  // namespace yardmaster::kube
