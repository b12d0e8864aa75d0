#include "pkg/cli/connect.h"

#include <iostream>
#include <unistd.h>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/cli/progress.h"
#include "pkg/config/kubeconfig.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/rest_client.h"

namespace yardmaster::cli {

Connector ClusterConnector(const Clock& clock, kube::Sleeper& sleeper) {
  return [&clock, &sleeper](const ClusterFlags& flags) -> absl::StatusOr<ClusterConnection> {
    kube::PrepareProcessForHttp();
    config::ClientConfigRequest request;
    request.kubeconfig = flags.kubeconfig;
    request.context = flags.context;
    request.kubectl_order = true;
    YM_ASSIGN_OR_RETURN(kube::ClientConfig config, config::LoadClientConfig(request));
    config.user_agent = "kubectl-yardmaster";
    ClusterConnection connection;
    if (!config.default_namespace.empty()) connection.default_namespace = config.default_namespace;
    YM_ASSIGN_OR_RETURN(std::unique_ptr<kube::Client> client,
                        kube::MakeRestClient(config, {clock, sleeper, /*seed=*/1}));
    connection.client = isatty(STDERR_FILENO) == 0
                            ? std::move(client)
                            : WithProgress(std::move(client), std::cerr, clock, sleeper);
    connection.now_ms = clock.WallMs();
    return connection;
  };
}

}  // namespace yardmaster::cli
