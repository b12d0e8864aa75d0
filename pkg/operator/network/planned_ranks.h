// Keeps the network plans of ranks without a pod, from the round that made them until their pods
// are created with them: level, traffic class and paths as annotations, by rank. The texts are
// built when a pod is created, not in each round.
//
// A gang is kept for the plan generation of its places that the round saw, and only while it lacks
// pods.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  // Returns the annotations of a rank; nullopt: they cannot be written. Called from any thread,
  // also after the round.
  using AnnotationsOf = std::function<std::optional<Annotations>(int rank)>;

  // Stores the plans of `ranks`. True if there was none for these places.
  bool Set(const api::Gang& gang, std::set<int> ranks, AnnotationsOf annotations_of);
  // Drops all other gangs.
  void KeepOnly(const std::set<NamespacedName>& gangs);
  // nullopt: no round has planned the rank at the places that `gang` has.
  std::optional<Annotations> Find(const api::Gang& gang, int rank) const;
  bool Has(const api::Gang& gang, int rank) const;

 private:
  // Returns the function for the rank; empty: none.
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
