// What all verbs that look at a cluster have in common: which cluster, which namespace, and the
// objects read once. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/cli/connect.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/state/cluster_state.h"

namespace CLI {
class App;
}

namespace yardmaster::cli {

struct ReadFlags {
  ClusterFlags cluster;
  std::string namespace_name;  // empty: the context's, filled in by ConnectAndRead
};

// --kubeconfig and --context.
void DeclareCluster(ClusterFlags& flags, CLI::App& app);
// These and -n.
void DeclareRead(ReadFlags& flags, CLI::App& app);

struct ConnectedCluster {
  ClusterConnection connection;
  state::ClusterState state;
};

// Connects and reads everything; objects that cannot be read are named on `err`.
absl::StatusOr<ConnectedCluster> ConnectAndRead(ReadFlags& flags, const Connector& connect,
                                                std::ostream& err,
                                                OurKinds ours = OurKinds::kRequired);

}  // namespace yardmaster::cli
