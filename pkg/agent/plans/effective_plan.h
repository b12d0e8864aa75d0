// From a pod's annotations to what is in force on its node now.
//
// Evaluate returns a plan for any annotations, and the result is never worse than no plan. For an
// annotation that cannot be read, a level that the fabric does not have, and a plan that has
// expired or was made for an older fabric, the result is default behaviour (no traffic class, no
// source ports: NCCL chooses its own) and `problem` says why.
//
// A plan for a newer fabric than the cached one is used: the cache is behind, not the plan.
//
// Thread safety: values and pure functions; time comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pkg/agent/plans/pod_input.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"
#include "pkg/fabric/spec.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::agent {

// What the agent needs to know of the Fabric its nodes belong to.
struct FabricView {
  std::string name;
  std::int64_t generation = 0;  // the oldest that a path plan may be for
  std::string uid;              // a plan for a Fabric with another one, recreated, is stale
  fabric::NetworkLevels levels;
  int rails = 0;
  int nic_ports = 0;  // of each rail
  bool operator==(const FabricView& other) const;
};

struct EffectivePlan {
  rpc::PlanState state = rpc::PlanState::kAwaiting;  // never kSyncing
  std::string problem;                               // why kStale or kInvalid
  std::optional<api::Slot> slot;
  std::optional<int> level;  // nullopt: default behaviour
  // No rails: default behaviour. In force until it expires; expires_ms 0: for ever. Its traffic
  // class is that of `level` in the agent's Fabric, whatever the annotation says.
  api::PodPathPlan paths;

  int peers() const;
};

// `fabric`: nullopt while none is known; levels are then the default eight and any generation is
// valid.
EffectivePlan Evaluate(const PodInput& pod, const std::optional<FabricView>& fabric,
                       std::int64_t now_ms);

}  // namespace yardmaster::agent
