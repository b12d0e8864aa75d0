// Provides what all verbs that read a cluster share: the flags for cluster and namespace, and the
// objects, which are read once.
//
// Thread safety: that of the client.
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
  std::string namespace_name;  // empty: that of the context, which ConnectAndRead fills in
};

// Declares --kubeconfig and --context.
void DeclareCluster(ClusterFlags& flags, CLI::App& app);
// Declares these and -n.
void DeclareRead(ReadFlags& flags, CLI::App& app);

struct ConnectedCluster {
  ClusterConnection connection;
  state::ClusterState state;
};

// Connects and reads all objects. Names those that cannot be read on `err`.
absl::StatusOr<ConnectedCluster> ConnectAndRead(ReadFlags& flags, const Connector& connect,
                                                std::ostream& err,
                                                OurKinds ours = OurKinds::kRequired);

}  // namespace yardmaster::cli
