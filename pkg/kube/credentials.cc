#include "pkg/kube/credentials.h"

#include <utility>

#include "pkg/base/base64.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/process_env.h"

namespace yardmaster::kube {
namespace {

constexpr std::int64_t kExecTimeoutMs = 60'000;
// Renewed this long before it expires.
constexpr std::int64_t kExpiryLeewayMs = 10'000;
// A plugin that has just failed is not run again for every request.
constexpr std::int64_t kExecErrorHoldMs = 5'000;

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

absl::StatusOr<std::string> DataOrFile(const std::string& data, FileCache& file) {
  if (!data.empty() || file.path().empty()) return data;
  return file.Read();
}

}  // namespace

Credentials::Credentials(ClientConfig config, const Clock& clock, std::stop_token stop)
    : config_(std::move(config)),
      clock_(clock),
      stop_(std::move(stop)),
      token_file_(config_.token_file, clock),
      ca_file_(
          config_.ca_file.empty() && config_.ca_data.empty() && !config_.insecure_skip_tls_verify
              ? SystemCertificatesPath()
              : config_.ca_file,
          clock),
      cert_file_(config_.client_cert_file, clock),
      key_file_(config_.client_key_file, clock),
      tls_good_(absl::UnavailableError("no certificates read yet")) {}

absl::StatusOr<std::string> Credentials::Authorization() {
  MutexLock lock(mutex_);
  return AuthorizationLocked();
}

absl::StatusOr<std::string> Credentials::AuthorizationLocked() {
  std::string token = config_.token;
  if (!config_.token_file.empty()) {
    absl::StatusOr<std::string> content = token_file_.Read();
    if (!content.ok()) {
      return absl::UnauthenticatedError(StrCat("tokenFile: ", MessageOf(content.status())));
    }
    token = Trimmed(*content);
    if (token.empty()) {
      return absl::UnauthenticatedError(StrCat("tokenFile: ", config_.token_file, " is empty"));
    }
  } else if (token.empty() && !config_.username.empty()) {
    return StrCat("Basic ", Base64Encode(StrCat(config_.username, ":", config_.password)));
  } else if (token.empty() && !config_.exec.command.empty()) {
    YM_ASSIGN_OR_RETURN(const ExecCredential credential, ExecLocked());
    token = Trimmed(credential.token);
  }
  if (token.empty()) return std::string();
  for (char c : token) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return absl::UnauthenticatedError("the token has a control character in it");
    }
  }
  return StrCat("Bearer ", token);
}

absl::StatusOr<TlsMaterial> Credentials::Tls() {
  MutexLock lock(mutex_);
  absl::StatusOr<TlsMaterial> read = LoadTlsLocked();
  if (!read.ok()) return tls_good_.ok() ? tls_good_ : read;
  if (tls_read_ != *read) {
    tls_read_ = *read;
    const absl::Status checked = CheckTlsMaterial(*read);
    if (checked.ok()) {
      tls_good_ = *read;
    } else if (!tls_good_.ok()) {
      tls_good_ = checked;
    }
  }
  return tls_good_;
}

absl::StatusOr<TlsMaterial> Credentials::LoadTlsLocked() {
  TlsMaterial material;
  YM_ASSIGN_OR_RETURN(material.ca_pem, DataOrFile(config_.ca_data, ca_file_));
  YM_ASSIGN_OR_RETURN(material.cert_pem, DataOrFile(config_.client_cert_data, cert_file_));
  YM_ASSIGN_OR_RETURN(material.key_pem, DataOrFile(config_.client_key_data, key_file_));
  if (material.cert_pem.empty() && !config_.exec.command.empty()) {
    YM_ASSIGN_OR_RETURN(const ExecCredential credential, ExecLocked());
    material.cert_pem = credential.client_cert_pem;
    material.key_pem = credential.client_key_pem;
  }
  return material;
}

bool Credentials::HasExecFor(std::int64_t ms) const {
  return exec_ && (!exec_->expires_wall_ms || clock_.WallMs() + ms < *exec_->expires_wall_ms);
}

absl::StatusOr<ExecCredential> Credentials::ExecLocked() {
  if (HasExecFor(kExpiryLeewayMs)) return *exec_;
  const bool failed_lately =
      !exec_error_.ok() && clock_.SteadyMs() - exec_error_ms_ < kExecErrorHoldMs;
  if (!failed_lately) {
    absl::StatusOr<ExecCredential> credential = RunExecPlugin(config_, kExecTimeoutMs, stop_);
    exec_error_ = credential.status();
    exec_error_ms_ = clock_.SteadyMs();
    if (credential.ok()) exec_ = *std::move(credential);
  }
  if (exec_error_.ok() || HasExecFor(0)) return *exec_;
  return exec_error_;
}

void Credentials::Reject(const std::string& authorization) {
  MutexLock lock(mutex_);
  if (!config_.exec.command.empty()) {
    const bool same = exec_ && (authorization.empty() ||
                                authorization == StrCat("Bearer ", Trimmed(exec_->token)));
    if (same) exec_.reset();
  }
  token_file_.Forget();
  ca_file_.Forget();
  cert_file_.Forget();
  key_file_.Forget();
}

}  // namespace yardmaster::kube
