// tls.source=generated of the chart: the operator's program, started with the chart's arguments and
// the rights of its own ServiceAccount, makes the certificates, renews those that are due and makes
// again what somebody deleted; helm knows nothing of them.
#include "gmock/gmock.h"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/tls/authority.h"
#include "pkg/tls/certificate.h"
#include "test/integration/chart_operator.h"
#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;

constexpr char kAuthority[] = "yardmaster-ca";
constexpr char kExtender[] = "yardmaster-extender-tls";
constexpr const char* kCertificates[] = {kExtender, "yardmaster-scheduler-tls",
                                         "yardmaster-operator-tls", "yardmaster-agent-tls"};

class CertificateRenewalTest : public HelmTest {
 protected:
  // Empty where there is none.
  static std::string Data(const std::string& secret, const char* key = "tls.crt") {
    const auto object = Get({"secret", secret, "-n", kNamespace});
    return object.ok() ? *Base64Decode((*object)["data"][key].get<std::string>()) : "";
  }
  static tls::Certificate Parsed(const std::string& secret) {
    return *tls::ParseCertificate(Data(secret));
  }
  // The certificate of the Secret, as if it had been made for 30 days, 25 days ago.
  static void MakeDue(const std::string& secret, tls::Certificate& due) {
    const tls::KeyPair authority = {Data(kAuthority), Data(kAuthority, "tls.key")};
    const tls::Certificate old = Parsed(secret);
    const auto made = tls::Issue(authority, {.common_name = old.names.common_name,
                                             .dns_names = old.names.dns_names,
                                             .ip_addresses = old.names.ip_addresses,
                                             .server = old.for_servers,
                                             .client = old.for_clients,
                                             .now_ms = RealClock().WallMs() - 25 * tls::kDayMs,
                                             .valid_ms = 30 * tls::kDayMs});
    ASSERT_TRUE(made.ok()) << made.status();
    const auto parsed = tls::ParseCertificate(made->certificate_pem);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    due = *parsed;
    const json patch = {{"data",
                         {{"tls.crt", Base64Encode(made->certificate_pem)},
                          {"tls.key", Base64Encode(made->key_pem)}}}};
    ASSERT_TRUE(plane_
                    ->Kubectl({"patch", "secret", secret, "-n", kNamespace, "--type=merge", "-p",
                               patch.dump()})
                    .ok());
  }
  static int EventsAbout(const std::string& secret, const std::string& reason) {
    const auto events = Get(
        {"events.events.k8s.io", "-n", kNamespace, "--field-selector", StrCat("reason=", reason)});
    int count = 0;
    if (!events.ok()) return 0;
    for (const json& event : (*events)["items"]) count += event["regarding"]["name"] == secret;
    return count;
  }
};

TEST_F(CertificateRenewalTest, TheOperatorMakesCertificatesAndRenewsThem) {
  EXPECT_EQ(Data(kExtender), "") << "helm makes none";
  const auto process = StartChartOperator(*plane_, YARDMASTER_OPERATOR, kNamespace);
  ASSERT_NE(process, nullptr);
  const std::string log = StrCat("see ", plane_->folder(), "/operator.log");
  for (const char* secret : kCertificates) {
    ASSERT_TRUE(Eventually([&] { return !Data(secret).empty(); })) << secret << ": " << log;
    EXPECT_TRUE(tls::CheckIssuedBy(Data(secret), Data(kAuthority)).ok()) << secret;
    EXPECT_TRUE(tls::CheckKeyMatches(Data(secret), Data(secret, "tls.key")).ok()) << secret;
    EXPECT_EQ(Data(secret, "ca.crt"), Data(kAuthority)) << secret;
  }
  EXPECT_THAT(Parsed(kExtender).names.dns_names,
              ::testing::Contains("yardmaster-extender.yardmaster-system.svc"));
  EXPECT_TRUE(Eventually([] { return EventsAbout(kExtender, "CertificateMade") == 1; }));

  const std::string scheduler = Data("yardmaster-scheduler-tls");
  // The operator may renew it before it could be read again.
  tls::Certificate due;
  ASSERT_NO_FATAL_FAILURE(MakeDue(kExtender, due));
  ASSERT_TRUE(Eventually([&] { return Parsed(kExtender).not_after_ms > due.not_after_ms; })) << log;
  EXPECT_EQ(Parsed(kExtender).names, due.names);
  EXPECT_EQ(Data("yardmaster-scheduler-tls"), scheduler) << "it was not due";
  EXPECT_TRUE(Eventually([] { return EventsAbout(kExtender, "CertificateRenewed") == 1; }));

  ASSERT_TRUE(plane_->Kubectl({"delete", "secret", "-n", kNamespace, kExtender}).ok());
  ASSERT_TRUE(Eventually([] { return !Data(kExtender).empty(); })) << log;

  const std::string kept = Data(kExtender);
  const auto upgraded = Install("upgrade");
  EXPECT_TRUE(upgraded.ok()) << upgraded.status();
  EXPECT_EQ(Data(kExtender), kept);
}

// Names of the values reach the certificate through the operator's arguments.
TEST_F(CertificateRenewalTest, AnAddressThatTheValuesAddIsInTheCertificate) {
  ASSERT_TRUE(Install("upgrade", ",tls.extraIpAddresses[0]=192.0.2.7").ok());
  const auto process = StartChartOperator(*plane_, YARDMASTER_OPERATOR, kNamespace);
  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(Eventually([] {
    const std::string pem = Data(kExtender);
    return !pem.empty() &&
           tls::ParseCertificate(pem)->names.ip_addresses == std::vector<std::string>{"192.0.2.7"};
  })) << "see "
      << plane_->folder() << "/operator.log";
}

}  // namespace
}  // namespace yardmaster::testing
