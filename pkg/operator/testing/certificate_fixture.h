// Certificates of an operator in a cluster in memory. TESTONLY. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/certificate_keeper.h"

namespace yardmaster::op {

// An operator that makes an authority, a server's certificate and a client's in an empty namespace.
class CertificateFixture : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  static constexpr std::int64_t kLifeMs = 90 * tls::kDayMs;
  static constexpr std::int64_t kAuthorityLifeMs = 3000 * tls::kDayMs;
  static inline const kube::Resource kSecrets = {"", "v1", "secrets", "Secret", true};
  static inline const kube::Resource kWebhooks = {"admissionregistration.k8s.io", "v1",
                                                  "mutatingwebhookconfigurations",
                                                  "MutatingWebhookConfiguration", false};
  static inline const CertificateSpec kFront = {.secret = "front",
                                                .common_name = "front",
                                                .server = true,
                                                .dns_names = {"front.ym.svc", "front.ym"},
                                                .ip_addresses = {"10.0.0.7", "fd00::1"}};
  static inline const CertificateSpec kClient = {
      .secret = "client", .common_name = "kube-scheduler", .client = true};

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
  // After this the authority is a new one, in the Secret as in every ca.crt. Returns the old one.
  std::string ReplaceAuthority() {
    Round();
    const std::string old = Pem("ca");
    clock_.Advance(kAuthorityLifeMs / 3 * 2);
    Round();
    EXPECT_NE(Pem("ca"), old);
    Round();
    return old;
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

}  // namespace yardmaster::op
