// Writes Crux's numbers, levels and RePaC's source ports: for all placed gangs at once, because
// they share links. A round plans on a snapshot, then writes only what differs, levels that fall
// before levels that rise, so that no instant has more jobs on a high level than planned.
//
// Rounds are called by one debounced thread. A write that fails is reported and made by the next
// round. Thread safety: one thread calls Round. Lifetimes: everything passed in outlives the
// controller.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/network_annotations.h"
#include "pkg/plan/planner.h"
#include "pkg/state/world.h"

namespace yardmaster::op {

struct RoundReport {
  int gangs = 0;     // placed ones
  int statuses = 0;  // Gang and Fabric statuses written
  int pods = 0;      // pods annotated
  std::vector<std::string> errors;
};

class NetworkController {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t path_plan_life_ms = 24LL * 3600 * 1000;
    std::size_t write_threads = 8;
  };

  NetworkController(kube::Client& client, state::WorldCache& cache, const Clock& clock,
                    Options options);
  RoundReport Round();

 private:
  struct PodWrite;
  void WriteFabrics(const state::World& world, const plan::Snapshot& snapshot, RoundReport& report);
  void WriteStatus(const api::Gang& gang, const api::NetworkStatus& network, RoundReport& report);
  void CollectPods(const GangNetwork& network,
                   const std::map<int, std::shared_ptr<const api::Pod>>& members,
                   const NetworkOptions& options, std::vector<PodWrite>& writes,
                   RoundReport& report);
  void WritePods(std::vector<PodWrite>& writes, RoundReport& report);

  kube::Client& client_;
  state::WorldCache& cache_;
  const Clock& clock_;
  Options options_;
};

}  // namespace yardmaster::op
