#include "pkg/kube/lease.h"

#include <algorithm>
#include <utility>

namespace yardmaster::kube {

LeaderElector::LeaderElector(Client& client, LeaseOptions options, LeaderCallbacks callbacks,
                             Timing timing)
    : options_(options),
      callbacks_(std::move(callbacks)),
      timing_(timing),
      lock_(client, std::move(options), timing.clock),
      random_(timing.seed) {}

LeaderElector::~LeaderElector() { Stop(); }

void LeaderElector::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
}

void LeaderElector::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void LeaderElector::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const absl::Status status = lock_.Tick();
    if (!status.ok() && callbacks_.failed) callbacks_.failed(status);
    ReportChanges();
    timing_.sleeper.Sleep(NextTickMs(), stop);
    ReportChanges();  // the hold may have run out meanwhile
  }
  if (reported_token_ == 0) return;
  reported_token_ = 0;
  if (callbacks_.stopped) callbacks_.stopped();
  const absl::Status released = lock_.Release();
  if (!released.ok() && callbacks_.failed) callbacks_.failed(released);
}

void LeaderElector::ReportChanges() {
  const std::string holder = lock_.Holder();
  if (holder != reported_holder_) {
    reported_holder_ = holder;
    if (callbacks_.holder_changed) callbacks_.holder_changed(holder);
  }
  const std::int64_t token = lock_.FencingToken();
  if (token == reported_token_) return;
  if (std::exchange(reported_token_, 0) != 0 && callbacks_.stopped) callbacks_.stopped();
  reported_token_ = token;
  if (token != 0 && callbacks_.started) callbacks_.started(token);
}

std::int64_t LeaderElector::NextTickMs() {
  if (!lock_.IsLeader()) {
    // Spread, so that the candidates do not all write at the same instant.
    return options_.retry_period_ms +
           static_cast<std::int64_t>(
               random_.Below(static_cast<std::uint64_t>(options_.retry_period_ms) * 6 / 5 + 1));
  }
  const std::int64_t left_ms = lock_.ValidUntilMs() - timing_.clock.SteadyMs();
  return std::clamp<std::int64_t>(left_ms, 0, options_.retry_period_ms);
}

}  // namespace yardmaster::kube
