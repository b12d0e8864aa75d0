#include "pkg/operator/certificate_keeper.h"

#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/write_target.h"
#include "pkg/tls/renewal.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kRenewed[] = "CertificateRenewed";
constexpr char kNotRenewed[] = "CertificateNotRenewed";

kube::Resource Secrets() { return {"", "v1", "secrets", "Secret", true}; }

absl::StatusOr<std::string> Decoded(const json& secret, const char* key) {
  const std::string text = kube::StringAt(secret, {"data", key});
  if (text.empty()) {
    return FieldError(StrCat("data.", key), "is missing", "delete the Secret and upgrade by helm");
  }
  auto decoded = Base64Decode(text);
  YM_RETURN_IF_ERROR(Annotate(decoded.status(), StrCat("data.", key)));
  return decoded;
}

absl::StatusOr<tls::KeyPair> Renewed(const tls::KeyPair& authority, const tls::Certificate& old,
                                     std::int64_t now_ms, std::int64_t life_ms) {
  return tls::Issue(authority, {.common_name = old.names.common_name,
                                .organizations = old.names.organizations,
                                .dns_names = old.names.dns_names,
                                .ip_addresses = old.names.ip_addresses,
                                .server = old.for_servers,
                                .client = old.for_clients,
                                .now_ms = now_ms,
                                .valid_ms = life_ms});
}

}  // namespace

absl::StatusOr<CertificateKeeper::Held> CertificateKeeper::Read(const std::string& secret,
                                                                std::string& uid) {
  YM_ASSIGN_OR_RETURN(const json object,
                      client_.Get({Secrets(), secrets_.namespace_name, secret, ""}));
  Held held;
  uid = kube::UidOf(object);
  held.version = kube::ResourceVersionOf(object);
  YM_ASSIGN_OR_RETURN(held.pair.certificate_pem, Decoded(object, "tls.crt"));
  YM_ASSIGN_OR_RETURN(held.pair.key_pem, Decoded(object, "tls.key"));
  YM_RETURN_IF_ERROR(tls::CheckKeyMatches(held.pair.certificate_pem, held.pair.key_pem));
  YM_ASSIGN_OR_RETURN(held.certificate, tls::ParseCertificate(held.pair.certificate_pem));
  return held;
}

absl::Status CertificateKeeper::Write(const std::string& secret, const std::string& version,
                                      const tls::KeyPair& pair) {
  const json operations = {
      {{"op", "test"}, {"path", "/metadata/resourceVersion"}, {"value", version}},
      {{"op", "replace"}, {"path", "/data/tls.crt"}, {"value", Base64Encode(pair.certificate_pem)}},
      {{"op", "replace"}, {"path", "/data/tls.key"}, {"value", Base64Encode(pair.key_pem)}}};
  return client_
      .Patch({Secrets(), secrets_.namespace_name, secret, ""}, kube::JsonPatch(operations),
             {.field_manager = kFieldManager})
      .status();
}

absl::Status CertificateKeeper::RenewIfDue(const std::string& secret, const Held& authority,
                                           std::int64_t now_ms, std::string& uid, Report& report) {
  YM_ASSIGN_OR_RETURN(const Held held, Read(secret, uid));
  report.ends_ms[secret] = held.certificate.not_after_ms;
  const bool issued =
      tls::CheckIssuedBy(held.pair.certificate_pem, authority.pair.certificate_pem).ok();
  const tls::Renewal renewal =
      tls::DecideRenewal(held.certificate, issued, authority.certificate, secrets_.life_ms, now_ms);
  if (renewal == tls::Renewal::kKeep) return absl::OkStatus();
  if (renewal != tls::Renewal::kRenew)
    return absl::FailedPreconditionError(StrCat(NameOf(renewal)));
  YM_ASSIGN_OR_RETURN(const tls::KeyPair pair,
                      Renewed(authority.pair, held.certificate, now_ms, secrets_.life_ms));
  YM_ASSIGN_OR_RETURN(const tls::Certificate made, tls::ParseCertificate(pair.certificate_pem));
  YM_RETURN_IF_ERROR(Write(secret, held.version, pair));
  ++report.done;
  report.ends_ms[secret] = made.not_after_ms;
  report.notices.push_back({false, secret, uid, kRenewed,
                            StrCat("valid until ", FormatTime(made.not_after_ms),
                                   ", signed by the authority in ", secrets_.authority)});
  return absl::OkStatus();
}

CertificateKeeper::Report CertificateKeeper::RunOnce(std::int64_t now_ms) {
  Report report;
  std::string uid;
  const auto tell = [&](const std::string& secret, const absl::Status& status) {
    if (status.ok()) return;
    report.Fail(secret, status);
    report.notices.push_back({true, secret, uid, kNotRenewed, MessageOf(status)});
  };
  auto authority = Read(secrets_.authority, uid);
  if (authority.ok() && !authority->certificate.is_ca) {
    authority = FieldError("data.tls.crt", "is not an authority's", "put an authority there");
  }
  tell(secrets_.authority, authority.status());
  if (!authority.ok()) return report;
  report.ends_ms[secrets_.authority] = authority->certificate.not_after_ms;
  for (const std::string& secret : secrets_.certificates) {
    uid.clear();
    tell(secret, Contain([&] { return RenewIfDue(secret, *authority, now_ms, uid, report); }));
  }
  return report;
}

}  // namespace yardmaster::op
