// The objects of resource.k8s.io that a cluster has, as one value. Empty where the cluster has no
// such API. Thread safety: as ObjectTable.
#pragma once

#include "pkg/devices/device_objects.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

struct DeviceTables {
  ObjectTable<devices::ResourceSlice> slices;
  ObjectTable<devices::DeviceClass> classes;
  ObjectTable<devices::ResourceClaim> claims;
  ObjectTable<devices::ResourceClaimTemplate> templates;

  bool empty() const {
    return slices.empty() && classes.empty() && claims.empty() && templates.empty();
  }
};

}  // namespace yardmaster::state
