#include "pkg/tls/authority.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/tls/certificate.h"
#include "pkg/tls/certificate_names.h"

namespace yardmaster::tls {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000'000;

KeyPair Authority() {
  const auto authority =
      MakeAuthority({.common_name = "ym-ca", .now_ms = kNow, .valid_ms = 30 * kDayMs});
  EXPECT_TRUE(authority.ok()) << authority.status();
  return *authority;
}

TEST(Authority, AnIssuedCertificateSaysWhatWasAskedFor) {
  const auto pair = Issue(Authority(), {.common_name = "extender",
                                        .organizations = {"system:a", "system:b"},
                                        .dns_names = {"extender.yardmaster-system.svc", "*.x"},
                                        .ip_addresses = {"10.0.0.1", "fd00::1"},
                                        .server = true,
                                        .now_ms = kNow,
                                        .valid_ms = 10 * kDayMs});
  ASSERT_TRUE(pair.ok()) << pair.status();
  const auto parsed = ParseCertificate(pair->certificate_pem);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->names.common_name, "extender");
  EXPECT_THAT(parsed->names.organizations, ElementsAre("system:a", "system:b"));
  EXPECT_THAT(parsed->names.dns_names, ElementsAre("extender.yardmaster-system.svc", "*.x"));
  EXPECT_THAT(parsed->names.ip_addresses, ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_FALSE(parsed->is_ca);
  EXPECT_EQ(parsed->not_before_ms, kNow - kClockSkewMs);
  EXPECT_EQ(parsed->not_after_ms, kNow + 10 * kDayMs);
  EXPECT_TRUE(CheckKeyMatches(pair->certificate_pem, pair->key_pem).ok());
}

TEST(Authority, IsAnAuthorityAndIssuesNothingThatOutlivesIt) {
  const KeyPair authority = Authority();
  const auto parsed = ParseCertificate(authority.certificate_pem);
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->is_ca);
  const auto pair = Issue(authority, {.common_name = "x", .client = true, .now_ms = kNow});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(ParseCertificate(pair->certificate_pem)->not_after_ms, parsed->not_after_ms);
}

TEST(Authority, TwoCertificatesNeverShareAKey) {
  const KeyPair authority = Authority();
  const CertificateRequest request = {.common_name = "x", .client = true, .now_ms = kNow};
  const auto one = Issue(authority, request);
  const auto two = Issue(authority, request);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->key_pem, two->key_pem);
  EXPECT_FALSE(CheckKeyMatches(one->certificate_pem, two->key_pem).ok());
}

TEST(Authority, BadRequestsAreRefusedByField) {
  const KeyPair authority = Authority();
  const auto message = [&](auto change) {
    CertificateRequest request = {.common_name = "x", .server = true, .now_ms = kNow};
    change(request);
    return MessageOf(Issue(authority, request).status());
  };
  EXPECT_THAT(message([](auto& r) { r.common_name = ""; }), HasSubstr("common_name: "));
  EXPECT_THAT(message([](auto& r) { r.common_name = std::string(65, 'x'); }),
              HasSubstr("common_name: "));
  EXPECT_THAT(message([](auto& r) { r.organizations = {""}; }), HasSubstr("organizations: "));
  EXPECT_THAT(message([](auto& r) { r.dns_names = {"a,IP:1.2.3.4"}; }), HasSubstr("dns_names: "));
  EXPECT_THAT(message([](auto& r) { r.ip_addresses = {"10.0.0"}; }), HasSubstr("ip_addresses: "));
  EXPECT_THAT(message([](auto& r) { r.valid_ms = 999; }), HasSubstr("valid_ms: "));
  EXPECT_THAT(message([](auto& r) { r.server = false; }), HasSubstr("server, client: "));
  KeyPair mixed = authority;
  mixed.key_pem = Authority().key_pem;
  EXPECT_FALSE(Issue(mixed, {.common_name = "x", .server = true, .now_ms = kNow}).ok());
}

TEST(Certificate, DamagedTextsAreRefusedWithAReason) {
  const KeyPair authority = Authority();
  EXPECT_THAT(MessageOf(ParseCertificate("").status()), HasSubstr("holds no certificate"));
  EXPECT_THAT(MessageOf(ParseCertificate("hello").status()), HasSubstr("holds no certificate"));
  EXPECT_THAT(MessageOf(ParseCertificate(authority.key_pem).status()),
              HasSubstr("holds no certificate"));
  std::string damaged = authority.certificate_pem;
  damaged[100] = '!';
  EXPECT_THAT(MessageOf(ParseCertificate(damaged).status()), HasSubstr("damaged"));
  EXPECT_THAT(MessageOf(ParseCertificate(authority.certificate_pem + damaged).status()),
              HasSubstr("certificate 2 is damaged"));
  EXPECT_THAT(MessageOf(CheckKeyMatches(authority.certificate_pem, "")),
              HasSubstr("not a usable private key"));
}

TEST(MergeTrusted, ThePresentAuthorityComesFirstAndThoseBeforeUntilTheyEnd) {
  const std::string now_pem = Authority().certificate_pem;
  const std::string old_pem = Authority().certificate_pem;
  const auto merged = [&](const std::string& trusted, std::int64_t now_ms = kNow) {
    const auto pem = MergeTrusted(now_pem, trusted, now_ms);
    EXPECT_TRUE(pem.ok()) << pem.status();
    return pem.value_or("");
  };
  for (const std::string& unusable : {std::string(), std::string("junk"), old_pem.substr(0, 99)}) {
    EXPECT_EQ(merged(unusable), now_pem);
  }
  EXPECT_EQ(merged(old_pem), now_pem + old_pem);
  EXPECT_EQ(merged(merged(old_pem)), now_pem + old_pem) << "merged twice";
  EXPECT_EQ(merged(old_pem + "\n# a comment\n" + now_pem), now_pem + old_pem);
  EXPECT_EQ(merged(old_pem, kNow + 31 * kDayMs), now_pem) << "it has ended";
  std::string many = old_pem;
  for (int i = 0; i < 5; ++i) many += Authority().certificate_pem;
  const std::string kept = merged(many);
  EXPECT_THAT(kept, testing::StartsWith(now_pem + old_pem));
  std::size_t certificates = 0;
  for (std::size_t at = 0; (at = kept.find("-----BEGIN", at)) != kept.npos; ++at) ++certificates;
  EXPECT_EQ(certificates, kMaxTrusted);
  EXPECT_FALSE(MergeTrusted("junk", old_pem, kNow).ok());
}

TEST(AllowedNamesTest, CommonAndDnsNamesCountLetterByLetter) {
  const CertificateNames names{.common_name = "kube-scheduler", .dns_names = {"s.local"}};
  EXPECT_TRUE(HasAllowedName(names, {"x", "kube-scheduler"}));
  EXPECT_TRUE(HasAllowedName(names, {"s.local"}));
  EXPECT_TRUE(HasAllowedName(names, {"*"}));
  for (const char* other : {"", "kube", "KUBE-SCHEDULER", "local", "*.local"}) {
    EXPECT_FALSE(HasAllowedName(names, {other})) << other;
  }
  EXPECT_FALSE(HasAllowedName(names, {}));
  EXPECT_FALSE(HasAllowedName({}, {"", "kube-scheduler"}));
}

}  // namespace
}  // namespace yardmaster::tls
