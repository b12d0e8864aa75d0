#include "pkg/tls/certificate_watcher.h"

#include <chrono>
#include <fstream>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/run_once.h"
#include "pkg/base/status.h"
#include "pkg/tls/certificate.h"

namespace yardmaster::tls {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(path + ": cannot be opened");
  std::string text;
  // Of a folder the iterator of a stream's buffer throws; getline says that it is bad.
  std::getline(file, text, '\0');
  if (file.bad()) return absl::NotFoundError(path + ": cannot be read");
  return text;
}

absl::Status Check(const CertificatePaths& paths, const CertificateFiles& files) {
  const auto certificate = ParseCertificate(files.certificate_pem);
  YM_RETURN_IF_ERROR(Annotate(certificate.status(), paths.certificate));
  YM_RETURN_IF_ERROR(Annotate(CheckKeyMatches(files.certificate_pem, files.key_pem), paths.key));
  if (paths.client_ca.empty()) return absl::OkStatus();
  return Annotate(ParseCertificate(files.client_ca_pem).status(), paths.client_ca);
}

}  // namespace

absl::StatusOr<CertificateFiles> ReadCertificateFiles(const CertificatePaths& paths) {
  CertificateFiles files;
  YM_ASSIGN_OR_RETURN(files.certificate_pem, ReadFile(paths.certificate));
  YM_ASSIGN_OR_RETURN(files.key_pem, ReadFile(paths.key));
  if (!paths.client_ca.empty()) {
    YM_ASSIGN_OR_RETURN(files.client_ca_pem, ReadFile(paths.client_ca));
  }
  YM_RETURN_IF_ERROR(Check(paths, files));
  return files;
}

CertificateWatcher::CertificateWatcher(CertificatePaths paths, Callbacks callbacks)
    : paths_(std::move(paths)), callbacks_(std::move(callbacks)) {}

absl::Status CertificateWatcher::Look() {
  YM_ASSIGN_OR_RETURN(CertificateFiles files, ReadCertificateFiles(paths_));
  if (files == in_use_) return absl::OkStatus();
  YM_RETURN_IF_ERROR(callbacks_.apply(files));
  in_use_ = std::move(files);
  callbacks_.report(absl::OkStatus());
  return absl::OkStatus();
}

absl::Status CertificateWatcher::Poll() {
  absl::Status status = Contain([&] { return Look(); });
  if (!status.ok() && status != reported_) callbacks_.report(status);
  reported_ = status;
  return status;
}

void CertificateWatcher::Start(std::int64_t period_ms) {
  thread_ = std::jthread([this, period_ms](const std::stop_token& stop) { Run(period_ms, stop); });
}

void CertificateWatcher::Run(std::int64_t period_ms, const std::stop_token& stop) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  while (!never.wait_for(lock, stop, std::chrono::milliseconds(period_ms),
                         [&] { return stop.stop_requested(); })) {
    // An error has been reported and the last good content stays.
    Poll().IgnoreError();
  }
}

void CertificateWatcher::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace yardmaster::tls
