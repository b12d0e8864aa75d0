// What the agent reads from a Pod: its identity, and the texts of the annotations of Yardmaster and
// Multus, not parsed. At most 64 KiB plus one byte of each text is kept; the extra byte lets the
// parser detect a text that is too long. effective_plan.h parses them, because their meaning
// depends on the fabric and the time.
//
// Thread safety: values and pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pkg/json/json_view.h"

namespace yardmaster::agent {

struct PodInput {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  std::optional<std::string> slot;
  std::optional<std::string> priority;
  std::optional<std::string> path_plan;
  std::string network_status;  // Multus': which devices the pod's networks have (pod_nics.h)
  bool host_network = false;
  std::optional<std::string> progress = {};  // annotation with the progress that an agent wrote
  bool operator==(const PodInput&) const = default;
};

// Returns the pod with that uid; nullopt if it is gone or on no node of the agent.
using FindPod = std::function<std::optional<PodInput>(const std::string& uid)>;

// Returns nullopt if the agent ignores the pod: it is not bound, has ended, or has no annotation of
// Yardmaster. Accepts any JSON.
std::optional<PodInput> ReadPod(JsonView pod);

}  // namespace yardmaster::agent
