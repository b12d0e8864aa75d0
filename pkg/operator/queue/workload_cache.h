// Caches the Workloads of TrainingJobs, and whether the cluster serves Workloads. WorkloadFeed
// fills it.
//
// Thread safety: all methods from any thread, except Listen, which is called before the first
// delivery. One informer calls the sink methods.
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

// kOff: this process does not follow Kueue. kUnknown: not read yet. kAbsent: the cluster does not
// serve Workloads.
enum class QueueService { kOff, kUnknown, kAbsent, kServed };

// `version`: of the API group kueue.x-k8s.io.
kube::Resource KueueWorkloads(const std::string& version);
kube::Resource KueueFlavors(const std::string& version);
kube::Resource KueuePriorityClasses(const std::string& version);

class WorkloadCache final : public kube::ObjectSink {
 public:
  using Ptr = std::shared_ptr<const api::KueueWorkload>;

  // Sets the function that is called after each delivery, on the informer's thread and without a
  // lock, with the key of the job that owns the Workload.
  void Listen(std::function<void(const std::string& job)> listener) {
    listener_ = std::move(listener);
  }
  void SetService(QueueService service, const std::string& version = "");
  QueueService service() const;
  // API version; empty if Workloads are not served.
  std::string version() const;

  // Returns the Workloads that a TrainingJob of this key owns or owned, by name.
  std::vector<Ptr> OfJob(const std::string& job) const;
  // Stores the answer to a write of this process, until the informer delivers it.
  void Assume(JsonView object);

  void BeginList() override;
  void Listed(JsonView object) override;
  void EndList(const std::string& version) override;
  void Put(JsonView object) override;
  void Remove(JsonView object) override;
  void Advance(const std::string& version) override;

 private:
  using Store = state::ObjectStore<api::KueueWorkload>;
  // Returns null for an object that cannot be decoded or does not belong to a TrainingJob.
  static Ptr Decode(JsonView object);
  void Take(JsonView object, bool (Store::*store)(Ptr));
  void Notify(const api::KueueWorkload& workload) const;

  mutable Mutex mutex_;
  QueueService service_ ABSL_GUARDED_BY(mutex_) = QueueService::kOff;
  std::string version_ ABSL_GUARDED_BY(mutex_);
  Store store_ ABSL_GUARDED_BY(mutex_);
  // Names of Workloads, by the key of their job. Deleted ones are removed on the next read.
  mutable std::map<std::string, std::set<std::string>> by_job_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> listener_;
};

}  // namespace yardmaster::op
