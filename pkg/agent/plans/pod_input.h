// What the agent takes from a Pod: who it is, the texts of our annotations and of Multus', unread.
// Of each 64 KiB and a byte are taken at most, which tells those who read it that it is too long.
// Reading them is effective_plan.h's part, because what they mean depends on the fabric and on the
// time. Thread safety: values and pure functions.
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
  std::optional<std::string> progress = {};  // what an agent wrote of its iterations
  bool operator==(const PodInput&) const = default;
};

// The pod with a uid; nullopt when it is gone, or on no node of the agent.
using FindPod = std::function<std::optional<PodInput>(const std::string& uid)>;

// nullopt if the agent ignores the pod: it is not bound, has ended, or has none of our annotations.
// Accepts any JSON.
std::optional<PodInput> ReadPod(JsonView pod);

}  // namespace yardmaster::agent
