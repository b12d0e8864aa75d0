// The network plans of ranks that have no pod yet, kept from the round that made them until their
// pods are made with them: level, traffic class and paths as annotations, by rank. Their texts are
// made when a pod is, not in each round.
//
// A gang is kept for the plan of its places (plan generation) that the round saw, and only while it
// lacks pods: of a gang that runs in full nothing is kept.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/base/mutex.h"
#include "pkg/base/namespaced_name.h"

namespace yardmaster::op {

using Annotations = std::map<std::string, std::string>;

class PlannedRanks {
 public:
  // The annotations of one of the ranks; nullopt: they cannot be written. Called from any thread,
  // after the round, too.
  using AnnotationsOf = std::function<std::optional<Annotations>(int rank)>;

  // True: there was none for these places yet.
  bool Set(const api::Gang& gang, std::set<int> ranks, AnnotationsOf annotations_of);
  // Drops all others.
  void KeepOnly(const std::set<NamespacedName>& gangs);
  // Nothing: no round has planned the rank in the places that `gang` says.
  std::optional<Annotations> Find(const api::Gang& gang, int rank) const;
  bool Has(const api::Gang& gang, int rank) const;

 private:
  // Empty: none.
  AnnotationsOf Look(const api::Gang& gang, int rank) const;

  struct Planned {
    std::string uid;
    std::int64_t plan_generation = 0;
    std::set<int> ranks;
    AnnotationsOf annotations_of;
  };

  mutable Mutex mutex_;
  std::map<NamespacedName, Planned> gangs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
