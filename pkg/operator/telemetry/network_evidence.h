// What was seen of the network, compared with what the Fabric says: do switches hash as described,
// are cables where they belong, do NICs choose paths by themselves?
//
// Sources are annotations, relayed by agents or written by people: yardmaster.dev/observed-paths
// and yardmaster.dev/neighbours on the Fabric and on Nodes, yardmaster.dev/nic-load-balancing on
// Nodes (docs/paths.md).
//
// Paths are compared when a report is new, with the network as it is at that moment: later failures
// do not make an old report wrong. When a report is replaced by one that agrees, its role is
// trusted again. A report that cannot be read is named and ignored.
//
// A Node's report is evidence, not an order: of a Node only paths that begin there and cables that
// end there count. A role is mistrusted when the Fabric's own report has a wrong hop of it, or the
// reports of kMistrustQuorum Nodes and of kMistrustShare of those that have checked it do. With
// fewer it is not trusted either: its verdict is Unknown. When more than half of the cables looked
// at are reported as misplaced, and kDistrustedFaults of them, the names are wrong and not the
// plugs: nothing is avoided.
//
// Thread safety: none. Determinism: a function of the annotations and of when they changed.
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
  // More than half of the cables that were looked at would be misplaced.
  bool wiring_distrusted = false;
  bool neighbours_reported = false;
  // Hosts whose NICs balance by themselves: name -> how.
  std::map<std::string, std::string> balancing;
  std::vector<std::string> problems;  // reports that cannot be read: "Node n1: ..."

  // NICs that get no source ports: miswired ones and those that balance by themselves.
  std::vector<repac::Nic> exclude;
  // Miswired cables between switches.
  std::vector<fabric::CableId> avoid;
};

class TelemetryChecker {
 public:
  // `epoch` changes when `network` means something else; `down`: cables routing has left.
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
  Texts neighbours_;                                    // that evidence_.wiring was made of
  std::vector<std::string> wiring_problems_;
  Evidence evidence_;
};

}  // namespace yardmaster::op
