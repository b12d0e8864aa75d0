#include "pkg/operator/queue/workload_cache.h"

#include <utility>

#include "pkg/api/training_job.h"
#include "pkg/kube/object.h"

namespace yardmaster::op {

namespace {

constexpr char kGroup[] = "kueue.x-k8s.io";

// Empty: the Workload is not of a TrainingJob.
std::string JobOf(const api::KueueWorkload& workload) {
  const api::OwnerReference* owner = workload.metadata.controller();
  if (owner == nullptr || owner->kind != api::kTrainingJobKind) return "";
  return kube::MakeKey(workload.metadata.namespace_name, owner->name);
}

}  // namespace

kube::Resource KueueWorkloads(const std::string& version) {
  return {kGroup, version, "workloads", "Workload", true};
}
kube::Resource KueueFlavors(const std::string& version) {
  return {kGroup, version, "resourceflavors", "ResourceFlavor", false};
}
kube::Resource KueuePriorityClasses(const std::string& version) {
  return {kGroup, version, "workloadpriorityclasses", "WorkloadPriorityClass", false};
}

void WorkloadCache::SetService(QueueService service, const std::string& version) {
  const MutexLock lock(mutex_);
  service_ = service;
  version_ = version;
}

QueueService WorkloadCache::service() const {
  const MutexLock lock(mutex_);
  return service_;
}

std::string WorkloadCache::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

std::vector<WorkloadCache::Ptr> WorkloadCache::OfJob(const std::string& job) const {
  std::vector<Ptr> out;
  const std::string namespace_name = job.substr(0, job.find('/'));
  const MutexLock lock(mutex_);
  const auto names = by_job_.find(job);
  if (names == by_job_.end()) return out;
  const auto& objects = store_.objects();
  std::erase_if(names->second, [&](const std::string& name) {
    const Ptr workload = objects.Find({namespace_name, name});
    if (workload == nullptr || JobOf(*workload) != job) return true;
    out.push_back(workload);
    return false;
  });
  if (names->second.empty()) by_job_.erase(names);
  return out;
}

WorkloadCache::Ptr WorkloadCache::Decode(JsonView object) {
  auto decoded = api::DecodeKueueWorkload(object);
  if (!decoded.ok() || JobOf(*decoded).empty()) return nullptr;
  return std::make_shared<const api::KueueWorkload>(*std::move(decoded));
}

void WorkloadCache::Notify(const api::KueueWorkload& workload) const {
  if (listener_) listener_(JobOf(workload));
}

void WorkloadCache::Take(JsonView object, bool (Store::*store)(Ptr)) {
  const Ptr workload = Decode(object);
  if (workload == nullptr) return Advance(kube::ResourceVersionOf(object));
  {
    const MutexLock lock(mutex_);
    (store_.*store)(workload);
    by_job_[JobOf(*workload)].insert(workload->metadata.name);
  }
  Notify(*workload);
}

void WorkloadCache::Assume(JsonView object) {
  const Ptr workload = Decode(object);
  if (workload == nullptr) return;
  const MutexLock lock(mutex_);
  store_.Assume(workload);
  by_job_[JobOf(*workload)].insert(workload->metadata.name);
}

void WorkloadCache::BeginList() {
  const MutexLock lock(mutex_);
  store_.BeginList();
}

void WorkloadCache::Listed(JsonView object) {
  const Ptr workload = Decode(object);
  if (workload != nullptr) return Take(object, &Store::Listed);
  const MutexLock lock(mutex_);
  store_.ListedUnreadable({kube::NamespaceOf(object), kube::NameOf(object)});
}

void WorkloadCache::EndList(const std::string& version) {
  std::vector<Ptr> gone;
  {
    const MutexLock lock(mutex_);
    gone = store_.EndList(state::VersionNumber(version));
  }
  for (const Ptr& workload : gone) Notify(*workload);
}

void WorkloadCache::Put(JsonView object) { Take(object, &Store::Put); }

void WorkloadCache::Remove(JsonView object) {
  const std::string ns = kube::NamespaceOf(object), name = kube::NameOf(object);
  Ptr last;
  {
    const MutexLock lock(mutex_);
    last = store_.objects().Find({ns, name});
    store_.Remove({ns, name}, state::VersionNumber(kube::ResourceVersionOf(object)),
                  kube::UidOf(object));
  }
  if (last != nullptr) Notify(*last);
}

void WorkloadCache::Advance(const std::string& version) {
  const MutexLock lock(mutex_);
  store_.Advance(state::VersionNumber(version));
}

}  // namespace yardmaster::op
