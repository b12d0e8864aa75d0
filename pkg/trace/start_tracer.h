// Which spans of jobs' starts and recoveries are new since the last look: the operator's part of a
// job's trace.
//
// Look compares with the look before. Of the gangs that are starting it costs the pods of those of
// which the Gang, its TrainingJob or a pod has changed, and a look-up for each other one. A span is
// given once. The first look of a process that begins to lead has the spans that ended in the last
// kRepeatMs (placement_tracer.h); a gang whose pods were made again since they were released first
// has none then, because their times are not those of its start.
//
// Memory: a few words for each gang, and for each pod of a gang an entry in an index. Thread
// safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/state/cluster_state.h"
#include "pkg/trace/span.h"

namespace yardmaster::trace {

class StartTracer {
 public:
  // `name_of`: the word for the cause of an incident.
  explicit StartTracer(const char* (*name_of)(api::IncidentCause)) : name_of_(name_of) {}

  std::vector<Span> Look(const state::ClusterState& state, std::int64_t now_ms);
  // This process does not lead.
  void Forget() { *this = StartTracer(name_of_); }
  // Gangs whose spans the last look computed.
  int computed() const { return computed_; }

 private:
  // Of a Gang, by uid.
  struct Followed {
    NamespacedName key;
    std::int64_t committed_ms = 0;  // of its place; 0: it has none
    std::int64_t since_ms = 0;      // as in StartFacts
    bool starts = false;            // spans of this place are still to come
    std::set<std::uint64_t> given;  // of this place
  };

  void NoteGang(const api::Gang& gang, const state::ClusterState& state);
  // Adds the gangs of which a pod has come, gone or changed.
  void NotePods(const state::ObjectTable<api::Pod>& pods, std::set<NamespacedName>& changed);
  // Whether the gang's TrainingJob is another value than at the last look.
  bool JobChanged(const api::Gang& gang, const state::ClusterState& state) const;
  // The pods of the gang that are not being deleted.
  std::vector<const api::Pod*> PodsOf(const api::Gang& gang) const;
  // Whether the pods show a start that this process did not see from its beginning.
  bool CanBeTold(const api::Gang& gang, std::int64_t now_ms) const;
  void Recoveries(const state::ClusterState& state, std::int64_t after_ms, std::vector<Span>& out);

  const char* (*name_of_)(api::IncidentCause);
  bool looked_ = false;
  int computed_ = 0;
  // Of the last look.
  state::ObjectTable<api::Gang> gangs_;
  state::ObjectTable<api::Pod> pods_;
  state::ObjectTable<api::TrainingJob> jobs_;
  std::map<std::string, Followed> followed_;
  std::map<NamespacedName, std::map<std::string, std::shared_ptr<const api::Pod>>> pods_of_;
};

}  // namespace yardmaster::trace
