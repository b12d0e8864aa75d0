#include "pkg/operator/jobs/jobs_by_host.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

void JobsByHost::Update(const std::string& key, const api::Pod* pod) {
  Place place;
  if (pod != nullptr) {
    if (const auto job = api::Find(pod->metadata.labels, api::kJobLabel)) {
      place = {pod->node_name, StrCat(pod->metadata.namespace_name, "/", *job)};
    }
  }
  const bool placed = !place.host.empty();
  MutexLock lock(mutex_);
  const auto known = place_of_pod_.find(key);
  if (known != place_of_pod_.end()) {
    if (placed && known->second == place) return;
    const auto host = on_host_.find(known->second.host);
    host->second.erase({known->second.job, key});
    if (host->second.empty()) on_host_.erase(host);
    place_of_pod_.erase(known);
  }
  if (!placed) return;
  on_host_[place.host].insert({place.job, key});
  place_of_pod_[key] = std::move(place);
}

std::vector<std::string> JobsByHost::On(const std::string& host) const {
  std::vector<std::string> jobs;
  MutexLock lock(mutex_);
  const auto at = on_host_.find(host);
  if (at == on_host_.end()) return jobs;
  for (const auto& [job, pod] : at->second) {
    if (jobs.empty() || jobs.back() != job) jobs.push_back(job);
  }
  return jobs;
}

}  // namespace yardmaster::op
