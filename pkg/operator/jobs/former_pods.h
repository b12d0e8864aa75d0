// Keeps the former pods of ranks from when they go until all workers of the job run again, so that
// the operator can create a replacement with the place and network plan of its predecessor in one
// request, without the gate.
//
// A rank always gets the place that the ledger has for it, never a place that only its former pod
// had. The rank waits behind the gate like a new one if
//   - the place in the ledger differs in any way from that of the former pod;
//   - its host may not be used;
//   - the network plan has expired or names a peer that has moved.
// The extender and the next network plan then decide. If the process restarts, the former pods are
// lost, and the replacements wait behind the gate.
//
// Thread safety: all methods of FormerPods from any thread; PlaceAgain is pure.
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

// What decides about the place of a rank that is created again. A null member does not exist.
struct FormerPlace {
  const api::Pod* pod = nullptr;
  const api::Gang* gang = nullptr;
  const api::Node* node = nullptr;  // the host that the ledger has for the rank
  std::int64_t now_ms = 0;
};
// Returns the place for the new pod of `rank`; nullopt: the rank waits behind the gate.
std::optional<WorkerPlace> PlaceAgain(const api::TrainingJob& job, int rank,
                                      const FormerPlace& former);

class FormerPods {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;

  // `job`: "namespace/name".
  void Keep(const std::string& job, int rank, PodPtr pod);
  void Drop(const std::string& job);
  // Null if none is kept.
  PodPtr Find(const std::string& job, int rank) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::map<int, PodPtr>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
