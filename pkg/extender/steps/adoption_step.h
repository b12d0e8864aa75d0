// The step of a pass that adopts plans that exist already (adoption.h has the conditions). Sources:
//   - running pods: the Gang has no plan, its pods run, and its owner still exists;
//   - another controller, such as Kueue's topology-aware scheduling: a pod names its host;
//   - kube-scheduler: it placed the gang by a core PodGroup (gather::IsLeftToCore).
//
// The extender never chooses hosts for gangs of the last two sources. It observes their hosts, for
// priorities and paths, and adopts them again when a new pod names or is on another host.
//
// If a plan cannot be adopted, the step tries again after waits that double up to ten seconds
// (effects/owner_query_limiter.h). It reports the reason by an event and, if the gang has no place,
// by the condition Planned.
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/steps/adoption.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

class AdoptionStep {
 public:
  // Runs before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);
  // Writes slot annotations on the running pods of gangs that kube-scheduler placed. The operator
  // needs them to assign priority levels and paths.
  static std::vector<Work> MarkSlots(const PassFacts& facts);

 private:
  // The source of a gang's hosts.
  enum class Source { kRunningPods, kOtherController, kKubeScheduler };
  static const char* TextOf(Source source);

  Decision AdoptRunning(const PassFacts& facts, const NamespacedName& key);
  Decision Observe(const PassFacts& facts, const NamespacedName& key, const HostnameIndex& nodes);
  Decision ObserveCore(const PassFacts& facts, const NamespacedName& key);
  // Adopts the plan when the owner query limiter grants the gang a turn. A plan of running pods is
  // adopted only while the owner of the gang exists.
  Decision Consider(const PassFacts& facts, const NamespacedName& key,
                    std::vector<std::string> hosts, Source source);
  // Returns the decision that commits the plan. Errors: FailedPrecondition with the reason why the
  // plan cannot be adopted.
  absl::StatusOr<Decision> Adopt(const PassFacts& facts, const NamespacedName& key,
                                 const std::vector<std::string>& hosts, Source source);
  // Reports a refused plan. The caller reports each text once.
  Decision ReportRefused(const PassFacts& facts, const NamespacedName& key, const std::string& why,
                         Source source);
  plan::Snapshot SnapshotWith(const PassFacts& facts, const api::Gang& placed);

  std::map<NamespacedName, std::string>
      problems_;  // why the plan was refused last; empty: it was adopted
  // Builds the hypothetical snapshots in which a plan is checked. They differ from the snapshot of
  // the pass.
  state::SnapshotBuilder builder_;
};

}  // namespace yardmaster::extender
