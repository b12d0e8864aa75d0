// Provides Connectors to a given cluster, for the tests of the verbs. For tests only.
//
// Thread safety: that of the client.
#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/cli/connect.h"

namespace yardmaster::cli {

// Returns a Connector to a client that forwards every call to `client`. Lifetimes: `client` and
// `clock` outlive the connections.
Connector LendingConnector(kube::Client& client, const Clock& clock,
                           std::string default_namespace = "default");

// Returns a Connector for verbs that only read: every other call fails, and the connection has no
// time.
Connector ReadingConnector(kube::Client& client, std::string default_namespace = "default");

}  // namespace yardmaster::cli
