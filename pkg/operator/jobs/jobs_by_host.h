// The TrainingJobs that have pods on a host. Kept up to date pod by pod, so that a Node that
// changes costs a look at the jobs on it and not at every pod of the cluster: when thousands of
// Nodes change together, the latter takes minutes.
//
// Thread safety: all methods from any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

class JobsByHost {
 public:
  // The newest state of the pod of that "namespace/name"; null: it is gone. O(log pods).
  void Update(const std::string& key, const api::Pod* pod);
  // "namespace/name" of each job, ascending. O(log hosts + pods on the host).
  std::vector<std::string> On(const std::string& host) const;

 private:
  struct Place {
    std::string host, job;
    bool operator==(const Place&) const = default;
  };

  mutable Mutex mutex_;
  std::map<std::string, Place> place_of_pod_ ABSL_GUARDED_BY(mutex_);  // bound pods with a job only
  std::map<std::string, std::set<std::pair<std::string, std::string>>> on_host_
      ABSL_GUARDED_BY(mutex_);  // (job, pod)
};

}  // namespace yardmaster::op
