#include "pkg/operator/certificate_keeper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tls::kDayMs;

constexpr std::int64_t kLifeMs = 90 * kDayMs;
constexpr std::int64_t kAuthorityLifeMs = 3000 * kDayMs;
const kube::Resource kSecrets = {"", "v1", "secrets", "Secret", true};
const kube::Resource kWebhooks = {"admissionregistration.k8s.io", "v1",
                                  "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                                  false};
const CertificateSpec kFront = {.secret = "front",
                                .common_name = "front",
                                .server = true,
                                .dns_names = {"front.ym.svc", "front.ym"},
                                .ip_addresses = {"10.0.0.7", "fd00::1"}};
const CertificateSpec kClient = {
    .secret = "client", .common_name = "kube-scheduler", .client = true};

// An operator that makes an authority, a server's certificate and a client's in an empty namespace.
class CertificateKeeperTest : public testing::Test {
 protected:
  void Put(const std::string& name, const tls::KeyPair& pair, const json& labels = json::object()) {
    client_.Seed(
        kSecrets,
        {{"metadata", {{"name", name}, {"namespace", "ym"}, {"uid", name}, {"labels", labels}}},
         {"data",
          {{"ca.crt", Base64Encode(pair.certificate_pem)},
           {"tls.crt", Base64Encode(pair.certificate_pem)},
           {"tls.key", Base64Encode(pair.key_pem)}}}});
  }
  void PutWebhook() {
    client_.Seed(kWebhooks, {{"metadata", {{"name", "gate"}, {"uid", "gate"}}},
                             {"webhooks", {{{"name", "a"}, {"clientConfig", {{"url", "x"}}}}}}});
    secrets_.webhook = "gate";
  }
  std::string BundleOfWebhook() const {
    return (*client_.Find(kWebhooks, "", "gate"))["webhooks"][0]["clientConfig"].value("caBundle",
                                                                                       "");
  }
  tls::KeyPair Foreign() const {
    return *tls::MakeAuthority({.common_name = "theirs", .now_ms = clock_.WallMs()});
  }
  void Remove(const std::string& name) {
    ASSERT_TRUE(client_.Delete({kSecrets, "ym", name, ""}, {}).ok());
  }
  std::string Pem(const std::string& name, const char* key = "tls.crt") const {
    const auto object = client_.Find(kSecrets, "ym", name);
    if (!object || !(*object)["data"].contains(key)) return "";
    return *Base64Decode((*object)["data"][key].get<std::string>());
  }
  tls::Certificate Parsed(const std::string& name) const {
    return *tls::ParseCertificate(Pem(name));
  }
  bool SignedBy(const std::string& name, const std::string& authority_pem) const {
    return tls::CheckKeyMatches(Pem(name), Pem(name, "tls.key")).ok() &&
           tls::CheckIssuedBy(Pem(name), authority_pem).ok();
  }
  CertificateKeeper::Report Round() {
    return CertificateKeeper(client_, secrets_).RunOnce(clock_.WallMs());
  }
  static std::vector<std::string> Told(const CertificateKeeper::Report& report) {
    std::vector<std::string> out;
    for (const auto& notice : report.notices) out.push_back(notice.object + " " + notice.reason);
    return out;
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  CertificateSecrets secrets_{.namespace_name = "ym",
                              .authority = "ca",
                              .certificates = {kFront, kClient},
                              .life_ms = kLifeMs,
                              .authority_life_ms = kAuthorityLifeMs};
};

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

TEST_F(CertificateKeeperTest, WithoutAUsableAuthorityNothingIsWritten) {
  Round();
  clock_.Advance(kLifeMs);
  const auto refused = [&](const tls::KeyPair& pair) {
    Put("ca", pair);
    const std::int64_t version = client_.version();
    const auto report = Round();
    EXPECT_THAT(Told(report), ElementsAre("ca CertificateNotRenewed"));
    EXPECT_EQ(client_.version(), version);
    return report.notices.empty() ? "" : report.notices[0].note;
  };
  EXPECT_THAT(refused({Pem("ca"), Foreign().key_pem}), HasSubstr("does not belong"));
  EXPECT_THAT(refused({Foreign().certificate_pem, ""}), HasSubstr("data.tls.key"));
  EXPECT_THAT(refused({Pem("front"), Pem("front", "tls.key")}), HasSubstr("is not an authority's"));
}

TEST_F(CertificateKeeperTest, ADeletedAuthorityIsTrustedUntilItsCertificatesAreRenewed) {
  PutWebhook();
  Round();
  const std::string old = Pem("ca"), leaf = Pem("front");
  Remove("ca");
  EXPECT_THAT(Told(Round()), ElementsAre("ca CertificateMade"));
  EXPECT_EQ(Pem("front"), leaf) << "kube-scheduler knows the old authority alone until it restarts";
  for (const char* secret : {"front", "client"}) EXPECT_EQ(Pem(secret, "ca.crt"), Pem("ca") + old);
  EXPECT_EQ(BundleOfWebhook(), Base64Encode(Pem("ca") + old));
  clock_.Advance(kLifeMs / 3 * 2);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "client CertificateRenewed"));
  EXPECT_TRUE(SignedBy("front", Pem("ca")));
  EXPECT_EQ(Pem("client", "ca.crt"), Pem("ca") + old);
  // After a theft of the key nothing of it stays.
  for (const char* secret : {"ca", "front", "client"}) Remove(secret);
  Round();
  for (const char* secret : {"front", "client"}) EXPECT_EQ(Pem(secret, "ca.crt"), Pem("ca"));
  EXPECT_EQ(BundleOfWebhook(), Base64Encode(Pem("ca")));
}

TEST_F(CertificateKeeperTest, AnAuthorityThatIsDueIsTrustedLongBeforeItSigns) {
  Round();
  const std::string old = Pem("ca");
  clock_.Advance(kAuthorityLifeMs / 3 * 2 - kDayMs);
  Round();
  EXPECT_EQ(Pem("ca"), old);
  clock_.Advance(2 * kDayMs);
  const auto report = Round();
  EXPECT_THAT(Told(report), ElementsAre("front CertificateRenewed", "client CertificateRenewed",
                                        "ca AuthorityRenewed"));
  EXPECT_THAT(report.notices.back().note, HasSubstr("restart it before"));
  EXPECT_EQ(report.again_ms, 0);
  EXPECT_NE(Pem("ca"), old);
  const std::int64_t renewed_ms = clock_.WallMs();
  EXPECT_THAT(Told(Round()), IsEmpty());
  for (const char* secret : {"front", "client"}) {
    EXPECT_TRUE(SignedBy(secret, old));
    EXPECT_EQ(Pem(secret, "ca.crt"), Pem("ca") + old);
  }
  while (SignedBy("front", old)) {
    clock_.Advance(kDayMs);
    Round();
  }
  EXPECT_GE(clock_.WallMs(), renewed_ms + kLifeMs / 3 * 2);
  EXPECT_TRUE(SignedBy("front", Pem("ca")) && SignedBy("client", Pem("ca")));
}

// One certificate at least still has to be renewed by the old authority.
TEST_F(CertificateKeeperTest, AnAuthorityIsNotReplacedWhileACertificateCannotBeRenewed) {
  Round();
  const std::string old = Pem("ca");
  clock_.Advance(kAuthorityLifeMs / 3 * 2);
  client_.FailNext(kube::Verb::kPatch, "secrets", absl::UnavailableError("down"));
  EXPECT_THAT(Told(Round()),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_EQ(Pem("ca"), old);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "ca AuthorityRenewed"));
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

// Whatever answers are lost and whoever leads, there is one authority, and all trust it.
TEST_F(CertificateKeeperTest, LostAnswersAndTwoLeadersEndInOneAuthority) {
  PutWebhook();
  for (int lost = 0; lost < 5; ++lost) {
    for (const kube::FaultWhen when :
         {kube::FaultWhen::kBeforeEffect, kube::FaultWhen::kAfterEffect}) {
      for (const char* secret : {"ca", "front", "client"}) {
        (void)client_.Delete({kSecrets, "ym", secret, ""}, {});
      }
      int writes = 0;
      // The other leader acts in between, before each write of this one.
      client_.SetHook([&](const kube::Call& call) {
        if (call.verb != kube::Verb::kCreate && call.verb != kube::Verb::kPatch) {
          return absl::OkStatus();
        }
        if (writes++ == lost) {
          client_.FailNext(call.verb, "*", absl::UnavailableError("lost"), 1, when);
          if (lost % 2 == 0) {
            CertificateKeeper(client_, secrets_).RunOnce(clock_.WallMs());
          }
        }
        return absl::OkStatus();
      });
      Round();
      client_.SetHook({});
      // A fault that no call has used up.
      for (int i = 0; i < 3; ++i) Round();
      const std::string authority = Pem("ca");
      EXPECT_TRUE(SignedBy("front", authority) && SignedBy("client", authority)) << lost;
      for (const char* secret : {"front", "client"}) {
        EXPECT_THAT(Pem(secret, "ca.crt"), testing::StartsWith(authority)) << lost;
      }
      EXPECT_EQ(BundleOfWebhook(), Base64Encode(Pem("front", "ca.crt"))) << lost;
      EXPECT_THAT(Round().notices, IsEmpty()) << lost;
    }
  }
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
