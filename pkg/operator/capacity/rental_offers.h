// Which offers of capacity pools a job may rent now, what a choice among them means in hosts, and
// which offers have failed. Thread safety: pure functions.
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

// The pools whose hosts are made on demand. Offers that are avoided, and while the job waits for a
// price all but its own, have no hosts; what is rented of them counts for the pools' budgets.
std::vector<api::CapacityPool> OffersToTry(const std::vector<api::CapacityPool>& all,
                                           const api::CapacityStatus& status);

// The hosts of a choice, for the rental of this number. Parts whose pools scale alike share a
// request. The hosts of NodeClaims are known by their rental: pods of a later one do not run on
// what an earlier one left. REQUIRES: `question` was asked about `pools`, and `choice` answers it.
std::vector<api::RentedHosts> RentedBy(const capacity::Choice& choice,
                                       const state::CapacityQuestion& question,
                                       const std::vector<api::CapacityPool>& pools,
                                       const workload::ResourceList& requests_of_worker,
                                       std::int64_t generation);

// Avoids the offers of these entries of `status.hosts` for ten minutes from `now_ms`; no entry: the
// offers of all. At most 256 offers are avoided: those that come first by pool and type.
void AvoidOffers(api::CapacityStatus& status, const std::vector<int>& parts, std::int64_t now_ms);

// How long the pools of the rented hosts are given to provide them: the longest of their timeouts,
// or the default for a pool that does not exist any more.
std::int64_t ProvisionTimeoutMs(const api::CapacityStatus& status,
                                const std::vector<api::CapacityPool>& pools);

// "4 hosts of spot-a (Spot), 2 hosts of fixed (OnDemand)"
std::string DescribeHosts(const api::CapacityStatus& status);

}  // namespace yardmaster::op
