// The verb `ui`: opens the operator's page through the API server's proxy.
//
// It finds the leading operator and becomes `kubectl proxy`, restricted to that pod's page: the
// page has no login; the API server decides which users may see it (get pods/proxy).
//
// Thread safety: as the client.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

struct PageProxy {
  std::vector<std::string> argv;  // of the proxy
  std::string url;                // of the page behind it
};

// How to reach the page of the operator that leads in `namespace_name`, by a proxy on `port` of
// this machine. Without a lease, any running operator. Errors: NotFound that names what to check.
absl::StatusOr<PageProxy> FindPage(kube::Client& client, const ClusterFlags& cluster,
                                   const std::string& namespace_name, int port);

}  // namespace yardmaster::cli
