// A cluster for the tests of the verbs. TESTONLY. Thread safety: as the client.
#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/cli/connect.h"

namespace yardmaster::cli {

// Connects to a client that forwards every call to `client`, in a namespace of that name. Both must
// outlive the connections.
Connector LendingConnector(kube::Client& client, const Clock& clock,
                           std::string default_namespace = "default");

// The same for verbs that only read: every other call fails, and the connection has no time.
Connector ReadingConnector(kube::Client& client, std::string default_namespace = "default");

}  // namespace yardmaster::cli
