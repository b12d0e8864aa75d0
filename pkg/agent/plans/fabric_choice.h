// Which of the cluster's Fabrics is ours. A Fabric that cannot be decoded keeps its last good state
// here: plans made from that state stay in force until they expire.
// Thread safety: none; the caller locks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/base/status.h"
#include "pkg/json/json_view.h"

namespace yardmaster::agent {

class FabricChoice {
 public:
  // Errors: InvalidArgument naming what is wrong with the object.
  absl::Status Take(JsonView object);
  void Drop(const std::string& name);
  // The one of that name, or for "" the first by name; nothing when there is none.
  std::optional<FabricView> Chosen(const std::string& name) const;

 private:
  std::map<std::string, FabricView> fabrics_;
};

}  // namespace yardmaster::agent
