// The pure part of renting hosts for a TrainingJob: which hosts are chosen, when they are left, and
// what they have cost. capacity_controller.h reads the objects, writes the status that is decided
// here, and only then requests hosts or gives them back.
//
//   1. A job that waits for hosts gets the cheapest choice below its caps (pkg/capacity). While the
//      hosts are provided the job has no pods, so that nothing of it starts elsewhere.
//   2. The rental is left when: the provider reclaims hosts; the present prices of all hosts
//      together exceed maxCostPerHour; the rest of maxTotalCost pays for no more than the time that
//      stopping takes; spec.capacity has no cap any more, or one in another currency; the hosts
//      were not provided, or the job was not placed on them, in time; or the job has ended, is
//      suspended or changes its size. A running job is asked for a checkpoint first, and the hosts
//      are given back once it has no pods.
//   3. Offers that failed are avoided for some time. A job that was moved gets its next choice at
//      once; one that was not placed, or whose pods were refused, gets it once its pods wait again.
//
// Cost: every existing host, at the price of its pool at the last write of the status, for the time
// since then. A rise counts from when it was seen; a new host from when its provider began to
// charge.
//
// Level triggered: the same observation gives the same step. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/state/capacity_offers.h"

namespace yardmaster::op {

// The state of the objects that request the hosts (capacity_objects.h).
struct Provisioning {
  std::vector<int> provided;  // hosts that exist, of each entry of status.capacity.hosts
  bool complete = false;      // all hosts exist and are ready
  // Why the hosts will not come, or are reclaimed; empty: neither.
  std::string failed;
  std::vector<int> failed_parts;  // the entries affected; empty: all
  bool gone = false;              // no object requests hosts any more
  // For each entry, since when its hosts are charged, ascending; 0: not known. May be empty.
  std::vector<std::vector<std::int64_t>> charged_ms = {};
};

struct CapacityObservation {
  const api::TrainingJob* job = nullptr;
  std::vector<api::CapacityPool> pools;
  // No other job chooses hosts before the status of this step is written. If false, a job that
  // leaves its hosts in this step chooses others in the next one.
  bool may_choose = true;
  state::RentalContext rentals;              // set if it may choose
  bool renting_is_off = false;               // the operator has no permission to request hosts
  bool waits = false;                        // placement has found no hosts for it
  bool placed = false;                       // its ranks have hosts
  int live_pods = 0;                         // unfinished pods
  std::string lost;                          // why hosts of its pods are lost; empty: none is
  std::vector<int> lost_parts;               // their entries of status.capacity.hosts
  std::optional<Provisioning> provisioning;  // nullopt: not known
  std::int64_t now_ms = 0;
};

struct CapacityStep {
  api::CapacityStatus status;  // to be written before any action
  bool provide = false;        // the objects that request the hosts must exist
  bool release = false;        // they must be deleted
  std::optional<std::int64_t> look_again_ms;
};

CapacityStep NextCapacityStep(const CapacityObservation& observed);

// True if hosts may be rented for the job.
bool MayRent(const api::TrainingJob& job);

}  // namespace yardmaster::op
