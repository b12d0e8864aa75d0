// The Workloads of TrainingJobs as the API server has them, and whether the cluster serves them at
// all. Filled by WorkloadFeed.
//
// Thread safety: all methods from any thread, but Listen only before the first delivery; one
// informer calls the sink.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/api/kueue_workload.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/object_sink.h"
#include "pkg/kube/resource.h"
#include "pkg/state/object_store.h"

namespace yardmaster::op {

// kOff: this process is not to follow Kueue. kUnknown: it has not been read yet. kAbsent: the
// cluster does not serve Workloads.
enum class QueueService { kOff, kUnknown, kAbsent, kServed };

// `version` of the group kueue.x-k8s.io.
kube::Resource KueueWorkloads(const std::string& version);
kube::Resource KueueFlavors(const std::string& version);
kube::Resource KueuePriorityClasses(const std::string& version);

class WorkloadCache final : public kube::ObjectSink {
 public:
  using Ptr = std::shared_ptr<const api::KueueWorkload>;

  // Called after a delivery, on the informer's thread and without a lock held, with the key of the
  // job that the Workload belongs to.
  void Listen(std::function<void(const std::string& job)> listener) {
    listener_ = std::move(listener);
  }
  void SetService(QueueService service, const std::string& version = "");
  QueueService service() const;
  // Of the API; empty unless it is served.
  std::string version() const;

  // Workloads that a TrainingJob of this key owns or owned, by name.
  std::vector<Ptr> OfJob(const std::string& job) const;
  // What a write of ours returned: counts until the informer has caught up.
  void Assume(JsonView object);

  void BeginList() override;
  void Listed(JsonView object) override;
  void EndList(const std::string& version) override;
  void Put(JsonView object) override;
  void Remove(JsonView object) override;
  void Advance(const std::string& version) override;

 private:
  using Store = state::ObjectStore<api::KueueWorkload>;
  // Null for an object that cannot be decoded or is not of a TrainingJob.
  static Ptr Decode(JsonView object);
  void Take(JsonView object, bool (Store::*store)(Ptr));
  void Notify(const api::KueueWorkload& workload) const;

  mutable Mutex mutex_;
  QueueService service_ ABSL_GUARDED_BY(mutex_) = QueueService::kOff;
  std::string version_ ABSL_GUARDED_BY(mutex_);
  Store store_ ABSL_GUARDED_BY(mutex_);
  // Names of Workloads by the key of their job; some may be gone.
  mutable std::map<std::string, std::set<std::string>> by_job_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> listener_;
};

}  // namespace yardmaster::op
