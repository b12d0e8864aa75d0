// The pods that ranks of a job had, kept from when they go until the job runs in full again, and
// what a rank that is made again gets from its own: its place and its network plan. Such a pod is
// made with them in one create, without the gate, and nothing has to be written on it afterwards.
//
// A rank gets the place that the ledger has for it, never the one that its pod had: where both
// differ in anything, where its host may not be used, or where the plan names a peer that has
// moved, the rank waits behind the gate as a new one does, and the extender and the next network
// plan decide. What is kept here is lost with the process, which costs that wait and nothing else.
//
// Thread safety: FormerPods all methods from any thread; the rest pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/base/mutex.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

// What decides about the place of a rank that is made again. Null: there is none.
struct FormerPlace {
  const api::Pod* pod = nullptr;
  const api::Gang* gang = nullptr;
  const api::Node* node = nullptr;  // of the host that the gang has for the rank
  std::int64_t now_ms = 0;
};
// nullopt: the rank waits behind the gate.
std::optional<WorkerPlace> PlaceAgain(const api::TrainingJob& job, int rank,
                                      const FormerPlace& former);

class FormerPods {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;

  // `job`: "namespace/name".
  void Keep(const std::string& job, int rank, PodPtr pod);
  void Drop(const std::string& job);
  // Null: none is kept.
  PodPtr Find(const std::string& job, int rank) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::map<int, PodPtr>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
