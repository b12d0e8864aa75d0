// The marks that the operator writes on Nodes: taint and record of a quarantined host, and
// Kubernetes' out-of-service taint on a lost host. One JSON patch per Node tests the Node's
// resource version, so marks of others are never changed; after a conflict the next round tries
// again.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/node.h"

namespace yardmaster::op {

// What the operator does before pods of a lost host are removed by force.
enum class FencePolicy {
  kNone,          // nothing
  kOutOfService,  // the operator sets the out-of-service taint
  kAwait          // it waits until another program or a user sets the taint
};

struct NodeMarks {
  std::string quarantined;      // value of the taint; empty: none
  std::string record;           // text of the annotation; empty: none
  bool out_of_service = false;  // the operator's own taint
  bool operator==(const NodeMarks&) const = default;
};

// Returns the present marks of the Node.
NodeMarks MarksOf(const api::Node& node);
// Values of the taint.
inline constexpr char kWorkerFailures[] = "worker-failures";
inline constexpr char kNodeFault[] = "node-fault";
// True if the Node has the out-of-service taint, whoever set it.
bool IsOutOfService(const api::Node& node);
// Returns a JSON patch (RFC 6902); nullopt: the Node has these marks.
std::optional<nlohmann::json> PatchOf(const api::Node& node, const NodeMarks& wanted);

}  // namespace yardmaster::op
