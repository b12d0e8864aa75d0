// The state machine behind the plan files: the wanted files (desired), which files differ
// from them (dirty), and when a file that could not be written is tried again (retry at).
//
//   applier.Put(pod); applier.Remove(uid); applier.SetFabric(view);   // what is wanted
//   notices = applier.Step({wall, steady});                           // make it so
//   wait until applier.DueInMs(...) or the next change
//
// Invariants:
//   1. After Step, every pod that is not kSyncing has a file with exactly the text that its
//      annotations, the fabric and the time give; a kSyncing one has a retry time.
//   2. A pod that is gone has no file, or a removal with a retry time.
//   3. A file is written when its text is another one than this process last wrote; failures back
//      off from 1 s to 60 s and never keep other files waiting.
//   4. What throws for one pod is a failure of its file.
//   5. A problem (stale, invalid, cannot write) is reported once when it begins, when its message
//      changes and when it ends.
//
// Thread safety: none; one thread owns it. The sink must outlive it.
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
  std::int64_t wall_ms = 0;    // expiry is about wall time
  std::int64_t steady_ms = 0;  // and retries are not
};

enum class NoticeKind { kSynced, kStale, kInvalid, kWriteFailed };

// What happened to a pod's plan; becomes an event on the pod.
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
  // Once every pod of the node has been Put: files of unknown pods are removed by the next
  // Steps. Errors: the sink's; call again later.
  absl::Status AdoptFiles();

  // Writes and removes what is due. Never blocks on anything but the sink.
  std::vector<PodNotice> Step(Now now);
  // Until the next Step has something to do: a retry or an expiry. Nothing: only a change does.
  std::optional<std::int64_t> DueInMs(Now now) const;

  // Of the pods that are wanted, by uid.
  std::vector<rpc::PodPlanStatus> Status() const;
  // Writes and removals that failed, and files written, since the start.
  std::int64_t failures() const { return failures_; }
  std::int64_t writes() const { return writes_; }

 private:
  struct Entry {
    std::string node;
    std::optional<PodInput> wanted;  // nothing: the file must go
    EffectivePlan plan;              // of the last Step
    bool dirty = true;
    std::string on_disk;  // what we wrote last; empty: unknown
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
