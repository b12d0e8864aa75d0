// The network plans of ranks that have no pod yet, kept from the round that made them until their
// pods are made with them: level, traffic class and paths as annotations, by rank.
//
// A gang is kept for the plan of its places (plan generation) that the round saw, and only while it
// lacks pods: of a gang that runs in full nothing is kept.
//
// Thread safety: all methods from any thread.
#pragma once

#include <cstdint>
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
  // True: there was none for these places yet.
  bool Set(const api::Gang& gang, std::map<int, Annotations> of_rank);
  // Drops all others.
  void KeepOnly(const std::set<NamespacedName>& gangs);
  // Nothing: no round has planned the rank in the places that `gang` says.
  std::optional<Annotations> Find(const api::Gang& gang, int rank) const;
  bool Has(const api::Gang& gang, int rank) const;

 private:
  // Null: none.
  const Annotations* Look(const api::Gang& gang, int rank) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Planned {
    std::string uid;
    std::int64_t plan_generation = 0;
    std::map<int, Annotations> of_rank;
  };

  mutable Mutex mutex_;
  std::map<NamespacedName, Planned> gangs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
