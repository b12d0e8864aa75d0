#include <utility>

#include "pkg/app/kube_access.h"
#include "pkg/base/status.h"

namespace yardmaster::app {

namespace {
// A renewal is one call every two seconds.
constexpr double kLeaseQps = 10;
constexpr int kLeaseBurst = 10;
}  // namespace

Leadership::Leadership(const LeaderOptions& options, Runtime& runtime)
    : options_(options), runtime_(runtime) {}

Leadership::~Leadership() { Stop(); }

absl::Status Leadership::Start(KubeAccess& access) {
  if (!options_.enabled) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(client_, access.NewClient(kLeaseQps, kLeaseBurst));
  kube::LeaseOptions lease;
  lease.ns = options_.resource_namespace;
  lease.name = options_.resource_name;
  lease.identity = runtime_.identity();
  YM_RETURN_IF_ERROR(kube::ValidateLeaseOptions(lease));
  const metrics::Gauge leading = runtime_.registry().GetGauge(
      "leader_election_master_status", "1 while this process leads", {{"name", lease.name}});
  kube::LeaderCallbacks callbacks;
  callbacks.started = [this, leading](std::int64_t token) {
    leading.Set(1);
    runtime_.log().Info("leading", {{"fencing_token", token}});
  };
  callbacks.stopped = [this, leading] {
    leading.Set(0);
    runtime_.log().Info("no longer leading");
  };
  callbacks.failed = [this](const absl::Status& status) {
    runtime_.log().Warn("lease", {{"error", MessageOf(status)}});
  };
  elector_ = std::make_unique<kube::LeaderElector>(*client_, std::move(lease), std::move(callbacks),
                                                   runtime_.timing());
  elector_->Start();
  return absl::OkStatus();
}

void Leadership::Stop() {
  if (elector_) elector_->Stop();
}

}  // namespace yardmaster::app
