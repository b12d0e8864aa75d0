// One look at what is rented for a TrainingJob: what is chosen, when it is left, and what it has
// cost. Pure; capacity_controller.h reads the objects, writes the status that is decided here, and
// only then asks for hosts or gives them back.
//
//   1. A job that waits for hosts gets the cheapest choice below its caps (pkg/capacity). While it
//      is provided the job has no pods, so that nothing of it starts elsewhere.
//   2. It is left when the hosts are taken back, when the present prices of all its hosts together
//      are above maxCostPerHour, when what is left of maxTotalCost pays for no more than the time
//      that stopping takes, when spec.capacity has no cap any more or one in another currency, when
//      the hosts were not provided or the job not placed on them in time, and when the job has
//      ended, is suspended or changes its size. A job that runs is asked for a checkpoint first,
//      and the hosts are given back once it has no pods.
//   3. Offers that failed are avoided for some time. A job that was moved is given the next choice
//      immediately; one that was not placed, or whose pods were refused, once its pods wait again.
//
// Cost: every host that exists, at the price that its pool had when the status was last written,
// for the time since. A rise is counted from the moment at which it was seen; a host that is seen
// for the first time from when its provider began to charge for it.
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

// The state of the objects that ask for the hosts (capacity_objects.h).
struct Provisioning {
  std::vector<int> provided;  // hosts that exist, of each entry of status.capacity.hosts
  bool complete = false;      // all are there and ready
  // Why they will not come, or are taken back; empty: neither.
  std::string failed;
  std::vector<int> failed_parts;  // entries that it concerns; empty: all
  bool gone = false;              // no object asks for hosts any more
  // Of each entry, since when its hosts are charged for, ascending; 0: not known. May be left out.
  std::vector<std::vector<std::int64_t>> charged_ms = {};
};

struct CapacityObservation {
  const api::TrainingJob* job = nullptr;
  std::vector<api::CapacityPool> pools;
  // No other job chooses hosts before this step's status is written. Otherwise a job that leaves
  // its hosts in this step chooses others in the next one.
  bool may_choose = true;
  state::RentalContext rentals;              // filled where it may choose
  bool renting_is_off = false;               // the operator has no rights to ask for hosts
  bool waits = false;                        // placement has found no hosts for it
  bool placed = false;                       // its ranks have hosts
  int live_pods = 0;                         // that have not finished
  std::string lost;                          // why hosts under its pods are lost; empty: none is
  std::vector<int> lost_parts;               // their entries of status.capacity.hosts
  std::optional<Provisioning> provisioning;  // absent: not known
  std::int64_t now_ms = 0;
};

struct CapacityStep {
  api::CapacityStatus status;  // to be written before anything is done
  bool provide = false;        // the objects that ask for the hosts are to exist
  bool release = false;        // they are to be deleted
  std::optional<std::int64_t> look_again_ms;
};

CapacityStep NextCapacityStep(const CapacityObservation& observed);

// A job whose hosts may be rented.
bool MayRent(const api::TrainingJob& job);

}  // namespace yardmaster::op
