// Index of the TrainingJobs that have pods on a host. It is updated pod by pod, so that a change of
// a Node costs a look at the jobs on it and not at every pod of the cluster, which takes minutes
// when thousands of Nodes change together.
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
  // Stores the newest state of the pod "namespace/name"; null: it is gone. O(log pods).
  void Update(const std::string& key, const api::Pod* pod);
  // Returns "namespace/name" of each job on the host, ascending. O(log hosts + pods on the host).
  std::vector<std::string> On(const std::string& host) const;

 private:
  struct Place {
    std::string host, job;
    bool operator==(const Place&) const = default;
  };

  mutable Mutex mutex_;
  std::map<std::string, Place> place_of_pod_ ABSL_GUARDED_BY(mutex_);  // only bound pods of jobs
  std::map<std::string, std::set<std::pair<std::string, std::string>>> on_host_
      ABSL_GUARDED_BY(mutex_);  // (job, pod)
};

}  // namespace yardmaster::op
