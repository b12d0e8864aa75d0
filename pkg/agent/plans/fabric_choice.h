// Chooses the agent's Fabric among those of the cluster. A Fabric that cannot be decoded keeps its
// last good state here: plans that were made from that state stay in force until they expire.
//
// Thread safety: the caller locks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/api/metadata.h"
#include "pkg/base/status.h"
#include "pkg/json/json_view.h"

namespace yardmaster::agent {

class FabricChoice {
 public:
  // Errors: InvalidArgument naming what is wrong with the object.
  absl::Status Put(JsonView object);
  void Remove(const std::string& name);
  // Returns the Fabric of that name, or for "" the one in use (api/fabric_order.h); nullopt if
  // there is none.
  std::optional<FabricView> Chosen(const std::string& name) const;

 private:
  struct Known {
    FabricView view;
    api::ObjectMeta order;  // input of api/fabric_order.h
  };

  std::map<std::string, Known> fabrics_;
};

}  // namespace yardmaster::agent
