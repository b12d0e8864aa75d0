#include "pkg/state/cluster_feed.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

kube::Resource ResourceOf(Kind kind) {
  switch (kind) {
    case Kind::kFabric:
      return kube::Fabrics();
    case Kind::kNode:
      return kube::Nodes();
    case Kind::kPod:
      return kube::Pods();
    case Kind::kTrainingJob:
      return kube::TrainingJobs();
    case Kind::kGang:
      return kube::Gangs();
    case Kind::kCapacityPool:
      return kube::CapacityPools();
    case Kind::kResourceSlice:
      return kube::ResourceSlices();
    case Kind::kDeviceClass:
      return kube::DeviceClasses();
    case Kind::kResourceClaim:
      return kube::ResourceClaims();
    case Kind::kResourceClaimTemplate:
      return kube::ResourceClaimTemplates();
  }
  return kube::Pods();
}

ClusterFeed::ClusterFeed(kube::Client& client, ClusterCache& cache, const std::vector<Kind>& kinds,
                         Handlers handlers, kube::Timing timing) {
  for (Kind kind : kinds) {
    if (kind >= Kind::kResourceSlice) {
      if (devices_ == nullptr) {
        devices_ = std::make_unique<DeviceFeed>(client, cache, handlers.failed, timing);
      }
      continue;
    }
    kube::InformerHandlers informer;
    if (handlers.failed) {
      informer.failed = [kind, failed = handlers.failed](const absl::Status& status) {
        failed(kind, status);
      };
    }
    kube::Timing own = timing;
    own.seed += static_cast<std::uint64_t>(kind);
    informers_.push_back(std::make_unique<kube::Informer>(
        client, ResourceOf(kind), kube::InformerOptions{.stream_lists = true}, cache.sink(kind),
        std::move(informer), own));
  }
}

void ClusterFeed::Start() {
  for (auto& informer : informers_) informer->Start();
  if (devices_ != nullptr) devices_->Start();
}

absl::Status ClusterFeed::WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop) {
  for (auto& informer : informers_) {
    const absl::Status status = informer->WaitForSync(timeout_ms, stop);
    if (!status.ok()) {
      return Annotate(status, StrCat("reading ", informer->resource().GroupResource()));
    }
  }
  return devices_ == nullptr ? absl::OkStatus() : devices_->WaitForSync(timeout_ms, stop);
}

bool ClusterFeed::HasSynced() const {
  return std::all_of(informers_.begin(), informers_.end(),
                     [](const auto& informer) { return informer->HasSynced(); }) &&
         (devices_ == nullptr || devices_->HasSynced());
}

std::int64_t ClusterFeed::LastContactMs() const {
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  for (const auto& informer : informers_) oldest = std::min(oldest, informer->LastContactMs());
  if (devices_ != nullptr) oldest = std::min(oldest, devices_->LastContactMs());
  return informers_.empty() ? -1 : oldest;
}

void ClusterFeed::Stop() {
  for (auto& informer : informers_) informer->Stop();
  if (devices_ != nullptr) devices_->Stop();
}

}  // namespace yardmaster::state
