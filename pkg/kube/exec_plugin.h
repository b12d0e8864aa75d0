// Credentials printed by a program: the exec protocol of client.authentication.k8s.io, versions v1
// and v1beta1. The clouds' own command lines work this way.
// Thread safety: pure functions of the system; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/kube/client_config.h"

namespace yardmaster::kube {

struct ExecCredential {
  std::string token;
  std::string client_cert_pem;
  std::string client_key_pem;
  std::optional<std::int64_t> expires_wall_ms;
};

// The JSON for the variable KUBERNETES_EXEC_INFO.
std::string ExecInfo(const ClientConfig& config);

// What the program printed. Errors: InvalidArgument if it is not an ExecCredential of the version
// asked for, carries neither a token nor a certificate with its key, or has an expirationTimestamp
// that is not a time.
absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view output,
                                                   std::string_view api_version);

// Runs the program, until `stop` at most, and reads its answer. On any failure Unauthenticated,
// with the program's own words and the install hint.
absl::StatusOr<ExecCredential> RunExecPlugin(const ClientConfig& config, std::int64_t timeout_ms,
                                             const std::stop_token& stop);

}  // namespace yardmaster::kube
