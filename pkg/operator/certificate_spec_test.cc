#include "pkg/operator/certificate_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"

namespace yardmaster::op {
namespace {

TEST(CertificateSpecTest, NamesAndAddressesAreToldApart) {
  const auto spec = ParseCertificateSpec("front-tls/server/front/front.ym.svc,10.0.0.7,fd00::0:1");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, (CertificateSpec{.secret = "front-tls",
                                    .common_name = "front",
                                    .server = true,
                                    .dns_names = {"front.ym.svc"},
                                    .ip_addresses = {"10.0.0.7", "fd00::1"}}));
  for (const char* text : {"s/client/kube-scheduler", "s/client/kube-scheduler/"}) {
    EXPECT_EQ(*ParseCertificateSpec(text),
              (CertificateSpec{.secret = "s", .common_name = "kube-scheduler", .client = true}));
  }
}

TEST(CertificateSpecTest, WhatCannotBeUsedIsNamed) {
  const std::string long_name = "s/server/" + std::string(65, 'x');
  for (const std::string& text :
       {std::string(), std::string("s"), std::string("s/server"), std::string("/server/x"),
        std::string("s/both/x"), std::string("s/server/"), std::string("s/server/x/a,,b"),
        std::string("s/server/x/a/b"), long_name}) {
    const absl::Status status = ParseCertificateSpec(text).status();
    EXPECT_THAT(MessageOf(status), testing::HasSubstr("'" + text + "'")) << text;
  }
}

TEST(CertificateSpecTest, OtherNamesAreAnotherCertificate) {
  const CertificateSpec spec = *ParseCertificateSpec("s/server/x/a,b,10.0.0.1");
  tls::Certificate made;
  made.names = {.common_name = "x", .dns_names = {"b", "a"}, .ip_addresses = {"10.0.0.1"}};
  EXPECT_TRUE(IsFor(spec, made)) << "of both uses";
  const auto changed = [&](auto change) {
    tls::Certificate other = made;
    change(other);
    return IsFor(spec, other);
  };
  EXPECT_FALSE(changed([](auto& c) { c.names.dns_names.push_back("c"); }));
  EXPECT_FALSE(changed([](auto& c) { c.names.dns_names.pop_back(); }));
  EXPECT_FALSE(changed([](auto& c) { c.names.ip_addresses = {"10.0.0.2"}; }));
  EXPECT_FALSE(changed([](auto& c) { c.names.common_name = "y"; }));
  EXPECT_FALSE(changed([](auto& c) { c.names.uris = {"spiffe://x/y"}; }));
  EXPECT_FALSE(changed([](auto& c) { c.for_servers = false; }));
  EXPECT_TRUE(changed([](auto& c) { c.for_clients = false; }));
}

}  // namespace
}  // namespace yardmaster::op
