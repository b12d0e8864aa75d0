// A cluster for the tests of the verbs that look at one. TESTONLY.
//
// Thread safety: as the client.
#pragma once

#include <string>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

// Connects to a client that forwards every reading call to `client` and fails every other one:
// the verbs only read. `client` must outlive the connections.
Connector ReadingConnector(kube::Client& client, std::string default_namespace = "default");

}  // namespace yardmaster::cli
