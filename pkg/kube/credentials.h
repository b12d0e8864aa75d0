// Who this process is to the API server, kept fresh: token files, certificates and authorities are
// read again when they change, exec plugins are run again before what they gave expires.
//
// A renewal that fails leaves the last good answer in use for as long as the server takes it.
// Thread safety: all methods from any thread. A call may wait for an exec plugin.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/kube/client_config.h"
#include "pkg/kube/exec_plugin.h"
#include "pkg/kube/file_cache.h"
#include "pkg/kube/tls_material.h"

namespace yardmaster::kube {

class Credentials {
 public:
  // `clock` must outlive the credentials. REQUIRES: ValidateClientConfig(config).ok().
  Credentials(ClientConfig config, const Clock& clock);

  // The value for the Authorization header; empty if none is to be sent.
  absl::StatusOr<std::string> Authorization();
  // Authorities to trust and the certificate to show. Checked: what does not parse or does not
  // belong together is not given out.
  absl::StatusOr<TlsMaterial> Tls();
  // The server said 401 to a request with this header (or with the certificate, when it is empty):
  // the next calls look into the files, or run the plugin, again. Does nothing if that has happened
  // since.
  void Reject(const std::string& authorization);

 private:
  absl::StatusOr<std::string> AuthorizationLocked();
  absl::StatusOr<TlsMaterial> LoadTlsLocked();
  absl::StatusOr<ExecCredential> ExecLocked();

  const ClientConfig config_;
  const Clock& clock_;
  std::mutex mutex_;
  FileCache token_file_;
  FileCache ca_file_;
  FileCache cert_file_;
  FileCache key_file_;
  std::optional<ExecCredential> exec_;
  absl::Status exec_error_;
  std::int64_t exec_error_ms_ = 0;
  // Last checked: what was read, and what of it was good.
  std::optional<TlsMaterial> tls_read_;
  absl::StatusOr<TlsMaterial> tls_good_;
};

}  // namespace yardmaster::kube
