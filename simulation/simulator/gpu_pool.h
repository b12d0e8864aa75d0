// Which GPUs of a cluster's hosts are taken, and which a job gets.
//
// A job below a host's size gets GPUs of one host: the one with the fewest free ones that suffice.
// Any other gets wholly free hosts, the last perhaps used in part: partly in a row and partly
// anywhere (`scatter`), as a busy cluster gives them out; or, with probability `fragmented`, half
// hosts wherever those are free, as a cluster does whose whole hosts are rare. Which free GPUs of a
// host: drawn, since a device plugin that sees NVLink everywhere has no reason to prefer any.
//
// Deterministic: what a job gets depends on its seed and on what is taken, not on what was drawn
// before, so that two replays stay comparable. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/base/random.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

struct HostGpus {
  std::int32_t host = 0;
  std::vector<std::int32_t> gpus;  // sorted
};

class GpuPool {
 public:
  GpuPool(std::int32_t hosts, std::int32_t gpus_per_host, double scatter, double fragmented);

  std::int32_t hosts() const { return static_cast<std::int32_t>(free_.size()); }
  // Hosts that a job needs where it gets whole ones.
  std::int32_t HostsFor(std::int32_t gpus) const { return (gpus + per_host_ - 1) / per_host_; }

  std::int32_t FreeOn(std::int32_t host) const {
    return static_cast<std::int32_t>(free_[host].size());
  }

  // In the order of `places`; nothing where the GPUs are not free or `places` is empty. REQUIRES: a
  // host at most once in `places`.
  std::optional<std::vector<HostGpus>> TakeAt(const std::vector<TracePlace>& places,
                                              std::uint64_t seed);
  // Sorted by host; nothing where the job does not fit.
  std::optional<std::vector<HostGpus>> Take(std::int32_t gpus, std::uint64_t seed);
  void Give(const std::vector<HostGpus>& places);

 private:
  HostGpus TakeFrom(std::int32_t host, std::int32_t gpus, Random& random);
  // The host with the fewest free GPUs that suffice, none of `not_on` (sorted or not); -1: none.
  std::int32_t Tightest(std::int32_t gpus, const std::vector<HostGpus>& not_on) const;
  std::optional<std::vector<HostGpus>> TakeWhole(std::int32_t gpus, Random& random);
  std::optional<std::vector<HostGpus>> TakeHalves(std::int32_t gpus, Random& random);

  std::vector<std::vector<std::int32_t>> free_;  // GPUs, sorted, by host
  const std::int32_t per_host_;
  std::int32_t whole_;  // hosts without a job
  const double scatter_;
  const double fragmented_;
};

}  // namespace yardmaster::sim
