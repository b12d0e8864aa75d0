// Implements the verb `ui`: opens the operator's page through the API server's proxy.
//
// The verb finds the leading operator and replaces itself by `kubectl proxy`, restricted to the
// page of that pod. The page has no login: the API server decides which users may see it (get
// pods/proxy).
//
// Thread safety: that of the client.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

struct PageProxy {
  std::vector<std::string> argv;  // command line of the proxy
  std::string url;                // URL of the page through the proxy
};

// Returns how to reach the page of the leading operator in `namespace_name`, by a proxy on `port`
// of this machine. Without a lease, any running operator is used. Errors: NotFound, with what to
// check.
absl::StatusOr<PageProxy> FindPage(kube::Client& client, const ClusterFlags& cluster,
                                   const std::string& namespace_name, int port);

}  // namespace yardmaster::cli
