// Named checks of /healthz (if one fails, the kubelet restarts the process) and /readyz (while one
// fails, the process gets no traffic). Every probe calls the checks, so a check must be quick and
// must not wait.
// Thread safety: add checks before serving; the reports from any thread, so checks are called from
// several at once.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace yardmaster::metrics {

struct HealthReport {
  bool ok = true;
  // One line a check: "[+]informers ok", "[-]lease failed: not held".
  std::string text = {};
};

class Health {
 public:
  using Check = std::function<absl::Status()>;

  void AddLiveness(std::string name, Check check);
  void AddReadiness(std::string name, Check check);

  HealthReport Liveness() const;
  // Liveness checks count for readiness too.
  HealthReport Readiness() const;

 private:
  using Checks = std::vector<std::pair<std::string, Check>>;

  static void Run(const Checks& checks, HealthReport& report);

  Checks liveness_;
  Checks readiness_;
};

}  // namespace yardmaster::metrics
