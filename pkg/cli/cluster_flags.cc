#include "pkg/cli/cluster_flags.h"

#include <ostream>

#include "CLI/CLI.hpp"
#include "pkg/base/status.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/state/device_overlay.h"

namespace yardmaster::cli {

void DeclareCluster(ClusterFlags& flags, CLI::App& app) {
  app.add_option("--kubeconfig", flags.kubeconfig, "kubeconfig file");
  app.add_option("--context", flags.context, "context of the kubeconfig");
}

void DeclareRead(ReadFlags& flags, CLI::App& app) {
  app.add_option("-n,--namespace", flags.namespace_name, "namespace (default: the context's)");
  DeclareCluster(flags.cluster, app);
}

absl::StatusOr<ConnectedCluster> ConnectAndRead(ReadFlags& flags, const Connector& connect,
                                                std::ostream& err, OurKinds ours) {
  ConnectedCluster cluster;
  YM_ASSIGN_OR_RETURN(cluster.connection, connect(flags.cluster));
  if (flags.namespace_name.empty()) flags.namespace_name = cluster.connection.default_namespace;
  YM_ASSIGN_OR_RETURN(cluster.state, ReadCluster(*cluster.connection.client, ours));
  cluster.state = state::WithDevices(cluster.state);
  PrintWarnings(cluster.state.problems, err);
  return cluster;
}

}  // namespace yardmaster::cli
