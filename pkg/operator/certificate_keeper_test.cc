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
const kube::Resource kSecrets = {"", "v1", "secrets", "Secret", true};

// Three Secrets as the chart makes them: an authority, a server's certificate and a client's.
class CertificateKeeperTest : public testing::Test {
 protected:
  CertificateKeeperTest() : authority_(Authority("ca")) {
    Put("ca", authority_);
    Put("front", *tls::Issue(authority_, {.common_name = "front",
                                          .dns_names = {"front.ym.svc", "front.ym"},
                                          .ip_addresses = {"10.0.0.7", "fd00::1"},
                                          .server = true,
                                          .client = true,
                                          .now_ms = clock_.WallMs(),
                                          .valid_ms = kLifeMs}));
    Put("client", *tls::Issue(authority_, {.common_name = "kube-scheduler",
                                           .organizations = {"a", "b"},
                                           .client = true,
                                           .now_ms = clock_.WallMs(),
                                           .valid_ms = kLifeMs}));
  }

  tls::KeyPair Authority(const std::string& name) const {
    return *tls::MakeAuthority({.common_name = name, .now_ms = clock_.WallMs()});
  }
  void Put(const std::string& name, const tls::KeyPair& pair) {
    client_.Seed(kSecrets, {{"metadata", {{"name", name}, {"namespace", "ym"}, {"uid", name}}},
                            {"data",
                             {{"ca.crt", Base64Encode(authority_.certificate_pem)},
                              {"tls.crt", Base64Encode(pair.certificate_pem)},
                              {"tls.key", Base64Encode(pair.key_pem)}}}});
  }
  tls::KeyPair Held(const std::string& name) const {
    const json object = *client_.Find(kSecrets, "ym", name);
    return {*Base64Decode(object["data"]["tls.crt"].get<std::string>()),
            *Base64Decode(object["data"]["tls.key"].get<std::string>())};
  }
  tls::Certificate Parsed(const std::string& name) const {
    return *tls::ParseCertificate(Held(name).certificate_pem);
  }
  CertificateKeeper::Report Round() {
    CertificateKeeper keeper(client_, {"ym", "ca", {"front", "client"}, kLifeMs});
    return keeper.RunOnce(clock_.WallMs());
  }
  static std::vector<std::string> Told(const CertificateKeeper::Report& report) {
    std::vector<std::string> out;
    for (const auto& notice : report.notices) out.push_back(notice.secret + " " + notice.reason);
    return out;
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  tls::KeyPair authority_;
};

TEST_F(CertificateKeeperTest, RenewsAtTwoThirdsOfALifeNotBeforeAndOnce) {
  clock_.Advance(kLifeMs / 3 * 2 - 1'000);
  const std::int64_t version = client_.version();
  const auto early = Round();
  EXPECT_THAT(early.notices, IsEmpty());
  EXPECT_EQ(early.ends_ms.at("front"), Parsed("front").not_after_ms);
  EXPECT_EQ(early.ends_ms.at("ca"), Parsed("ca").not_after_ms);
  EXPECT_EQ(client_.version(), version);
  clock_.Advance(1'000);
  const auto report = Round();
  ASSERT_THAT(Told(report), ElementsAre("front CertificateRenewed", "client CertificateRenewed"));
  EXPECT_EQ(report.notices[0].uid, "front");
  EXPECT_EQ(client_.version(), version + 2);
  EXPECT_EQ(Parsed("front").not_after_ms, clock_.WallMs() + kLifeMs);
  EXPECT_EQ(report.ends_ms.at("front"), clock_.WallMs() + kLifeMs);
  EXPECT_THAT(Round().notices, IsEmpty());
  EXPECT_EQ(client_.version(), version + 2);
}

TEST_F(CertificateKeeperTest, KeepsNamesUsagesAndTheAuthorityAndChangesTheKey) {
  const tls::Certificate front = Parsed("front"), scheduler = Parsed("client");
  const tls::KeyPair old = Held("front");
  clock_.Advance(kLifeMs);
  Round();
  EXPECT_EQ(Parsed("front").names, front.names);
  EXPECT_EQ(Parsed("client").names, scheduler.names);
  EXPECT_TRUE(Parsed("front").for_servers && Parsed("front").for_clients);
  EXPECT_TRUE(!Parsed("client").for_servers && Parsed("client").for_clients);
  EXPECT_NE(Held("front").key_pem, old.key_pem);
  EXPECT_TRUE(tls::CheckKeyMatches(Held("front").certificate_pem, Held("front").key_pem).ok());
  EXPECT_TRUE(tls::CheckIssuedBy(Held("front").certificate_pem, authority_.certificate_pem).ok());
  EXPECT_EQ(Held("ca").key_pem, authority_.key_pem);
  EXPECT_EQ((*client_.Find(kSecrets, "ym", "front"))["data"]["ca.crt"],
            Base64Encode(authority_.certificate_pem));
}

TEST_F(CertificateKeeperTest, ASecretThatIsGoneDoesNotKeepTheOthersWaiting) {
  ASSERT_TRUE(client_.Delete({kSecrets, "ym", "front", ""}, {}).ok());
  clock_.Advance(kLifeMs);
  const auto report = Round();
  ASSERT_THAT(Told(report),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_TRUE(report.notices[0].warning);
  EXPECT_EQ(report.ends_ms.count("front"), 0U);
  EXPECT_FALSE(client_.Find(kSecrets, "ym", "front").has_value()) << "it may not make Secrets";
}

TEST_F(CertificateKeeperTest, WithoutAUsableAuthorityNothingIsWritten) {
  clock_.Advance(kLifeMs);
  const auto refused = [&](const tls::KeyPair& pair) {
    Put("ca", pair);
    const std::int64_t version = client_.version();
    const auto report = Round();
    EXPECT_THAT(Told(report), ElementsAre("ca CertificateNotRenewed"));
    EXPECT_EQ(client_.version(), version);
    return report.notices.empty() ? "" : report.notices[0].note;
  };
  EXPECT_THAT(refused({authority_.certificate_pem, Authority("ca").key_pem}),
              HasSubstr("does not belong to the certificate"));
  EXPECT_THAT(refused({authority_.certificate_pem, ""}), HasSubstr("data.tls.key"));
  EXPECT_THAT(refused(Held("front")), HasSubstr("is not an authority's"));
}

TEST_F(CertificateKeeperTest, WhatAnotherAuthorityHasSignedIsLeftAlone) {
  Put("ca", Authority("ca"));
  clock_.Advance(kLifeMs);
  const std::int64_t version = client_.version();
  const auto report = Round();
  ASSERT_THAT(Told(report),
              ElementsAre("front CertificateNotRenewed", "client CertificateNotRenewed"));
  EXPECT_EQ(report.notices[0].note, "signed by another authority");
  EXPECT_EQ(client_.version(), version);
}

TEST_F(CertificateKeeperTest, AWriteThatMetAnotherOneIsMadeAgainInTheNextRound) {
  clock_.Advance(kLifeMs);
  const tls::KeyPair theirs = *tls::Issue(authority_, {.common_name = "theirs",
                                                       .server = true,
                                                       .now_ms = clock_.WallMs() - kLifeMs,
                                                       .valid_ms = kLifeMs});
  bool met = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == kube::Verb::kPatch && call.target.name == "front" && !met) {
      met = true;
      Put("front", theirs);
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(Told(Round()),
              ElementsAre("front CertificateNotRenewed", "client CertificateRenewed"));
  EXPECT_EQ(Held("front").key_pem, theirs.key_pem);
  EXPECT_THAT(Told(Round()), ElementsAre("front CertificateRenewed"));
  EXPECT_EQ(Parsed("front").names.common_name, "theirs");
}

TEST_F(CertificateKeeperTest, NothingIsReadButTheNamedSecrets) {
  clock_.Advance(kLifeMs);
  client_.ClearCalls();
  Round();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "secrets"), 3);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "secrets"), 2);
  EXPECT_EQ(client_.calls().size(), 5U);
}

}  // namespace
}  // namespace yardmaster::op
