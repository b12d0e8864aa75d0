#include "pkg/operator/certificate_keeper.h"

#include <algorithm>
#include <optional>

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

constexpr char kMade[] = "CertificateMade";
constexpr char kRenewed[] = "CertificateRenewed";
constexpr char kNotRenewed[] = "CertificateNotRenewed";
constexpr char kAuthorityRenewed[] = "AuthorityRenewed";

kube::Resource Secrets() { return {"", "v1", "secrets", "Secret", true}; }
kube::Resource Webhooks() {
  return {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
          "MutatingWebhookConfiguration", false};
}

absl::StatusOr<std::string> Decoded(const json& secret, const char* key) {
  const std::string text = kube::StringAt(secret, {"data", key});
  if (text.empty()) return FieldError(StrCat("data.", key), "is missing", "delete the Secret");
  auto decoded = Base64Decode(text);
  YM_RETURN_IF_ERROR(Annotate(decoded.status(), StrCat("data.", key)));
  return decoded;
}

json DataOf(const tls::KeyPair& pair, const std::string& trusted_pem) {
  json data = json::object();
  if (!pair.key_pem.empty()) {
    data["tls.crt"] = Base64Encode(pair.certificate_pem);
    data["tls.key"] = Base64Encode(pair.key_pem);
  }
  if (!trusted_pem.empty()) data["ca.crt"] = Base64Encode(trusted_pem);
  return data;
}

// When it was made, as Issue has it.
std::int64_t MadeMs(const tls::Certificate& certificate) {
  return certificate.not_before_ms + tls::kClockSkewMs;
}

}  // namespace

struct CertificateKeeper::Authority {
  tls::KeyPair pair = {};
  tls::Certificate certificate = {};
};

// What a Secret has. `pair` and `certificate` only count where `problem` is OK.
struct CertificateKeeper::Held : Authority {
  std::string uid = {};
  std::string version = {};
  bool ours = false;
  std::string trusted_pem = {};
  absl::Status problem = {};
  std::optional<Authority> former = {};  // of an authority
};

struct CertificateKeeper::Round {
  std::int64_t now_ms;
  Report report = {};
  std::string uid = {};  // of the object that is handled, as soon as it is known
  // Certificates from before are renewed, because the authority is due.
  std::optional<std::int64_t> renew_before_ms = {};

  void Done(const std::string& object, const char* reason, std::int64_t end_ms,
            const std::string& more) {
    ++report.done;
    report.ends_ms[object] = end_ms;
    report.notices.push_back(
        {false, object, uid, reason, StrCat("valid until ", FormatTime(end_ms), more)});
  }
};

absl::StatusOr<CertificateKeeper::Held> CertificateKeeper::Read(const std::string& secret) {
  YM_ASSIGN_OR_RETURN(const json object,
                      client_.Get({Secrets(), secrets_.namespace_name, secret, ""}));
  Held held;
  held.uid = kube::UidOf(object);
  held.version = kube::ResourceVersionOf(object);
  held.ours = kube::StringAt(object, {"metadata", "labels", kOursLabel}) == kOursValue;
  held.trusted_pem = Decoded(object, "ca.crt").value_or("");
  const auto read = [&](const char* certificate, const char* key, Authority& into,
                        bool needs_key) -> absl::Status {
    YM_ASSIGN_OR_RETURN(into.pair.certificate_pem, Decoded(object, certificate));
    if (needs_key) {
      YM_ASSIGN_OR_RETURN(into.pair.key_pem, Decoded(object, key));
      YM_RETURN_IF_ERROR(tls::CheckKeyMatches(into.pair.certificate_pem, into.pair.key_pem));
    }
    YM_ASSIGN_OR_RETURN(into.certificate, tls::ParseCertificate(into.pair.certificate_pem));
    return absl::OkStatus();
  };
  held.problem = read("tls.crt", "tls.key", held, true);
  Authority former;
  const bool has_key = !kube::StringAt(object, {"data", kFormerKey}).empty();
  if (read(kFormerCertificate, kFormerKey, former, has_key).ok() && former.certificate.is_ca) {
    held.former = std::move(former);
  }
  return held;
}

absl::StatusOr<std::string> CertificateKeeper::Create(const std::string& secret,
                                                      const tls::KeyPair& pair,
                                                      const std::string& trusted_pem) {
  YM_ASSIGN_OR_RETURN(
      const json made,
      client_.Create(
          {Secrets(), secrets_.namespace_name, "", ""},
          {{"apiVersion", "v1"},
           {"kind", "Secret"},
           {"type", "kubernetes.io/tls"},
           {"metadata",
            {{"name", secret},
             {"namespace", secrets_.namespace_name},
             {"labels", {{"app.kubernetes.io/part-of", "yardmaster"}, {kOursLabel, kOursValue}}}}},
           {"data", DataOf(pair, trusted_pem)}},
          {.field_manager = kFieldManager}));
  return kube::UidOf(made);
}

absl::Status CertificateKeeper::Write(const std::string& secret, const Held& held,
                                      const json& data) {
  return client_
      .Patch({Secrets(), secrets_.namespace_name, secret, ""},
             kube::MergePatch({{"metadata", {{"resourceVersion", held.version}}}, {"data", data}}),
             {.field_manager = kFieldManager})
      .status();
}

absl::StatusOr<CertificateKeeper::Held> CertificateKeeper::ReadOrMakeAuthority(Round& round) {
  absl::StatusOr<Held> held = Read(secrets_.authority);
  if (absl::IsNotFound(held.status())) {
    Held made;
    made.ours = true;
    YM_ASSIGN_OR_RETURN(made.pair, tls::MakeAuthority({.common_name = secrets_.authority,
                                                       .now_ms = round.now_ms,
                                                       .valid_ms = secrets_.authority_life_ms}));
    YM_ASSIGN_OR_RETURN(made.certificate, tls::ParseCertificate(made.pair.certificate_pem));
    YM_ASSIGN_OR_RETURN(round.uid, Create(secrets_.authority, made.pair, ""));
    round.Done(secrets_.authority, kMade, made.certificate.not_after_ms, "");
    return made;
  }
  YM_RETURN_IF_ERROR(held.status());
  round.uid = held->uid;
  YM_RETURN_IF_ERROR(held->problem);
  if (!held->certificate.is_ca) {
    return FieldError("data.tls.crt", "is not an authority's", "put an authority there");
  }
  round.report.ends_ms[secrets_.authority] = held->certificate.not_after_ms;
  const std::int64_t due_ms = tls::DueMs(held->certificate, secrets_.authority_life_ms);
  if (held->ours && due_ms <= round.now_ms) round.renew_before_ms = due_ms;
  return held;
}

std::int64_t CertificateKeeper::SignsFromMs(std::int64_t made_ms, const Authority& former) const {
  return made_ms + std::min(secrets_.life_ms, former.certificate.not_after_ms - made_ms) / 3 * 2;
}

absl::Status CertificateKeeper::RenewAuthority(const Held& authority, Round& round) {
  YM_ASSIGN_OR_RETURN(const tls::KeyPair pair,
                      tls::MakeAuthority({.common_name = secrets_.authority,
                                          .now_ms = round.now_ms,
                                          .valid_ms = secrets_.authority_life_ms}));
  YM_ASSIGN_OR_RETURN(const tls::Certificate made, tls::ParseCertificate(pair.certificate_pem));
  json data = DataOf(pair, "");
  data[kFormerCertificate] = Base64Encode(authority.pair.certificate_pem);
  data[kFormerKey] = Base64Encode(authority.pair.key_pem);
  YM_RETURN_IF_ERROR(Write(secrets_.authority, authority, data));
  round.Done(secrets_.authority, kAuthorityRenewed, made.not_after_ms,
             StrCat("; kube-scheduler reads it at its start: restart it before ",
                    FormatTime(SignsFromMs(MadeMs(made), authority))));
  round.report.Again(0);  // every ca.crt gets it
  return absl::OkStatus();
}

bool CertificateKeeper::FormerSigns(const Held& authority, std::int64_t now_ms) const {
  return authority.former && !authority.former->pair.key_pem.empty() &&
         now_ms < SignsFromMs(MadeMs(authority.certificate), *authority.former);
}

absl::Status CertificateKeeper::CleanFormer(const Held& authority, Round& round) {
  if (!authority.ours || !authority.former || FormerSigns(authority, round.now_ms)) {
    return absl::OkStatus();
  }
  json data = json::object();
  if (!authority.former->pair.key_pem.empty()) data[kFormerKey] = nullptr;
  if (authority.former->certificate.not_after_ms <= round.now_ms) {
    data[kFormerCertificate] = nullptr;
  }
  if (data.empty()) return absl::OkStatus();
  YM_RETURN_IF_ERROR(Write(secrets_.authority, authority, data));
  ++round.report.done;
  return absl::OkStatus();
}

absl::StatusOr<std::string> CertificateKeeper::MakeOrRenew(const CertificateSpec& spec,
                                                           const Held& authority, Round& round) {
  const Authority* former = authority.former ? &*authority.former : nullptr;
  const Authority& signer = FormerSigns(authority, round.now_ms) ? *former : authority;
  const std::string& authority_pem = authority.pair.certificate_pem;
  const std::string former_pem = former != nullptr ? former->pair.certificate_pem : "";
  const auto issued = [&] {
    return tls::Issue(signer.pair, {.common_name = spec.common_name,
                                    .dns_names = spec.dns_names,
                                    .ip_addresses = spec.ip_addresses,
                                    .server = spec.server,
                                    .client = spec.client,
                                    .now_ms = round.now_ms,
                                    .valid_ms = secrets_.life_ms});
  };
  const auto done = [&](const tls::KeyPair& pair, const char* reason) -> absl::Status {
    YM_ASSIGN_OR_RETURN(const tls::Certificate made, tls::ParseCertificate(pair.certificate_pem));
    round.Done(spec.secret, reason, made.not_after_ms,
               StrCat(", signed by the authority in ", secrets_.authority));
    return absl::OkStatus();
  };
  const absl::StatusOr<Held> held = Read(spec.secret);
  if (absl::IsNotFound(held.status())) {
    YM_ASSIGN_OR_RETURN(const tls::KeyPair pair, issued());
    YM_ASSIGN_OR_RETURN(std::string trusted,
                        tls::MergeTrusted(authority_pem, former_pem, round.now_ms));
    YM_ASSIGN_OR_RETURN(round.uid, Create(spec.secret, pair, trusted));
    YM_RETURN_IF_ERROR(done(pair, kMade));
    return trusted;
  }
  YM_RETURN_IF_ERROR(held.status());
  round.uid = held->uid;
  if (!held->ours) {
    YM_RETURN_IF_ERROR(held->problem);
    const auto is_signed_by = [&](const std::string& pem) {
      return tls::CheckIssuedBy(held->pair.certificate_pem, pem).ok();
    };
    if (!is_signed_by(authority_pem) && !is_signed_by(former_pem)) {
      return absl::FailedPreconditionError("signed by another authority");
    }
  }
  // First by itself: what cannot be read there must not hide the former authority.
  YM_ASSIGN_OR_RETURN(const std::string known,
                      tls::MergeTrusted(authority_pem, held->trusted_pem, round.now_ms));
  YM_ASSIGN_OR_RETURN(const std::string trusted,
                      tls::MergeTrusted(authority_pem, StrCat(former_pem, known), round.now_ms));
  bool renew = !held->problem.ok() || !IsFor(spec, held->certificate);
  if (!renew) {
    round.report.ends_ms[spec.secret] = held->certificate.not_after_ms;
    const tls::Renewal renewal =
        tls::DecideRenewal(held->certificate, signer.certificate, secrets_.life_ms, round.now_ms);
    if (renewal == tls::Renewal::kAuthorityEnds && !authority.ours) {
      return absl::FailedPreconditionError("due, and the authority ends no later");
    }
    renew = renewal == tls::Renewal::kRenew ||
            MadeMs(held->certificate) < round.renew_before_ms.value_or(MadeMs(held->certificate));
  }
  tls::KeyPair pair;
  if (renew) {
    YM_ASSIGN_OR_RETURN(pair, issued());
  }
  if (renew || trusted != held->trusted_pem) {
    YM_RETURN_IF_ERROR(Write(spec.secret, *held, DataOf(pair, trusted)));
  }
  if (renew) {
    YM_RETURN_IF_ERROR(done(pair, kRenewed));
  }
  return trusted;
}

absl::Status CertificateKeeper::UpdateWebhook(const std::string& trusted_pem, Round& round) {
  const kube::Target target{Webhooks(), "", secrets_.webhook, ""};
  YM_ASSIGN_OR_RETURN(const json object, client_.Get(target));
  round.uid = kube::UidOf(object);
  json operations = {{{"op", "test"},
                      {"path", "/metadata/resourceVersion"},
                      {"value", kube::ResourceVersionOf(object)}}};
  const std::string bundle = Base64Encode(trusted_pem);
  const json webhooks = object.value("webhooks", json::array());
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (kube::StringAt(webhooks[i], {"clientConfig", "caBundle"}) == bundle) continue;
    operations.push_back({{"op", "add"},
                          {"path", StrCat("/webhooks/", i, "/clientConfig/caBundle")},
                          {"value", bundle}});
  }
  if (operations.size() == 1) return absl::OkStatus();
  YM_RETURN_IF_ERROR(
      client_.Patch(target, kube::JsonPatch(operations), {.field_manager = kFieldManager})
          .status());
  ++round.report.done;
  return absl::OkStatus();
}

CertificateKeeper::Report CertificateKeeper::RunOnce(std::int64_t now_ms) {
  Round round{.now_ms = now_ms};
  const auto check = [&](const std::string& object, const absl::Status& status) {
    if (status.ok()) return;
    round.report.Fail(object, status);
    round.report.notices.push_back({true, object, round.uid, kNotRenewed, MessageOf(status)});
  };
  const absl::StatusOr<Held> authority = ReadOrMakeAuthority(round);
  check(secrets_.authority, authority.status());
  if (!authority.ok()) return std::move(round.report);
  std::string trusted;
  for (const CertificateSpec& spec : secrets_.certificates) {
    round.uid.clear();
    check(spec.secret, Contain([&]() -> absl::Status {
            YM_ASSIGN_OR_RETURN(const std::string pem, MakeOrRenew(spec, *authority, round));
            if (&spec == &secrets_.certificates.front()) trusted = pem;
            return absl::OkStatus();
          }));
  }
  if (!secrets_.webhook.empty() && !trusted.empty()) {
    round.uid.clear();
    check(secrets_.webhook, Contain([&] { return UpdateWebhook(trusted, round); }));
  }
  if (round.renew_before_ms && round.report.ok()) {
    round.uid = authority->uid;
    check(secrets_.authority, Contain([&] { return RenewAuthority(*authority, round); }));
  } else {
    round.uid = authority->uid;
    check(secrets_.authority, Contain([&] { return CleanFormer(*authority, round); }));
  }
  return std::move(round.report);
}

}  // namespace yardmaster::op
