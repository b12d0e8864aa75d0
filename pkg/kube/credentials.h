// The identity of this process for the API server, kept fresh: token files, certificates and
// authorities are read again when they change, exec plugins are run again before what they gave
// expires.
//
// A renewal that fails leaves the last good answer in use. Two exceptions: the answer of an exec
// plugin is not used after it expires or is rejected, and an empty token file is an error.
// Thread safety: all methods from any thread. A call may wait for an exec plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client_config.h"
#include "pkg/kube/exec_plugin.h"
#include "pkg/kube/file_cache.h"
#include "pkg/kube/tls_material.h"

namespace yardmaster::kube {

class Credentials {
 public:
  // `clock` must outlive the credentials. From `stop` on no call waits for an exec plugin; one that
  // runs is killed. REQUIRES: ValidateClientConfig(config).ok().
  Credentials(ClientConfig config, const Clock& clock, std::stop_token stop = {});

  // The value for the Authorization header; empty if none is to be sent.
  absl::StatusOr<std::string> Authorization();
  // Authorities to trust and the certificate to show. Checked: what does not parse or does not
  // belong together is not given out.
  absl::StatusOr<TlsMaterial> Tls();
  // Call it when the server answers 401 to a request with this header (or with the certificate,
  // when it is empty): the next calls read the files again. They also run the plugin again, unless
  // it has given another token since.
  void Reject(const std::string& authorization);

 private:
  absl::StatusOr<std::string> AuthorizationLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<TlsMaterial> LoadTlsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there is a credential of the exec plugin that does not expire within `ms`.
  bool HasExecFor(std::int64_t ms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<ExecCredential> ExecLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClientConfig config_;
  const Clock& clock_;
  const std::stop_token stop_;
  Mutex mutex_;
  FileCache token_file_ ABSL_GUARDED_BY(mutex_);
  FileCache ca_file_ ABSL_GUARDED_BY(mutex_);
  FileCache cert_file_ ABSL_GUARDED_BY(mutex_);
  FileCache key_file_ ABSL_GUARDED_BY(mutex_);
  std::optional<ExecCredential> exec_ ABSL_GUARDED_BY(mutex_);
  absl::Status exec_error_ ABSL_GUARDED_BY(mutex_);
  std::int64_t exec_error_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last checked: what was read, and what of it was good.
  std::optional<TlsMaterial> tls_read_ ABSL_GUARDED_BY(mutex_);
  absl::StatusOr<TlsMaterial> tls_good_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::kube
