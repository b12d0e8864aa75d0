#include "pkg/app/certificate_renewal.h"

#include <algorithm>
#include <utility>

#include "pkg/app/announce.h"
#include "pkg/base/status.h"
#include "pkg/tls/authority.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kLeaderPollMs = 1'000;
// Something could not be read or written, or met another write.
constexpr std::int64_t kFailurePauseMs = 10'000;
constexpr char kRenewals[] = "yardmaster_operator_certificate_renewals_total";
constexpr char kRenewalsHelp[] =
    "certificates made and renewed, and looks at Secrets that failed, by result";

}  // namespace

void CertificateRenewal::AddMetrics() {
  for (const char* result : {"renewed", "failed"}) {
    runtime_.registry().GetCounter(kRenewals, kRenewalsHelp, {{"result", result}});
  }
  runtime_.registry().AddGaugeSource(
      "yardmaster_operator_certificate_expiry_timestamp_seconds",
      "Unix time at which the certificate of a Secret ends, by the leader", [this] {
        std::vector<metrics::Sample> out;
        const MutexLock lock(mutex_);
        for (const auto& [secret, ends_ms] : ends_ms_) {
          out.push_back({{{"secret", secret}}, static_cast<double>(ends_ms) / 1000.0});
        }
        return out;
      });
}

void CertificateRenewal::ReportNotice(const op::CertificateNotice& notice) {
  runtime_.registry()
      .GetCounter(kRenewals, kRenewalsHelp, {{"result", notice.warning ? "failed" : "renewed"}})
      .Increment();
  if (notice.warning && std::exchange(reported_[notice.object], notice.note) == notice.note) return;
  kube::ObjectReference object = {"v1", "Secret", options_.secrets.namespace_name, notice.object,
                                  notice.uid};
  if (notice.object == options_.secrets.webhook) {
    object = {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", notice.object,
              notice.uid};
  }
  Announce(object, notice, "RenewingCertificates", events_, runtime_.log());
}

RunResult CertificateRenewal::RunOnce(op::CertificateKeeper& keeper) {
  op::CertificateKeeper::Report report = keeper.RunOnce(runtime_.clock().WallMs());
  std::map<std::string, std::string> failures;
  for (const op::CertificateNotice& notice : report.notices) {
    ReportNotice(notice);
    if (notice.warning) failures[notice.object] = notice.note;
  }
  reported_ = std::move(failures);
  const MutexLock lock(mutex_);
  ends_ms_ = std::move(report.ends_ms);
  return report;
}

void CertificateRenewal::Run(const op::CertificateSecrets& secrets, const std::stop_token& stop) {
  op::CertificateKeeper keeper(*client_, secrets);
  std::int64_t wait_ms = 0;
  while (runtime_.timing().sleeper.Sleep(wait_ms, stop)) {
    wait_ms = kLeaderPollMs;
    if (!leadership_.IsLeader()) {
      const MutexLock lock(mutex_);
      ends_ms_.clear();  // another process looks at them
      continue;
    }
    const RunResult result = loop_.RunOnce([&] { return RunOnce(keeper); });
    wait_ms = result.again_ms.value_or(options_.check_ms);
    if (!result.ok()) wait_ms = std::min(wait_ms, kFailurePauseMs);
  }
}

absl::StatusOr<op::CertificateSecrets> CertificateRenewal::ReadOptions() const {
  op::CertificateSecrets secrets = options_.secrets;
  if (secrets.authority.empty() || secrets.namespace_name.empty()) {
    return FieldError("--certificate", "is given without the authority or its namespace",
                      "give --certificate-authority-secret and --certificate-namespace, too");
  }
  secrets.life_ms = options_.life_days * tls::kDayMs;
  secrets.authority_life_ms = options_.authority_life_days * tls::kDayMs;
  for (const std::string& text : options_.certificates) {
    YM_ASSIGN_OR_RETURN(op::CertificateSpec spec, op::ParseCertificateSpec(text));
    secrets.certificates.push_back(std::move(spec));
  }
  return secrets;
}

absl::Status CertificateRenewal::Start(KubeAccess& access) {
  if (options_.certificates.empty()) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(const op::CertificateSecrets secrets, ReadOptions());
  YM_ASSIGN_OR_RETURN(client_, access.NewClient({}));
  AddMetrics();
  thread_ = std::jthread([this, secrets](const std::stop_token& stop) { Run(secrets, stop); });
  return absl::OkStatus();
}

void CertificateRenewal::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace yardmaster::app
