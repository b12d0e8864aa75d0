#include "pkg/metrics/health.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::metrics {

void Health::AddLiveness(std::string name, Check check) {
  liveness_.emplace_back(std::move(name), std::move(check));
}

void Health::AddReadiness(std::string name, Check check) {
  readiness_.emplace_back(std::move(name), std::move(check));
}

void Health::Run(const Checks& checks, HealthReport& report) {
  for (const auto& [name, check] : checks) {
    const absl::Status status = check();
    if (status.ok()) {
      report.text += StrCat("[+]", name, " ok\n");
    } else {
      report.ok = false;
      report.text += StrCat("[-]", name, " failed: ", MessageOf(status), "\n");
    }
  }
}

HealthReport Health::Liveness() const {
  HealthReport report;
  Run(liveness_, report);
  return report;
}

HealthReport Health::Readiness() const {
  HealthReport report = Liveness();
  Run(readiness_, report);
  return report;
}

}  // namespace yardmaster::metrics
