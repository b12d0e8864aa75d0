#include "pkg/operator/fabric_status.h"

#include <string>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

// The first warning that names this Fabric.
std::string WarningAbout(const api::Fabric& fabric, const plan::Snapshot& snapshot) {
  const std::string name = StrCat("Fabric ", fabric.metadata.name, ":");
  for (const std::string& warning : snapshot.warnings) {
    if (warning.rfind(name, 0) == 0) return warning.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

api::FabricStatus StatusOf(const api::Fabric& fabric, const plan::Snapshot& snapshot, bool used,
                           std::int64_t now_ms) {
  api::FabricStatus status = fabric.status;
  status.observed_generation = fabric.metadata.generation;
  status.fabric_pods = status.segments = status.hosts = status.backup_hosts = 0;
  api::Condition ready{"Ready", api::ConditionStatus::kFalse, "",
                       "",      fabric.metadata.generation,   0};
  if (!used) {
    ready.reason = "AnotherFabricIsUsed";
    ready.message = "one cluster plans on one Fabric, the first by name";
  } else {
    status.fabric_pods = snapshot.places->num_fabric_pods();
    status.segments = snapshot.places->num_segments();
    status.hosts = snapshot.places->num_hosts();
    for (const placement::HostState& host : snapshot.cluster.hosts) {
      status.backup_hosts += host.backup ? 1 : 0;
    }
    if (snapshot.network != nullptr) {
      ready.status = api::ConditionStatus::kTrue;
      ready.reason = "InUse";
      ready.message =
          StrCat(Count(status.hosts, "host"), " in ", Count(status.segments, "segment"));
    } else {
      ready.reason = "Invalid";
      ready.message = WarningAbout(fabric, snapshot);
    }
  }
  api::SetCondition(status.conditions, ready, now_ms);
  return status;
}

}  // namespace yardmaster::op
