// Computes from a pod's annotations which plan is in force on its node now.
//
// Evaluate returns a plan for any annotations, never worse than no plan. The result is default
// behaviour (no traffic class, no source ports: NCCL chooses its own), and `problem` has the
// reason, if an annotation cannot be parsed, the fabric does not have the level, or the plan has
// expired or was made for an older fabric. A plan for a newer fabric than the cached one is used:
// the cache is behind.
//
// Thread safety: values and pure functions.
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

// The part of the Fabric that the agent needs.
struct FabricView {
  std::string name;
  std::int64_t generation = 0;  // path plans for older generations are stale
  std::string uid;              // plans for a Fabric with another uid (created again) are stale
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
  // Without rails: default behaviour. In force until expires_ms; 0: without end. Its traffic class
  // is that of `level` in the agent's Fabric, whatever the annotation has.
  api::PodPathPlan paths;

  int peers() const;
};

// `fabric`: nullopt while none is known; levels are then the default eight and any generation is
// valid.
EffectivePlan Evaluate(const PodInput& pod, const std::optional<FabricView>& fabric,
                       std::int64_t now_ms);

}  // namespace yardmaster::agent
