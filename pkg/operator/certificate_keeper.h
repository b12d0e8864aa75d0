// Makes the certificates between our processes and renews them in their Secrets, signed by an
// authority in another Secret of the namespace, which it makes, too.
//
// A Secret that is absent is made, with tls.crt, tls.key and, but for the authority's, ca.crt, and
// the label kOursLabel. A certificate is renewed when it is due (tls/renewal.h) and when its names
// are not those of the spec, with a new key. Secrets without the label whose certificate the
// authority has not signed are not the operator's: they are reported and not changed. In ours, what
// cannot be read is made again, but for the authority, which has to be deleted.
//
// The authority lives long, because kube-scheduler reads it at its start only. When it is due,
// every certificate is first renewed by it, and only then is it replaced. Its Secret keeps the
// former one (kFormerCertificate, kFormerKey), which signs until those certificates are due, two
// thirds of a certificate's life later; only then does the new one sign. Every ca.crt has both, the
// new one first. So a peer that has read the former one alone and a peer that has read both accept
// each certificate of that time, also one whose names change, or whose Secret is deleted or
// damaged. Then the former key is removed from the Secret. The former certificate is trusted until
// it ends, and then removed, too.
//
// An authority whose Secret was deleted is replaced, too, but its key is lost: the certificates
// that it has signed stay until they are due, and what has to be signed before is signed by the new
// one, which kube-scheduler trusts after its next start.
//
// A webhook's caBundle follows the ca.crt of the first certificate.
//
// Only Get, Create and Patch of the named Secrets, never a list: RBAC can name them for all but
// Create. A patch carries the version that was read, so that no other write is overwritten, and a
// Create that finds an object is a failure of this round: the next one reads what is there. So two
// leaders, or a lost answer, end in one authority.
//
// Thread safety: one thread. Lifetimes: the client outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/base/run_once.h"
#include "pkg/kube/client.h"
#include "pkg/operator/certificate_spec.h"
#include "pkg/tls/authority.h"

namespace yardmaster::op {

// On a Secret: its content is the operator's to overwrite.
inline constexpr char kOursLabel[] = "yardmaster.dev/certificates";
inline constexpr char kOursValue[] = "operator";
// In the authority's Secret: the authority before it, and its key while it signs. What cannot be
// read there counts as none.
inline constexpr char kFormerCertificate[] = "former.crt";
inline constexpr char kFormerKey[] = "former.key";

struct CertificateSecrets {
  std::string namespace_name = {};
  std::string authority = {};                      // a Secret's name
  std::vector<CertificateSpec> certificates = {};  // empty: nothing is made
  std::string webhook = {};  // a MutatingWebhookConfiguration's name; empty: none
  std::int64_t life_ms = 365 * tls::kDayMs;
  std::int64_t authority_life_ms = 3650 * tls::kDayMs;
};

struct CertificateNotice {
  bool warning = false;
  std::string object = {};  // the Secret's name, or the webhook's
  std::string uid = {};     // empty: the object could not be read
  std::string reason = {};
  std::string note = {};
};

class CertificateKeeper {
 public:
  // Failures are those of the objects.
  struct Report : RunResult {
    std::vector<CertificateNotice> notices;       // each certificate made, and each failure
    std::map<std::string, std::int64_t> ends_ms;  // by Secret: when its certificate ends
  };

  CertificateKeeper(kube::Client& client, CertificateSecrets secrets)
      : client_(client), secrets_(std::move(secrets)) {}

  // Looks at every object once. One that fails does not keep the others waiting; without a usable
  // authority no other is looked at. Reads 1 + certificates + webhook, writes what is due.
  Report RunOnce(std::int64_t now_ms);

 private:
  struct Authority;
  struct Held;
  struct Round;

  absl::StatusOr<Held> Read(const std::string& secret);
  absl::StatusOr<std::string> Create(const std::string& secret, const tls::KeyPair& pair,
                                     const std::string& trusted_pem);
  absl::Status Write(const std::string& secret, const Held& held, const nlohmann::json& data);
  absl::StatusOr<Held> ReadOrMakeAuthority(Round& round);
  absl::Status RenewAuthority(const Held& authority, Round& round);
  // Removes what is left of the former authority and of no use any more.
  absl::Status CleanFormer(const Held& authority, Round& round);
  // Whether the former authority, if there is one, signs what `authority` would sign.
  bool FormerSigns(const Held& authority, std::int64_t now_ms) const;
  // When a new authority begins to sign, if it was made at `made_ms` and replaced `former`.
  std::int64_t SignsFromMs(std::int64_t made_ms, const Authority& former) const;
  // Returns the Secret's ca.crt.
  absl::StatusOr<std::string> MakeOrRenew(const CertificateSpec& spec, const Held& authority,
                                          Round& round);
  absl::Status UpdateWebhook(const std::string& trusted_pem, Round& round);

  kube::Client& client_;
  const CertificateSecrets secrets_;
};

}  // namespace yardmaster::op
