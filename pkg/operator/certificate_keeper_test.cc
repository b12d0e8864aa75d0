#include "pkg/operator/certificate_keeper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/operator/testing/certificate_fixture.h"

namespace yardmaster::op {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tls::kDayMs;

using CertificateKeeperTest = CertificateFixture;

TEST_F(CertificateKeeperTest, MakesWhatIsAbsentOnce) {
  const auto report = Round();
  EXPECT_THAT(Told(report),
              ElementsAre("ca CertificateMade", "front CertificateMade", "client CertificateMade"));
  EXPECT_TRUE(Parsed("ca").is_ca);
  EXPECT_EQ(Parsed("ca").not_after_ms, clock_.WallMs() + kAuthorityLifeMs);
  EXPECT_EQ(Pem("ca", "ca.crt"), "");
  for (const CertificateSpec& spec : {kFront, kClient}) {
    const tls::Certificate made = Parsed(spec.secret);
    EXPECT_TRUE(IsFor(spec, made)) << spec.secret;
    EXPECT_EQ(made.for_servers, spec.server);
    EXPECT_EQ(made.for_clients, spec.client);
    EXPECT_EQ(made.not_before_ms, clock_.WallMs() - tls::kClockSkewMs) << "clocks differ";
    EXPECT_EQ(made.not_after_ms, clock_.WallMs() + kLifeMs);
    EXPECT_EQ(report.ends_ms.at(spec.secret), made.not_after_ms);
    EXPECT_TRUE(SignedBy(spec.secret, Pem("ca")));
    EXPECT_EQ(Pem(spec.secret, "ca.crt"), Pem("ca"));
    const json secret = *client_.Find(kSecrets, "ym", spec.secret);
    EXPECT_EQ(secret["type"], "kubernetes.io/tls");
    EXPECT_EQ(secret["metadata"]["labels"][kOursLabel], kOursValue);
  }
  const std::int64_t version = client_.version();
  EXPECT_THAT(Round().notices, IsEmpty());
  EXPECT_EQ(client_.version(), version);
}

TEST_F(CertificateKeeperTest, RenewsAtTwoThirdsOfALifeNotBeforeAndOnce) {
  Round();
  const std::string old_key = Pem("front", "tls.key"), authority = Pem("ca");
  clock_.Advance(kLifeMs / 3 * 2 - 1'000);
  const std::int64_t version = client_.version();
  EXPECT_THAT(Round().notices, IsEmpty());
  EXPECT_EQ(client_.version(), version);
  clock_.Advance(1'000);
  const auto report = Round();
  ASSERT_THAT(Told(report), ElementsAre("front CertificateRenewed", "client CertificateRenewed"));
  EXPECT_EQ(client_.version(), version + 2);
  EXPECT_EQ(Parsed("front").not_after_ms, clock_.WallMs() + kLifeMs);
  EXPECT_EQ(report.ends_ms.at("front"), clock_.WallMs() + kLifeMs);
  EXPECT_EQ(report.ends_ms.at("ca"), Parsed("ca").not_after_ms);
  EXPECT_NE(Pem("front", "tls.key"), old_key);
  EXPECT_TRUE(IsFor(kFront, Parsed("front")));
  EXPECT_EQ(Pem("front", "ca.crt"), authority);
  EXPECT_THAT(Round().notices, IsEmpty());
  EXPECT_EQ(client_.version(), version + 2);
}

TEST_F(CertificateKeeperTest, OtherNamesInTheValuesReachTheCertificate) {
  Round();
  secrets_.certificates[0].dns_names.push_back("front.example");
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed"));
  EXPECT_THAT(Parsed("front").names.dns_names,
              ElementsAre("front.ym.svc", "front.ym", "front.example"));
  EXPECT_THAT(Round().notices, IsEmpty());
}

TEST_F(CertificateKeeperTest, ASecretThatSomebodyDeletedOrDamagedIsMadeAgain) {
  Round();
  Remove("front");
  json damaged = *client_.Find(kSecrets, "ym", "client");
  damaged["data"]["tls.key"] = damaged["data"]["ca.crt"];
  client_.Seed(kSecrets, damaged);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateMade", "client CertificateRenewed"));
  EXPECT_TRUE(SignedBy("front", Pem("ca")) && SignedBy("client", Pem("ca")));
  damaged = *client_.Find(kSecrets, "ym", "client");
  damaged["data"] = nullptr;
  client_.Seed(kSecrets, damaged);
  EXPECT_THAT(Told(Round()), ElementsAre("client CertificateRenewed"));
  EXPECT_TRUE(SignedBy("client", Pem("ca")));
  EXPECT_EQ(Pem("client", "ca.crt"), Pem("ca"));
}

TEST_F(CertificateKeeperTest, WhatSomebodyElseMadeIsLeftAlone) {
  Round();
  const tls::KeyPair theirs = *tls::Issue(
      Foreign(),
      {.common_name = "front", .server = true, .now_ms = clock_.WallMs(), .valid_ms = kLifeMs});
  Remove("front");
  Put("front", theirs, {{kOursLabel, "nobody"}});
  clock_.Advance(kLifeMs);
  const auto report = Round();
  ASSERT_THAT(Told(report),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_TRUE(report.notices[0].warning);
  EXPECT_EQ(report.notices[0].uid, "front");
  EXPECT_EQ(report.notices[0].note, "signed by another authority");
  Put("front", {theirs.certificate_pem, ""});
  EXPECT_THAT(Round().notices.front().note, HasSubstr("data.tls.key"));
  EXPECT_EQ(Pem("front"), theirs.certificate_pem);
}

// As helm made them: both uses, ten years, no label.
TEST_F(CertificateKeeperTest, WhatTheAuthorityHasSignedIsRenewedWhoeverMadeIt) {
  const tls::KeyPair authority =
      *tls::MakeAuthority({.common_name = "ca", .now_ms = clock_.WallMs()});
  Put("ca", authority);
  Put("front", *tls::Issue(authority, {.common_name = "front",
                                       .dns_names = kFront.dns_names,
                                       .ip_addresses = kFront.ip_addresses,
                                       .server = true,
                                       .client = true,
                                       .now_ms = clock_.WallMs(),
                                       .valid_ms = 3650 * kDayMs}));
  const std::string before = Pem("front");
  EXPECT_THAT(Told(Round()), ElementsAre("client CertificateMade"));
  EXPECT_EQ(Pem("front"), before);
  clock_.Advance(kLifeMs / 3 * 2);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "client CertificateRenewed"));
  EXPECT_EQ(Pem("ca"), authority.certificate_pem);
}

TEST_F(CertificateKeeperTest, TheWebhookTrustsTheFirstCertificatesAuthorities) {
  PutWebhook();
  const auto report = Round();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(BundleOfWebhook(), Base64Encode(Pem("ca")));
  const std::int64_t version = client_.version();
  Round();
  EXPECT_EQ(client_.version(), version);
  ASSERT_TRUE(client_.Delete({kWebhooks, "", "gate", ""}, {}).ok());
  EXPECT_THAT(Told(Round()), ElementsAre("gate CertificateNotRenewed"));
}

TEST_F(CertificateKeeperTest, AWriteThatMetAnotherOneIsMadeAgainInTheNextRound) {
  Round();
  clock_.Advance(kLifeMs);
  bool met = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == kube::Verb::kPatch && call.target.name == "front" && !met) {
      met = true;
      json other = *client_.Find(kSecrets, "ym", "front");
      other["metadata"]["annotations"] = {{"a", "b"}};
      client_.Seed(kSecrets, other);
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(Told(Round()),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed"));
  EXPECT_EQ((*client_.Find(kSecrets, "ym", "front"))["metadata"]["annotations"]["a"], "b");
}

TEST_F(CertificateKeeperTest, NothingIsReadButTheNamedObjects) {
  PutWebhook();
  Round();
  clock_.Advance(kLifeMs);
  client_.ClearCalls();
  Round();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "secrets"), 3);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "mutatingwebhookconfigurations"), 1);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "secrets"), 2);
  EXPECT_EQ(client_.calls().size(), 6U);
}

}  // namespace
}  // namespace yardmaster::op
