#include "simulation/simulator/gpu_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace yardmaster::sim {
namespace {

void SortByHost(std::vector<HostGpus>& places) {
  std::sort(places.begin(), places.end(),
            [](const HostGpus& a, const HostGpus& b) { return a.host < b.host; });
}

std::int32_t SizeOf(const std::vector<std::int32_t>& gpus) {
  return static_cast<std::int32_t>(gpus.size());
}

}  // namespace

GpuPool::GpuPool(std::int32_t hosts, std::int32_t gpus_per_host, double scatter, double fragmented)
    : free_(hosts, std::vector<std::int32_t>(gpus_per_host)),
      per_host_(gpus_per_host),
      whole_(hosts),
      scatter_(scatter),
      fragmented_(fragmented) {
  for (auto& gpus : free_) std::iota(gpus.begin(), gpus.end(), 0);
}

HostGpus GpuPool::TakeFrom(std::int32_t host, std::int32_t gpus, Random& random) {
  std::vector<std::int32_t>& free = free_[host];
  whole_ -= SizeOf(free) == per_host_ ? 1 : 0;
  random.Shuffle(free);
  HostGpus taken{host, {free.end() - gpus, free.end()}};
  free.resize(free.size() - static_cast<std::size_t>(gpus));
  std::sort(free.begin(), free.end());
  std::sort(taken.gpus.begin(), taken.gpus.end());
  return taken;
}

std::int32_t GpuPool::Tightest(std::int32_t gpus, const std::vector<HostGpus>& not_on) const {
  std::int32_t best = -1;
  for (std::int32_t host = 0; host < hosts(); ++host) {
    const std::int32_t free = SizeOf(free_[host]);
    if (free < gpus || (best >= 0 && free >= SizeOf(free_[best]))) continue;
    const auto on_it = [host](const HostGpus& place) { return place.host == host; };
    if (std::none_of(not_on.begin(), not_on.end(), on_it)) best = host;
  }
  return best;
}

std::optional<std::vector<HostGpus>> GpuPool::TakeAt(const std::vector<TracePlace>& places,
                                                     std::uint64_t seed) {
  const auto free = [&](const TracePlace& p) { return SizeOf(free_[p.host]) >= p.gpus; };
  if (places.empty() || !std::all_of(places.begin(), places.end(), free)) return std::nullopt;
  Random random(seed);
  std::vector<HostGpus> taken;
  taken.reserve(places.size());
  for (const TracePlace& place : places) {
    taken.push_back(TakeFrom(place.host, place.gpus, random));
  }
  return taken;
}

std::optional<std::vector<HostGpus>> GpuPool::Take(std::int32_t gpus, std::uint64_t seed) {
  Random random(seed);
  if (gpus < per_host_) {
    const std::int32_t host = Tightest(gpus, {});
    if (host < 0) return std::nullopt;
    return std::vector<HostGpus>{TakeFrom(host, gpus, random)};
  }
  if (random.Unit() < fragmented_) {
    auto halves = TakeHalves(gpus, random);
    if (halves) return halves;
  }
  return TakeWhole(gpus, random);
}

std::optional<std::vector<HostGpus>> GpuPool::TakeWhole(std::int32_t gpus, Random& random) {
  if (HostsFor(gpus) > whole_) return std::nullopt;
  std::vector<HostGpus> taken;
  std::size_t at = random.Below(free_.size());
  for (std::int32_t left = gpus; left > 0; left -= per_host_) {
    if (random.Unit() < scatter_) at = random.Below(free_.size());
    while (SizeOf(free_[at]) < per_host_) at = (at + 1) % free_.size();
    taken.push_back(TakeFrom(static_cast<std::int32_t>(at), std::min(left, per_host_), random));
  }
  SortByHost(taken);
  return taken;
}

std::optional<std::vector<HostGpus>> GpuPool::TakeHalves(std::int32_t gpus, Random& random) {
  const std::int32_t half = per_host_ / 2;
  std::vector<HostGpus> taken;
  for (std::int32_t left = gpus; left > 0; left -= half) {
    const std::int32_t want = std::min(left, half);
    const std::int32_t host = want > 0 ? Tightest(want, taken) : -1;
    if (host < 0) {
      Give(taken);
      return std::nullopt;
    }
    taken.push_back(TakeFrom(host, want, random));
  }
  SortByHost(taken);
  return taken;
}

void GpuPool::Give(const std::vector<HostGpus>& places) {
  for (const HostGpus& place : places) {
    std::vector<std::int32_t>& free = free_[place.host];
    free.insert(free.end(), place.gpus.begin(), place.gpus.end());
    std::sort(free.begin(), free.end());
    whole_ += SizeOf(free) == per_host_ ? 1 : 0;
  }
}

}  // namespace yardmaster::sim
