// Certificate files that other programs replace while we run (a mounted Secret, cert-manager). The
// files are read again at every Poll and compared by content, which also sees the symbolic link
// swap of a mounted Secret. Content is used only when certificate and key fit together; while they
// do not (a rotation half done, a damaged file), the last good content stays in use.
//
// Thread safety: Poll and Start/Stop from one thread; the callbacks run on the thread that polls.
// Lifetime: what the callbacks refer to must outlive Stop.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yardmaster::tls {

struct CertificatePaths {
  std::string certificate = {};
  std::string key = {};
  std::string client_ca = {};  // may be empty: none
};

struct CertificateFiles {
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::string client_ca_pem = {};

  bool operator==(const CertificateFiles&) const = default;
};

// Reads and checks them. NotFound or InvalidArgument naming the file and what is wrong with it.
absl::StatusOr<CertificateFiles> ReadCertificateFiles(const CertificatePaths& paths);

class CertificateWatcher {
 public:
  struct Callbacks {
    // Puts new, checked content to use (Server::SetTls). Not OK: the content is treated as bad.
    std::function<absl::Status(const CertificateFiles&)> apply;
    // Called when new content is in use (OK), and when the reason why it is not changes.
    std::function<void(const absl::Status&)> report;
  };

  CertificateWatcher(CertificatePaths paths, Callbacks callbacks);
  CertificateWatcher(const CertificateWatcher&) = delete;
  CertificateWatcher& operator=(const CertificateWatcher&) = delete;
  ~CertificateWatcher() { Stop(); }

  // Looks once. OK: the content on disk is in use. Call it before Start, where an error means that
  // there is nothing to serve with; not after it.
  absl::Status Poll();

  // Polls on a thread of its own every `period_ms` until Stop. Kubelet needs up to a minute to
  // renew a mounted Secret, so 10'000 is plenty.
  void Start(std::int64_t period_ms);
  void Stop();

 private:
  absl::Status Look();
  void Run(std::int64_t period_ms, const std::stop_token& stop);

  const CertificatePaths paths_;
  const Callbacks callbacks_;
  CertificateFiles in_use_;
  absl::Status reported_;
  std::jthread thread_;
};

}  // namespace yardmaster::tls
