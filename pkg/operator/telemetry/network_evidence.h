// TelemetryChecker compares observations of the network with the Fabric: whether switches hash as
// described, whether cables are plugged as described, and which NICs balance load themselves.
//
// The observations are annotations that agents or administrators write (docs/paths.md):
// yardmaster.dev/observed-paths and yardmaster.dev/neighbours on the Fabric and on Nodes, and
// yardmaster.dev/nic-load-balancing on Nodes.
//
//   - The checker compares the paths of a report once, when the report or the network changes, with
//     the network at that moment. Later failures do not make an old report wrong.
//   - Of a Node's report, only paths that begin at the Node and cables that end there are used.
//   - The checker mistrusts a role of switches if the Fabric's report has a wrong hop of the role,
//     or if the reports of at least kMistrustQuorum Nodes and of kMistrustShare of the Nodes that
//     checked the role do. If fewer Nodes report a wrong hop, the verdict is Unknown.
//   - A new report replaces the previous one of its source, so a role can become trusted again.
//   - If at least kDistrustedFaults cables, and more than half of the compared ones, are reported
//     as misplaced, the checker assumes that the names are wrong, and avoids none of them.
//   - A report that cannot be read is ignored and listed in `problems`.
//
// Determinism: a function of the annotations and of when they changed. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/fabric.h"
#include "pkg/api/node.h"
#include "pkg/fabric/network.h"
#include "pkg/repac/path_plan.h"
#include "pkg/repac/path_trust.h"
#include "pkg/repac/wiring.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

inline constexpr int kMistrustQuorum = 2;
inline constexpr double kMistrustShare = 0.1;
inline constexpr std::size_t kDistrustedFaults = 64;  // two hosts that were exchanged have fewer

struct Evidence {
  std::vector<repac::RoleTrust> roles;  // by tier
  repac::WiringReport wiring;
  // Too many cables are reported as misplaced; `wiring` names none to avoid.
  bool wiring_distrusted = false;
  bool neighbours_reported = false;
  // Hosts whose NICs balance load themselves: name -> method.
  std::map<std::string, std::string> balancing;
  std::vector<std::string> problems;  // reports that cannot be read: "Node n1: ..."

  // NICs that get no source ports: miswired NICs and those that balance load themselves.
  std::vector<repac::Nic> exclude;
  // Miswired cables between switches.
  std::vector<fabric::CableId> avoid;
};

class TelemetryChecker {
 public:
  // `epoch` changes whenever the ids of `network` change meaning. `down`: the cables that routing
  // no longer uses.
  const Evidence& Read(const api::Fabric& fabric, const state::ObjectTable<api::Node>& nodes,
                       const fabric::Network& network, std::uint64_t epoch,
                       const std::vector<std::uint8_t>& down);

 private:
  struct SourceTrust {
    std::string text;
    std::vector<repac::RoleTrust> roles;
    std::string problem;
  };
  // "Fabric f" or "Node n" -> text.
  using Texts = std::map<std::string, std::string>;

  void CheckPaths(const Texts& texts, const fabric::Network& network,
                  const std::vector<std::uint8_t>& down);
  void Conclude();
  void CheckCables(const Texts& texts, const fabric::Network& network);

  std::uint64_t epoch_ = 0;
  std::map<std::string, SourceTrust> trust_of_source_;  // by source
  Texts neighbours_;                                    // from which evidence_.wiring was computed
  std::vector<std::string> wiring_problems_;
  Evidence evidence_;
};

}  // namespace yardmaster::op
