// tls.renewal of the chart: the operator's program, started with the chart's arguments and the
// rights of its own ServiceAccount, renews a certificate that is due; helm keeps what it wrote.
#include <fstream>
#include <memory>
#include <regex>

#include "gmock/gmock.h"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/tls/authority.h"
#include "pkg/tls/certificate.h"
#include "test/integration/helm_fixture.h"
#include "test/integration/process.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;

constexpr char kOperator[] = "yardmaster-operator";
constexpr char kExtenderSecret[] = "yardmaster-extender-tls";
constexpr char kRenewal[] = ",tls.renewal.enabled=true,tls.renewal.validityDays=30";

class CertificateRenewalTest : public HelmTest {
 protected:
  static std::string File(const std::string& name) { return StrCat(plane_->folder(), "/", name); }
  static void Put(const std::string& name, const std::string& text) {
    std::ofstream(File(name)) << text;
  }
  static std::string Data(const std::string& secret, const char* key) {
    const auto object = Get({"secret", secret, "-n", kNamespace});
    EXPECT_TRUE(object.ok()) << object.status();
    return object.ok() ? *Base64Decode((*object)["data"][key].get<std::string>()) : "";
  }
  static tls::Certificate Parsed(const std::string& secret) {
    return *tls::ParseCertificate(Data(secret, "tls.crt"));
  }
  // The certificate of the Secret, as if it had been made for 30 days, 25 days ago.
  static void MakeDue(const std::string& secret) {
    const tls::KeyPair authority = {Data("yardmaster-ca", "tls.crt"),
                                    Data("yardmaster-ca", "tls.key")};
    const tls::Certificate old = Parsed(secret);
    const auto made = tls::Issue(authority, {.common_name = old.names.common_name,
                                             .dns_names = old.names.dns_names,
                                             .ip_addresses = old.names.ip_addresses,
                                             .server = old.for_servers,
                                             .client = old.for_clients,
                                             .now_ms = RealClock().WallMs() - 25 * tls::kDayMs,
                                             .valid_ms = 30 * tls::kDayMs});
    ASSERT_TRUE(made.ok()) << made.status();
    const json patch = {{"data",
                         {{"tls.crt", Base64Encode(made->certificate_pem)},
                          {"tls.key", Base64Encode(made->key_pem)}}}};
    ASSERT_TRUE(plane_
                    ->Kubectl({"patch", "secret", secret, "-n", kNamespace, "--type=merge", "-p",
                               patch.dump()})
                    .ok());
  }
  // The Deployment's arguments without what needs the pod, with free ports.
  static std::unique_ptr<Process> StartOperator() {
    Put("token", *plane_->Kubectl({"create", "token", kOperator, "-n", kNamespace}));
    Put("operator.kubeconfig", plane_->KubeconfigWithToken(File("token")));
    const json deployment = *Get({"deployment", kOperator, "-n", kNamespace});
    Command command = {YARDMASTER_OPERATOR, "--kubeconfig", File("operator.kubeconfig"),
                       "--certificate-check-ms=500"};
    for (const std::string argument :
         deployment["spec"]["template"]["spec"]["containers"][0]["args"]) {
      if (argument.find("--reports-") == 0) continue;
      command.push_back(
          std::regex_replace(argument, std::regex("address=.*"), "address=127.0.0.1:0"));
    }
    auto started = Process::Start({command, {}, File("operator.log")});
    EXPECT_TRUE(started.ok()) << started.status();
    return started.ok() ? *std::move(started) : nullptr;
  }
};

TEST_F(CertificateRenewalTest, WhatIsDueIsRenewedWithTheChartsRightsAndKeptByHelm) {
  ASSERT_TRUE(Install("upgrade", kRenewal).ok());
  const std::string scheduler = Data("yardmaster-scheduler-tls", "tls.crt");
  MakeDue(kExtenderSecret);
  const tls::Certificate due = Parsed(kExtenderSecret);
  const auto process = StartOperator();
  ASSERT_NE(process, nullptr);
  ASSERT_TRUE(Eventually([&] { return Parsed(kExtenderSecret).not_after_ms > due.not_after_ms; }))
      << "see " << File("operator.log");
  const tls::Certificate renewed = Parsed(kExtenderSecret);
  EXPECT_EQ(renewed.names, due.names);
  EXPECT_TRUE(
      tls::CheckIssuedBy(Data(kExtenderSecret, "tls.crt"), Data("yardmaster-ca", "tls.crt")).ok());
  EXPECT_TRUE(
      tls::CheckKeyMatches(Data(kExtenderSecret, "tls.crt"), Data(kExtenderSecret, "tls.key"))
          .ok());
  EXPECT_EQ(Data("yardmaster-scheduler-tls", "tls.crt"), scheduler) << "it was not due";
  EXPECT_TRUE(Eventually([] {
    const auto events = Get({"events.events.k8s.io", "-n", kNamespace, "--field-selector",
                             "reason=CertificateRenewed"});
    return events.ok() && (*events)["items"].size() == 1 &&
           (*events)["items"][0]["regarding"]["name"] == kExtenderSecret;
  }));

  const std::string pem = Data(kExtenderSecret, "tls.crt");
  const auto upgraded = Install("upgrade", kRenewal);
  EXPECT_TRUE(upgraded.ok()) << upgraded.status();
  EXPECT_EQ(Data(kExtenderSecret, "tls.crt"), pem) << "an upgrade keeps it";
}

}  // namespace
}  // namespace yardmaster::testing
