// Determines which offers of capacity pools a job may rent now, which hosts a choice among them
// means, and which offers have failed. Thread safety: pure functions.
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

// Label of NodeClaims and their Nodes: the number of the rental that requested them.
inline constexpr char kRentalGenerationLabel[] = "yardmaster.dev/rental-generation";

// Null if there is none. Lifetimes: the result points into the argument.
const api::CapacityPool* FindPool(const std::vector<api::CapacityPool>& pools,
                                  const std::string& name);
const api::CapacityOffer* FindOffer(const api::CapacityPool* pool, api::CapacityType type);

// Returns the pools whose hosts are created on demand. Avoided offers have no hosts there; while
// the job waits for a price, only its own offers have. Rented hosts count for the pools' budgets.
std::vector<api::CapacityPool> OffersToTry(const std::vector<api::CapacityPool>& all,
                                           const api::CapacityStatus& status);

// Returns the hosts of a choice for the rental `generation`. Parts whose pools scale alike share a
// request. Hosts of NodeClaims are labelled with their rental, so pods of a later rental do not run
// on hosts of an earlier one. REQUIRES: `question` was asked about `pools`, and `choice` answers
// it.
std::vector<api::RentedHosts> RentedBy(const capacity::Choice& choice,
                                       const state::CapacityQuestion& question,
                                       const std::vector<api::CapacityPool>& pools,
                                       const workload::ResourceList& requests_of_worker,
                                       std::int64_t generation);

// Avoids the offers of these entries of `status.hosts` for ten minutes from `now_ms`; no entry: all
// offers. At most 256 offers are avoided, the first by pool and type.
void AvoidOffers(api::CapacityStatus& status, const std::vector<int>& parts, std::int64_t now_ms);

// Returns how long the pools of the rented hosts have to provide them: the longest of their
// timeouts, with the default for a pool that no longer exists.
std::int64_t ProvisionTimeoutMs(const api::CapacityStatus& status,
                                const std::vector<api::CapacityPool>& pools);

// For example "4 hosts of spot-a (Spot), 2 hosts of fixed (OnDemand)".
std::string DescribeHosts(const api::CapacityStatus& status);

}  // namespace yardmaster::op
