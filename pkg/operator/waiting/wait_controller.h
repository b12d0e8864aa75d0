// Lets jobs of other controllers wait for their place without pods: requests it by their Gangs, and
// resumes and suspends them as wait_step.h decides.
//
// The job is read from the API server in each look, and so is the Gang before a job is resumed or
// suspended and before hosts are given back. Every write carries a resourceVersion, so that one
// which was decided on an older state, by this process or by another one, has no effect.
//
// What admission makes of a job's pods is asked once for each generation of the job. After
// a failed attempt, because pods were missing or another client suspended the job, the next one
// follows after 10 s, doubling up to 10 min. A new process does not know earlier attempts.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives the controller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/quota_check.h"
#include "pkg/operator/waiting/wait_step.h"
#include "pkg/operator/waiting/waiting_job.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Becomes an event on the job.
struct WaitNotice {
  kube::Resource resource;
  std::string namespace_name;
  std::string name;
  std::string uid;
  bool warning = false;
  // "Resumed", "SuspendedAgain", "SuspendedByOthers", "PodsMissing", "NotSuspended", "WaitRefused",
  // and those of a TrainingJob's condition Stalled
  std::string reason;
  std::string note;
};

// "namespace/Kind/name".
std::string WaitKey(const std::string& namespace_name, const std::string& kind,
                    const std::string& name);
// Of the job that may wait for what happens to the Gang with that metadata, which may be gone
// (`gang` null); nullopt: there is none.
std::optional<std::string> WaitKeyOf(const api::ObjectMeta& metadata, const api::Gang* gang);

class WaitController {
 public:
  struct Options {
    bool enabled = false;  // false: Gangs that an operator with it has left ask no more
    // Whether this process still leads; empty: it always does.
    std::function<bool()> may_write = nullptr;
  };

  WaitController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                 std::function<void(const WaitNotice&)> notify, Options options);

  // One look at the job of this key. The value: look again after that many milliseconds. Errors:
  // what the API server said; the caller retries with backoff.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);

 private:
  using GangPtr = std::shared_ptr<const api::Gang>;
  using Again = absl::StatusOr<std::optional<std::int64_t>>;
  // What is kept of a job from look to look.
  struct Known {
    std::string uid;
    std::int64_t generation = -1;              // that `request` is of
    std::shared_ptr<const api::Gang> request;  // null: not asked, or refused
    std::string told;                          // the last event, see Tell and TellOnce
    std::int64_t asks_from_ms = 0;             // wall time
    std::int64_t pause_ms = 0;                 // the last one
    std::int64_t refused_ms = 0;               // until the last look at a refused one
  };
  struct Look {
    std::string key;
    std::optional<WaitingJob> job;
    nlohmann::json object;  // the job
    GangPtr gang;
    std::string gang_name;
    std::string namespace_name;
  };

  absl::StatusOr<Look> Read(const std::string& key);
  absl::StatusOr<WaitStep> Decide(const Look& look);
  Again CarryOut(const Look& look, const WaitStep& step);
  Again Ask(const Look& look);
  // Null, after an event: the job cannot wait so now. `again_ms` is set where that may change by
  // itself.
  absl::StatusOr<std::shared_ptr<const api::Gang>> RequestOf(const Look& look,
                                                             std::int64_t& again_ms);
  // What admission makes of the first pod of the set.
  absl::StatusOr<std::shared_ptr<const api::Pod>> TryFirst(const WaitingJob& job,
                                                           const PodSet& set);
  // Whether quotas leave room for the pods of all sets; `first` has one of each.
  std::optional<QuotaRefusal> CheckRoom(const WaitingJob& job, const std::vector<PodSet>& sets,
                                        const std::vector<std::shared_ptr<const api::Pod>>& first);
  // The values of these two: false: another state of it is there.
  absl::StatusOr<bool> WritePods(const Look& look, api::GangPods pods);
  absl::StatusOr<bool> PatchJob(const WaitingJob& job, std::optional<bool> suspend,
                                const nlohmann::json& resumed);
  // As op::WriteGang, while this process leads.
  absl::StatusOr<std::optional<api::Gang>> WriteGang(const api::Gang& gang);
  absl::StatusOr<GangPtr> ReadGang(const std::string& ns, const std::string& name);
  bool PodsAreThere(const api::Gang& gang) const;
  void Pause(const std::string& key);
  // At most once in a row.
  void Tell(const Look& look, bool warning, const std::string& reason, const std::string& note);
  // At most once in a row for the same `what`.
  void TellOnce(const Look& look, bool warning, const std::string& reason, const std::string& note,
                const std::string& what);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  QuotaReader quotas_;
  const std::function<void(const WaitNotice&)> notify_;
  const Options options_;
  std::map<std::string, Known> known_;  // by key
};

}  // namespace yardmaster::op
