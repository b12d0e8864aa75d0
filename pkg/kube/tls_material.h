// Certificates and keys of a client connection, as PEM texts, checked before they are used.
// Thread safety: values and pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace yardmaster::kube {

struct TlsMaterial {
  std::string ca_pem;    // authorities to trust, one or more
  std::string cert_pem;  // own certificate, then its chain; empty: none
  std::string key_pem;
  friend bool operator==(const TlsMaterial&, const TlsMaterial&) = default;
};

// OK if every part that is not empty parses and key and certificate belong together; else
// InvalidArgument naming the part. A bundle of certificates of which one is damaged is refused, as
// OpenSSL refuses such a file, and the error says which: otherwise a server whose authority is the
// damaged one would be unknown, without a reason. Text between certificates is ignored.
absl::Status CheckTlsMaterial(const TlsMaterial& material);

// Makes `context` trust exactly the authorities of `material`, show its certificate, and refuse
// TLS below 1.2. Parts of `material` that are empty leave the context as it is. Errors as
// CheckTlsMaterial's.
absl::Status ApplyTlsMaterial(const TlsMaterial& material, ssl_ctx_st* context);

}  // namespace yardmaster::kube
