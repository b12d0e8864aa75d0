// The step of a pass that takes over plans that exist already (adoption.h has the conditions):
// those of gangs whose Gang object was deleted under their running pods while their owner is there,
// and those that another controller made (Kueue's topology assignment) or kube-scheduler by a core
// PodGroup (IsLeftToCore). A gang with a pod that names its host, or that is left to
// kube-scheduler, is never planned here: it is observed, for priorities and paths, and follows when
// a new pod names another host or is on one. A plan that cannot be taken over is tried again ever
// less often (owner_query_limiter.h), and its job is told why: by an event, and, where the gang has
// no place, by its condition Planned.
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
  // Before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);
  // Writes the slots of gangs that kube-scheduler placed onto their pods, which run: levels and
  // paths follow them.
  static std::vector<Work> MarkSlots(const PassFacts& facts);

 private:
  // The source of a gang's hosts.
  enum class Source { kRunningPods, kOtherController, kKubeScheduler };
  static const char* TextOf(Source source);

  Decision AdoptRunning(const PassFacts& facts, const NamespacedName& key);
  Decision Observe(const PassFacts& facts, const NamespacedName& key, const HostnameIndex& nodes);
  Decision ObserveCore(const PassFacts& facts, const NamespacedName& key);
  // Adopts the plan if it is the gang's turn; that of running pods only while their owner is there.
  Decision Consider(const PassFacts& facts, const NamespacedName& key,
                    std::vector<std::string> hosts, Source source);
  // The decision, or why the plan cannot be taken over.
  absl::StatusOr<Decision> Adopt(const PassFacts& facts, const NamespacedName& key,
                                 const std::vector<std::string>& hosts, Source source);
  // Once for every wording.
  Decision ReportRefused(const PassFacts& facts, const NamespacedName& key, const std::string& why,
                         Source source);
  plan::Snapshot SnapshotWith(const PassFacts& facts, const api::Gang& placed);

  std::map<NamespacedName, std::string> problems_;  // of plans that could not be taken over
  // Of what would be if a plan were taken over, which is another question than the pass's own
  // snapshot.
  state::SnapshotBuilder builder_;
};

}  // namespace yardmaster::extender
