// The verbs that change Nodes: `drain` takes hosts out of use, `backup` marks backup hosts.
//
//   drain SEGMENT|TOR|HOST... [--yes | --undo] [-o json|yaml]
//   backup list [-o json|yaml|name]
//   backup set HOST... [--off]
//
// drain says first which ranks would move where, by the planner on the cluster as it would be. With
// --yes it cordons the hosts and taints them yardmaster.dev/drain:NoExecute: Kubernetes ends the pods
// there, each with its grace period to write a checkpoint, and their ranks are placed elsewhere. Disruption
// budgets do not hold taints up. --undo takes both away again.
//
// Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/cli/connect.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

inline constexpr char kDrainTaint[] = "yardmaster.dev/drain";

// Names of the Nodes that `what` means: a host; a segment ("p00s00" or "p00/p00s00"); a ToR by its name in
// the Fabric ("p00/p00s00/tor-r2-p0": the hosts below it). Errors: NotFound that names what is near.
absl::StatusOr<std::vector<std::string>> HostsMeant(const state::ClusterState& cluster,
                                                    const std::string& what);

struct Move {
  std::string job;  // "namespace/name"
  int rank = 0;
  std::string from;
  std::string to;      // empty: no host is free
  std::string reason;  // why not
  bool operator==(const Move&) const = default;
};

// What becomes of the ranks on these hosts when they are taken out of use now, by job and rank.
std::vector<Move> MovesOf(state::ClusterState cluster, const std::vector<std::string>& hosts);

int RunDrainCommand(const std::vector<std::string>& args, const Connector& connect,
                    std::ostream& out, std::ostream& err);
int RunBackupListCommand(const std::vector<std::string>& args, const Connector& connect,
                         std::ostream& out, std::ostream& err);
int RunBackupSetCommand(const std::vector<std::string>& args, const Connector& connect,
                        std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
