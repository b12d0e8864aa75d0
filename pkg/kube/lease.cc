#include "pkg/kube/lease.h"

#include <algorithm>
#include <utility>

#include "pkg/base/run_once.h"

namespace yardmaster::kube {

LeaderElector::LeaderElector(Client& client, LeaseOptions options, LeaderCallbacks callbacks,
                             Timing timing)
    : client_(client),
      options_(options),
      callbacks_(std::move(callbacks)),
      timing_(timing),
      lock_(client, std::move(options), timing.clock),
      random_(timing.seed) {}

LeaderElector::~LeaderElector() { Stop(); }

void LeaderElector::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  if (!options_.watch) return;
  watch_thread_ = std::jthread([this](std::stop_token stop) { WatchLease(stop); });
}

void LeaderElector::Stop() {
  thread_.request_stop();
  watch_thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (watch_thread_.joinable()) watch_thread_.join();
}

void LeaderElector::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    {
      MutexLock lock(wake_mutex_);
      wake_ = std::stop_source();  // what changes from here on, this tick may have missed
    }
    const absl::Status status = Contain([&] { return lock_.Tick(); });
    if (!status.ok() && callbacks_.failed) callbacks_.failed(status);
    ReportChanges();
    SleepUntilNextTick(stop);
    ReportChanges();  // the hold may have run out meanwhile
  }
  if (reported_token_ == 0) return;
  reported_token_ = 0;
  if (callbacks_.stopped) callbacks_.stopped();
  const absl::Status released = Contain([&] { return lock_.Release(); });
  if (!released.ok() && callbacks_.failed) callbacks_.failed(released);
}

void LeaderElector::SleepUntilNextTick(std::stop_token stop) {
  std::stop_source wake;
  {
    MutexLock lock(wake_mutex_);
    wake = wake_;
  }
  std::stop_callback stopped(stop, [&wake] { wake.request_stop(); });
  timing_.sleeper.Sleep(NextTickMs(), wake.get_token());
}

void LeaderElector::Wake() {
  MutexLock lock(wake_mutex_);
  wake_.request_stop();
}

// A watch that fails costs the haste alone: the next tick is due in any case.
void LeaderElector::WatchLease(std::stop_token stop) {
  while (!stop.stop_requested()) {
    WatchOptions watch;
    watch.field_selector = "metadata.name=" + options_.name;
    const absl::Status ended = Contain([&] {
      return client_.Watch({Leases(), options_.ns}, watch, stop, [this](const WatchEvent& event) {
        if (event.type != WatchEventType::kBookmark && !IsLeader()) Wake();
      });
    });
    if (!ended.ok() && !stop.stop_requested() && callbacks_.failed) callbacks_.failed(ended);
    timing_.sleeper.Sleep(options_.retry_period_ms, stop);
  }
}

void LeaderElector::ReportChanges() {
  const std::int64_t token = lock_.FencingToken();
  if (token == reported_token_) return;
  if (std::exchange(reported_token_, 0) != 0 && callbacks_.stopped) callbacks_.stopped();
  reported_token_ = token;
  if (token != 0 && callbacks_.started) callbacks_.started(token);
}

std::int64_t LeaderElector::NextTickMs() {
  if (!lock_.IsLeader()) {
    // Spread, so that the candidates do not all write at the same instant.
    const std::int64_t retry_ms =
        options_.retry_period_ms +
        static_cast<std::int64_t>(
            random_.Below(static_cast<std::uint64_t>(options_.retry_period_ms) * 6 / 5 + 1));
    const std::int64_t other_ms = lock_.OtherHoldEndsMs().value_or(0) - timing_.clock.SteadyMs();
    return other_ms > 0 ? std::min(other_ms, retry_ms) : retry_ms;
  }
  const std::int64_t left_ms = lock_.ValidUntilMs() - timing_.clock.SteadyMs();
  return std::clamp<std::int64_t>(left_ms, 0, options_.retry_period_ms);
}

}  // namespace yardmaster::kube
