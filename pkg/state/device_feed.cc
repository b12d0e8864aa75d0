#include "pkg/state/device_feed.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::state {

namespace {

constexpr Kind kDeviceKinds[] = {Kind::kResourceSlice, Kind::kDeviceClass, Kind::kResourceClaim,
                                 Kind::kResourceClaimTemplate};
constexpr std::int64_t kAskAgainMs = 300'000;

}  // namespace

DeviceFeed::DeviceFeed(kube::Client& client, ClusterCache& cache, Failed failed,
                       kube::Timing timing)
    : client_(client), cache_(cache), failed_(std::move(failed)), timing_(timing) {}

void DeviceFeed::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

// Sets the newest version that the server has; "": none. Errors: no answer.
absl::Status DeviceFeed::Discover(std::string& version) {
  version.clear();
  for (const char* asked : kDeviceVersions) {
    kube::Resource resource = ResourceOf(Kind::kDeviceClass);
    resource.version = asked;
    const auto page = client_.ReadPage({resource}, {.limit = 1}, [](JsonView) {});
    if (page.ok()) {
      version = asked;
      return absl::OkStatus();
    }
    if (absl::IsNotFound(page.status())) continue;
    if (!absl::IsPermissionDenied(page.status())) return page.status();
    if (failed_) failed_(Kind::kDeviceClass, page.status());
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

DeviceFeed::Informers DeviceFeed::MakeInformers(const std::string& version) {
  Informers out;
  for (const Kind kind : kDeviceKinds) {
    kube::InformerHandlers handlers;
    if (failed_) {
      handlers.failed = [this, kind](const absl::Status& status) { failed_(kind, status); };
    }
    kube::Timing own = timing_;
    own.seed += static_cast<std::uint64_t>(kind);
    kube::Resource resource = ResourceOf(kind);
    resource.version = version;
    out.push_back(std::make_unique<kube::Informer>(client_, resource,
                                                   kube::InformerOptions{.stream_lists = true},
                                                   cache_.sink(kind), std::move(handlers), own));
  }
  return out;
}

void DeviceFeed::Run(const std::stop_token& stop) {
  kube::JitteredBackoff backoff(timing_.seed);
  while (!stop.stop_requested()) {
    std::string version;
    const absl::Status asked = Discover(version);
    if (!asked.ok() && failed_ && !stop.stop_requested()) failed_(Kind::kDeviceClass, asked);
    std::shared_ptr<const Informers> informers;
    if (!version.empty()) {
      auto made = std::make_shared<Informers>(MakeInformers(version));
      for (const auto& informer : *made) informer->Start();
      informers = std::move(made);
    }
    {
      MutexLock lock(mutex_);
      known_ |= asked.ok();
      informers_ = informers;
      changed_.notify_all();
    }
    if (informers != nullptr) return;
    timing_.sleeper.Sleep(asked.ok() ? kAskAgainMs : backoff.NextMs(), stop);
  }
}

absl::Status DeviceFeed::WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop) {
  std::shared_ptr<const Informers> informers;
  {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, stop, std::chrono::milliseconds(timeout_ms),
                      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return known_; });
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (!known_) {
      return absl::DeadlineExceededError("whether the API server has resource.k8s.io: no answer");
    }
    informers = informers_;
  }
  if (informers == nullptr) return absl::OkStatus();
  for (const auto& informer : *informers) {
    const absl::Status status = informer->WaitForSync(timeout_ms, stop);
    if (!status.ok()) {
      return Annotate(status, StrCat("reading ", informer->resource().GroupResource()));
    }
  }
  return absl::OkStatus();
}

bool DeviceFeed::HasSynced() const {
  MutexLock lock(mutex_);
  return known_ && (informers_ == nullptr ||
                    std::all_of(informers_->begin(), informers_->end(),
                                [](const auto& informer) { return informer->HasSynced(); }));
}

std::int64_t DeviceFeed::LastContactMs() const {
  MutexLock lock(mutex_);
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  if (informers_ == nullptr) return oldest;
  for (const auto& informer : *informers_) oldest = std::min(oldest, informer->LastContactMs());
  return oldest;
}

void DeviceFeed::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::shared_ptr<const Informers> informers;
  {
    MutexLock lock(mutex_);
    informers = informers_;
  }
  if (informers == nullptr) return;
  for (const auto& informer : *informers) informer->Stop();
}

}  // namespace yardmaster::state
