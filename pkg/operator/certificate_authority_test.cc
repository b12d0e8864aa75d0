// The life of the authority itself.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/strings.h"
#include "pkg/operator/certificate_keeper.h"
#include "pkg/operator/testing/certificate_fixture.h"

namespace yardmaster::op {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tls::kDayMs;

using CertificateAuthorityTest = CertificateFixture;

TEST_F(CertificateAuthorityTest, WithoutAUsableAuthorityNothingIsWritten) {
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

TEST_F(CertificateAuthorityTest, ADeletedAuthorityIsTrustedUntilItsCertificatesAreRenewed) {
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

TEST_F(CertificateAuthorityTest, AnAuthorityThatIsDueIsTrustedLongBeforeItSigns) {
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
  EXPECT_EQ(report.notices.back().uid,
            kube::StringAt(*client_.Find(kSecrets, "ym", "ca"), {"metadata", "uid"}));
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

// kube-scheduler knows the old authority alone until it restarts; who starts afterwards trusts
// both.
TEST_F(CertificateAuthorityTest, TheFormerAuthoritySignsUntilTheDateOfTheEvent) {
  PutWebhook();
  const std::string old = ReplaceAuthority();
  const std::int64_t replaced_ms = clock_.WallMs();
  const std::string both = Pem("ca") + old;
  const auto change = [&] {
    Remove("client");
    json damaged = *client_.Find(kSecrets, "ym", "front");
    damaged["data"]["ca.crt"] = Base64Encode("nothing");
    client_.Seed(kSecrets, damaged);
    secrets_.certificates[0].dns_names.push_back(
        StrCat("n", secrets_.certificates[0].dns_names.size(), ".example"));
    EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "client CertificateMade"));
    for (const char* secret : {"front", "client"}) EXPECT_EQ(Pem(secret, "ca.crt"), both) << secret;
    EXPECT_EQ(BundleOfWebhook(), Base64Encode(both));
    EXPECT_THAT(Round().notices, IsEmpty());
  };
  change();
  EXPECT_TRUE(SignedBy("front", old) && SignedBy("client", old));
  clock_.Advance(kLifeMs / 3 * 2 - 1'000);
  change();
  EXPECT_TRUE(SignedBy("front", old) && SignedBy("client", old));
  clock_.Advance(1'000);
  change();
  EXPECT_TRUE(SignedBy("front", Pem("ca")) && SignedBy("client", Pem("ca")));
  EXPECT_EQ(clock_.WallMs(), replaced_ms + kLifeMs / 3 * 2);
  // Nothing signed by the former one is left when it ends, and then nobody trusts it.
  clock_.Advance(kAuthorityLifeMs / 3);
  Round();
  for (const char* secret : {"front", "client"}) EXPECT_EQ(Pem(secret, "ca.crt"), Pem("ca"));
}

TEST_F(CertificateAuthorityTest, TheFormerKeyGoesWhenItSignsNoMoreAndTheCertificateWhenItEnds) {
  const std::string old = ReplaceAuthority();
  const std::int64_t replaced_ms = clock_.WallMs();
  EXPECT_NE(Pem("ca", kFormerKey), "");
  clock_.Advance(kLifeMs / 3 * 2 - 1'000);
  Round();
  EXPECT_NE(Pem("ca", kFormerKey), "");
  clock_.Advance(1'000);
  client_.FailNext(kube::Verb::kPatch, "secrets", absl::UnavailableError("down"), 3);
  EXPECT_FALSE(Round().ok());
  EXPECT_NE(Pem("ca", kFormerKey), "") << "the next round tries again";
  Round();
  const json secret = *client_.Find(kSecrets, "ym", "ca");
  EXPECT_FALSE(secret["data"].contains(kFormerKey));
  EXPECT_EQ(Pem("ca", kFormerCertificate), old);
  EXPECT_TRUE(SignedBy("ca", Pem("ca")));
  // A Secret that is deleted afterwards trusts both, as the peers that have read the former alone.
  Remove("front");
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateMade"));
  EXPECT_EQ(Pem("front", "ca.crt"), Pem("ca") + old);
  EXPECT_TRUE(SignedBy("front", Pem("ca")));
  std::int64_t version = client_.version();
  EXPECT_TRUE(Round().ok());
  EXPECT_EQ(client_.version(), version) << "once";
  clock_.Advance(tls::ParseCertificate(old)->not_after_ms - clock_.WallMs());
  Round();
  EXPECT_EQ(Pem("ca", kFormerCertificate), "");
  EXPECT_GT(clock_.WallMs(), replaced_ms);
  version = client_.version();
  EXPECT_TRUE(Round().ok());
  EXPECT_EQ(client_.version(), version);
}

// An administrator's Secret.
TEST_F(CertificateAuthorityTest, AFormerKeyInASecretOfOthersStays) {
  ReplaceAuthority();
  json secret = *client_.Find(kSecrets, "ym", "ca");
  secret["metadata"].erase("labels");
  client_.Seed(kSecrets, secret);
  clock_.Advance(kLifeMs / 3 * 2);
  EXPECT_TRUE(Round().ok());
  EXPECT_NE(Pem("ca", kFormerKey), "");
}

TEST_F(CertificateAuthorityTest, ADamagedFormerAuthorityIsNone) {
  const std::string old = ReplaceAuthority();
  const json secret = *client_.Find(kSecrets, "ym", "ca");
  const tls::KeyPair leaf = {Pem("front"), Pem("front", "tls.key")};
  for (const auto& [certificate, key] :
       std::vector<std::pair<std::string, std::string>>{{old, Foreign().key_pem},
                                                        {"nothing", "nothing"},
                                                        {leaf.certificate_pem, leaf.key_pem}}) {
    json damaged = secret;
    damaged["data"][kFormerCertificate] = Base64Encode(certificate);
    damaged["data"][kFormerKey] = Base64Encode(key);
    client_.Seed(kSecrets, damaged);
    Remove("front");
    EXPECT_THAT(Told(Round()), ElementsAre("front CertificateMade"));
    EXPECT_TRUE(SignedBy("front", Pem("ca")));
    EXPECT_EQ(Pem("front", "ca.crt"), Pem("ca"));
  }
}

// As helm made it: without the label. The operator renewed it and added none.
TEST_F(CertificateAuthorityTest, WhatTheFormerAuthorityHasSignedIsRenewedWhoeverMadeIt) {
  Round();
  json front = *client_.Find(kSecrets, "ym", "front");
  front["metadata"].erase("labels");
  client_.Seed(kSecrets, front);
  ReplaceAuthority();
  EXPECT_TRUE(Round().ok());
  clock_.Advance(kLifeMs / 3 * 2);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "client CertificateRenewed"));
  EXPECT_TRUE(SignedBy("front", Pem("ca")));
}

TEST_F(CertificateAuthorityTest, ALostAnswerAboutTheNewAuthorityLosesNoFormerOne) {
  Round();
  const std::string old = Pem("ca");
  clock_.Advance(kAuthorityLifeMs / 3 * 2);
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == kube::Verb::kPatch && call.target.name == "ca") {
      client_.FailNext(kube::Verb::kPatch, "*", absl::UnavailableError("lost"), 1,
                       kube::FaultWhen::kAfterEffect);
    }
    return absl::OkStatus();
  });
  EXPECT_FALSE(Round().ok());
  client_.SetHook({});
  Remove("front");
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateMade"));
  EXPECT_TRUE(SignedBy("front", old));
  EXPECT_EQ(Pem("front", "ca.crt"), Pem("ca") + old);
}

// One certificate at least still has to be renewed by the old authority.
TEST_F(CertificateAuthorityTest, AnAuthorityIsNotReplacedWhileACertificateCannotBeRenewed) {
  Round();
  const std::string old = Pem("ca");
  clock_.Advance(kAuthorityLifeMs / 3 * 2);
  client_.FailNext(kube::Verb::kPatch, "secrets", absl::UnavailableError("down"));
  EXPECT_THAT(Told(Round()),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_EQ(Pem("ca"), old);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed", "ca AuthorityRenewed"));
}

// Whatever answers are lost and whoever leads, there is one authority, and all trust it.
TEST_F(CertificateAuthorityTest, LostAnswersAndTwoLeadersEndInOneAuthority) {
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

}  // namespace
}  // namespace yardmaster::op
