#include "pkg/app/leadership.h"

#include <utility>
#include <vector>

#include "pkg/base/status.h"

namespace yardmaster::app {

namespace {

// A renewal is one call every two seconds, and a candidate reads the Lease at every renewal. A call
// ends within half of the renew deadline (10 s), so that a lost one leaves time for another. While
// the Lease is held, a watch of it brings something every two seconds.
constexpr ClientLimits kLeaseLimits{.qps = 20,
                                    .burst = 20,
                                    .call_deadline_ms = 4'500,
                                    .attempt_deadline_ms = 2'000,
                                    .watch_idle_ms = 10'000};

}  // namespace

Leadership::Leadership(const LeaderOptions& options, Runtime& runtime)
    : options_(options), runtime_(runtime) {}

Leadership::~Leadership() { Stop(); }

absl::Status Leadership::Start(KubeAccess& access) {
  if (options_.enabled) YM_RETURN_IF_ERROR(StartElector(access));
  // Asked at every scrape, because a hold also ends by the clock, while the elector waits for an
  // answer.
  runtime_.registry().AddGaugeSource(
      "leader_election_master_status", "1 while this process leads", [this] {
        return std::vector<metrics::Sample>{
            {{{"name", options_.resource_name}}, IsLeader() ? 1.0 : 0.0}};
      });
  return absl::OkStatus();
}

absl::Status Leadership::StartElector(KubeAccess& access) {
  YM_ASSIGN_OR_RETURN(client_, access.NewClient(kLeaseLimits));
  kube::LeaseOptions lease;
  lease.ns = options_.resource_namespace;
  lease.name = options_.resource_name;
  lease.identity = runtime_.identity();
  lease.watch = true;
  YM_RETURN_IF_ERROR(kube::ValidateLeaseOptions(lease));
  kube::LeaderCallbacks callbacks;
  callbacks.started = [this](std::int64_t token) {
    runtime_.log().Info("leading", {{"fencing_token", token}});
  };
  callbacks.stopped = [this] { runtime_.log().Info("no longer leading"); };
  callbacks.failed = [this](const absl::Status& status) {
    runtime_.log().Warn("lease", {{"error", MessageOf(status)}});
  };
  elector_ = std::make_unique<kube::LeaderElector>(*client_, std::move(lease), std::move(callbacks),
                                                   runtime_.timing());
  elector_->Start();
  return absl::OkStatus();
}

void Leadership::Stop() {
  stopped_ = true;
  if (elector_) elector_->Stop();
}

std::int64_t Leadership::FencingToken() const {
  if (stopped_) return 0;
  if (!options_.enabled) return own_token_;
  return elector_ == nullptr ? 0 : elector_->FencingToken();
}

void Leadership::RequireTokenAbove(std::int64_t token) {
  runtime_.log().Warn("a Gang has a fencing token that this process's hold is not above",
                      {{"fencing_token", token}});
  if (elector_ != nullptr) return elector_->RequireTokenAbove(token);
  std::int64_t own = own_token_;
  while (own <= token && !own_token_.compare_exchange_weak(own, token + 1)) {
  }
}

}  // namespace yardmaster::app
