// CertificateRenewal is the operator's thread that creates and renews certificates
// (op::CertificateKeeper) while this replica leads. It reports a failure once, and again when its
// text changes; every failure is counted.
//
// Thread safety: Start and Stop from one thread. Lifetimes: everything passed in outlives the
// object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

#include "pkg/app/kube_access.h"
#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/events.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/certificate_keeper.h"

namespace yardmaster::app {

struct CertificateOptions {
  op::CertificateSecrets secrets;
  std::vector<std::string> certificates;  // in the form that ParseCertificateSpec reads
  int life_days = 365;
  int authority_life_days = 3650;
  std::int64_t check_ms = 60'000;
};

class CertificateRenewal {
 public:
  CertificateRenewal(const CertificateOptions& options, const Leadership& leadership,
                     kube::EventRecorder& events, Runtime& runtime)
      : options_(options),
        leadership_(leadership),
        events_(events),
        runtime_(runtime),
        loop_("certificates", runtime.registry(), runtime.log()) {}

  // Has no effect without certificates. Errors: contradicting flags, or no client.
  absl::Status Start(KubeAccess& access);
  void Stop();

 private:
  void Run(const op::CertificateSecrets& secrets, const std::stop_token& stop);
  RunResult RunOnce(op::CertificateKeeper& keeper);
  absl::StatusOr<op::CertificateSecrets> ReadOptions() const;
  void ReportNotice(const op::CertificateNotice& notice);
  void AddMetrics();

  const CertificateOptions& options_;
  const Leadership& leadership_;
  kube::EventRecorder& events_;
  Runtime& runtime_;
  metrics::Loop loop_;
  std::unique_ptr<kube::Client> client_;
  std::map<std::string, std::string> reported_;  // used by the thread: failure by object
  Mutex mutex_;
  std::map<std::string, std::int64_t> ends_ms_ ABSL_GUARDED_BY(mutex_);  // by Secret
  std::jthread thread_;
};

}  // namespace yardmaster::app
