// The state machine of the plan files: the desired files, which files differ from them (dirty), and
// when a failed write is retried.
//
//   applier.Put(pod); applier.Remove(uid); applier.SetFabric(view);   // the desired state
//   notices = applier.Step({wall, steady});                           // write and remove files
//   wait until applier.DueInMs(...) or the next change
//
// Invariants:
//   1. After Step every pod that is not kSyncing has a file with exactly the text that follows from
//      its annotations, the fabric and the time. A kSyncing pod has a retry time.
//   2. A pod that is gone has no file, or a removal with a retry time.
//   3. A file is written only if its text differs from what this process wrote last. Failures back
//      off from 1 s to 60 s and never delay other files.
//   4. An exception for one pod is a failure of its file only.
//   5. A problem (stale, invalid, cannot write) is reported once when it begins, when its message
//      changes, and when it ends.
//
// Thread safety: one thread. Lifetimes: the sink outlives the applier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/agent/plans/plan_sink.h"
#include "pkg/agent/plans/pod_input.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::agent {

struct Now {
  std::int64_t wall_ms = 0;    // for expiry
  std::int64_t steady_ms = 0;  // for retries
};

enum class NoticeKind { kSynced, kStale, kInvalid, kWriteFailed };

// A change of a pod's plan; becomes an event on the pod.
struct PodNotice {
  NoticeKind kind = NoticeKind::kSynced;
  PodInput pod;
  std::string message;
};

class Applier {
 public:
  explicit Applier(PlanSink& sink) : sink_(sink) {}

  void Put(PodInput pod);
  void Remove(const std::string& uid);
  void SetFabric(std::optional<FabricView> fabric);
  // Call once every pod of the node has been Put: the next Steps remove the files of unknown pods.
  // Errors: those of the sink; call again later.
  absl::Status AdoptFiles();

  // Writes and removes the files that are due. Blocks only in the sink.
  std::vector<PodNotice> Step(Now now);
  // Returns the time until a retry or an expiry; nullopt: Step has nothing to do before the next
  // change.
  std::optional<std::int64_t> DueInMs(Now now) const;

  // Returns the status of all pods, by uid.
  std::vector<rpc::PodPlanStatus> Status() const;
  // Writes and removals that failed, and files written, since the start.
  std::int64_t failures() const { return failures_; }
  std::int64_t writes() const { return writes_; }

 private:
  struct Entry {
    std::string node;
    std::optional<PodInput> wanted;  // nullopt: the file must be removed
    EffectivePlan plan;              // of the last Step
    bool dirty = true;
    std::string on_disk;  // the text written last; empty: unknown
    std::string error;    // of the last write or removal
    std::int64_t retry_at_steady_ms = 0;
    std::int64_t retry_ms = 0;  // the last pause; 0: the last write went well
    bool reported_problem = false;
    std::string reported;  // the problem last reported
  };

  void Apply(const std::string& uid, Entry& entry, Now now, std::vector<PodNotice>& notices);
  absl::Status Write(const PlanFileId& id, Entry& entry, Now now);
  void Report(Entry& entry, std::vector<PodNotice>& notices) const;
  void Record(Entry& entry, const absl::Status& status, Now now);

  PlanSink& sink_;
  std::optional<FabricView> fabric_;
  std::map<std::string, Entry> entries_;  // by pod uid
  std::int64_t failures_ = 0;
  std::int64_t writes_ = 0;
};

}  // namespace yardmaster::agent
