#include "pkg/operator/capacity/rental_offers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kAvoidOfferMs = 600'000;
constexpr std::size_t kMaxAvoided = 256;

}  // namespace

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
    for (api::CapacityOffer& offer : pool.offers) {
      const auto is_this = [&](const auto& other) {
        return other.pool == pool.metadata.name && other.type == offer.type;
      };
      const bool avoided = std::any_of(status.avoided.begin(), status.avoided.end(), is_this);
      const bool awaits_others = status.phase == api::RentalPhase::kAwaitingPrice &&
                                 std::none_of(status.hosts.begin(), status.hosts.end(), is_this);
      if (avoided || awaits_others) offer.max_hosts = 0;
    }
    pools.push_back(std::move(pool));
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

void AvoidOffers(api::CapacityStatus& status, const std::vector<int>& parts, std::int64_t now_ms) {
  for (std::size_t i = 0; i < status.hosts.size(); ++i) {
    if (!parts.empty() &&
        std::find(parts.begin(), parts.end(), static_cast<int>(i)) == parts.end()) {
      continue;
    }
    const api::RentedHosts& part = status.hosts[i];
    std::erase_if(status.avoided, [&](const api::AvoidedOffer& offer) {
      return offer.pool == part.pool && offer.type == part.type;
    });
    status.avoided.push_back({part.pool, part.type, now_ms + kAvoidOfferMs});
  }
  std::sort(status.avoided.begin(), status.avoided.end(), [](const auto& a, const auto& b) {
    return std::tie(a.pool, a.type) < std::tie(b.pool, b.type);
  });
  if (status.avoided.size() > kMaxAvoided) status.avoided.resize(kMaxAvoided);
}

std::int64_t ProvisionTimeoutMs(const api::CapacityStatus& status,
                                const std::vector<api::CapacityPool>& pools) {
  std::int64_t seconds = 0;
  for (const api::RentedHosts& part : status.hosts) {
    const api::CapacityPool* pool = FindPool(pools, part.pool);
    const int own =
        pool == nullptr ? api::CapacityScaling{}.timeout_seconds : pool->scaling.timeout_seconds;
    seconds = std::max<std::int64_t>(seconds, own);
  }
  return 1000 * seconds;
}

std::string DescribeHosts(const api::CapacityStatus& status) {
  std::vector<std::string> parts;
  for (const api::RentedHosts& part : status.hosts) {
    parts.push_back(
        StrCat(Count(part.hosts, "host"), " of ", part.pool, " (", api::NameOf(part.type), ")"));
  }
  return Join(parts, ", ");
}

}  // namespace yardmaster::op
