// WaitController lets jobs of other controllers wait for their place without pods. It requests the
// place by a Gang, and resumes and suspends the job as wait_step.h decides.
//
//   - Each reconcile reads the job from the API server. It also reads the Gang before it resumes or
//     suspends a job or gives hosts back.
//   - Every write carries a resourceVersion, so a write that was decided from an older state has no
//     effect.
//   - The controller creates the first pod of each template in a dry run, once for each generation
//     of the job. If admission or a quota refuses it, the next one follows after 30 s, up to 2 min.
//   - After a failed attempt (pods are missing, another client suspended the job, or the resume was
//     refused) the next one follows after 10 s, doubling up to 10 min. A new process does not know
//     earlier attempts.
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

// An event on a job.
struct WaitNotice {
  kube::Resource resource;
  std::string namespace_name;
  std::string name;
  std::string uid;
  bool warning = false;
  // "Resumed", "SuspendedAgain", "SuspendedByOthers", "JobChanged", "PodsMissing", "NotSuspended",
  // "WaitRefused", and the reasons of a TrainingJob's condition Stalled.
  std::string reason;
  std::string note;
};

// "namespace/Kind/name".
std::string WaitKey(const std::string& namespace_name, const std::string& kind,
                    const std::string& name);
// Returns the key of the job that may wait for the Gang with this metadata; nullopt: there is none.
// `gang`: null if the Gang is deleted.
std::optional<std::string> WaitKeyOf(const api::ObjectMeta& metadata, const api::Gang* gang);

class WaitController {
 public:
  struct Options {
    bool enabled = false;  // false: Gangs that an earlier operator created request nothing
    // Whether this process still leads. Empty: it always does.
    std::function<bool()> may_write = nullptr;
  };

  WaitController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                 std::function<void(const WaitNotice&)> notify, Options options);

  // Reconciles the job of this key. Returns after how many milliseconds to reconcile again;
  // nullopt: when something changes. Errors: those of the API server; the caller retries with
  // backoff.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);

 private:
  using GangPtr = std::shared_ptr<const api::Gang>;
  using Again = absl::StatusOr<std::optional<std::int64_t>>;
  // The state of a job between reconciles.
  struct Known {
    std::string uid;
    std::int64_t generation = -1;              // the generation of `request`
    std::shared_ptr<const api::Gang> request;  // null: not computed, or refused
    std::string told;                          // the last event (Tell, TellOnce)
    std::int64_t asks_from_ms = 0;             // wall time; no request before it
    std::int64_t pause_ms = 0;                 // the last backoff
    std::int64_t refused_ms = 0;               // the last backoff after a refusal
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
  // Returns null, after an event, if the job cannot wait without pods now. Sets `again_ms` if that
  // may change without a change of the job.
  absl::StatusOr<std::shared_ptr<const api::Gang>> RequestOf(const Look& look,
                                                             std::int64_t& again_ms);
  // Creates the first pod of the set in a dry run; returns it as admission changed it.
  absl::StatusOr<std::shared_ptr<const api::Pod>> TryFirst(const WaitingJob& job,
                                                           const PodSet& set);
  // Checks whether the quotas admit the pods of all sets. `first`: one pod of each set.
  std::optional<QuotaRefusal> CheckRoom(const WaitingJob& job, const std::vector<PodSet>& sets,
                                        const std::vector<std::shared_ptr<const api::Pod>>& first);
  // Both return false if the object has changed meanwhile.
  absl::StatusOr<bool> WritePods(const Look& look, api::GangPods pods);
  absl::StatusOr<bool> PatchJob(const WaitingJob& job, std::optional<bool> suspend,
                                const nlohmann::json& resumed);
  // Like op::WriteGang, but only while this process leads.
  absl::StatusOr<std::optional<api::Gang>> WriteGang(const api::Gang& gang);
  absl::StatusOr<GangPtr> ReadGang(const std::string& ns, const std::string& name);
  bool PodsAreThere(const api::Gang& gang) const;
  void Pause(const std::string& key);
  // Emits an event unless it equals the previous one.
  void Tell(const Look& look, bool warning, const std::string& reason, const std::string& note);
  // Emits an event unless the previous one had the same `what`.
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
