#include "simulation/bench/large_case.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

constexpr std::int32_t kPods = 8;
constexpr std::int32_t kSegments = 15;  // of a pod
constexpr std::int32_t kHosts = 128;    // of a segment
constexpr std::int32_t kRails = 8;
constexpr std::int32_t kPlanes = 2;
constexpr std::int32_t kAggs = 60;  // of a plane and pod
constexpr std::int32_t kScatteredAggStep = 8;
constexpr std::int32_t kAllHosts = kPods * kSegments * kHosts;
constexpr std::int32_t kToRs = kPods * kSegments * kRails * kPlanes;

std::int32_t HostUp(std::int32_t host, std::int32_t rail, std::int32_t plane) {
  return 2 * ((host * kRails + rail) * kPlanes + plane);
}
std::int32_t TorUp(std::int32_t segment, std::int32_t rail, std::int32_t plane, std::int32_t agg) {
  const std::int32_t tor = (segment * kRails + rail) * kPlanes + plane;
  return 2 * (kAllHosts * kRails * kPlanes + tor * kAggs + agg);
}

std::vector<crux::Link> AllLinks() {
  std::vector<crux::Link> links;
  const std::int32_t host_links = 2 * kAllHosts * kRails * kPlanes;
  const std::int32_t count = host_links + 2 * kToRs * kAggs;
  links.reserve(static_cast<std::size_t>(count));
  for (std::int32_t l = 0; l < count; ++l) {
    links.push_back({StrCat("l", l), l < host_links ? 200.0 : 400.0});
  }
  return links;
}

void AddHop(std::int32_t from, std::int32_t to, std::int32_t rail, double bytes,
            std::int32_t agg_step, crux::ContendingJob& job) {
  crux::Flow flow{StrCat("h", from, "r", rail), bytes, {}};
  flow.ring = rail;
  const std::int32_t from_segment = from / kHosts;
  const std::int32_t to_segment = to / kHosts;
  for (std::int32_t plane = 0; plane < kPlanes; ++plane) {
    const std::int32_t up = HostUp(from, rail, plane);
    const std::int32_t down = HostUp(to, rail, plane) + 1;
    if (from_segment == to_segment) {
      flow.paths.Add(std::vector{up, down});
      continue;
    }
    for (std::int32_t agg = from % agg_step; agg < kAggs; agg += agg_step) {
      flow.paths.Add(std::vector{up, TorUp(from_segment, rail, plane, agg),
                                 TorUp(to_segment, rail, plane, agg) + 1, down});
    }
  }
  job.flows.push_back(std::move(flow));
}

}  // namespace

crux::Problem LargeCase(std::int32_t jobs, std::uint64_t seed, const LargeTraits& traits) {
  Random random(seed);
  crux::Problem problem;
  problem.levels = 8;
  problem.links = AllLinks();
  std::vector<std::int32_t> host(kAllHosts);
  std::iota(host.begin(), host.end(), 0);
  if (traits.scattered) {
    Random places(seed + 1);
    constexpr std::int32_t kHostsOfPod = kSegments * kHosts;
    for (std::int32_t pod = 0; pod < kPods; ++pod) {
      std::vector<std::int32_t> mixed(host.begin() + pod * kHostsOfPod,
                                      host.begin() + (pod + 1) * kHostsOfPod);
      places.Shuffle(mixed);
      std::copy(mixed.begin(), mixed.end(), host.begin() + pod * kHostsOfPod);
    }
  }
  // Hosts are cut into `jobs` stretches at random places.
  std::vector<std::int32_t> cuts{0, kAllHosts};
  while (static_cast<std::int32_t>(cuts.size()) <= jobs) {
    cuts.push_back(static_cast<std::int32_t>(random.Below(kAllHosts)));
  }
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const std::int32_t first = cuts[c];
    const std::int32_t pod_end = (first / (kSegments * kHosts) + 1) * kSegments * kHosts;
    const std::int32_t hosts = std::min(cuts[c + 1], pod_end) - first;
    crux::ContendingJob job;
    job.id = StrCat("job", c);
    job.gpus = std::max(1, hosts * kRails);
    job.compute_seconds = 0.5 + 2 * random.Unit();
    job.communication_start = 0.3 + 0.7 * random.Unit();
    job.flop_per_iteration = job.gpus * job.compute_seconds * 2e14;
    const double bytes = 1e9 * (0.5 + 20 * random.Unit());
    for (std::int32_t rail = 0; rail < kRails && hosts > 1; ++rail) {
      for (std::int32_t h = 0; h < hosts; ++h) {
        AddHop(host[first + h], host[first + (h + 1) % hosts], rail, bytes,
               traits.scattered ? kScatteredAggStep : 1, job);
      }
    }
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

}  // namespace yardmaster::bench
