// Renews certificates in their Secrets, signed by the authority in another Secret of the namespace.
//
// The Secrets are those that the chart makes: tls.crt, tls.key and ca.crt; of the authority tls.crt
// and tls.key. tls/renewal.h decides what is due; this class reads, signs and writes. A renewed
// certificate has the names and usages of the one before and a new key. The authority and every
// ca.crt stay as they are, so that both sides accept old and new certificates. What cannot be read,
// belongs to another authority or is gone is reported and left alone.
//
// Only Get and Patch of the named Secrets, never a list: RBAC can name them. A patch tests the
// version that was read, so that no other write is overwritten; a Secret that has changed meanwhile
// is reported and read again by the next round.
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
#include "pkg/tls/authority.h"
#include "pkg/tls/certificate.h"

namespace yardmaster::op {

struct CertificateSecrets {
  std::string namespace_name = {};
  std::string authority = {};                  // a Secret's name
  std::vector<std::string> certificates = {};  // names of Secrets; empty: nothing is renewed
  std::int64_t life_ms = 365 * tls::kDayMs;    // of a renewed certificate
};

struct CertificateNotice {
  bool warning = false;
  std::string secret = {};
  std::string uid = {};  // empty: the Secret could not be read
  std::string reason = {};
  std::string note = {};
};

class CertificateKeeper {
 public:
  // Failures are those of Secrets.
  struct Report : RunResult {
    std::vector<CertificateNotice> notices;       // each renewal and each failure
    std::map<std::string, std::int64_t> ends_ms;  // by Secret: when its certificate ends
  };

  CertificateKeeper(kube::Client& client, CertificateSecrets secrets)
      : client_(client), secrets_(std::move(secrets)) {}

  // Looks at every Secret once. One that fails does not keep the others waiting; without a usable
  // authority no other is looked at. Reads 1 + certificates, writes what is due.
  Report RunOnce(std::int64_t now_ms);

 private:
  struct Held {
    std::string version = {};
    tls::KeyPair pair = {};
    tls::Certificate certificate = {};
  };

  // `uid` is set as soon as it is known. Errors: of the call, or of what the Secret holds.
  absl::StatusOr<Held> Read(const std::string& secret, std::string& uid);
  absl::Status RenewIfDue(const std::string& secret, const Held& authority, std::int64_t now_ms,
                          std::string& uid, Report& report);
  absl::Status Write(const std::string& secret, const std::string& version,
                     const tls::KeyPair& pair);

  kube::Client& client_;
  const CertificateSecrets secrets_;
};

}  // namespace yardmaster::op
