#include "pkg/operator/rental_offers.h"

#include <algorithm>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::op {

const api::CapacityPool* FindPool(const std::vector<api::CapacityPool>& pools,
                                  const std::string& name) {
  for (const api::CapacityPool& pool : pools) {
    if (pool.metadata.name == name) return &pool;
  }
  return nullptr;
}

const api::CapacityOffer* FindOffer(const api::CapacityPool* pool, api::CapacityType type) {
  if (pool == nullptr) return nullptr;
  for (const api::CapacityOffer& offer : pool->offers) {
    if (offer.type == type) return &offer;
  }
  return nullptr;
}

std::vector<api::CapacityPool> OffersToTry(const std::vector<api::CapacityPool>& all,
                                           const api::CapacityStatus& status) {
  std::vector<api::CapacityPool> pools;
  for (api::CapacityPool pool : all) {
    if (pool.scaling.kind() == api::ScalingKind::kNone) continue;
    std::erase_if(pool.offers, [&](const api::CapacityOffer& offer) {
      const auto is_this = [&](const auto& other) {
        return other.pool == pool.metadata.name && other.type == offer.type;
      };
      if (std::any_of(status.avoided.begin(), status.avoided.end(), is_this)) return true;
      return status.phase == api::RentalPhase::kAwaitingPrice &&
             std::none_of(status.hosts.begin(), status.hosts.end(), is_this);
    });
    if (!pool.offers.empty()) pools.push_back(std::move(pool));
  }
  return pools;
}

std::vector<api::RentedHosts> RentedBy(const capacity::Choice& choice,
                                       const state::CapacityQuestion& question,
                                       const std::vector<api::CapacityPool>& pools,
                                       const workload::ResourceList& requests_of_worker,
                                       std::int64_t generation) {
  std::vector<api::RentedHosts> hosts;
  std::vector<api::CapacityScaling> requests;
  for (const capacity::Rented& rented : choice.rented) {
    const auto index = static_cast<std::size_t>(rented.offer);
    const state::OfferName& name = question.names[index];
    const capacity::Offer& offer = question.offers[index];
    const api::CapacityPool& pool = *FindPool(pools, name.pool);
    api::RentedHosts part;
    part.pool = name.pool;
    part.type = name.type;
    part.scaling = pool.scaling.kind();
    const auto request = std::find(requests.begin(), requests.end(), pool.scaling);
    part.request = static_cast<int>(request - requests.begin());
    if (request == requests.end()) requests.push_back(pool.scaling);
    part.hosts = rented.hosts;
    part.workers = rented.hosts * api::WorkersPerHost(pool, requests_of_worker);
    part.price = offer.price;
    part.node_labels = api::NodeLabelsOf(pool, *FindOffer(&pool, name.type));
    if (part.scaling == api::ScalingKind::kNodeClaims) {
      part.node_labels[kRentalGenerationLabel] = StrCat(generation);
    }
    hosts.push_back(std::move(part));
  }
  return hosts;
}

}  // namespace yardmaster::op
