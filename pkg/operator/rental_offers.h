// Which offers of capacity pools a job may rent now, and what a choice among them means in hosts. Thread
// safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/capacity_status.h"
#include "pkg/capacity/chooser.h"
#include "pkg/state/capacity_offers.h"
#include "pkg/workload/resources.h"

namespace yardmaster::op {

// On NodeClaims and their Nodes: the number of the rental that asked for them.
inline constexpr char kRentalGenerationLabel[] = "yardmaster.dev/rental-generation";

// Null: there is none. Lifetimes: what is returned points into the argument.
const api::CapacityPool* FindPool(const std::vector<api::CapacityPool>& pools,
                                  const std::string& name);
const api::CapacityOffer* FindOffer(const api::CapacityPool* pool, api::CapacityType type);

// The pools whose hosts are made on demand, without the offers that are avoided; while the job waits for
// a price, its own alone.
std::vector<api::CapacityPool> OffersToTry(const std::vector<api::CapacityPool>& all,
                                           const api::CapacityStatus& status);

// The hosts of a choice, for the rental of this number. Parts whose pools scale alike share a request. The hosts
// of NodeClaims are known by their rental: pods of a later one do not run on what an earlier one left.
// REQUIRES: `question` was asked about `pools`, and `choice` answers it.
std::vector<api::RentedHosts> RentedBy(const capacity::Choice& choice,
                                       const state::CapacityQuestion& question,
                                       const std::vector<api::CapacityPool>& pools,
                                       const workload::ResourceList& requests_of_worker,
                                       std::int64_t generation);

}  // namespace yardmaster::op
