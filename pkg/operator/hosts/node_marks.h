// The marks that the operator writes on Nodes: the taint and the record of a quarantined host, and
// Kubernetes' out-of-service taint on a lost host. One JSON patch per Node that tests the Node's
// resource version, so that marks of others are never touched and one that conflicts is made again.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/node.h"

namespace yardmaster::op {

// What is done before pods of a lost host are removed by force.
enum class FencePolicy {
  kNone,          // nothing
  kOutOfService,  // the operator sets the out-of-service taint
  kAwait          // nothing is removed by force before another program or a person has set it
};

struct NodeMarks {
  std::string quarantined;      // value of the taint; empty: none
  std::string record;           // text of the annotation; empty: none
  bool out_of_service = false;  // the operator's own taint
  bool operator==(const NodeMarks&) const = default;
};

// The marks as they stand.
NodeMarks MarksOf(const api::Node& node);
// Values of the taint.
inline constexpr char kWorkerFailures[] = "worker-failures";
inline constexpr char kNodeFault[] = "node-fault";
// Has the out-of-service taint, by whichever writer.
bool IsOutOfService(const api::Node& node);
// RFC 6902. Nothing: the Node has these marks.
std::optional<nlohmann::json> PatchOf(const api::Node& node, const NodeMarks& wanted);

}  // namespace yardmaster::op
